//! Large primes, found fast: what RSA and DSA keys are made of.
//!
//! A key of 2048 bits wants two primes of 1024, and each is found by raising 2 to the power
//! of some forty candidates. Libraries take 60 to 75 ms for that; charts that make their own
//! certificates spend nearly all their time there. Here a sieve leaves fewer candidates, and
//! the powers are taken 16 at a time where the processor has AVX-512's 52-bit
//! multiplications (`lanes`), else one by one in 64-bit words (`words`).
//!
//! The answer depends on the start alone, never on the processor: the first prime of an
//! arithmetic progression. This crate knows nothing of randomness or of keys.
//!
//! Not for secrets that others can time: the work depends on the candidates.

#[cfg(target_arch = "x86_64")]
mod lanes;
mod sieve;
mod words;

use num_bigint::BigUint;

/// The candidates whose powers are taken together.
const LANES: usize = 16;

/// The bases of Miller and Rabin's test that follow the power of 2. They are fixed, so the bounds
/// that standards give for random bases don't apply: it is the candidates that are random here.
/// A number made by an adversary could pass.
const BASES: [u64; 8] = [3, 5, 7, 11, 13, 17, 19, 23];

/// A power to take: `base` to `exponent`, modulo the odd `modulus`.
struct Power<'a> {
    base: u64,
    exponent: &'a BigUint,
    modulus: &'a BigUint,
}

/// The first prime among `start`, `start + step`, … (`terms` of them), if there is one.
///
/// `start` is odd and above 2^40, `step` is even and not zero.
#[must_use]
pub fn first_prime(start: &BigUint, step: &BigUint, terms: usize) -> Option<BigUint> {
    let left = sieve::without_small_factors(start, step, terms);
    let mut left = left.iter();
    loop {
        let batch: Vec<BigUint> = left
            .by_ref()
            .take(LANES)
            .map(|index| start + step * *index)
            .collect();
        if batch.is_empty() {
            return None;
        }
        for (candidate, passes) in batch.iter().zip(passes_base_two(&batch)) {
            if passes && is_strong_probable_prime(candidate) {
                return Some(candidate.clone());
            }
        }
    }
}

/// Which of at most [`LANES`] odd candidates pass Fermat's test to the base 2.
fn passes_base_two(candidates: &[BigUint]) -> Vec<bool> {
    let one = BigUint::from(1_u32);
    let exponents: Vec<BigUint> = candidates.iter().map(|candidate| candidate - 1_u32).collect();
    let powers: Vec<Power<'_>> = candidates
        .iter()
        .zip(&exponents)
        .map(|(modulus, exponent)| Power {
            base: 2,
            exponent,
            modulus,
        })
        .collect();
    powers_of(&powers).iter().map(|power| *power == one).collect()
}

/// Miller and Rabin's test to each of [`BASES`].
fn is_strong_probable_prime(candidate: &BigUint) -> bool {
    let one = BigUint::from(1_u32);
    let below = candidate - 1_u32;
    let twos = below.trailing_zeros().unwrap_or(0);
    let exponent = &below >> twos;
    let powers: Vec<Power<'_>> = BASES
        .iter()
        .map(|base| Power {
            base: *base,
            exponent: &exponent,
            modulus: candidate,
        })
        .collect();
    powers_of(&powers).into_iter().all(|mut power| {
        if power == one || power == below {
            return true;
        }
        (1..twos).any(|_| {
            power = &power * &power % candidate;
            power == below
        })
    })
}

/// The powers, each at least 0 and below its modulus.
fn powers_of(powers: &[Power<'_>]) -> Vec<BigUint> {
    #[cfg(target_arch = "x86_64")]
    if let Some(done) = lanes::powers(powers) {
        return done;
    }
    powers.iter().map(words::power).collect()
}

/// How often Newton's step must run for an inverse modulo 2^64, from one that is right
/// modulo 8.
const NEWTON_STEPS: u32 = 5;

/// `-1/odd` modulo 2^64: Montgomery's constant for a modulus whose lowest word is `odd`.
fn montgomery_constant(odd: u64) -> u64 {
    let mut inverse = odd;
    for _ in 0..NEWTON_STEPS {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse.wrapping_neg()
}

#[cfg(test)]
mod tests;
