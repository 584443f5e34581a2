//! Randomness: the system's, or a stream that a seed fixes.
//!
//! With [`Context::seed`] the bytes are SHA-256 over the seed and a counter: the same in
//! every run for the same calls in the same order, and no secret to anyone who knows the seed. RSA keys and salts have
//! streams of their own: a chart's third key is the same whatever passwords it generates before, so that renderings
//! with other values share it ([`SeededResults`](super::SeededResults)).

use sha2::{Digest as _, Sha256};

use super::Context;
use crate::template::{Call, Func, FuncError, Str, Type, Val};

/// The maximum length of a random text.
const MAX_COUNT: usize = 16 << 20;
/// The domain separator of the seed's stream.
const DOMAIN: &[u8] = b"solar-render random stream";

/// The domain separator of what is drawn by its number.
#[cfg(feature = "crypto")]
const NUMBERED_DOMAIN: &[u8] = b"solar-render numbered randomness";

/// The position in a seed's stream.
#[derive(Debug, Clone, Default)]
pub struct RandomStream {
    counter: u64,
    /// The rest of the last block.
    left: Vec<u8>,
    /// How many were drawn by their number, of each purpose.
    #[cfg(feature = "crypto")]
    numbers: std::collections::BTreeMap<&'static str, u64>,
}

impl RandomStream {
    fn fill(&mut self, seed: u64, out: &mut [u8]) {
        for byte in out {
            if self.left.is_empty() {
                let mut hash = Sha256::new();
                hash.update(DOMAIN);
                hash.update(seed.to_be_bytes());
                hash.update(self.counter.to_be_bytes());
                self.counter = self.counter.wrapping_add(1);
                self.left = hash.finalize().to_vec();
            }
            *byte = self.left.pop().unwrap_or(0);
        }
    }
}

impl Context {
    /// Fills a buffer with random bytes: good enough for keys, unless there is a seed.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn random_bytes(&mut self, out: &mut [u8]) -> Result<(), FuncError> {
        match self.seed {
            Some(seed) => self.stream.fill(seed, out),
            None => self.world.random(out).map_err(FuncError::new)?,
        }
        Ok(())
    }

    /// Random bytes for a purpose, as [`Context::random_bytes`]; with a seed they only depend on it, on the purpose, and
    /// on how many were drawn for it before.
    ///
    /// # Errors
    /// If the system has no randomness.
    #[cfg(feature = "crypto")]
    pub(super) fn numbered_bytes(
        &mut self,
        purpose: &'static str,
    ) -> Result<zeroize::Zeroizing<[u8; 32]>, FuncError> {
        let mut out = zeroize::Zeroizing::new([0; 32]);
        match self.seed {
            Some(seed) => {
                let number = self.stream.numbers.entry(purpose).or_default();
                *number += 1;
                let mut hash = Sha256::new();
                hash.update(NUMBERED_DOMAIN);
                hash.update(seed.to_be_bytes());
                hash.update(number.to_be_bytes());
                hash.update(purpose);
                out.copy_from_slice(&hash.finalize());
            }
            None => self.world.random(&mut *out).map_err(FuncError::new)?,
        }
        Ok(out)
    }

    /// A number below a limit, each equally likely. A limit of 0 returns 0.
    pub(super) fn random_below(&mut self, limit: u64) -> Result<u64, FuncError> {
        if limit < 2 {
            return Ok(0);
        }
        // Numbers beyond the last whole multiple are rejected: they would make small results more likely.
        let fair = u64::MAX - u64::MAX % limit;
        loop {
            let mut bytes = [0; 8];
            self.random_bytes(&mut bytes)?;
            let number = u64::from_be_bytes(bytes);
            if number < fair {
                return Ok(number % limit);
            }
        }
    }
}

