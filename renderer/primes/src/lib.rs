//! Large primes, found fast: what RSA and DSA keys are made of.
//!
//! A key of 2048 bits wants two primes of 1024, and each is found by raising 2 to the power
//! of some thirty or forty candidates. Libraries take 60 to 75 ms for that; charts that make their own
//! certificates spend nearly all their time there. Here a sieve leaves fewer candidates, and
//! the powers are taken 16 at a time where the processor has AVX-512's 52-bit
//! multiplications (`lanes`), else one by one in 64-bit words (`words`).
//!
//! The answer depends on the start alone, never on the processor: the first prime of an
//! arithmetic progression. This crate knows nothing of randomness or of keys.
//!
//! Not for secrets that others can time: the work depends on the candidates.

mod finder;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod sieve;
mod words;

pub use finder::Finder;
use num_bigint::BigUint;

/// The candidates whose powers are taken together.
const LANES: usize = 16;

/// A power to take: `base` to `exponent`, modulo the odd `modulus`.
struct Power<'a> {
    base: u64,
    exponent: &'a BigUint,
    modulus: &'a BigUint,
}

/// `start`, `start + step`, … (`terms` of them). The start is odd and above 2^40, the step is even and
/// not zero.
#[derive(Debug, Clone)]
pub struct Progression {
    /// The first term.
    pub start: BigUint,
    /// What lies between two terms.
    pub step: BigUint,
    /// How many terms there are.
    pub terms: usize,
}

/// The first prime of a progression, if there is one.
#[must_use]
pub fn first_prime(progression: &Progression) -> Option<BigUint> {
    first_primes(std::slice::from_ref(progression)).pop().flatten()
}

/// The first prime of each progression. Several are found in less time than one after the other: where
/// powers are taken together, the candidates behind a prime are tested in vain, and these are fewer.
#[must_use]
pub fn first_primes(progressions: &[Progression]) -> Vec<Option<BigUint>> {
    let mut primes = vec![None; progressions.len()];
    let mut finder = Finder::default();
    for (index, progression) in progressions.iter().enumerate() {
        finder.add(index, progression.clone());
    }
    while finder.searches() > 0 {
        for (index, prime) in finder.advance() {
            if let Some(place) = primes.get_mut(index) {
                *place = prime;
            }
        }
    }
    primes
}

/// How many powers are best taken together.
fn width() -> usize {
    #[cfg(target_arch = "x86_64")]
    if lanes::are_there() {
        return LANES;
    }
    1
}

/// The powers, each at least 0 and below its modulus.
fn powers_of(powers: &[Power<'_>]) -> Vec<BigUint> {
    #[cfg(target_arch = "x86_64")]
    if let Some(done) = lanes::powers::powers(powers) {
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
