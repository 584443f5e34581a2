//! Searches for primes side by side.

use num_bigint::BigUint;

use super::{Power, Progression, powers_of, sieve, width};

/// From so many bits on, a random number that passes few tests is a prime: FIPS 186-5 (table B.1) asks
/// for five rounds for a prime of 1024 bits (an error below 2^-112), and for four from 1536 bits on.
const LONG: u64 = 1_024;
const LONGEST: u64 = 1_536;
/// The bases of Miller and Rabin's test that follow the base 2. They are fixed, where the standard has
/// random ones: it is the candidates that are random here. A number made by an adversary could pass.
/// No base is a product of others' powers, and all are powers of two and one more, which `lanes` multiplies
/// by without a multiplication.
const LONG_BASES: [u64; 4] = [3, 5, 17, 33];
/// For shorter numbers, where a test says less.
const SHORT_BASES: [u64; 31] = [
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103,
    107, 109, 113, 127, 131,
];

fn bases(bits: u64) -> &'static [u64] {
    match bits {
        ..LONG => &SHORT_BASES,
        LONG..LONGEST => &LONG_BASES,
        _ => LONG_BASES.get(..3).unwrap_or(&LONG_BASES),
    }
}

/// Searches for the first primes of progressions.
///
/// Several are found in less time than one after the other, where powers are taken together: fewer
/// candidates are tested that lie behind a prime, and what one search leaves room for another takes.
#[derive(Default)]
pub struct Finder {
    searches: Vec<Search>,
}

/// The search of a progression.
struct Search {
    id: usize,
    progression: Progression,
    /// Indexes of the terms that have no small factors.
    left: Vec<usize>,
    /// The first of them that was not tested.
    next: usize,
    /// One that has passed the first test.
    found: Option<Candidate>,
    prime: Option<BigUint>,
}

impl Search {
    fn is_over(&self) -> bool {
        self.prime.is_some() || self.found.is_none() && self.next >= self.left.len()
    }

    /// The next candidates.
    fn candidates(&self, count: usize) -> impl Iterator<Item = Candidate> {
        let Progression { start, step, .. } = &self.progression;
        let left = self.left.iter().skip(self.next).take(count);
        left.map(move |index| Candidate::new(start + step * *index))
    }

    /// Takes on what a round has told of a candidate.
    fn learn(&mut self, candidate: Candidate, stage: Stage, passed: bool) {
        match stage {
            Stage::Rest => self.prime = passed.then_some(candidate.value),
            // The others of the round lie behind it.
            Stage::First if self.found.is_some() => {}
            Stage::First => {
                self.next += 1;
                self.found = passed.then_some(candidate);
            }
        }
    }
}

impl Finder {
    /// A search more. The number is told with its end.
    pub fn add(&mut self, id: usize, progression: Progression) {
        let Progression { start, step, terms } = &progression;
        self.searches.push(Search {
            id,
            left: sieve::without_small_factors(start, step, *terms),
            progression,
            next: 0,
            found: None,
            prime: None,
        });
    }

    /// How many searches have not ended.
    #[must_use]
    pub fn searches(&self) -> usize {
        self.searches.len()
    }

    /// One round of tests; the searches that it ends, and what they have found.
    pub fn advance(&mut self) -> Vec<(usize, Option<BigUint>)> {
        let round = self.round();
        let passed = round.passed();
        for (entry, passed) in round.entries.into_iter().zip(passed) {
            if let Some(search) = self.searches.get_mut(entry.search) {
                search.learn(entry.candidate, entry.stage, passed);
            }
        }
        let over = self.searches.extract_if(.., |search| search.is_over());
        over.map(|search| (search.id, search.prime)).collect()
    }

