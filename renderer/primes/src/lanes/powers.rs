//! Powers of up to 16 numbers at once, by Montgomery's method.
//!
//! A number of n limbs is n vectors, the lowest first, or n pairs of vectors. Sums stay in 64 bits:
//! a limb takes fewer than 2^12 additions of 52 bits between two carries.

use std::arch::x86_64::__mmask8;

use num_bigint::BigUint;

use super::{Ifma, LIMB, Limb, MASK, VECTOR, limbs};
use crate::{LANES, Power, montgomery_constant};

/// Bits that a number of limbs has above its modulus: a product of two numbers below 128 times
/// the modulus still reduces to less than twice the modulus. That lets [`LARGEST_BASE`] in.
const SPARE: u64 = 14;
/// So that a number below twice the modulus stays below 128 times when multiplied by the base.
const LARGEST_BASE: u64 = 63;

/// How many limbs are multiplied by the others at a time: a column's sum stays in its register meanwhile.
///
/// What is done with so many limbs is written out, not a loop: a binary made for size does not unroll it.
const ROWS: usize = 4;

/// [`ROWS`] limbs of the numbers.
type Chunk<const W: usize> = [Limb<W>; ROWS];

/// A number of `N` chunks in each lane.
type Number<const N: usize, const W: usize> = [Chunk<W>; N];

/// The powers; none when this processor can't, or the numbers don't fit.
pub(crate) fn powers(powers: &[Power<'_>]) -> Option<Vec<BigUint>> {
    let bits = powers.iter().map(|power| power.modulus.bits()).max()?;
    let base = powers.iter().map(|power| power.base).max()?;
    if powers.len() > LANES || powers.iter().any(|power| shift(power.base).is_none()) {
        return None;
    }
    let simd = Ifma::try_new()?;
    // A limb of a reduced square is the sum of four products of 52 bits for each limb of the
    // modulus, and of a carry.
    let fits =
        |limbs: u64| bits + SPARE <= limbs * u64::from(LIMB) && (4 * limbs + 1) * base < 1 << (64 - LIMB);
    Some(match powers.len() > VECTOR {
        false if fits(20) => Exponentiation::<5, 10, 1>::new(simd, powers).run(),
        true if fits(20) => Exponentiation::<5, 10, 2>::new(simd, powers).run(),
        false if fits(40) => Exponentiation::<10, 20, 1>::new(simd, powers).run(),
        true if fits(40) => Exponentiation::<10, 20, 2>::new(simd, powers).run(),
        _ => return None,
    })
}

/// By how many bits a number is shifted, and then added to itself, when multiplied by a base that is
/// one more than a power of two; none for another base.
fn shift(base: u64) -> Option<u32> {
    let power = base.checked_sub(1)?;
    (power.is_power_of_two() && base <= LARGEST_BASE).then(|| power.trailing_zeros())
}

/// `D` is twice `N`.
struct Exponentiation<'a, const N: usize, const D: usize, const W: usize> {
    simd: Ifma,
    powers: &'a [Power<'a>],
    modulus: Number<N, W>,
    /// Montgomery's constant modulo 2^52.
    constant: Limb<W>,
    exponent: Number<N, W>,
    /// What multiplying by the base shifts by; none where all bases are 2.
    shifts: Option<Limb<W>>,
    number: Number<N, W>,
}

