//! The remainders of one number by many primes, by Montgomery's method: eight primes a vector.

use std::arch::x86_64::__mmask8;

use num_bigint::BigUint;

use super::{Ifma, LIMB, Limb, MASK, VECTOR, limbs};
use crate::montgomery_constant;

/// Vectors side by side: each step waits for the one before, those of the other vectors don't.
const SIDE: usize = 8;
/// The primes that are divided by together.
const GROUP: usize = SIDE * VECTOR;
/// So that the product of two remainders, a limb and the carry stay in 64 bits, and the sum's upper bits
/// add no second multiple of the prime.
const LARGEST: u32 = 1 << 25;

/// [`GROUP`] odd primes below [`LARGEST`], and what each one's remainders are made with.
struct Group {
    primes: [u32; GROUP],
    /// Montgomery's constant modulo 2^52.
    constants: [u64; GROUP],
    /// 2^104 modulo the prime: makes up for two reductions.
    squares: [u32; GROUP],
    /// -2^103 modulo the prime.
    halves: [u32; GROUP],
}

/// Primes to divide by.
pub(crate) struct Divisors(Vec<Group>);

impl Divisors {
    /// The last group is filled up with its first prime.
    pub(crate) fn new(primes: &[u32]) -> Self {
        debug_assert!(primes.iter().all(|prime| prime % 2 == 1 && *prime < LARGEST));
        Self(primes.chunks(GROUP).map(Group::new).collect())
    }

    /// Calls with each prime and the least k at which `number + 2k` is a multiple of it, if that k is below `end`;
    /// false when this processor can't.
    pub(crate) fn first_multiples(
        &self,
        number: &BigUint,
        end: usize,
        mut each: impl FnMut(u32, u64),
    ) -> bool {
        let Some(simd) = Ifma::try_new() else {
            return false;
        };
        let mut limbs: Vec<u64> = limbs(number).collect();
        limbs.reverse();
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        let mut firsts = [0; GROUP];
        for group in &self.0 {
            let below = simd.vectorize(Divide {
                simd,
                limbs: &limbs,
                group,
                end,
                firsts: &mut firsts,
            });
            // Of the larger primes few have a multiple that near.
            for (vector, mut below) in below.into_iter().enumerate() {
                while below != 0 {
                    let lane = vector * VECTOR + below.trailing_zeros() as usize;
                    each(group.primes[lane], firsts[lane]);
                    below &= below - 1;
                }
            }
        }
        true
    }
}

impl Group {
    fn new(primes: &[u32]) -> Self {
        let filler = primes.first().copied().unwrap_or(3);
        let mut group = Self {
            primes: [filler; GROUP],
            constants: [0; GROUP],
            squares: [0; GROUP],
            halves: [0; GROUP],
        };
        group.primes[..primes.len()].copy_from_slice(primes);
        for (lane, prime) in group.primes.iter().enumerate() {
            let modulus = u64::from(*prime);
            let limb = (1 << LIMB) % modulus;
            let square = limb * limb % modulus;
            // Half of a number modulo an odd one: it, or their sum, is even.
            let half = if square.is_multiple_of(2) {
                square
            } else {
                square + modulus
            } / 2;
            group.constants[lane] = montgomery_constant(modulus) & MASK;
            group.squares[lane] = u32::try_from(square).unwrap_or(0);
            group.halves[lane] = u32::try_from((modulus - half) % modulus).unwrap_or(0);
        }
        group
    }
}

/// What runs with the instructions switched on.
struct Divide<'a> {
    simd: Ifma,
    /// The highest first.
    limbs: &'a [u64],
    group: &'a Group,
    end: u64,
    firsts: &'a mut [u64; GROUP],
}

impl pulp::NullaryFnOnce for Divide<'_> {
    /// Which lanes are below the end.
    type Output = [__mmask8; SIDE];

    #[inline(always)]
    fn call(self) -> Self::Output {
        let Self {
            simd,
            limbs,
            group,
            end,
            firsts,
        } = self;
        let primes = simd.widen(&group.primes);
        let constants: Limb<SIDE> = pulp::cast(group.constants);
        let squares = simd.widen(&group.squares);
        // What is kept is the rest divided by 2^52, modulo the prime: so the next limb is added to the
        // rest's product by 2^104 before the reduction.
        let mut rest = simd.zero();
        for limb in limbs {
            let sum = simd.low(simd.all(*limb), rest, squares);
            rest = simd.divide(sum, primes, constants);
        }
        // -number / 2, and the 2^52 that the rest lacks.
        let product = simd.low(simd.zero(), rest, simd.widen(&group.halves));
        let first = simd.wrap(simd.divide(product, primes, constants), primes);
        *firsts = pulp::cast(first);
        simd.below(first, end)
    }
}

// Plain loops, as above.
#[allow(clippy::needless_range_loop)]
impl Ifma {
    /// The sum divided by 2^52 modulo the prime, at most one more than it.
    #[inline(always)]
    fn divide<const W: usize>(self, sum: Limb<W>, primes: Limb<W>, constants: Limb<W>) -> Limb<W> {
        let factor = self.low(self.zero(), sum, constants);
        let carry = self.carry(self.low(sum, factor, primes));
        self.high(carry, factor, primes)
    }

    /// Which lanes are below the end.
    #[inline(always)]
    fn below<const W: usize>(self, a: Limb<W>, end: u64) -> [__mmask8; W] {
        let end = self.f._mm512_set1_epi64(end.cast_signed());
        let mut below = [0; W];
        for v in 0..W {
            below[v] = self.f._mm512_cmplt_epu64_mask(a[v], end);
        }
        below
    }

    #[inline(always)]
    fn widen(self, numbers: &[u32; GROUP]) -> Limb<SIDE> {
        let (numbers, _) = numbers.as_chunks::<VECTOR>();
        let mut wide = self.zero();
        for v in 0..SIDE {
            wide[v] = self.f._mm512_cvtepu32_epi64(pulp::cast(numbers[v]));
        }
        wide
    }
}
