//! Base64, for `!!binary`.

use ::base64::Engine as _;
use ::base64::alphabet::STANDARD;
use ::base64::engine::{GeneralPurpose, GeneralPurposeConfig};

/// With padding, and with trailing bits, which Go's decoder ignores.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// The bytes; `None` if it is not base64. Line breaks are skipped, as Go's decoder does.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let digits: Vec<u8> = text.bytes().filter(|byte| !is_break(byte)).collect();
    BASE64.decode(digits).ok()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn base64_is_read_and_what_is_not_is_refused() {
        let cases: [(&str, Option<&[u8]>); 11] = [
            ("", Some(b"")),
            ("aGk=", Some(b"hi")),
            ("aA==", Some(b"h")),
            ("aGkh", Some(b"hi!")),
            ("aG\nk=", Some(b"hi")),
            ("aG\r\nk=\n", Some(b"hi")),
            // Go ignores trailing bits.
            ("aGl=", Some(b"hi")),
            ("aGk", None),
            ("aG k=", None),
            ("=", None),
            ("aGk=aGk=", None),
        ];
        for (text, expected) in cases {
            assert_eq!(decode(text).as_deref(), expected, "{text:?}");
        }
    }
}
