//! Files to an artifact: a layer for each, as it is, in the order of their paths. The manifest is a function of paths
//! and bytes.
//!
//! Models follow CNCF's ModelPack (github.com/modelpack/model-spec), other files what `oras push` does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use sha2::Digest as _;

use super::ImportedFile;
use super::file_path::FilePath;
use super::model_config::ModelConfig;
use crate::diag::{Class, Diagnostic, Result};
use crate::package::artifact::{Artifact, ArtifactBlob, BlobContent, FileSource};
use crate::reference::Digest;

/// The artifact type of models.
pub(super) const MODEL_TYPE: &str = "application/vnd.cncf.model.manifest.v1+json";
const MODEL_CONFIG: &str = "application/vnd.cncf.model.config.v1+json";
const WEIGHT: &str = "application/vnd.cncf.model.weight.v1.raw";
const WEIGHT_CONFIG: &str = "application/vnd.cncf.model.weight.config.v1.raw";
const DOC: &str = "application/vnd.cncf.model.doc.v1.raw";
const CODE: &str = "application/vnd.cncf.model.code.v1.raw";
const DATASET: &str = "application/vnd.cncf.model.dataset.v1.raw";
const FILE_PATH: &str = "org.cncf.model.filepath";
/// That a layer's type was inferred from the file's name.
const UNTESTED: &str = "org.cncf.model.file.mediatype.untested";

/// The artifact type of files whose kind nobody gave, as ORAS has it.
const RAW_TYPE: &str = "application/vnd.unknown.artifact.v1";
const EMPTY_CONFIG: &str = "application/vnd.oci.empty.v1+json";
const RAW_FILE: &str = "application/octet-stream";
const TITLE: &str = "org.opencontainers.image.title";
/// The maximum size of a manifest, in bytes: what registries must at least accept.
const MAX_MANIFEST: usize = 4 << 20;

/// The kinds of a model's files by their extensions.
const KINDS: [(&str, &[&str]); 5] = [
    (
        WEIGHT,
        &[
            "safetensors",
            "gguf",
            "ggml",
            "bin",
            "pt",
            "pth",
            "ckpt",
            "onnx",
            "onnx_data",
            "h5",
            "msgpack",
            "pb",
            "tflite",
            "npz",
            "mlmodel",
            "engine",
        ],
    ),
    (
        WEIGHT_CONFIG,
        &[
            "json", "yaml", "yml", "toml", "model", "tiktoken", "jinja", "vocab", "spm", "cfg",
        ],
    ),
    (
        DOC,
        &[
            "md", "rst", "pdf", "html", "png", "jpg", "jpeg", "gif", "svg", "webp",
        ],
    ),
    (
        CODE,
        &["py", "sh", "ipynb", "js", "ts", "cpp", "h", "c", "go", "rs"],
    ),
    (DATASET, &["csv", "tsv", "jsonl", "parquet", "arrow"]),
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'m> {
    schema_version: u8,
    media_type: &'static str,
    artifact_type: &'static str,
    config: BlobDescriptor<'m>,
    layers: Vec<BlobDescriptor<'m>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BlobDescriptor<'m> {
    media_type: &'static str,
    digest: &'m str,
    size: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'static str, &'m str>,
}

#[derive(Serialize)]
struct ModelDocument<'m> {
    descriptor: ModelDescriptor<'m>,
    modelfs: ModelFiles<'m>,
    config: TechnicalConfig<'m>,
}

#[derive(Serialize)]
struct ModelDescriptor<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<&'m str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelFiles<'m> {
    #[serde(rename = "type")]
    kind: &'static str,
    diff_ids: Vec<&'m str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TechnicalConfig<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    param_size: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantization: Option<&'m str>,
}

/// How files become layers.
struct Packing {
    artifact_type: &'static str,
    config_type: &'static str,
    kind: fn(&FilePath) -> &'static str,
    annotations: for<'p> fn(&'p str) -> BTreeMap<&'static str, &'p str>,
}

/// A model.
pub(super) fn model(files: &[ImportedFile], config: &ModelConfig) -> Result<Artifact> {
    let ModelConfig {
        family,
        format,
        param_size,
        precision,
        quantization,
    } = config;
    let config = encode(&ModelDocument {
        descriptor: ModelDescriptor {
            family: family.as_deref(),
        },
        modelfs: ModelFiles {
            kind: "layers",
            diff_ids: files.iter().map(|file| file.stored.digest.as_str()).collect(),
        },
        config: TechnicalConfig {
            format: *format,
            param_size: param_size.as_deref(),
            precision: *precision,
            quantization: quantization.as_deref(),
        },
    })?;
    let packing = Packing {
        artifact_type: MODEL_TYPE,
        config_type: MODEL_CONFIG,
        kind,
        annotations: |path| BTreeMap::from([(FILE_PATH, path), (UNTESTED, "true"), (TITLE, path)]),
    };
    artifact(files, config, &packing)
}

/// Files as ORAS pushes them.
pub(super) fn raw(files: &[ImportedFile]) -> Result<Artifact> {
    let packing = Packing {
        artifact_type: RAW_TYPE,
        config_type: EMPTY_CONFIG,
        kind: |_| RAW_FILE,
        annotations: |path| BTreeMap::from([(TITLE, path)]),
    };
    artifact(files, b"{}".to_vec(), &packing)
}

