//! Powers of up to 16 numbers at once, by Montgomery's method, with AVX-512's multiplications of
//! 52-bit limbs (IFMA).
//!
//! A vector holds one limb of each of eight numbers; a number of n limbs is n vectors, the
//! lowest first, or n pairs of vectors. Sums stay in 64 bits: a limb takes fewer than 2^12 additions of 52 bits between two
//! carries.

use std::arch::x86_64::__m512i;

use num_bigint::BigUint;

use super::{LANES, Power, montgomery_constant};

/// Bits of a limb.
const LIMB: u32 = 52;
const MASK: u64 = (1 << LIMB) - 1;
/// Bits that a number of limbs has above its modulus: a product of two numbers below 64 times
/// the modulus still reduces to less than twice the modulus. That lets [`LARGEST_BASE`] in.
const SPARE: u64 = 13;
/// So that a number below twice the modulus stays below 64 times when multiplied by the base.
const LARGEST_BASE: u64 = 31;

pulp::simd_type! {
    /// That the processor has these instructions.
    struct Ifma {
        f: "avx512f",
        ifma: "avx512ifma",
    }
}

/// A number of `N` limbs in each lane.
type Number<const N: usize, const W: usize> = [Limb<W>; N];

/// One limb in each lane of `W` vectors: with two, the products of one fill the time in which
/// the other waits for a sum.
type Limb<const W: usize> = [__m512i; W];

/// The lanes of a vector.
const VECTOR: usize = 8;

/// Whether this processor has the instructions.
pub(crate) fn are_there() -> bool {
    Ifma::try_new().is_some()
}

/// The powers; none when this processor can't, or the numbers don't fit.
pub(crate) fn powers(powers: &[Power<'_>]) -> Option<Vec<BigUint>> {
    let bits = powers.iter().map(|power| power.modulus.bits()).max()?;
    if powers.len() > LANES || powers.iter().any(|power| power.base > LARGEST_BASE) {
        return None;
    }
    let simd = Ifma::try_new()?;
    let fits = |limbs: u64| bits + SPARE <= limbs * u64::from(LIMB);
    Some(match powers.len() > VECTOR {
        false if fits(20) => Exponentiation::<20, 40, 1>::new(simd, powers).run(),
        true if fits(20) => Exponentiation::<20, 40, 2>::new(simd, powers).run(),
        false if fits(40) => Exponentiation::<40, 80, 1>::new(simd, powers).run(),
        true if fits(40) => Exponentiation::<40, 80, 2>::new(simd, powers).run(),
        _ => return None,
    })
}

/// `D` is twice `N`.
struct Exponentiation<'a, const N: usize, const D: usize, const W: usize> {
    simd: Ifma,
    powers: &'a [Power<'a>],
    modulus: Number<N, W>,
    /// Montgomery's constant modulo 2^52.
    constant: Limb<W>,
    number: Number<N, W>,
}

impl<'a, const N: usize, const D: usize, const W: usize> Exponentiation<'a, N, D, W> {
    fn new(simd: Ifma, powers: &'a [Power<'a>]) -> Self {
        let one = BigUint::from(1_u32) << (N * LIMB as usize);
        let mut constants = [[1_u64; VECTOR]; W];
        for (constant, power) in constants.iter_mut().flatten().zip(powers) {
            let low = power.modulus.iter_u64_digits().next().unwrap_or(1);
            *constant = montgomery_constant(low) & MASK;
        }
        Self {
            simd,
            powers,
            modulus: spread(powers.iter().map(|power| power.modulus.clone())),
            constant: constants.map(pulp::cast),
            number: spread(powers.iter().map(|power| &one % power.modulus)),
        }
    }

    fn run(mut self) -> Vec<BigUint> {
        let (simd, powers) = (self.simd, self.powers);
        simd.vectorize(Raise(&mut self));
        gather(&self.number)
            .into_iter()
            .zip(powers)
            .map(|(number, power)| number % power.modulus)
            .collect()
    }
}

/// What runs with the instructions switched on.
struct Raise<'r, 'a, const N: usize, const D: usize, const W: usize>(&'r mut Exponentiation<'a, N, D, W>);

impl<const N: usize, const D: usize, const W: usize> pulp::NullaryFnOnce for Raise<'_, '_, N, D, W> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Exponentiation {
            simd,
            powers,
            modulus,
            constant,
            number,
        } = self.0;
        let bits = powers.iter().map(|power| power.exponent.bits()).max();
        for bit in (0..bits.unwrap_or(0)).rev() {
            let mut factors = [[1_u64; VECTOR]; W];
            for (factor, power) in factors.iter_mut().flatten().zip(powers.iter()) {
                if power.exponent.bit(bit) {
                    *factor = power.base;
                }
            }
            let mut wide = simd.square::<N, D, W>(number);
            simd.reduce(&mut wide, modulus, *constant);
            simd.multiply(&wide, factors.map(pulp::cast), number);
        }
        let mut wide = [simd.zero(); D];
        wide[..N].copy_from_slice(number);
        simd.reduce(&mut wide, modulus, *constant);
        simd.multiply(&wide, [[1_u64; VECTOR]; W].map(pulp::cast), number);
    }
}

