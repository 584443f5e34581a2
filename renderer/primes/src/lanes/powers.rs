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

/// A number of `N` limbs in each lane.
type Number<const N: usize, const W: usize> = [Limb<W>; N];

/// The powers; none when this processor can't, or the numbers don't fit.
pub(crate) fn powers(powers: &[Power<'_>]) -> Option<Vec<BigUint>> {
    let bits = powers.iter().map(|power| power.modulus.bits()).max()?;
    let base = powers.iter().map(|power| power.base).max()?;
    if powers.len() > LANES || powers.iter().any(|power| Shifts::of(power.base).is_none()) {
        return None;
    }
    let simd = Ifma::try_new()?;
    // A limb of a reduced square is the sum of four products of 52 bits for each limb of the
    // modulus, and of a carry.
    let fits =
        |limbs: u64| bits + SPARE <= limbs * u64::from(LIMB) && (4 * limbs + 1) * base < 1 << (64 - LIMB);
    Some(match powers.len() > VECTOR {
        false if fits(20) => Exponentiation::<20, 40, 1>::new(simd, powers).run(),
        true if fits(20) => Exponentiation::<20, 40, 2>::new(simd, powers).run(),
        false if fits(40) => Exponentiation::<40, 80, 1>::new(simd, powers).run(),
        true if fits(40) => Exponentiation::<40, 80, 2>::new(simd, powers).run(),
        _ => return None,
    })
}

/// A base that is multiplied by without a multiplication: a power of two, or one more.
struct Shifts {
    bits: u32,
    plus_one: bool,
}

impl Shifts {
    fn of(base: u64) -> Option<Self> {
        let plus_one = base % 2 == 1;
        let power = base - u64::from(plus_one);
        (power.is_power_of_two() && base <= LARGEST_BASE).then(|| Self {
            bits: power.trailing_zeros(),
            plus_one,
        })
    }
}

/// `D` is twice `N`.
struct Exponentiation<'a, const N: usize, const D: usize, const W: usize> {
    simd: Ifma,
    powers: &'a [Power<'a>],
    modulus: Number<N, W>,
    /// Montgomery's constant modulo 2^52.
    constant: Limb<W>,
    exponent: Number<N, W>,
    /// By how many bits multiplying by the base shifts,
    bits: Limb<W>,
    /// and where the number itself is added.
    plus_one: [__mmask8; W],
    number: Number<N, W>,
}

impl<'a, const N: usize, const D: usize, const W: usize> Exponentiation<'a, N, D, W> {
    fn new(simd: Ifma, powers: &'a [Power<'a>]) -> Self {
        let one = BigUint::from(1_u32) << (N * LIMB as usize);
        let mut constants = [[1_u64; VECTOR]; W];
        let mut bits = [[0_u64; VECTOR]; W];
        let mut plus_one = [0; W];
        for (lane, power) in powers.iter().enumerate() {
            let (vector, lane) = (lane / VECTOR, lane % VECTOR);
            let low = power.modulus.iter_u64_digits().next().unwrap_or(1);
            constants[vector][lane] = montgomery_constant(low) & MASK;
            if let Some(shifts) = Shifts::of(power.base) {
                bits[vector][lane] = u64::from(shifts.bits);
                plus_one[vector] |= __mmask8::from(shifts.plus_one) << lane;
            }
        }
        Self {
            simd,
            powers,
            modulus: spread(powers.iter().map(|power| power.modulus)),
            constant: constants.map(pulp::cast),
            exponent: spread(powers.iter().map(|power| power.exponent)),
            bits: bits.map(pulp::cast),
            plus_one,
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
            bits,
            plus_one,
            number,
        } = self.0;
        let length = powers.iter().map(|power| power.exponent.bits()).max();
        let length = usize::try_from(length.unwrap_or(0)).unwrap_or(usize::MAX);
        for bit in (0..length).rev() {
            let (limb, bit) = (bit / LIMB as usize, bit % LIMB as usize);
            let mut set = simd.having(exponent[limb], 1 << bit);
            let shift = simd.only(set, *bits);
            for v in 0..W {
                set[v] &= plus_one[v];
            }
            let mut wide = simd.square::<N, D, W>(number);
            simd.reduce(&mut wide, modulus, *constant);
            simd.upper(&wide, shift, set, number);
        }
        let mut wide = [simd.zero(); D];
        wide[..N].copy_from_slice(number);
        simd.reduce(&mut wide, modulus, *constant);
        simd.upper(&wide, simd.zero(), [0; W], number);
    }
}

// Plain loops, as above.
#[allow(clippy::needless_range_loop)]
impl Ifma {
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

    /// The upper half of a number in limbs of 52 bits, shifted to the left, and with itself added
    /// where `plus` says so.
    #[inline(always)]
    fn upper<const N: usize, const D: usize, const W: usize>(
        self,
        wide: &Number<D, W>,
        shift: Limb<W>,
        plus: [__mmask8; W],
        into: &mut Number<N, W>,
    ) {
        let mut carry = self.zero();
        for i in 0..N {
            let limb = wide[N + i];
            let multiple = self.add_some(self.shift(limb, shift), plus, limb);
            let sum = self.add(multiple, carry);
            carry = self.carry(sum);
            into[i] = self.limb(sum);
        }
    }
}

/// Numbers in limbs, one a lane.
fn spread<const N: usize, const W: usize>(
    numbers: impl Iterator<Item = impl std::borrow::Borrow<BigUint>>,
) -> Number<N, W> {
    let mut spread = [[[0_u64; VECTOR]; W]; N];
    for (lane, number) in numbers.enumerate().take(VECTOR * W) {
        for (limb, value) in spread.iter_mut().zip(limbs(number.borrow())) {
            limb[lane / VECTOR][lane % VECTOR] = value;
        }
    }
    spread.map(|limb| limb.map(pulp::cast))
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
