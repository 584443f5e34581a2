//! Standard base64 with padding, for `!!binary`.

/// The bytes; `None` when it is not base64. Line breaks are skipped, as Go's decoder does.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut bits: u32 = 0;
    let mut count = 0_u8;
    let mut padding = 0_u8;
    for byte in text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' if count + padding >= 2 && padding < 2 => {
                padding += 1;
                continue;
            }
            _ => return None,
        };
        if padding > 0 {
            return None;
        }
        bits = bits << 6 | u32::from(value);
        count += 1;
        if count == 4 {
            out.extend_from_slice(bits.to_be_bytes().get(1..)?);
            (bits, count) = (0, 0);
        }
    }
    match (count, padding) {
        (0, 0) => {}
        (2, 2) => out.push(u8::try_from(bits >> 4 & 0xff).ok()?),
        (3, 1) => out.extend_from_slice((bits >> 2).to_be_bytes().get(2..)?),
        _ => return None,
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn base64_is_read_and_what_is_not_is_refused() {
        let cases: [(&str, Option<&[u8]>); 9] = [
            ("", Some(b"")),
            ("aGk=", Some(b"hi")),
            ("aA==", Some(b"h")),
            ("aGkh", Some(b"hi!")),
            ("aG\nk=", Some(b"hi")),
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