// Plain loops: they are unrolled, and the instructions of a closure would not be inlined, for
// a closure does not have the processor's features that its caller has.
#[allow(clippy::needless_range_loop)]
impl Ifma {
    #[inline(always)]
    fn zero<const W: usize>(self) -> Limb<W> {
        [self.f._mm512_setzero_si512(); W]
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

    /// The square, its carries not yet taken on.
    #[inline(always)]
    fn square<const N: usize, const D: usize, const W: usize>(self, a: &Number<N, W>) -> Number<D, W> {
        let mut wide = [self.zero(); D];
        // Each product of two different limbs counts twice. Two rows at a time: what costs
        // is not the products but storing the sums.
        for i in (0..N).step_by(2) {
            let (a0, a1) = (a[i], a[i + 1]);
            wide[2 * i + 1] = self.low(wide[2 * i + 1], a0, a1);
            let (mut before, mut first, mut second) = (a1, self.zero(), self.zero());
            for j in i + 2..N {
                let sum = self.high(self.low(wide[i + j], a0, a[j]), a0, before);
                wide[i + j] = self.high(self.low(sum, a1, first), a1, second);
                before = a[j];
                second = first;
                first = a[j];
            }
            let sum = self.high(wide[i + N], a0, before);
            wide[i + N] = self.high(self.low(sum, a1, first), a1, second);
            wide[i + N + 1] = self.high(wide[i + N + 1], a1, first);
        }
        for i in 0..N {
            let (even, odd) = (wide[2 * i], wide[2 * i + 1]);
            wide[2 * i] = self.low(self.add(even, even), a[i], a[i]);
            wide[2 * i + 1] = self.high(self.add(odd, odd), a[i], a[i]);
        }
        wide
    }

    /// Makes the lower half 0 modulo 2^(52 N) by adding multiples of the modulus, and takes its
    /// carry on: the upper half is the quotient.
    #[inline(always)]
    fn reduce<const N: usize, const D: usize, const W: usize>(
        self,
        wide: &mut Number<D, W>,
        modulus: &Number<N, W>,
        constant: Limb<W>,
    ) {
        let m = modulus;
        for i in (0..N).step_by(2) {
            let f0 = self.low(self.zero(), wide[i], constant);
            let carry = self.carry(self.low(wide[i], f0, m[0]));
            let sum = self.high(self.low(wide[i + 1], f0, m[1]), f0, m[0]);
            let sum = self.add(sum, carry);
            let f1 = self.low(self.zero(), sum, constant);
            let carry = self.carry(self.low(sum, f1, m[0]));
            wide[i + 2] = self.add(wide[i + 2], carry);
            for j in 2..N {
                let sum = self.high(self.low(wide[i + j], f0, m[j]), f0, m[j - 1]);
                wide[i + j] = self.high(self.low(sum, f1, m[j - 1]), f1, m[j - 2]);
            }
            let sum = self.high(wide[i + N], f0, m[N - 1]);
            wide[i + N] = self.high(self.low(sum, f1, m[N - 1]), f1, m[N - 2]);
            wide[i + N + 1] = self.high(wide[i + N + 1], f1, m[N - 1]);
        }
    }

    /// The upper half of a number times a factor of few bits, in limbs of 52 bits.
    #[inline(always)]
    fn multiply<const N: usize, const D: usize, const W: usize>(
        self,
        wide: &Number<D, W>,
        factors: Limb<W>,
        into: &mut Number<N, W>,
    ) {
        let mut carry = self.zero();
        let mut product_carry = self.zero();
        for i in 0..N {
            let limb = self.add(wide[N + i], carry);
            carry = self.carry(limb);
            let limb = self.limb(limb);
            let product = self.low(product_carry, limb, factors);
            product_carry = self.high(self.carry(product), limb, factors);
            into[i] = self.limb(product);
        }
    }
}

/// Numbers in limbs, one a lane.
fn spread<const N: usize, const W: usize>(numbers: impl Iterator<Item = BigUint>) -> Number<N, W> {
    let mut limbs = [[[0_u64; VECTOR]; W]; N];
    for (lane, number) in numbers.enumerate().take(VECTOR * W) {
        let words = number.to_u64_digits();
        for (index, limb) in limbs.iter_mut().enumerate() {
            let bit = index * LIMB as usize;
            let word = |at: usize| u128::from(words.get(at).copied().unwrap_or(0));
            let pair = word(bit / 64) | word(bit / 64 + 1) << 64;
            limb[lane / VECTOR][lane % VECTOR] = low_word(pair >> (bit % 64)) & MASK;
        }
    }
    limbs.map(|limb| limb.map(pulp::cast))
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "the low half is what is asked for"
)]
fn low_word(pair: u128) -> u64 {
    pair as u64
}

/// The numbers of all lanes again.
fn gather<const N: usize, const W: usize>(number: &Number<N, W>) -> Vec<BigUint> {
    let limbs: [[[u64; VECTOR]; W]; N] = number.map(|limb| limb.map(pulp::cast));
    (0..VECTOR * W)
        .map(|lane| {
            limbs.iter().rev().fold(BigUint::from(0_u32), |number, limb| {
                (number << LIMB) + limb[lane / VECTOR][lane % VECTOR]
            })
        })
        .collect()
}
