//! Against the arithmetic of `num-bigint`, and against primes that books list.

use num_bigint::BigUint;

use super::{
    LANES, Power, Progression, finder::verdicts, first_prime, first_primes, powers_of, sieve, words,
};

fn progression(start: BigUint, step: u32, terms: usize) -> Progression {
    let step = BigUint::from(step);
    Progression { start, step, terms }
}

/// Numbers that look random and are the same in every run (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn of(&mut self, bits: u64) -> BigUint {
        let bytes: Vec<u8> = (0..bits.div_ceil(64))
            .flat_map(|_| self.word().to_le_bytes())
            .collect();
        let mut number = BigUint::from_bytes_le(&bytes) % (BigUint::from(1_u32) << bits);
        number.set_bit(bits - 1, true);
        number
    }

    fn odd(&mut self, bits: u64) -> BigUint {
        let mut number = self.of(bits);
        number.set_bit(0, true);
        number
    }
}

const SIZES: [u64; 12] = [41, 52, 64, 65, 128, 256, 1000, 1023, 1024, 1030, 2048, 2100];

#[test]
fn powers_are_those_of_another_library() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for bits in SIZES {
        // Only doublings, all that shift, and one among them that doesn't.
        for (count, bases) in [1, 3, 8, 9, 16]
            .into_iter()
            .flat_map(|count| [[2_u64; 5], [2, 3, 5, 17, 33], [2, 3, 11, 17, 33]].map(|bases| (count, bases)))
        {
            let moduli: Vec<BigUint> = (0..count).map(|_| numbers.odd(bits)).collect();
            let exponents: Vec<BigUint> = (0..count).map(|_| numbers.of(bits.min(200))).collect();
            let powers: Vec<Power<'_>> = moduli
                .iter()
                .zip(&exponents)
                .zip(bases.iter().cycle())
                .map(|((modulus, exponent), base)| Power {
                    base: *base,
                    exponent,
                    modulus,
                })
                .collect();
            let expected: Vec<BigUint> = powers
                .iter()
                .map(|power| BigUint::from(power.base).modpow(power.exponent, power.modulus))
                .collect();
            assert_eq!(powers_of(&powers), expected, "{bits} bits, {count} at once");
            let one_by_one: Vec<BigUint> = powers.iter().map(words::power).collect();
            assert_eq!(one_by_one, expected, "{bits} bits, in words");
        }
    }
}

#[test]
fn numbers_of_ones_and_of_zeros_overflow_nothing() {
    for bits in SIZES {
        let one = BigUint::from(1_u32);
        let highest = (&one << bits) - 1_u32;
        let lowest = (&one << (bits - 1)) + 1_u32;
        for modulus in [&highest, &lowest] {
            let exponent = modulus - 1_u32;
            for base in [2, 31, 33, 63] {
                let power = Power {
                    base,
                    exponent: &exponent,
                    modulus,
                };
                let expected = BigUint::from(base).modpow(&exponent, modulus);
                assert_eq!(words::power(&power), expected, "{base}, {modulus}");
                assert_eq!(powers_of(&[power]), [expected], "{base}, {modulus}");
            }
        }
    }
}

#[test]
fn mersenne_numbers_are_told_apart() {
    for (exponent, prime) in [
        (521_u32, true),
        (523, false),
        (607, true),
        (1279, true),
        (1283, false),
        (2203, true),
    ] {
        let number = (BigUint::from(1_u32) << exponent) - 1_u32;
        // All of them pass the test to the base 2: only the other bases tell.
        assert_eq!(verdicts(&[number]), [(true, prime)], "2^{exponent} - 1");
    }
}

#[test]
fn what_passes_the_first_test_alone_is_passed_over() {
    let start = (BigUint::from(1_u32) << 523_u32) - 1_u32;
    let next = first_prime(&progression(&start + 2_u32, 2, 1_000));
    assert!(next.is_some());
    assert_eq!(first_prime(&progression(start, 2, 1_000)), next);
}

#[test]
fn several_are_found_as_each_would_be() {
    let mut numbers = Numbers(11);
    for count in [2, 3, LANES + 4] {
        // Of the short ones some hold no prime.
        let progressions: Vec<Progression> = (0..count)
            .map(|index| progression(numbers.odd(256), 2, if index % 3 == 0 { 60 } else { 4_000 }))
            .collect();
        let alone: Vec<Option<BigUint>> = progressions.iter().map(first_prime).collect();
        assert_eq!(first_primes(&progressions), alone);
    }
    assert_eq!(first_primes(&[]), []);
}

