//! PEM: written as in RFC 7468, and read as Go's `encoding/pem` does, which accepts headers and lines of any length.

use pem_rfc7468::LineEnding;
use zeroize::Zeroizing;

use super::super::encode::decode64;
use crate::template::FuncError;

/// A block.
pub(super) struct Block {
    pub(super) label: String,
    pub(super) bytes: Zeroizing<Vec<u8>>,
}

/// A block's text.
pub(super) fn encode(label: &str, bytes: &[u8]) -> Result<String, FuncError> {
    pem_rfc7468::encode_string(label, LineEnding::LF, bytes)
        .map_err(|error| FuncError::new(error.to_string()))
}
/// The first complete block of a text.
pub(super) fn decode(text: &str) -> Option<Block> {
    const BEGIN: &str = "-----BEGIN ";
    let mut rest = text;
    loop {
        let at = if rest.starts_with(BEGIN) {
            0
        } else {
            rest.find("\n-----BEGIN ")? + 1
        };
        rest = rest.get(at + BEGIN.len()..)?;
        if let Some(block) = block(rest) {
            return Some(block);
        }
    }
}

fn block(text: &str) -> Option<Block> {
    let (line, body) = text.split_once('\n')?;
    let label = line.trim_end().strip_suffix("-----")?;
    let end = format!("-----END {label}-----");
    let at = if body.starts_with(&end) {
        0
    } else {
        body.find(&format!("\n{end}"))? + 1
    };
    let mut body = body.get(..at)?;
    // Headers come first, followed by an empty line.
    while let Some((line, after)) = body.split_once('\n')
        && line.contains(':')
    {
        body = after;
    }
    let base64 = body.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let base64: Zeroizing<Vec<u8>> = Zeroizing::new(base64.collect());
    Some(Block {
        label: label.to_owned(),
        bytes: Zeroizing::new(decode64(&base64).ok()?),
    })
}
