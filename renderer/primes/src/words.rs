//! Powers in 64-bit words, one at a time, by Montgomery's method: for every processor.

use num_bigint::BigUint;

use super::{Power, montgomery_constant};

/// The power, below its modulus.
///
/// From the exponent's highest bit down: square, and multiply by the base where the bit is
/// set. The base is one word, so that these multiplications cost next to nothing.
pub(crate) fn power(power: &Power<'_>) -> BigUint {
    let modulus = power.modulus.to_u64_digits();
    let size = modulus.len();
    let constant = montgomery_constant(modulus.first().copied().unwrap_or(1));
    // One word more than the modulus: the base's factor stays in the number until the next
    // square's reduction takes it out, which so has 128 bits to spare.
    let bits = 64 * (size + 1);
    let mut modulus = modulus;
    modulus.push(0);
    let mut number = padded(&((BigUint::from(1_u32) << bits) % power.modulus), size + 1);
    let mut wide = vec![0; 2 * (size + 1) + 1];
    for bit in (0..power.exponent.bits()).rev() {
        square(&number, &mut wide);
        reduce(&mut wide, &modulus, constant, &mut number);
        if power.exponent.bit(bit) {
            multiply(&mut number, power.base);
        }
    }
    wide.fill(0);
    if let Some(low) = wide.get_mut(..number.len()) {
        low.copy_from_slice(&number);
    }
    reduce(&mut wide, &modulus, constant, &mut number);
    from_words(&number) % power.modulus
}

fn padded(number: &BigUint, size: usize) -> Vec<u64> {
    let mut words = number.to_u64_digits();
    words.resize(size, 0);
    words
}

fn from_words(words: &[u64]) -> BigUint {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    BigUint::from_bytes_le(&bytes)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "the low and the high half of a product"
)]
fn halves(product: u128) -> (u64, u64) {
    (product as u64, (product >> 64) as u64)
}

/// `wide += factor * row`, both from the lowest word on; the carry is left in the word after.
fn add_row(wide: &mut [u64], row: &[u64], factor: u64) {
    let (low, high) = wide.split_at_mut(row.len().min(wide.len()));
    let mut carry = 0;
    for (word, other) in low.iter_mut().zip(row) {
        let sum = u128::from(factor) * u128::from(*other) + u128::from(*word) + u128::from(carry);
        (*word, carry) = halves(sum);
    }
    for word in high {
        let (sum, over) = word.overflowing_add(carry);
        *word = sum;
        if !over {
            break;
        }
        carry = 1;
    }
}

/// The square of a number of n words, in 2n + 1 words of which the last is 0.
fn square(number: &[u64], wide: &mut [u64]) {
    wide.fill(0);
    // Each product of two different words counts twice.
    for (index, word) in number.iter().enumerate() {
        if let (Some(wide), Some(row)) = (wide.get_mut(2 * index + 1..), number.get(index + 1..)) {
            add_row(wide, row, *word);
        }
    }
    let mut carry = 0;
    let mut above = 0;
    for (pair, word) in wide.chunks_exact_mut(2).zip(number) {
        let [low, high] = pair else { break };
        let (double_low, double_high) = (*low << 1 | above, *high << 1 | *low >> 63);
        above = *high >> 63;
        let (product_low, product_high) = halves(u128::from(*word) * u128::from(*word));
        let sum = u128::from(double_low) + u128::from(product_low) + u128::from(carry);
        (*low, carry) = halves(sum);
        let sum = u128::from(double_high) + u128::from(product_high) + u128::from(carry);
        (*high, carry) = halves(sum);
    }
}

/// Montgomery's reduction of a number of 2n words: divided by 2^(64 n), modulo the modulus,
/// and less than twice the modulus when it was less than `modulus * 2^(64 n)`.
fn reduce(wide: &mut [u64], modulus: &[u64], constant: u64, into: &mut [u64]) {
    for index in 0..modulus.len() {
        let Some(rest) = wide.get_mut(index..) else { break };
        let factor = rest.first().copied().unwrap_or(0).wrapping_mul(constant);
        add_row(rest, modulus, factor);
    }
    if let Some(high) = wide.get(modulus.len()..2 * modulus.len()) {
        into.copy_from_slice(high);
    }
}

fn multiply(number: &mut [u64], factor: u64) {
    let mut carry = 0;
    for word in number {
        let product = u128::from(*word) * u128::from(factor) + u128::from(carry);
        (*word, carry) = halves(product);
    }
}