impl<'a, const N: usize, const D: usize, const W: usize> Exponentiation<'a, N, D, W> {
    fn new(simd: Ifma, powers: &'a [Power<'a>]) -> Self {
        let one = BigUint::from(1_u32) << (N * ROWS * LIMB as usize);
        let mut constants = [[1_u64; VECTOR]; W];
        let mut shifts = [[0_u64; VECTOR]; W];
        for (lane, power) in powers.iter().enumerate() {
            let (vector, lane) = (lane / VECTOR, lane % VECTOR);
            let low = power.modulus.iter_u64_digits().next().unwrap_or(1);
            constants[vector][lane] = montgomery_constant(low) & MASK;
            shifts[vector][lane] = shift(power.base).map_or(0, u64::from);
        }
        Self {
            simd,
            powers,
            modulus: spread(powers.iter().map(|power| power.modulus)),
            constant: constants.map(pulp::cast),
            exponent: spread(powers.iter().map(|power| power.exponent)),
            shifts: (shifts != [[0; VECTOR]; W]).then(|| shifts.map(pulp::cast)),
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
            exponent,
            shifts,
            number,
        } = self.0;
        let length = powers.iter().map(|power| power.exponent.bits()).max();
        let length = usize::try_from(length.unwrap_or(0)).unwrap_or(usize::MAX);
        let mut wide = [[simd.zero(); ROWS]; D];
        for bit in (0..length).rev() {
            let (limb, bit) = (bit / LIMB as usize, bit % LIMB as usize);
            let set = simd.having(exponent[limb / ROWS][limb % ROWS], 1 << bit);
            simd.square::<N, D, W>(number, &mut wide);
            simd.reduce(&mut wide, modulus, *constant);
            simd.upper(&wide, set, *shifts, number);
        }
        wide = [[simd.zero(); ROWS]; D];
        wide[..N].copy_from_slice(number);
        simd.reduce(&mut wide, modulus, *constant);
        simd.upper(&wide, [0; W], None, number);
    }
}

// Plain loops, as above.
#[allow(clippy::needless_range_loop)]
impl Ifma {
    /// The square, its carries not yet taken on.
    #[inline(always)]
    fn square<const N: usize, const D: usize, const W: usize>(
        self,
        a: &Number<N, W>,
        wide: &mut Number<D, W>,
    ) {
        let zero = [self.zero(); ROWS];
        for i in 0..N {
            let sums = &mut wide[2 * i..];
            let behind = &a[i + 1..];
            if i == 0 {
                (sums[0], sums[1]) = self.corner([zero; 2], a[0], a[1]);
                self.add_products::<true, W>(&mut sums[2..], a[0], behind);
                continue;
            }
            // What no row has reached yet.
            sums[behind.len() + 1] = zero;
            let next = behind.first().copied().unwrap_or(zero);
            (sums[0], sums[1]) = self.corner([sums[0], sums[1]], a[i], next);
            self.add_products::<false, W>(&mut sums[2..], a[i], behind);
        }
    }

    /// The two chunks of a square's columns that begin with these rows' own squares, to which later rows add
    /// nothing: with the products of these rows, and of those with the limbs behind.
    #[inline(always)]
    fn corner<const W: usize>(
        self,
        [lower, upper]: [Chunk<W>; 2],
        [a, b, c, d]: Chunk<W>,
        [e, f, g, h]: Chunk<W>,
    ) -> (Chunk<W>, Chunk<W>) {
        let [mut s0, mut s1, mut s2, mut s3] = lower;
        let [mut s4, mut s5, mut s6, mut s7] = upper;
        s1 = self.lows(s1, [a], [b]);
        s2 = self.lows(self.highs(s2, [a], [b]), [a], [c]);
        s3 = self.lows(self.highs(s3, [a], [c]), [a, b], [d, c]);
        s4 = self.lows(self.highs(s4, [a, b], [d, c]), [a, b], [e, d]);
        s5 = self.lows(self.highs(s5, [a, b], [e, d]), [a, b, c], [f, e, d]);
        s6 = self.lows(self.highs(s6, [a, b, c], [f, e, d]), [a, b, c], [g, f, e]);
        s7 = self.lows(self.highs(s7, [a, b, c], [g, f, e]), [a, b, c, d], [h, g, f, e]);
        // Each product of two different limbs counts twice.
        s0 = self.low(self.add(s0, s0), a, a);
        s1 = self.high(self.add(s1, s1), a, a);
        s2 = self.low(self.add(s2, s2), b, b);
        s3 = self.high(self.add(s3, s3), b, b);
        s4 = self.low(self.add(s4, s4), c, c);
        s5 = self.high(self.add(s5, s5), c, c);
        s6 = self.low(self.add(s6, s6), d, d);
        s7 = self.high(self.add(s7, s7), d, d);
        ([s0, s1, s2, s3], [s4, s5, s6, s7])
    }