fn artifact(files: &[ImportedFile], config: Vec<u8>, packing: &Packing) -> Result<Artifact> {
    let config = ArtifactBlob {
        media_type: packing.config_type,
        digest: sha256(&config),
        size: config.len() as u64,
        content: BlobContent::Memory(Arc::from(config)),
    };
    let layers = files.iter().map(|file| BlobDescriptor {
        media_type: (packing.kind)(&file.path),
        digest: file.stored.digest.as_str(),
        size: file.stored.size,
        annotations: (packing.annotations)(file.path.as_str()),
    });
    let manifest = encode(&Manifest {
        schema_version: 2,
        media_type: Artifact::MANIFEST_TYPE,
        artifact_type: packing.artifact_type,
        config: BlobDescriptor {
            media_type: packing.config_type,
            digest: config.digest.as_str(),
            size: config.size,
            annotations: BTreeMap::new(),
        },
        layers: layers.collect(),
    })?;
    if manifest.len() > MAX_MANIFEST {
        let message = format!(
            "the manifest of {} files is larger than {MAX_MANIFEST} bytes",
            files.len()
        );
        let one = Diagnostic::error(Class::Refused, message);
        return Err(one
            .hint("leave files out with `--include` and `--exclude`")
            .into());
    }
    // Files with the same bytes are one blob.
    let mut seen = BTreeSet::from([config.digest.to_string()]);
    let blobs = files
        .iter()
        .filter(|file| seen.insert(file.stored.digest.to_string()));
    let blobs: Vec<ArtifactBlob> = blobs.map(|file| stored(file, packing)).collect();
    Ok(Artifact {
        name: String::new(),
        version: String::new(),
        digest: sha256(&manifest),
        blobs: std::iter::once(config).chain(blobs).collect(),
        manifest,
    })
}

fn stored(file: &ImportedFile, packing: &Packing) -> ArtifactBlob {
    ArtifactBlob {
        media_type: (packing.kind)(&file.path),
        digest: file.stored.digest.clone(),
        size: file.stored.size,
        content: BlobContent::Stream(Arc::new(FileSource {
            path: file.stored.path.clone(),
        })),
    }
}

/// In the order of the fields, which the digest depends on.
fn encode(document: &impl Serialize) -> Result<Vec<u8>> {
    let text = serde_json::to_vec(document);
    text.map_err(|error| Diagnostic::error(Class::Internal, format!("no JSON: {error}")).into())
}

fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_sha256(&sha2::Sha256::digest(bytes).into())
}

/// The media type of a model's file, by its name. What serves a model fetches weights and their configuration: a file
/// of an unknown kind counts as the latter.
fn kind(path: &FilePath) -> &'static str {
    let name = path.name().to_ascii_lowercase();
    if ["readme", "license", "licence", "notice", "usage_policy"]
        .iter()
        .any(|doc| name.starts_with(doc))
    {
        return DOC;
    }
    let extension = path.extension();
    let known = KINDS
        .iter()
        .find(|(_, known)| known.contains(&extension.as_str()));
    known.map_or(WEIGHT_CONFIG, |(media_type, _)| *media_type)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::workspace::StoredFile;

    fn file(path: &str, bytes: &[u8]) -> ImportedFile {
        ImportedFile {
            path: FilePath::parse(path).unwrap(),
            stored: StoredFile {
                path: "unused".into(),
                digest: sha256(bytes),
                size: bytes.len() as u64,
            },
        }
    }

    #[test]
    fn a_models_files_have_the_kinds_of_the_specification() {
        let table = [
            ("model-00001-of-00002.safetensors", WEIGHT),
            ("onnx/model.onnx", WEIGHT),
            ("Q4.GGUF", WEIGHT),
            ("config.json", WEIGHT_CONFIG),
            ("merges.txt", WEIGHT_CONFIG),
            (".gitattributes", WEIGHT_CONFIG),
            ("README.md", DOC),
            ("LICENSE", DOC),
            ("modeling.py", CODE),
            ("train.parquet", DATASET),
        ];
        for (path, expected) in table {
            assert_eq!(kind(&FilePath::parse(path).unwrap()), expected, "{path}");
        }
    }

    #[test]
    fn a_model_has_a_layer_for_each_file_and_a_config_with_what_is_known() {
        let files = [
            file("a.gguf", b"weights"),
            file("b.gguf", b"weights"),
            file("config.json", b"{}"),
        ];
        let config = ModelConfig {
            family: Some("llama".to_owned()),
            format: Some("gguf"),
            ..ModelConfig::default()
        };
        let artifact = model(&files, &config).unwrap();
        insta::assert_snapshot!(String::from_utf8_lossy(&artifact.manifest));
        let BlobContent::Memory(config) = &artifact.blobs[0].content else {
            panic!("the config is in memory");
        };
        insta::assert_snapshot!(String::from_utf8_lossy(config));
        // Both files of the same bytes are one blob.
        assert_eq!(artifact.blobs.len(), 3);
    }

    #[test]
    fn other_files_are_packed_as_oras_does() {
        let artifact = raw(&[file("dir/a.txt", b"a")]).unwrap();
        insta::assert_snapshot!(String::from_utf8_lossy(&artifact.manifest));
    }

    #[test]
    fn a_manifest_that_registries_need_not_accept_is_refused() {
        let long = |number: usize| file(&format!("{number:05}-{}", "x".repeat(900)), b"");
        let files: Vec<_> = (0..4000).map(long).collect();
        assert!(raw(&files[..3000]).is_ok());
        assert_eq!(raw(&files).unwrap_err().class(), Class::Refused);
    }
}
