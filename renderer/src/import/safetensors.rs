//! How many parameters a file of weights has, by the header of the format safetensors: eight bytes with the header's
//! length, then JSON with the shape of each tensor. The header is read as a stream and never held.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The maximum length of a header that is read, in bytes. The format allows 100 MB, of which one name would be held as a
/// whole; a header of 500 tensors has 64 KiB.
const MAX_HEADER: u64 = 8 << 20;
/// The key of what is not a tensor.
const METADATA: &str = "__metadata__";

#[derive(Deserialize)]
struct Tensor {
    #[serde(default)]
    shape: Shape,
}

/// The product of a shape's sizes, which are not held.
struct Shape(u64);

impl Default for Shape {
    fn default() -> Self {
        Self(1)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(decoder: D) -> Result<Self, D::Error> {
        struct Sizes;
        impl<'de> Visitor<'de> for Sizes {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of sizes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
                let mut product = 1u64;
                while let Some(size) = list.next_element::<u64>()? {
                    product = product.saturating_mul(size);
                }
                Ok(Shape(product))
            }
        }
        decoder.deserialize_seq(Sizes)
    }
}

/// Whether a key is a tensor's name, which is not held.
struct IsTensor(bool);

impl<'de> Deserialize<'de> for IsTensor {
    fn deserialize<D: Deserializer<'de>>(decoder: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = IsTensor;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<IsTensor, E> {
                Ok(IsTensor(name != METADATA))
            }
        }
        decoder.deserialize_str(Name)
    }
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
                while let Some(IsTensor(is_tensor)) = map.next_key()? {
                    if !is_tensor {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    let Tensor { shape: Shape(count) } = map.next_value()?;
                    sum = sum.saturating_add(count);
                }
                Ok(Parameters(sum))
            }
        }
        decoder.deserialize_map(Header)
    }
}

/// The number of parameters; `None` if the file is not of this format, or its header is longer than [`MAX_HEADER`].
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

    /// Headers of 100 MB once took 387 MB of memory.
    #[test]
    fn a_header_at_the_limit_is_read_and_a_longer_one_is_not() {
        let header = |length: usize| {
            let tensor = r#"{"a":{"shape":[2,3]}}"#;
            format!("{tensor}{}", " ".repeat(length - tensor.len()))
        };
        let limit = MAX_HEADER as usize;
        assert_eq!(of(MAX_HEADER, &header(limit)), Some(6));
        assert_eq!(of(MAX_HEADER + 1, &header(limit + 1)), None);
    }
}
