//! The table of functions.

use super::super::Context;
use super::object::{self, show_duration, time_of};
use super::time::Time;
use super::zone::Zone;
use super::{NANOS, duration, layout, parse};
use crate::template::{Call, Func, FuncError, IntType, Type, Val};

type Answer = Result<Val, FuncError>;

/// The wall clock's time; records that the result differs between runs.
fn now(call: &mut Call<'_, Context>, name: &'static str) -> Time {
    call.context.impure.insert(name);
    let zone = Zone::local(&*call.context.world);
    let since = call.context.world.now().duration_since(std::time::UNIX_EPOCH);
    let since = since.unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    Time::unix(seconds, since.subsec_nanos(), zone)
}

fn local(call: &Call<'_, Context>) -> Zone {
    Zone::local(&*call.context.world)
}

/// Converts a value to a time as sprig does; anything else is now.
fn moment(call: &mut Call<'_, Context>, index: usize, name: &'static str) -> Time {
    let value = call.arg(index);
    match &value {
        Val::Int(seconds, IntType::Int | IntType::Int32 | IntType::Int64) => {
            Time::unix(*seconds, 0, Zone::Utc)
        }
        other => match time_of(other) {
            Some(time) => time.clone(),
            None => now(call, name),
        },
    }
}

fn in_zone(
    call: &mut Call<'_, Context>,
    layout: &str,
    index: usize,
    zone: &str,
    name: &'static str,
) -> Answer {
    let time = moment(call, index, name);
    let zone = Zone::load(zone, &*call.context.world).unwrap_or(Zone::Utc);
    Ok(Val::str(layout::format(&time.within(zone), layout)))
}

const HTML: &str = "2006-01-02";

fn date_in_zone(call: &mut Call<'_, Context>) -> Answer {
    let (layout, zone) = (call.str(0), call.str(2));
    in_zone(call, &layout.to_text(), 1, &zone.to_text(), "dateInZone")
}

fn time_argument(call: &Call<'_, Context>, index: usize) -> Time {
    call.args
        .get(index)
        .and_then(time_of)
        .cloned()
        .unwrap_or_else(Time::zero)
}

fn date_modify(call: &mut Call<'_, Context>) -> Answer {
    must_date_modify(call).or_else(|_| Ok(call.arg(1)))
}

fn must_date_modify(call: &mut Call<'_, Context>) -> Answer {
    let by = duration::parse(&call.str(0).to_text())?;
    let time = time_argument(call, 1);
    Ok(object::value(time.add(by), &local(call)))
}

fn must_to_date(call: &mut Call<'_, Context>) -> Answer {
    let zone = local(call);
    let time = parse::parse(&call.str(0).to_text(), &call.str(1).to_text(), &zone)?;
    Ok(object::value(time, &zone))
}

fn to_date(call: &mut Call<'_, Context>) -> Answer {
    must_to_date(call).or_else(|_| Ok(object::value(Time::zero(), &local(call))))
}

fn ago(call: &mut Call<'_, Context>) -> Answer {
    let now = now(call, "ago");
    let time = match call.arg(0) {
        // sprig doesn't handle int32 here.
        Val::Int(_, IntType::Int32) => now.clone(),
        _ => moment(call, 0, "ago"),
    };
    Ok(show_duration(duration::round(now.since(&time), NANOS)))
}

fn seconds_as_duration(call: &mut Call<'_, Context>) -> Answer {
    let seconds = match call.arg(0) {
        Val::Int(seconds, IntType::Int64) => seconds,
        Val::Str(text) => go_parse_int(&text.to_text()),
        _ => 0,
    };
    Ok(show_duration(seconds.wrapping_mul(NANOS)))
}

/// `strconv.ParseInt` with its error ignored: beyond int64 it returns the limit.
fn go_parse_int(text: &str) -> i64 {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return 0;
    }
    text.parse()
        .unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX })
}