    /// The sum and the low halves of the products.
    #[inline(always)]
    fn lows<const K: usize, const W: usize>(
        self,
        mut sum: Limb<W>,
        a: [Limb<W>; K],
        b: [Limb<W>; K],
    ) -> Limb<W> {
        for k in 0..K {
            sum = self.low(sum, a[k], b[k]);
        }
        sum
    }

    /// The sum and the high halves of the products.
    #[inline(always)]
    fn highs<const K: usize, const W: usize>(
        self,
        mut sum: Limb<W>,
        a: [Limb<W>; K],
        b: [Limb<W>; K],
    ) -> Limb<W> {
        for k in 0..K {
            sum = self.high(sum, a[k], b[k]);
        }
        sum
    }

    /// Adds the products of rows and another number, but for those in its lowest chunk's columns.
    /// What the sums were before is nothing when they are new.
    #[inline(always)]
    fn add_products<const NEW: bool, const W: usize>(
        self,
        sums: &mut [Chunk<W>],
        rows: Chunk<W>,
        other: &[Chunk<W>],
    ) {
        for (sums, limbs) in sums.iter_mut().zip(other.array_windows()) {
            let before = if NEW { [self.zero(); ROWS] } else { *sums };
            *sums = self.add_chunk(before, rows, limbs);
        }
        let (Some(last), Some(sums)) = (other.last(), sums.get_mut(other.len().wrapping_sub(1))) else {
            return;
        };
        let [s0, s1, s2, s3] = if NEW { [self.zero(); ROWS] } else { *sums };
        let [p, q, r, s] = rows;
        let [e, f, g, h] = *last;
        *sums = [
            self.lows(self.highs(s0, [p, q, r, s], [h, g, f, e]), [q, r, s], [h, g, f]),
            self.lows(self.highs(s1, [q, r, s], [h, g, f]), [r, s], [h, g]),
            self.lows(self.highs(s2, [r, s], [h, g]), [s], [h]),
            self.high(s3, s, h),
        ];
    }

    /// The sums and the products of rows and limbs in the columns of the upper limbs.
    #[inline(always)]
    fn add_chunk<const W: usize>(
        self,
        [s0, s1, s2, s3]: Chunk<W>,
        rows: Chunk<W>,
        limbs: &[Chunk<W>; 2],
    ) -> Chunk<W> {
        let [[a, b, c, d], [e, f, g, h]] = *limbs;
        [
            self.lows(self.highs(s0, rows, [d, c, b, a]), rows, [e, d, c, b]),
            self.lows(self.highs(s1, rows, [e, d, c, b]), rows, [f, e, d, c]),
            self.lows(self.highs(s2, rows, [f, e, d, c]), rows, [g, f, e, d]),
            self.lows(self.highs(s3, rows, [g, f, e, d]), rows, [h, g, f, e]),
        ]
    }

    /// Makes the lower half 0 modulo 2^(52 ROWS N) by adding multiples of the modulus, and takes its
    /// carry on: the upper half is the quotient.
    #[inline(always)]
    fn reduce<const N: usize, const D: usize, const W: usize>(
        self,
        wide: &mut Number<D, W>,
        modulus: &Number<N, W>,
        constant: Limb<W>,
    ) {
        let mut factors = self.factors(wide, modulus[0], constant);
        for i in 1..N {
            wide[i] = self.add_chunk(wide[i], factors, &[modulus[0], modulus[1]]);
            // Each factor waits for the one before: meanwhile the products with the last ones are added.
            let next = self.factors(&mut wide[i..], modulus[0], constant);
            self.add_products::<false, W>(&mut wide[i + 1..], factors, &modulus[1..]);
            factors = next;
        }
        self.add_products::<false, W>(&mut wide[N..], factors, modulus);
    }

