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
    let mut searches: Vec<Search<'_>> = progressions.iter().map(Search::new).collect();
    loop {
        let looking = searches.iter().filter(|search| search.is_looking()).count();
        let waiting = searches.iter().filter(|search| search.found.is_some()).count();
        // Two candidates' bases are raised together.
        if waiting >= 2 || looking == 0 && waiting > 0 {
            decide(&mut searches);
        } else if looking == 0 {
            return searches.into_iter().map(|search| search.prime).collect();
        } else {
            advance(&mut searches, looking);
        }
    }
}

/// The search of a progression.
struct Search<'a> {
    progression: &'a Progression,
    /// Indexes of the terms that have no small factors.
    left: Vec<usize>,
    /// The first of them that was not tested.
    next: usize,
    /// One that has passed the first test.
    found: Option<BigUint>,
    prime: Option<BigUint>,
}

impl<'a> Search<'a> {
    fn new(progression: &'a Progression) -> Self {
        let Progression { start, step, terms } = progression;
        Self {
            progression,
            left: sieve::without_small_factors(start, step, *terms),
            next: 0,
            found: None,
            prime: None,
        }
    }

    fn is_looking(&self) -> bool {
        self.prime.is_none() && self.found.is_none() && self.next < self.left.len()
    }

    /// The next candidates.
    fn candidates(&self, count: usize) -> impl Iterator<Item = BigUint> {
        let Progression { start, step, .. } = self.progression;
        let left = self.left.iter().skip(self.next).take(count);
        left.map(move |index| start + step * *index)
    }
}

/// Tests the next candidates of every search that looks for one; there are `looking`.
fn advance(searches: &mut [Search<'_>], looking: usize) {
    let width = width();
    let share = (width / looking).max(1);
    let looking: Vec<usize> = (0..searches.len())
        .filter(|index| searches.get(*index).is_some_and(Search::is_looking))
        .take(width)
        .collect();
    let mut batch = Vec::with_capacity(width);
    let mut owners = Vec::with_capacity(width);
    for (place, index) in looking.iter().enumerate() {
        let more = usize::from(place < width % looking.len());
        let candidates = searches.get(*index).map(|search| search.candidates(share + more));
        batch.extend(candidates.into_iter().flatten());
        owners.resize(batch.len(), *index);
    }
    let passes = passes_base_two(&batch);
    for ((candidate, owner), passes) in batch.into_iter().zip(owners).zip(passes) {
        if let Some(search) = searches.get_mut(owner)
            && search.found.is_none()
        {
            search.next += 1;
            search.found = passes.then_some(candidate);
        }
    }
}

/// Tells of the candidates that have passed the first test whether they are primes.
fn decide(searches: &mut [Search<'_>]) {
    let mut waiting: Vec<&mut Search<'_>> = searches
        .iter_mut()
        .filter(|search| search.found.is_some())
        .collect();
    let candidates: Vec<BigUint> = waiting
        .iter_mut()
        .filter_map(|search| search.found.take())
        .collect();
    let strong = are_strong_probable_primes(&candidates);
    for ((search, candidate), strong) in waiting.into_iter().zip(candidates).zip(strong) {
        search.prime = strong.then_some(candidate);
    }
}

/// How many powers are best taken together.
fn width() -> usize {
    #[cfg(target_arch = "x86_64")]
    if lanes::are_there() {
        return LANES;
    }
    1
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

/// A candidate, and what is below it without its factors of 2.
struct Odd<'a> {
    candidate: &'a BigUint,
    below: BigUint,
    twos: u64,
    exponent: BigUint,
}

impl<'a> Odd<'a> {
    fn new(candidate: &'a BigUint) -> Self {
        let below = candidate - 1_u32;
        let twos = below.trailing_zeros().unwrap_or(0);
        Self {
            candidate,
            exponent: &below >> twos,
            below,
            twos,
        }
    }

    fn power(&self, base: u64) -> Power<'_> {
        Power {
            base,
            exponent: &self.exponent,
            modulus: self.candidate,
        }
    }

    /// Whether a base's power to the exponent is what it is for a prime.
    fn allows(&self, power: &BigUint) -> bool {
        if *power == BigUint::from(1_u32) || *power == self.below {
            return true;
        }
        let mut power = power.clone();
        (1..self.twos).any(|_| {
            power = &power * &power % self.candidate;
            power == self.below
        })
    }
}

/// Miller and Rabin's test of each candidate to each of [`BASES`].
fn are_strong_probable_primes(candidates: &[BigUint]) -> Vec<bool> {
    let odds: Vec<Odd<'_>> = candidates.iter().map(Odd::new).collect();
    let together = odds.chunks(LANES / BASES.len());
    let strong = together.flat_map(|odds| {
        let powers: Vec<Power<'_>> = odds
            .iter()
            .flat_map(|odd| BASES.iter().map(move |base| odd.power(*base)))
            .collect();
        let powers = powers_of(&powers);
        let strong = odds.iter().zip(powers.chunks(BASES.len()));
        strong
            .map(|(odd, powers)| powers.iter().all(|power| odd.allows(power)))
            .collect::<Vec<bool>>()
    });
    strong.collect()
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
