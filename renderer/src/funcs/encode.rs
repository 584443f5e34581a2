//! Base64 and base32, as in sprig 3.3: for invalid input, the result is Go's error message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Context;
use crate::template::{Func, FuncError, Str, Type, Val};

/// The position of the first illegal byte.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Illegal(pub(super) usize);

/// Standard base64 with padding, as Go's `StdEncoding` reads it: line breaks are skipped,
/// and bits beyond the last byte are ignored.
pub(super) fn decode64(text: &[u8]) -> Result<Vec<u8>, Illegal> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut word, mut count) = (0_u32, 0_usize);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if is_break(byte) {
            continue;
        }
        if let Some(value) = value64(byte) {
            word = word << 6 | value;
            count += 1;
            if count == 4 {
                out.extend(word.to_be_bytes().into_iter().skip(1));
                (word, count) = (0, 0);
            }
            continue;
        }
        if byte != b'=' || count < 2 {
            return Err(Illegal(at - 1));
        }
        at = skip_breaks(text, at);
        if count == 2 {
            match text.get(at) {
                None => return Err(Illegal(text.len())),
                Some(b'=') => at = skip_breaks(text, at + 1),
                Some(_) => return Err(Illegal(at - 1)),
            }
        }
        if at < text.len() {
            return Err(Illegal(at));
        }
        let bytes = (word << (24 - 6 * count)).to_be_bytes();
        out.extend(bytes.into_iter().skip(1).take(count - 1));
        return Ok(out);
    }
    match count {
        0 => Ok(out),
        // Line breaks don't count.
        count => Err(Illegal(at - count)),
    }
}

fn is_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

fn skip_breaks(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| is_break(**byte)).count()
}

fn value64(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

const ALPHABET32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn encode32(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for chunk in bytes.chunks(5) {
        let word = chunk.iter().enumerate().fold(0_u64, |word, (index, byte)| {
            word | u64::from(*byte) << (32 - 8 * index)
        });
        let letters = (chunk.len() * 8).div_ceil(5);
        for place in 0..8 {
            let index = usize::try_from(word >> (35 - 5 * place) & 31).unwrap_or(0);
            let letter = ALPHABET32.get(index).copied().unwrap_or(b'=');
            out.push(if place < letters { char::from(letter) } else { '=' });
        }
    }
    out
}

/// Standard base32 with padding, as Go's `StdEncoding` reads it. Positions don't count line
/// breaks.
fn decode32(text: &[u8]) -> Result<Vec<u8>, Illegal> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !is_break(*byte)).collect();
    let mut out = Vec::with_capacity(text.len() / 8 * 5 + 5);
    for (index, chunk) in text.chunks(8).enumerate() {
        let start = index * 8;
        let left = text.len() - start;
        let letters = chunk.iter().take_while(|byte| value32(**byte).is_some()).count();
        if letters < 8 {
            check_end(chunk, start, letters, left)?;
        }
        let word = chunk
            .iter()
            .take(letters)
            .enumerate()
            .fold(0_u64, |word, (place, byte)| {
                word | value32(*byte).unwrap_or(0) << (35 - 5 * place)
            });
        out.extend(word.to_be_bytes().into_iter().skip(3).take(letters * 5 / 8));
        if letters < 8 {
            return Ok(out);
        }
    }
    Ok(out)
}

/// Checks that a chunk of fewer than eight letters is a valid end of the text.
fn check_end(chunk: &[u8], start: usize, letters: usize, left: usize) -> Result<(), Illegal> {
    let end = start + left;
    let Some(byte) = chunk.get(letters) else {
        return Err(Illegal(start));
    };
    // The number of bytes after this one, which Go only accepts as padding near the end.
    let behind = left - letters - 1;
    if *byte != b'=' || letters < 2 || behind >= 8 {
        return Err(Illegal(start + letters));
    }
    if behind + letters < 7 {
        return Err(Illegal(end));
    }
    let wrong = chunk.iter().skip(letters + 1).position(|byte| *byte != b'=');
    if let Some(wrong) = wrong {
        return Err(Illegal(start + letters + wrong));
    }
    if matches!(letters, 3 | 6) {
        return Err(Illegal(start + letters));
    }
    Ok(())
}

fn value32(byte: u8) -> Option<u64> {
    Some(u64::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'2'..=b'7' => byte - b'2' + 26,
        _ => return None,
    }))
}

#[allow(clippy::unnecessary_wraps, reason = "the shape of every function")]
fn decoded(result: Result<Vec<u8>, Illegal>, encoding: &str) -> Result<Val, FuncError> {
    Ok(Val::str(match result {
        Ok(bytes) => Str::from_bytes(bytes),
        Err(Illegal(at)) => Str::from(format!("illegal {encoding} data at input byte {at}")),
    }))
}

pub(super) const TABLE: &[Func<Context>] = &[
    Func {
        name: "b64enc",
        params: &[Type::String],
        variadic: false,
        doc: "A text in base64.",
        call: |call| Ok(Val::str(STANDARD.encode(call.str(0).as_bytes()))),
    },
    Func {
        name: "b64dec",
        params: &[Type::String],
        variadic: false,
        doc: "The text in base64, or the words of the error.",
        call: |call| decoded(decode64(call.str(0).as_bytes()), "base64"),
    },
    Func {
        name: "b32enc",
        params: &[Type::String],
        variadic: false,
        doc: "A text in base32.",
        call: |call| Ok(Val::str(encode32(call.str(0).as_bytes()))),
    },
    Func {
        name: "b32dec",
        params: &[Type::String],
        variadic: false,
        doc: "The text in base32, or the words of the error.",
        call: |call| decoded(decode32(call.str(0).as_bytes()), "base32"),
    },
];