fn duration_round(call: &mut Call<'_, Context>) -> Answer {
    let value = call.arg(0);
    let nanos = match &value {
        Val::Str(text) => duration::parse(&text.to_text()).unwrap_or(0),
        Val::Int(nanos, IntType::Int64) => *nanos,
        other => match time_of(other) {
            Some(time) => now(call, "durationRound").since(time),
            None => 0,
        },
    };
    const HOUR: u64 = 3_600_000_000_000;
    const STEPS: [(u64, &str); 6] = [
        (HOUR * 24 * 365, "y"),
        (HOUR * 24 * 30, "mo"),
        (HOUR * 24, "d"),
        (HOUR, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
    ];
    let size = nanos.unsigned_abs();
    let step = STEPS.iter().find(|(unit, _)| size > *unit);
    Ok(Val::str(step.map_or("0s".to_owned(), |(unit, name)| {
        format!("{}{name}", size / unit)
    })))
}

fn any_duration(call: &Call<'_, Context>, index: usize) -> Result<i64, FuncError> {
    duration::from_any(call.args.get(index).unwrap_or(&Val::Nil)).map_err(FuncError::from)
}

/// A duration as a number of units; 0 if it is not one.
fn float_units(call: &Call<'_, Context>, unit: i64) -> f64 {
    any_duration(call, 0).map_or(0.0, |nanos| duration::in_units(nanos, unit))
}

fn whole_units(call: &Call<'_, Context>, unit: i64) -> Answer {
    Ok(Val::int64(any_duration(call, 0).map_or(0, |nanos| nanos / unit)))
}

fn to_multiple(call: &Call<'_, Context>, cut: fn(i64, i64) -> i64) -> Answer {
    let nanos = any_duration(call, 0).unwrap_or(0);
    let to = any_duration(call, 1).unwrap_or(0);
    Ok(Val::Int(cut(nanos, to), IntType::Duration))
}

const HOURS: i64 = 3_600 * NANOS;

const fn func(
    name: &'static str,
    params: &'static [Type],
    doc: &'static str,
    call: fn(&mut Call<'_, Context>) -> Answer,
) -> Func<Context> {
    Func {
        name,
        params,
        variadic: false,
        doc,
        call,
    }
}

const ONE: &[Type] = &[Type::Any];
const MODIFY: &[Type] = &[Type::String, Type::Time];
const TEXTS: &[Type] = &[Type::String, Type::String];
const ZONED: &[Type] = &[Type::String, Type::Any, Type::String];

pub(in crate::funcs) const TABLE: &[Func<Context>] = &[
    func("now", &[], "The time it is.", |call| {
        let time = now(call, "now");
        Ok(object::value(time, &local(call)))
    }),
    func("ago", ONE, "How long ago a time was, in whole seconds.", ago),
    func(
        "date",
        &[Type::String, Type::Any],
        "A time by a layout, in the local zone.",
        |call| {
            let layout = call.str(0);
            in_zone(call, &layout.to_text(), 1, "Local", "date")
        },
    ),
    func(
        "dateInZone",
        ZONED,
        "A time by a layout, in a zone.",
        date_in_zone,
    ),
    func("date_in_zone", ZONED, "As dateInZone.", date_in_zone),
    func(
        "dateModify",
        MODIFY,
        "A time later by a duration; unchanged when it is none.",
        date_modify,
    ),
    func("date_modify", MODIFY, "As dateModify.", date_modify),
    func(
        "mustDateModify",
        MODIFY,
        "A time later by a duration.",
        must_date_modify,
    ),
    func("must_date_modify", MODIFY, "As mustDateModify.", must_date_modify),
    func(
        "duration",
        ONE,
        "Seconds as a duration's text.",
        seconds_as_duration,
    ),
    func(
        "durationRound",
        ONE,
        "A duration by its largest unit.",
        duration_round,
    ),
    func(
        "htmlDate",
        ONE,
        "A time's date for HTML, in the local zone.",
        |call| in_zone(call, HTML, 0, "Local", "htmlDate"),
    ),
    func(
        "htmlDateInZone",
        &[Type::Any, Type::String],
        "A time's date for HTML, in a zone.",
        |call| {
            let zone = call.str(1);
            in_zone(call, HTML, 0, &zone.to_text(), "htmlDateInZone")
        },
    ),
    func(
        "toDate",
        TEXTS,
        "The time in a text, by a layout; the zero time when there is none.",
        to_date,
    ),
    func(
        "mustToDate",
        TEXTS,
        "The time in a text, by a layout.",
        must_to_date,
    ),
    func(
        "unixEpoch",
        &[Type::Time],
        "A time's seconds since 1970, as text.",
        |call| Ok(Val::str(time_argument(call, 0).seconds.to_string())),
    ),
    func(
        "mustToDuration",
        ONE,
        "A duration from a text or from seconds.",
        |call| any_duration(call, 0).map(|nanos| Val::Int(nanos, IntType::Duration)),
    ),
    func("durationSeconds", ONE, "A duration in seconds.", |call| {
        Ok(Val::Float(float_units(call, NANOS)))
    }),
    func(
        "durationMilliseconds",
        ONE,
        "A duration in whole milliseconds.",
        |call| whole_units(call, 1_000_000),
    ),
    func(
        "durationMicroseconds",
        ONE,
        "A duration in whole microseconds.",
        |call| whole_units(call, 1_000),
    ),
    func("durationNanoseconds", ONE, "A duration in nanoseconds.", |call| {
        whole_units(call, 1)
    }),
    func("durationMinutes", ONE, "A duration in minutes.", |call| {
        Ok(Val::Float(float_units(call, 60 * NANOS)))
    }),
    func("durationHours", ONE, "A duration in hours.", |call| {
        Ok(Val::Float(float_units(call, HOURS)))
    }),
    func("durationDays", ONE, "A duration in days.", |call| {
        Ok(Val::Float(float_units(call, HOURS) / 24.0))
    }),
    func("durationWeeks", ONE, "A duration in weeks.", |call| {
        Ok(Val::Float(float_units(call, HOURS) / 24.0 / 7.0))
    }),
    func(
        "durationRoundTo",
        &[Type::Any, Type::Any],
        "A duration rounded to a multiple of another.",
        |call| to_multiple(call, duration::round),
    ),
    func(
        "durationTruncateTo",
        &[Type::Any, Type::Any],
        "A duration cut to a multiple of another.",
        |call| to_multiple(call, duration::truncate),
    ),
];
