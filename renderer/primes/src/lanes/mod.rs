//! Arithmetic on many numbers at once, with AVX-512's multiplications of 52-bit limbs (IFMA):
//! powers (`powers`), and remainders of a number by many primes (`residues`).
//!
//! A vector holds one limb of each of eight numbers.

pub(crate) mod powers;
pub(crate) mod residues;

use std::arch::x86_64::{__m512i, __mmask8};

/// Bits of a limb.
const LIMB: u32 = 52;
const MASK: u64 = (1 << LIMB) - 1;

/// The lanes of a vector.
const VECTOR: usize = 8;

pulp::simd_type! {
    /// That the processor has these instructions.
    struct Ifma {
        f: "avx512f",
        ifma: "avx512ifma",
    }
}

/// One limb in each lane of `W` vectors: with several, the products of one fill the time in which
/// the others wait for a sum.
type Limb<const W: usize> = [__m512i; W];

/// Whether this processor has the instructions.
pub(crate) fn are_there() -> bool {
    Ifma::try_new().is_some()
}

// Plain loops: they are unrolled, and the instructions of a closure would not be inlined, for
// a closure does not have the processor's features that its caller has.
#[allow(clippy::needless_range_loop)]
impl Ifma {
    #[inline(always)]
    fn zero<const W: usize>(self) -> Limb<W> {
        [self.f._mm512_setzero_si512(); W]
    }

    /// The same in all lanes.
    #[inline(always)]
    fn all<const W: usize>(self, number: u64) -> Limb<W> {
        [self.f._mm512_set1_epi64(number.cast_signed()); W]
    }

    /// The sum and the low 52 bits of the product.
    #[inline(always)]
    fn low<const W: usize>(self, mut sum: Limb<W>, a: Limb<W>, b: Limb<W>) -> Limb<W> {
        for v in 0..W {
            sum[v] = self.ifma._mm512_madd52lo_epu64(sum[v], a[v], b[v]);
        }
        sum
    }

    /// The sum and the high 52 bits of the product.
    #[inline(always)]
    fn high<const W: usize>(self, mut sum: Limb<W>, a: Limb<W>, b: Limb<W>) -> Limb<W> {
        for v in 0..W {
            sum[v] = self.ifma._mm512_madd52hi_epu64(sum[v], a[v], b[v]);
        }
        sum
    }

    #[inline(always)]
    fn add<const W: usize>(self, mut a: Limb<W>, b: Limb<W>) -> Limb<W> {
        for v in 0..W {
            a[v] = self.f._mm512_add_epi64(a[v], b[v]);
        }
        a
    }

    /// The sum in the lanes that are chosen, `a` in the others.
    #[inline(always)]
    fn add_some<const W: usize>(self, mut a: Limb<W>, chosen: [__mmask8; W], b: Limb<W>) -> Limb<W> {
        for v in 0..W {
            a[v] = self.f._mm512_mask_add_epi64(a[v], chosen[v], a[v], b[v]);
        }
        a
    }

    /// What is above the lowest 52 bits.
    #[inline(always)]
    fn carry<const W: usize>(self, mut a: Limb<W>) -> Limb<W> {
        for v in 0..W {
            a[v] = self.f._mm512_srli_epi64::<LIMB>(a[v]);
        }
        a
    }

    /// The lowest 52 bits.
    #[inline(always)]
    fn limb<const W: usize>(self, mut a: Limb<W>) -> Limb<W> {
        let mask = self.f._mm512_set1_epi64(MASK.cast_signed());
        for v in 0..W {
            a[v] = self.f._mm512_and_si512(a[v], mask);
        }
        a
    }

    /// Each lane by its own number of bits to the left.
    #[inline(always)]
    fn shift<const W: usize>(self, mut a: Limb<W>, bits: Limb<W>) -> Limb<W> {
        for v in 0..W {
            a[v] = self.f._mm512_sllv_epi64(a[v], bits[v]);
        }
        a
    }

    /// Which lanes have a bit of the mask.
    #[inline(always)]
    fn having<const W: usize>(self, a: Limb<W>, mask: u64) -> [__mmask8; W] {
        let mask = self.f._mm512_set1_epi64(mask.cast_signed());
        let mut having = [0; W];
        for v in 0..W {
            having[v] = self.f._mm512_test_epi64_mask(a[v], mask);
        }
        having
    }

    /// The rest of a number that is less than twice the divisor.
    #[inline(always)]
    fn wrap<const W: usize>(self, mut a: Limb<W>, divisor: Limb<W>) -> Limb<W> {
        for v in 0..W {
            // A difference below 0 is a huge number without a sign.
            let less = self.f._mm512_sub_epi64(a[v], divisor[v]);
            a[v] = self.f._mm512_min_epu64(a[v], less);
        }
        a
    }
}

/// The limbs of a number, the lowest first.
fn limbs(number: &num_bigint::BigUint) -> impl Iterator<Item = u64> {
    let words = number.to_u64_digits();
    (0..).map_while(move |index| {
        let bit = index * LIMB as usize;
        let first = *words.get(bit / 64)?;
        let pair = u128::from(first) | u128::from(words.get(bit / 64 + 1).copied().unwrap_or(0)) << 64;
        Some(low_word(pair >> (bit % 64)) & MASK)
    })
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "the low half is what is asked for"
)]
fn low_word(pair: u128) -> u64 {
    pair as u64
}