#[test]
fn carmichael_numbers_are_no_primes() {
    // The second is a strong pseudoprime to the bases 2 to 17 (Jaeschke 1993).
    for (text, first) in [("9746347772161", false), ("341550071728321", true)] {
        let number: BigUint = text.parse().expect("a number");
        assert_eq!(verdicts(&[number]), [(first, false)], "{text}");
    }
}

#[test]
fn the_sieve_leaves_what_has_no_small_factor() {
    let mut numbers = Numbers(7);
    let start = numbers.odd(256);
    for step in [BigUint::from(2_u32), numbers.of(200) << 1] {
        let left = sieve::without_small_factors(&start, &step, 2_000);
        let no_factor_below = |bound| {
            let primes = sieve::primes_below(bound);
            let without = (0..2_000).filter(|index| {
                let term = &start + &step * *index;
                primes.iter().all(|prime| &term % *prime != BigUint::from(0_u32))
            });
            without.collect::<Vec<usize>>()
        };
        #[cfg(target_arch = "x86_64")]
        if step == BigUint::from(2_u32) && super::lanes::are_there() {
            assert_eq!(left, no_factor_below(sieve::WIDE_BOUND));
            continue;
        }
        assert_eq!(left, no_factor_below(sieve::BOUND));
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn remainders_taken_together_are_those_taken_one_by_one() {
    use super::lanes::{self, residues::Divisors};

    let mut primes = sieve::primes_below(1 << 12);
    primes.extend([104_729, 262_139, 33_554_393]);
    let divisors = Divisors::new(&primes);
    let mut numbers = Numbers(5);
    let mut starts: Vec<BigUint> = SIZES.iter().map(|bits| numbers.odd(*bits)).collect();
    starts.push((BigUint::from(1_u32) << 1_024_u32) - 1_u32);
    starts.push((BigUint::from(1_u32) << 1_040_u32) + 1_u32);
    starts.push(
        primes
            .iter()
            .take(80)
            .map(|prime| BigUint::from(*prime))
            .product(),
    );
    for start in starts {
        let mut all = std::collections::BTreeMap::new();
        let there = divisors.first_multiples(&start, usize::MAX, |prime, first| {
            assert!(first < u64::from(prime), "{first} of {prime}");
            let multiple = &start + 2 * first;
            assert_eq!(multiple % prime, BigUint::from(0_u32), "{prime} and {start}");
            all.insert(prime, first);
        });
        assert_eq!(there, lanes::are_there());
        assert!(!there || all.keys().eq(&primes));
        let mut near = std::collections::BTreeMap::new();
        divisors.first_multiples(&start, 100, |prime, first| {
            near.insert(prime, first);
        });
        all.retain(|_, first| *first < 100);
        assert_eq!(near, all);
    }
}

#[test]
fn marking_one_by_one_leaves_the_same() {
    let start = Numbers(9).odd(300);
    let mut composite = vec![false; 3_000];
    sieve::mark_one_by_one(&start, &BigUint::from(2_u32), &mut composite);
    for (index, composite) in composite.into_iter().enumerate() {
        let term = &start + 2 * index;
        let factor = sieve::SMALL_PRIMES
            .iter()
            .any(|prime| &term % *prime == BigUint::from(0_u32));
        assert_eq!(composite, factor, "{index}");
    }
}

#[test]
fn a_step_that_shares_a_factor_with_the_start_leaves_nothing() {
    let start = BigUint::from(3_u32) * Numbers(3).odd(100);
    assert_eq!(first_prime(&progression(start, 6, 1_000)), None);
}

#[test]
fn the_first_prime_above_a_power_of_two_is_known() {
    // OEIS A013597: the least k with 2^n + k prime.
    for (bits, next) in [
        (64_u32, 13_u32),
        (128, 51),
        (256, 297),
        (512, 75),
        (1023, 1155),
        (1024, 643),
        (2048, 981),
    ] {
        let power = BigUint::from(1_u32) << bits;
        let found = first_prime(&progression(&power + 1_u32, 2, 10_000));
        assert_eq!(found, Some(power + next), "2^{bits}");
    }
}

#[test]
fn without_a_prime_in_reach_there_is_none() {
    // Between 2^1024 + 1 and 2^1024 + 643 there is none.
    let start = (BigUint::from(1_u32) << 1_024_u32) + 1_u32;
    assert_eq!(first_prime(&progression(start, 2, 321)), None);
}
