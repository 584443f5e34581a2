//! Decimal arithmetic, as in shopspring/decimal 1.4, which sprig uses: float64 in, exact decimals between, float64 out.

use num_bigint::{BigInt, Sign};

use super::Context;
use super::convert::to_float64;
use crate::template::{Call, FuncError, Val};

/// The number of decimal places of a quotient.
const DIVISION_PLACES: i64 = 16;

/// `digits * 10^exponent`
struct Decimal {
    digits: BigInt,
    exponent: i64,
}

impl Decimal {
    /// From the shortest digits that represent the float.
    fn from_float(value: f64) -> Result<Self, FuncError> {
        if !value.is_finite() {
            let name = match value {
                value if value.is_nan() => "NaN",
                value if value > 0.0 => "+Inf",
                _ => "-Inf",
            };
            return Err(format!("Cannot create a Decimal from {name}").into());
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let digits: i64 = mantissa.replace('.', "").parse().unwrap_or(0);
        let exponent: i64 = exponent.parse().unwrap_or(0);
        Ok(Self {
            digits: digits.into(),
            exponent: exponent - i64::try_from(places).unwrap_or(0),
        })
    }

    /// The nearest float.
    fn to_float(&self) -> f64 {
        let text = format!("{}e{}", self.digits, self.exponent);
        text.parse().unwrap_or(f64::NAN)
    }

    /// The digits at a lower exponent.
    fn digits_at(&self, exponent: i64) -> BigInt {
        &self.digits * ten_to(self.exponent - exponent)
    }

    fn combine(&self, other: &Self, op: impl Fn(BigInt, BigInt) -> BigInt) -> Self {
        let exponent = self.exponent.min(other.exponent);
        Self {
            digits: op(self.digits_at(exponent), other.digits_at(exponent)),
            exponent,
        }
    }

    fn times(&self, other: &Self) -> Self {
        Self {
            digits: &self.digits * &other.digits,
            exponent: self.exponent + other.exponent,
        }
    }

    /// Halves are rounded away from zero.
    fn divided_by(&self, other: &Self) -> Result<Self, FuncError> {
        if other.digits.sign() == Sign::NoSign {
            return Err("decimal division by 0".into());
        }
        let shift = self.exponent - other.exponent + DIVISION_PLACES;
        let (above, below) = if shift < 0 {
            (self.digits.clone(), &other.digits * ten_to(-shift))
        } else {
            (&self.digits * ten_to(shift), other.digits.clone())
        };
        let mut quotient = &above / &below;
        let rest = &above - &quotient * &below;
        if (rest * 2_u8).magnitude() >= below.magnitude() {
            let up: i8 = if above.sign() == below.sign() { 1 } else { -1 };
            quotient += up;
        }
        Ok(Self {
            digits: quotient,
            exponent: -DIVISION_PLACES,
        })
    }
}

fn ten_to(exponent: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(0))
}

type Op = fn(&Decimal, &Decimal) -> Result<Decimal, FuncError>;

fn over(start: f64, rest: &[Val], op: Op) -> Result<Val, FuncError> {
    let mut sum = Decimal::from_float(start)?;
    for value in rest {
        sum = op(&sum, &Decimal::from_float(to_float64(value))?)?;
        // Products grow with each factor; no float has such an exponent.
        if sum.exponent.unsigned_abs() > MAX_EXPONENT {
            return Err(format!("a decimal beyond 10 to the {MAX_EXPONENT}").into());
        }
    }
    Ok(Val::Float(sum.to_float()))
}

/// The maximum exponent of an intermediate result.
const MAX_EXPONENT: u64 = 20_000;

fn plus(a: &Decimal, b: &Decimal) -> Result<Decimal, FuncError> {
    Ok(a.combine(b, |a, b| a + b))
}

fn minus(a: &Decimal, b: &Decimal) -> Result<Decimal, FuncError> {
    Ok(a.combine(b, |a, b| a - b))
}

fn times(a: &Decimal, b: &Decimal) -> Result<Decimal, FuncError> {
    Ok(a.times(b))
}

pub(super) fn add1f(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    over(to_float64(&call.arg(0)), &[Val::int(1)], plus)
}

pub(super) fn addf(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    over(0.0, call.args, plus)
}

pub(super) fn subf(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    over(to_float64(&call.arg(0)), call.rest(1), minus)
}

pub(super) fn mulf(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    over(to_float64(&call.arg(0)), call.rest(1), times)
}

pub(super) fn divf(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    over(to_float64(&call.arg(0)), call.rest(1), Decimal::divided_by)
}
