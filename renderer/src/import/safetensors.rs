//! How many parameters a file of weights has, by the header of the format safetensors: eight bytes with the header's
//! length, then JSON with the shape of each tensor. The header is read as a stream and never held.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// The maximum length of a header, in bytes, as the format has it.
const MAX_HEADER: u64 = 100_000_000;

#[derive(Deserialize)]
struct Tensor {
    #[serde(default)]
    shape: Vec<u64>,
}

/// The sum over all tensors.
struct Parameters(u64);

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(decoder: D) -> Result<Self, D::Error> {
        struct Header;
        impl<'de> Visitor<'de> for Header {
            type Value = Parameters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a header of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parameters, A::Error> {
                let mut sum = 0u64;
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    let Tensor { shape } = map.next_value()?;
                    let count = shape.iter().fold(1u64, |count, size| count.saturating_mul(*size));
                    sum = sum.saturating_add(count);
                }
                Ok(Parameters(sum))
            }
        }
        decoder.deserialize_map(Header)
    }
}

/// The number of parameters; `None` if the file is not of this format.
pub(super) fn parameters(path: &Path) -> Option<u64> {
    let mut file = BufReader::new(File::open(path).ok()?);
    let mut length = [0; 8];
    file.read_exact(&mut length).ok()?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER {
        return None;
    }
    let header = serde_json::from_reader::<_, Parameters>(file.take(length));
    header.ok().map(|Parameters(sum)| sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(length: u64, header: &str) -> Option<u64> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes = [&length.to_le_bytes(), header.as_bytes(), &[0; 16]].concat();
        std::fs::write(file.path(), bytes).unwrap();
        parameters(file.path())
    }

    #[test]
    fn parameters_are_the_sum_of_all_shapes() {
        let header = r#"{"__metadata__":{"format":"pt"},
            "a":{"dtype":"F16","shape":[3,4],"data_offsets":[0,24]},
            "b":{"dtype":"F16","shape":[],"data_offsets":[24,26]}}"#;
        assert_eq!(of(header.len() as u64, header), Some(13));
        assert_eq!(of(2, "{}"), Some(0));
    }

    #[test]
    fn what_is_no_header_has_no_parameters_and_no_number_overflows() {
        for (length, header) in [(2, "[]"), (5, "{}"), (MAX_HEADER + 1, "{}"), (u64::MAX, "")] {
            assert_eq!(of(length, header), None, "{length} {header}");
        }
        let huge = format!(r#"{{"a":{{"shape":[{0},{0}]}},"b":{{"shape":[1]}}}}"#, u64::MAX);
        assert_eq!(of(huge.len() as u64, &huge), Some(u64::MAX));
    }
}