    /// The multiples of the modulus that make the sums' lowest limbs 0; the carry is taken on.
    #[inline(always)]
    fn factors<const W: usize>(
        self,
        sums: &mut [Chunk<W>],
        [a, b, c, d]: Chunk<W>,
        constant: Limb<W>,
    ) -> Chunk<W> {
        let [s0, s1, s2, s3] = sums[0];
        let (p, carry) = self.factor(s0, constant);
        let (q, carry) = self.factor(self.add(self.high(s1, p, a), self.low(carry, p, b)), constant);
        let s2 = self.low(self.highs(s2, [p, q], [b, a]), p, c);
        let (r, carry) = self.factor(self.add(s2, self.low(carry, q, b)), constant);
        let s3 = self.lows(self.highs(s3, [p, q, r], [c, b, a]), [p, q], [d, c]);
        let (s, carry) = self.factor(self.add(s3, self.low(carry, r, b)), constant);
        sums[1][0] = self.add(sums[1][0], carry);
        [p, q, r, s]
    }

    /// The multiple of the modulus that makes this sum's limb 0, and what they carry on.
    #[inline(always)]
    fn factor<const W: usize>(self, sum: Limb<W>, constant: Limb<W>) -> (Limb<W>, Limb<W>) {
        let factor = self.low(self.zero(), sum, constant);
        // The limbs make up a whole, unless both are 0.
        let carry = self.add_some(self.carry(sum), self.having(sum, MASK), self.all(1));
        (factor, carry)
    }

    /// The upper half of a number in limbs of 52 bits, multiplied by the base where `set` says so.
    #[inline(always)]
    fn upper<const N: usize, const D: usize, const W: usize>(
        self,
        wide: &Number<D, W>,
        set: [__mmask8; W],
        shifts: Option<Limb<W>>,
        into: &mut Number<N, W>,
    ) {
        let mut carry = self.zero();
        for (limbs, into) in wide[N..].iter().zip(into) {
            for i in 0..ROWS {
                let shifted = match shifts {
                    Some(bits) => self.shift(limbs[i], bits),
                    None => limbs[i],
                };
                let sum = self.add_some(self.add(limbs[i], carry), set, shifted);
                carry = self.carry(sum);
                into[i] = self.limb(sum);
            }
        }
    }
}

/// Numbers in limbs, one a lane.
fn spread<const N: usize, const W: usize>(
    numbers: impl Iterator<Item = impl std::borrow::Borrow<BigUint>>,
) -> Number<N, W> {
    let mut spread = [[[[0_u64; VECTOR]; W]; ROWS]; N];
    for (lane, number) in numbers.enumerate().take(VECTOR * W) {
        for (limb, value) in spread.as_flattened_mut().iter_mut().zip(limbs(number.borrow())) {
            limb[lane / VECTOR][lane % VECTOR] = value;
        }
    }
    spread.map(|chunk| chunk.map(|limb| limb.map(pulp::cast)))
}

/// The numbers of all lanes again.
fn gather<const N: usize, const W: usize>(number: &Number<N, W>) -> Vec<BigUint> {
    let limbs: [[[[u64; VECTOR]; W]; ROWS]; N] = number.map(|chunk| chunk.map(|limb| limb.map(pulp::cast)));
    (0..VECTOR * W)
        .map(|lane| {
            let limb = |limb: &[[u64; VECTOR]; W]| u128::from(limb[lane / VECTOR][lane % VECTOR]);
            let (pairs, _) = limbs.as_flattened().as_chunks();
            // Two limbs are 13 bytes.
            let bytes = pairs.iter().flat_map(|[low, high]| {
                let pair = limb(low) | limb(high) << LIMB;
                pair.to_le_bytes().into_iter().take(2 * LIMB as usize / 8)
            });
            BigUint::from_bytes_le(&bytes.collect::<Vec<u8>>())
        })
        .collect()
}