    /// First the candidates that have come far, then for each search that looks for one an equal share
    /// of the room that is left.
    fn round(&mut self) -> Round {
        let width = width();
        let mut round = Round::default();
        let mut looking = Vec::new();
        for (index, search) in self.searches.iter_mut().enumerate() {
            let fits = |candidate: &mut Candidate| {
                let bases = bases(candidate.value.bits()).len();
                round.tests == 0 || round.tests + bases <= width
            };
            if let Some(candidate) = search.found.take_if(fits) {
                round.add(index, candidate, Stage::Rest);
            } else if search.found.is_none() {
                looking.push(index);
            }
        }
        let room = width.saturating_sub(round.tests);
        looking.truncate(room);
        for (place, index) in looking.iter().enumerate() {
            let share = room / looking.len() + usize::from(place < room % looking.len());
            let candidates = self.searches.get(*index).map(|search| search.candidates(share));
            for candidate in candidates.into_iter().flatten() {
                round.add(*index, candidate, Stage::First);
            }
        }
        round
    }
}

/// Which bases a candidate is tested with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// The base 2: it sorts out nearly all that is no prime.
    First,
    /// The others.
    Rest,
}

impl Stage {
    fn bases(self, bits: u64) -> &'static [u64] {
        match self {
            Self::First => &[2],
            Self::Rest => bases(bits),
        }
    }
}

/// A candidate to test, for the search of that index.
struct Entry {
    search: usize,
    candidate: Candidate,
    stage: Stage,
}

/// What is tested together.
#[derive(Default)]
struct Round {
    entries: Vec<Entry>,
    tests: usize,
}

impl Round {
    fn add(&mut self, search: usize, candidate: Candidate, stage: Stage) {
        self.tests += stage.bases(candidate.value.bits()).len();
        self.entries.push(Entry {
            search,
            candidate,
            stage,
        });
    }

    /// Whether each candidate passes its tests.
    fn passed(&self) -> Vec<bool> {
        let bases = |entry: &Entry| entry.stage.bases(entry.candidate.value.bits());
        let powers: Vec<Power<'_>> = self
            .entries
            .iter()
            .flat_map(|entry| bases(entry).iter().map(|base| entry.candidate.power(*base)))
            .collect();
        let mut powers = powers_of(&powers).into_iter();
        let passed = self.entries.iter().map(|entry| {
            let powers = powers.by_ref().take(bases(entry).len());
            // All of them are taken, whatever the first say.
            powers.fold(true, |passed, power| passed & entry.candidate.allows(&power))
        });
        passed.collect()
    }
}

/// A number that may be prime, and what is below it without its factors of 2.
struct Candidate {
    value: BigUint,
    below: BigUint,
    twos: u64,
    exponent: BigUint,
}

impl Candidate {
    fn new(value: BigUint) -> Self {
        let below = &value - 1_u32;
        let twos = below.trailing_zeros().unwrap_or(0);
        Self {
            exponent: &below >> twos,
            value,
            below,
            twos,
        }
    }

    fn power(&self, base: u64) -> Power<'_> {
        Power {
            base,
            exponent: &self.exponent,
            modulus: &self.value,
        }
    }

    /// Whether a base's power to the exponent is what it is for a prime (Miller and Rabin's test).
    fn allows(&self, power: &BigUint) -> bool {
        if *power == BigUint::from(1_u32) || *power == self.below {
            return true;
        }
        let mut power = power.clone();
        (1..self.twos).any(|_| {
            power = &power * &power % &self.value;
            power == self.below
        })
    }
}

/// Which candidates pass the tests of both stages, and the first alone.
#[cfg(test)]
pub(crate) fn verdicts(candidates: &[BigUint]) -> Vec<(bool, bool)> {
    let passes = |candidate: &BigUint, stage| {
        let mut round = Round::default();
        round.add(0, Candidate::new(candidate.clone()), stage);
        round.passed() == [true]
    };
    let verdict = |candidate| {
        let first = passes(candidate, Stage::First);
        (first, first && passes(candidate, Stage::Rest))
    };
    candidates.iter().map(verdict).collect()
}
