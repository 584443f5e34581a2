//! Arithmetic. Integers wrap as Go's do; the functions ending in f are decimal.

use super::Context;
use super::args::{func, variadic};
use super::convert::{to_float64, to_int64};
use super::decimal::{add1f, addf, divf, mulf, subf};
use crate::template::{Call, Func, FuncError, Type, Val};

const DIVIDE_BY_ZERO: &str = "runtime error: integer divide by zero";

fn fold(call: &Call<'_, Context>, start: i64, step: impl Fn(i64, i64) -> i64) -> Val {
    Val::int64(call.args.iter().map(to_int64).fold(start, step))
}

/// Folds the arguments; the first one is the initial value.
fn reduce(call: &Call<'_, Context>, step: impl Fn(i64, i64) -> i64) -> Val {
    Val::int64(call.args.iter().map(to_int64).reduce(step).unwrap_or(0))
}

fn add(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(fold(call, 0, i64::wrapping_add))
}

fn add1(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(fold(call, 1, i64::wrapping_add))
}

fn sub(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(reduce(call, i64::wrapping_sub))
}

fn mul(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(reduce(call, i64::wrapping_mul))
}

fn div(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    match (to_int64(&call.arg(0)), to_int64(&call.arg(1))) {
        (_, 0) => Err(DIVIDE_BY_ZERO.into()),
        (a, b) => Ok(Val::int64(a.wrapping_div(b))),
    }
}

fn modulo(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    match (to_int64(&call.arg(0)), to_int64(&call.arg(1))) {
        (_, 0) => Err(DIVIDE_BY_ZERO.into()),
        (a, b) => Ok(Val::int64(a.wrapping_rem(b))),
    }
}

fn max(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(reduce(call, i64::max))
}

fn min(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(reduce(call, i64::min))
}

fn maxf(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(extreme(call, f64::INFINITY, |a, b| {
        a > b || a == b && b.is_sign_negative()
    }))
}

fn minf(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(extreme(call, f64::NEG_INFINITY, |a, b| {
        a < b || a == b && a.is_sign_negative()
    }))
}

/// Go's `math.Max` and `Min`: the infinity takes precedence over not-a-number, which takes precedence over all else.
#[allow(clippy::float_cmp, reason = "infinities are themselves")]
fn extreme(call: &Call<'_, Context>, infinity: f64, first_wins: impl Fn(f64, f64) -> bool) -> Val {
    let pick = |a: f64, b: f64| {
        if a == infinity || b == infinity {
            infinity
        } else if a.is_nan() || b.is_nan() {
            f64::NAN
        } else if first_wins(a, b) {
            a
        } else {
            b
        }
    };
    Val::Float(call.args.iter().map(to_float64).reduce(pick).unwrap_or(0.0))
}

fn ceil(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Float(to_float64(&call.arg(0)).ceil()))
}

fn floor(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Float(to_float64(&call.arg(0)).floor()))
}

/// As in sprig, the fraction of the shifted number decides; that of a negative number is negative, so it is rounded
/// down.
fn round(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let limit = if call.args.len() > 2 { call.float(2) } else { 0.5 };
    let power = power_of_ten(call.int(1));
    let shifted = power * to_float64(&call.arg(0));
    let fraction = if shifted.is_infinite() {
        f64::NAN
    } else {
        shifted.fract()
    };
    let rounded = if fraction >= limit {
        shifted.ceil()
    } else {
        shifted.floor()
    };
    Ok(Val::Float(rounded / power))
}

/// Go's `math.Pow(10, places)`, whose last bits differ from the C library's: squares of the mantissa, with a separate
/// exponent.
fn power_of_ten(places: i64) -> f64 {
    let (mut result, mut exponent) = (1.0_f64, 0_i64);
    let (mut square, mut square_exponent) = (0.625_f64, 4_i64);
    let mut left = places.unsigned_abs();
    while left != 0 {
        if square_exponent > 1 << 12 {
            exponent += square_exponent;
            break;
        }
        if left & 1 == 1 {
            result *= square;
            exponent += square_exponent;
        }
        square *= square;
        square_exponent <<= 1;
        if square < 0.5 {
            square += square;
            square_exponent -= 1;
        }
        left >>= 1;
    }
    if places < 0 {
        result = 1.0 / result;
        exponent = -exponent;
    }
    scaled(result, exponent)
}

/// `value * 2^exponent`, for a value near 1.
fn scaled(value: f64, exponent: i64) -> f64 {
    let step = |exponent: i64| 2_f64.powi(i32::try_from(exponent.clamp(-1_000, 1_000)).unwrap_or(0));
    let first = exponent.clamp(-1_000, 1_000);
    value * step(first) * step(exponent - first)
}

use Type::{Any, Float64, Int};

pub(super) const TABLE: &[Func<Context>] = &[
    variadic("add", &[Any], "The sum", add),
    func("add1", &[Any], "One more", add1),
    func("add1f", &[Any], "One more, decimal", add1f),
    variadic("addf", &[Any], "The sum, decimal", addf),
    variadic("biggest", &[Any, Any], "The same as max", max),
    func("ceil", &[Any], "The next whole number up", ceil),
    func("div", &[Any, Any], "The quotient without its fraction", div),
    variadic("divf", &[Any, Any], "The quotient, decimal", divf),
    func("floor", &[Any], "The next whole number down", floor),
    variadic("max", &[Any, Any], "The largest, as int64", max),
    variadic("maxf", &[Any, Any], "The largest, as float64", maxf),
    variadic("min", &[Any, Any], "The smallest, as int64", min),
    variadic("minf", &[Any, Any], "The smallest, as float64", minf),
    func("mod", &[Any, Any], "The remainder", modulo),
    variadic("mul", &[Any, Any], "The product", mul),
    variadic("mulf", &[Any, Any], "The product, decimal", mulf),
    variadic("round", &[Any, Int, Float64], "Rounded to so many places", round),
    func("sub", &[Any, Any], "The difference", sub),
    variadic("subf", &[Any, Any], "The difference, decimal", subf),
];
