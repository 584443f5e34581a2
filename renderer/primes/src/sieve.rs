//! Candidates without small factors.

use std::sync::LazyLock;

use num_bigint::BigUint;

#[cfg(target_arch = "x86_64")]
use super::lanes::{self, residues::Divisors};

/// Candidates are freed of all prime factors below this. A larger bound costs more here than
/// the powers it saves.
pub(crate) const BOUND: u32 = 1 << 15;
/// The same where remainders are taken many at a time.
#[cfg(target_arch = "x86_64")]
pub(crate) const WIDE_BOUND: u32 = 1 << 17;

/// The odd primes below [`BOUND`], in order.
pub(crate) static SMALL_PRIMES: LazyLock<Vec<u32>> = LazyLock::new(|| primes_below(BOUND));

/// Those below [`WIDE_BOUND`].
#[cfg(target_arch = "x86_64")]
static DIVISORS: LazyLock<Divisors> = LazyLock::new(|| Divisors::new(&primes_below(WIDE_BOUND)));

pub(crate) fn primes_below(bound: u32) -> Vec<u32> {
    let bound = bound as usize;
    let mut composite = vec![false; bound];
    let mut primes = Vec::new();
    for number in (3..bound).step_by(2) {
        if composite.get(number).copied().unwrap_or(true) {
            continue;
        }
        primes.push(u32::try_from(number).unwrap_or(u32::MAX));
        composite
            .iter_mut()
            .skip(number * number)
            .step_by(number)
            .for_each(|composite| *composite = true);
    }
    primes
}

/// The indexes below `terms` at which `start + index * step` has no odd prime factor below
/// [`BOUND`], or below a larger bound.
///
/// `start` is larger than 2^40, so that no term is one of these primes itself.
pub(crate) fn without_small_factors(start: &BigUint, step: &BigUint, terms: usize) -> Vec<usize> {
    let mut composite = vec![false; terms];
    #[cfg(target_arch = "x86_64")]
    if *step == BigUint::from(2_u32) && lanes::are_there() {
        DIVISORS.first_multiples(start, terms, |prime, first| {
            mark(&mut composite, u64::from(prime), first)
        });
        return left(&composite);
    }
    mark_one_by_one(start, step, &mut composite);
    left(&composite)
}

fn left(composite: &[bool]) -> Vec<usize> {
    let indexes = composite.iter().enumerate();
    indexes
        .filter_map(|(index, composite)| (!composite).then_some(index))
        .collect()
}

/// The first and every `prime`-th after it.
fn mark(composite: &mut [bool], prime: u64, first: u64) {
    let first = usize::try_from(first).unwrap_or(usize::MAX);
    let prime = usize::try_from(prime).unwrap_or(usize::MAX);
    if let Some(rest) = composite.get_mut(first..) {
        rest.iter_mut()
            .step_by(prime)
            .for_each(|composite| *composite = true);
    }
}

/// Marks the multiples of [`SMALL_PRIMES`], on any processor.
pub(crate) fn mark_one_by_one(start: &BigUint, step: &BigUint, composite: &mut [bool]) {
    let (start, step) = (start.to_u64_digits(), step.to_u64_digits());
    for group in SMALL_PRIMES.chunks(4) {
        // Four primes of 15 bits fit one word: long divisions are what this costs.
        let product: u64 = group.iter().map(|prime| u64::from(*prime)).product();
        let (start, step) = (remainder(&start, product), remainder(&step, product));
        for prime in group {
            let prime = u64::from(*prime);
            match inverse(step % prime, prime) {
                // start + index * step = 0, solved for the index.
                Some(inverse) => mark(composite, prime, (prime - start % prime) * inverse % prime),
                None if start % prime == 0 => composite.fill(true),
                None => {}
            }
        }
    }
}

/// Of a number in words, the lowest first.
fn remainder(words: &[u64], divisor: u64) -> u64 {
    let divisor = u128::from(divisor);
    let rest = words
        .iter()
        .rev()
        .fold(0_u128, |rest, word| (rest << 64 | u128::from(*word)) % divisor);
    u64::try_from(rest).unwrap_or(0)
}

/// Modulo a prime; none for 0. Euclid's algorithm.
fn inverse(number: u64, prime: u64) -> Option<u64> {
    if number == 0 {
        return None;
    }
    let modulus = i64::try_from(prime).ok()?;
    let (mut rest, mut next) = (modulus, i64::try_from(number).ok()?);
    let (mut factor, mut next_factor) = (0_i64, 1_i64);
    while next != 0 {
        let quotient = rest / next;
        (rest, next) = (next, rest - quotient * next);
        (factor, next_factor) = (next_factor, factor - quotient * next_factor);
    }
    u64::try_from(factor.rem_euclid(modulus)).ok()
}