const DIGITS: &[u8] = b"0123456789";
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BOTH: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A text of characters, each equally likely.
fn text(call: &mut Call<'_, Context>, name: &'static str, characters: &[u8]) -> Result<Val, FuncError> {
    call.context.note_random(name);
    let count = usize::try_from(call.int(0)).unwrap_or(0);
    if count > MAX_COUNT {
        return Err(too_long(count));
    }
    let fair = 256 - 256 % characters.len().max(1);
    let mut out = String::with_capacity(count);
    let mut buffer = [0; 64];
    while out.len() < count {
        call.context.random_bytes(&mut buffer)?;
        let fitting = buffer
            .iter()
            .map(|byte| usize::from(*byte))
            .filter(|byte| *byte < fair);
        let picked = fitting.filter_map(|byte| characters.get(byte % characters.len()));
        let missing = count - out.len();
        out.extend(picked.take(missing).map(|byte| char::from(*byte)));
    }
    Ok(Val::str(out))
}

fn too_long(count: usize) -> FuncError {
    FuncError::new(format!("{count} random characters are more than {MAX_COUNT}"))
}

fn ascii(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let characters: Vec<u8> = (b' '..=b'~').collect();
    text(call, "randAscii", &characters)
}

fn bytes(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    call.context.note_random("randBytes");
    let Ok(count) = usize::try_from(call.int(0)) else {
        return Err("runtime error: makeslice: len out of range".into());
    };
    if count > MAX_COUNT {
        return Err(too_long(count));
    }
    let mut buffer = vec![0; count];
    call.context.random_bytes(&mut buffer)?;
    use base64::Engine as _;
    Ok(Val::str(
        base64::engine::general_purpose::STANDARD.encode(&buffer),
    ))
}

fn integer(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    call.context.note_random("randInt");
    let (from, to) = (call.int(0), call.int(1));
    let Some(range) = u64::try_from(to.wrapping_sub(from))
        .ok()
        .filter(|range| *range > 0)
    else {
        return Err("invalid argument to Intn".into());
    };
    let number = call.context.random_below(range)?;
    Ok(Val::int(from.wrapping_add_unsigned(number)))
}

fn shuffle(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    call.context.note_random("shuffle");
    let mut characters: Vec<char> = call.str(0).to_text().chars().collect();
    for index in (1..characters.len()).rev() {
        let other = call.context.random_below(index as u64 + 1)?;
        characters.swap(index, usize::try_from(other).unwrap_or(index));
    }
    Ok(Val::str(Str::from(characters.into_iter().collect::<String>())))
}

fn uuid(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    call.context.note_random("uuidv4");
    let mut bytes = [0; 16];
    call.context.random_bytes(&mut bytes)?;
    let number = u128::from_be_bytes(bytes);
    // Version 4, variant 10.
    let number = number & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{number:032x}");
    let cuts = [0..8, 8..12, 12..16, 16..20, 20..32];
    let parts: Vec<&str> = cuts.into_iter().filter_map(|cut| hex.get(cut)).collect();
    Ok(Val::str(parts.join("-")))
}

const fn func(
    name: &'static str,
    params: &'static [Type],
    doc: &'static str,
    call: fn(&mut Call<'_, Context>) -> Result<Val, FuncError>,
) -> Func<Context> {
    Func {
        name,
        params,
        variadic: false,
        doc,
        call,
    }
}

const COUNT: &[Type] = &[Type::Int];

pub(super) const TABLE: &[Func<Context>] = &[
    func("randAlphaNum", COUNT, "Random letters and digits.", |call| {
        text(call, "randAlphaNum", BOTH)
    }),
    func("randAlpha", COUNT, "Random letters.", |call| {
        text(call, "randAlpha", LETTERS)
    }),
    func("randNumeric", COUNT, "Random digits.", |call| {
        text(call, "randNumeric", DIGITS)
    }),
    func("randAscii", COUNT, "Random printable ASCII.", ascii),
    func("randBytes", COUNT, "Random bytes in base64.", bytes),
    func(
        "randInt",
        &[Type::Int, Type::Int],
        "A random number from one limit on and below another.",
        integer,
    ),
    func(
        "shuffle",
        &[Type::String],
        "A text's characters in random order.",
        shuffle,
    ),
    func("uuidv4", &[], "A random UUID.", uuid),
];
