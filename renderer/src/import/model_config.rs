//! What a model's files say of it: family and quantization by `config.json`, its format by the names of the weights, its
//! size by their headers. What they don't say is left out.

use serde::Deserialize;

use super::ImportedFile;
use super::safetensors;
use crate::diag::{Class, Result};
use crate::fsio;

/// The maximum size of a `config.json` that is read, in bytes.
const MAX_CONFIG: u64 = 1 << 20;
/// The maximum length of a text in it, in bytes.
const MAX_TEXT: usize = 64;

/// The formats by the files' extensions; the first one that occurs.
const FORMATS: [(&str, &[&str]); 6] = [
    ("gguf", &["gguf"]),
    ("safetensors", &["safetensors"]),
    ("onnx", &["onnx"]),
    ("pytorch", &["bin", "pt", "pth", "ckpt"]),
    ("tensorflow", &["h5", "pb", "tflite"]),
    ("flax", &["msgpack"]),
];

/// What is known of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ModelConfig {
    /// `llama`, `bert`
    pub(super) family: Option<String>,
    /// `safetensors`, `gguf`
    pub(super) format: Option<&'static str>,
    /// `6.7B`
    pub(super) param_size: Option<String>,
    /// `bf16`
    pub(super) precision: Option<&'static str>,
    /// `gptq`
    pub(super) quantization: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Transformers {
    model_type: Option<String>,
    torch_dtype: Option<String>,
    dtype: Option<String>,
    quantization_config: Option<Quantization>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Quantization {
    quant_method: Option<String>,
}

/// Reads what the files say.
///
/// # Errors
/// An I/O error. A `config.json` of another form says nothing.
pub(super) fn read(files: &[ImportedFile]) -> Result<ModelConfig> {
    let extensions: Vec<String> = files.iter().map(|file| file.path.extension()).collect();
    let has = |known: &[&str]| extensions.iter().any(|one| known.contains(&one.as_str()));
    let format = FORMATS
        .iter()
        .find(|(_, known)| has(known))
        .map(|(name, _)| *name);
    let weights = files.iter().filter(|file| file.path.extension() == "safetensors");
    let counts: Option<Vec<u64>> = weights
        .map(|file| safetensors::parameters(&file.stored.path))
        .collect();
    let parameters = counts
        .unwrap_or_default()
        .into_iter()
        .fold(0u64, u64::saturating_add);
    let said = match files.iter().find(|file| file.path.as_str() == "config.json") {
        Some(file) if file.stored.size <= MAX_CONFIG => {
            let limit = usize::try_from(MAX_CONFIG).unwrap_or(usize::MAX);
            let bytes = fsio::read_bytes(&file.stored.path, limit, Class::Io)?;
            serde_json::from_slice(&bytes).unwrap_or_default()
        }
        _ => Transformers::default(),
    };
    let Transformers {
        model_type,
        torch_dtype,
        dtype,
        quantization_config,
    } = said;
    Ok(ModelConfig {
        family: short(model_type),
        format,
        param_size: size_text(parameters),
        precision: torch_dtype.or(dtype).as_deref().and_then(precision),
        quantization: short(quantization_config.and_then(|config| config.quant_method)),
    })
}

fn short(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty() && text.len() <= MAX_TEXT)
}

fn precision(dtype: &str) -> Option<&'static str> {
    match dtype {
        "bfloat16" => Some("bf16"),
        "float16" => Some("fp16"),
        "float32" => Some("fp32"),
        _ => None,
    }
}

/// The specification's form: a number with at most one decimal, and a letter.
fn size_text(parameters: u64) -> Option<String> {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000, "T"),
        (1_000_000_000, "B"),
        (1_000_000, "M"),
        (1_000, "K"),
    ];
    let (unit, letter) = UNITS.iter().find(|(unit, _)| parameters >= *unit)?;
    let tenths = parameters / (unit / 10);
    Some(match tenths % 10 {
        0 => format!("{}{letter}", tenths / 10),
        rest => format!("{}.{rest}{letter}", tenths / 10),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_parameters_has_a_letter_and_at_most_one_decimal() {
        let table = [
            (0, None),
            (999, None),
            (1000, Some("1K")),
            (124_439_808, Some("124.4M")),
            (6_738_415_616, Some("6.7B")),
            (8_030_261_248, Some("8B")),
            (u64::MAX, Some("18446744T")),
        ];
        for (parameters, expected) in table {
            assert_eq!(size_text(parameters).as_deref(), expected, "{parameters}");
        }
    }
}
