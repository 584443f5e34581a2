//! OpenPGP's texts: ASCII armor and the clear-signed message (RFC 9580, sections 6.2 and 7). Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

const MESSAGE: &str = "-----BEGIN PGP SIGNED MESSAGE-----";
const SIGNATURE: &str = "-----BEGIN PGP SIGNATURE-----";

/// A clear-signed message: what is outside of it was signed by nobody, and is left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClearSigned {
    /// As it is hashed: no white space at the ends of lines, which end in CR LF, none after the last.
    pub(super) hashed: Vec<u8>,
    /// As it is read.
    pub(super) text: String,
    /// The packets of its signatures.
    pub(super) signatures: Vec<u8>,
}

/// Reads a clear-signed message. `Err` says what is wrong with it.
pub(super) fn clear_signed(text: &str) -> Result<ClearSigned, String> {
    let mut lines = text.lines().map(trimmed);
    if !lines.any(|line| line == MESSAGE) {
        return Err(format!("it has no line {MESSAGE:?}"));
    }
    for header in lines.by_ref().take_while(|line| !line.is_empty()) {
        // Any other header could pass for a part of the text.
        if !header.starts_with("Hash: ") {
            return Err(format!(
                "its message begins with {header:?} where only `Hash` may be"
            ));
        }
    }
    let mut signed = Vec::new();
    loop {
        match lines.next() {
            None => return Err(format!("it has no line {SIGNATURE:?}")),
            Some(SIGNATURE) => break,
            Some(line) => match line.strip_prefix("- ") {
                Some(escaped) => signed.push(escaped),
                None if line.starts_with('-') => {
                    return Err(format!("the line {line:?} in it is not escaped"));
                }
                None => signed.push(line),
            },
        }
    }
    let signatures = body(lines).ok_or("its signature can't be read")?;
    Ok(ClearSigned {
        hashed: signed.join("\r\n").into_bytes(),
        text: signed.join("\n") + "\n",
        signatures,
    })
}

/// The content of all armored blocks of keys, or `None` when there are none that can be read.
pub(super) fn keys(text: &str) -> Option<Vec<u8>> {
    let mut lines = text.lines().map(trimmed);
    let mut all = Vec::new();
    while lines.any(|line| line.starts_with("-----BEGIN PGP ") && line.ends_with(" KEY BLOCK-----")) {
        all.extend(body(lines.by_ref())?);
    }
    (!all.is_empty()).then_some(all)
}

/// Headers, an empty line, base64, perhaps a checksum, and the end.
fn body<'t>(mut lines: impl Iterator<Item = &'t str>) -> Option<Vec<u8>> {
    lines.by_ref().find(|line| line.is_empty())?;
    let mut coded = String::new();
    let mut checksum = None;
    loop {
        let line = lines.next()?;
        if line.starts_with("-----END PGP ") {
            break;
        }
        match line.strip_prefix('=') {
            Some(sum) => checksum = Some(BASE64.decode(sum).ok()?),
            None => coded.push_str(line),
        }
    }
    let bytes = BASE64.decode(coded).ok()?;
    let right = checksum.is_none_or(|sum| sum == crc24(&bytes).to_be_bytes().get(1..).unwrap_or_default());
    right.then_some(bytes)
}

/// The checksum of armor, which newer writers leave out.
fn crc24(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x00b7_04ce, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte) << 16, |sum, _| {
            let shifted = sum << 1;
            if shifted & 0x0100_0000 == 0 {
                shifted
            } else {
                shifted ^ 0x0186_4cfb
            }
        })
    }) & 0x00ff_ffff
}

fn trimmed(line: &str) -> &str {
    line.trim_end_matches([' ', '\t', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &str) -> String {
        format!("{MESSAGE}\nHash: SHA512\n\n{body}\n{SIGNATURE}\n\nwgA=\n-----END PGP SIGNATURE-----\n")
    }

    #[test]
    fn a_message_is_hashed_without_escapes_and_with_plain_line_ends() {
        let found = clear_signed(&message("a: b  \t\n\n- - c\n- -----BEGIN\nd\t")).unwrap();
        assert_eq!(found.hashed, b"a: b\r\n\r\n- c\r\n-----BEGIN\r\nd");
        assert_eq!(found.text, "a: b\n\n- c\n-----BEGIN\nd\n");
        assert_eq!(found.signatures, [0xc2, 0]);
        let framed = format!("before\n{}after\n", message("a").replace('\n', "\r\n"));
        assert_eq!(clear_signed(&framed).unwrap().hashed, b"a");
    }

    #[test]
    fn what_is_no_such_message_is_refused_with_what_is_missing() {
        let whole = message("a");
        let table = [
            ("hello", "no line \"-----BEGIN PGP SIGNED"),
            (MESSAGE, "no line \"-----BEGIN PGP SIGNATURE"),
            (&whole.replace("Hash:", "Comment:"), "only `Hash`"),
            (&whole.replace("\na\n", "\n-a\n"), "not escaped"),
            (&whole.replace("wgA=", "w?A="), "can't be read"),
            (&whole.replace("wgA=", "wgA=\n=AAAA"), "can't be read"),
            (&whole.replace("-----END", "----END"), "can't be read"),
        ];
        for (text, expected) in table {
            let error = clear_signed(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn blocks_of_keys_are_joined_and_their_checksums_hold() {
        // CRC-24 of "123456789", the usual test value.
        assert_eq!(crc24(b"123456789"), 0x0021_cf02);
        let block = |sum: &str| {
            format!(
                "-----BEGIN PGP PUBLIC KEY BLOCK-----\nVersion: 1\n\nMTIzNDU2Nzg5\n{sum}-----END PGP PUBLIC KEY BLOCK-----\n"
            )
        };
        let two = format!("{}x\n{}", block("=Ic8C\n"), block(""));
        assert_eq!(keys(&two).unwrap(), b"123456789123456789");
        assert_eq!(keys(&block("=Ic8D\n")), None);
        assert_eq!(keys("hello"), None);
    }
}
