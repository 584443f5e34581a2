//! OpenPGP's text formats: ASCII armor and the clear-signed message (RFC 9580, sections 6.2 and 7). Pure. The `pgp`
//! crate parses them; this module only finds where they begin and end in a file.

use std::io::Read as _;

use pgp::armor::Dearmor;
use pgp::composed::CleartextSignedMessage;

const MESSAGE: &str = "-----BEGIN PGP SIGNED MESSAGE-----";
const SIGNATURE: &str = "-----BEGIN PGP SIGNATURE-----";
const END: &str = "-----END PGP SIGNATURE-----";

/// Parses a clear-signed message: text outside of it is not signed, and is ignored. `Err` is the reason why it is
/// invalid.
pub(super) fn clear_signed(text: &str) -> Result<CleartextSignedMessage, String> {
    let start = line(text, MESSAGE).ok_or_else(|| format!("it has no line {MESSAGE:?}"))?;
    let (_, text) = text
        .get(start..)
        .and_then(|text| text.split_once('\n'))
        .unwrap_or_default();
    let mut body = text;
    loop {
        let (header, rest) = body.split_once('\n').unwrap_or((body, ""));
        body = rest;
        match header.trim_end() {
            "" => break,
            // It repeats what the signatures contain.
            header if header.starts_with("Hash: ") => {}
            // Any other header could be mistaken for a part of the text.
            header => {
                return Err(format!(
                    "its message begins with {header:?}; only `Hash` is a header there"
                ));
            }
        }
    }
    let text = body;
    if line(text, SIGNATURE).is_none() {
        return Err(format!("it has no line {SIGNATURE:?}"));
    }
    let damaged = || "its signature can't be read".to_owned();
    let end = line(text, END).ok_or_else(damaged)? + END.len();
    let message = format!("{MESSAGE}\n\n{}", text.get(..end).unwrap_or_default());
    let (message, _) = CleartextSignedMessage::from_string(&message).map_err(|_| damaged())?;
    let mut lines = message.text().lines();
    match lines.find(|line| line.starts_with('-') && !line.starts_with("- ")) {
        Some(line) => Err(format!("the line {line:?} in it is not escaped")),
        None => Ok(message),
    }
}

/// The content of all armored blocks of keys, or `None` if there are no valid ones.
pub(super) fn keys(text: &str) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some((start, kind)) = first_block(rest) {
        let block = rest.get(start..)?;
        let last = format!("-----END PGP {kind} KEY BLOCK-----");
        let (block, after) = block.split_at_checked(line(block, &last)? + last.len())?;
        Dearmor::new(block.as_bytes()).read_to_end(&mut all).ok()?;
        rest = after;
    }
    (!all.is_empty()).then_some(all)
}

/// The position and kind of the first block of keys.
fn first_block(text: &str) -> Option<(usize, &'static str)> {
    let begin = |kind| {
        Some((
            line(text, &format!("-----BEGIN PGP {kind} KEY BLOCK-----"))?,
            kind,
        ))
    };
    ["PUBLIC", "PRIVATE"].into_iter().filter_map(begin).min()
}

/// The position of a line with this content, and at most trailing white space.
fn line(text: &str, content: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == content {
            return Some(at);
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a signature of another text.
    fn message(body: &str) -> String {
        let other = include_str!("../../../testdata/signing/provenance/ed25519.prov");
        let signature = other.split_once(SIGNATURE).unwrap().1;
        format!("{MESSAGE}\nHash: SHA512\n\n{body}\n{SIGNATURE}{signature}")
    }

    #[test]
    fn a_message_is_hashed_without_escapes_and_with_plain_line_ends() {
        let signed = |text: &str| clear_signed(text).unwrap().signed_text();
        let found = signed(&message("a: b  \t\n\n- - c\n- -----BEGIN\nd\t"));
        assert_eq!(found, "a: b\r\n\r\n- c\r\n-----BEGIN\r\nd");
        let framed = format!("before\n{}after\n", message("a").replace('\n', "\r\n"));
        assert_eq!(signed(&framed), "a");
        assert_eq!(signed(&message("a").replace("SHA512", "SHA256, SHA512")), "a");
    }

    #[test]
    fn what_is_no_such_message_is_refused_with_what_is_missing() {
        let whole = message("a");
        let table = [
            ("hello", "no line \"-----BEGIN PGP SIGNED"),
            (MESSAGE, "no line \"-----BEGIN PGP SIGNATURE"),
            (&whole.replace("Hash:", "Comment:"), "only `Hash`"),
            (&whole.replace("\na\n", "\n-a\n"), "not escaped"),
            (&whole.replace("\n\niI", "\n\ni?"), "can't be read"),
            (&whole.replace("\n\niI", "\n\nzH"), "can't be read"),
            (&whole.replace("-----END", "----END"), "can't be read"),
        ];
        for (text, expected) in table {
            let error = clear_signed(text).map(|_| ()).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn blocks_of_keys_are_joined() {
        let block = |kind: &str, sum: &str| {
            format!(
                "-----BEGIN PGP {kind} KEY BLOCK-----\nVersion: 1\n\nMTIzNDU2Nzg5\n{sum}-----END PGP {kind} KEY \
                 BLOCK-----\n"
            )
        };
        let three = format!(
            "{}x\n{}{}",
            block("PUBLIC", "=Ic8C\n"),
            block("PRIVATE", ""),
            block("PUBLIC", "").replace('\n', "\r\n")
        );
        assert_eq!(keys(&three).unwrap(), b"123456789123456789123456789");
        assert_eq!(keys(&block("PUBLIC", "").replace("MTI", "M?I")), None);
        assert_eq!(keys(&block("PUBLIC", "").replace("-----END", "----END")), None);
        assert_eq!(keys("hello"), None);
    }
}
