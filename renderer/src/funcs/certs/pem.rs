//! PEM (RFC 7468), as Go's `encoding/pem` reads and writes it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::encode::decode64;

/// A block.
pub(super) struct Block {
    pub(super) label: String,
    pub(super) bytes: Vec<u8>,
}

const LINE: usize = 64;

/// A block's text.
pub(super) fn encode(label: &str, bytes: &[u8]) -> String {
    let base64 = STANDARD.encode(bytes);
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = base64.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(LINE).unwrap_or((rest, ""));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// The first whole block of a text.
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
    // Headers come first, a blank line behind them.
    while let Some((line, after)) = body.split_once('\n')
        && line.contains(':')
    {
        body = after;
    }
    let base64: Vec<u8> = body.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    Some(Block {
        label: label.to_owned(),
        bytes: decode64(&base64).ok()?,
    })
}
