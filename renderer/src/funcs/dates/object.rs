//! `time.Time` as templates see it.

use std::rc::Rc;

use super::time::{Civil, Time};
use super::zone::Zone;
use super::{TOML_DATE, TOML_DATETIME, TOML_TIME, duration, layout};
use crate::template::{FuncError, IntType, Method, Object, Type, Val};

/// The layout in JSON and TOML.
pub(super) const RFC3339: &str = "2006-01-02T15:04:05.999999999Z07:00";

/// A time with the local zone at its creation.
#[derive(Debug)]
pub(super) struct Moment {
    time: Time,
    local: Zone,
}

/// A template's value of a time.
pub(super) fn value(time: Time, local: &Zone) -> Val {
    let local = local.clone();
    Val::Object(Rc::new(Moment { time, local }))
}

/// The time in a value, if it is one.
pub(super) fn time_of(value: &Val) -> Option<&Time> {
    let Val::Object(object) = value else { return None };
    let moment: &Moment = object.as_any().downcast_ref()?;
    Some(&moment.time)
}

/// A time in RFC 3339; `None` for other values.
pub(in crate::funcs) fn rfc3339(value: &Val) -> Option<String> {
    time_of(value).map(|time| layout::format(time, RFC3339))
}

/// A time in TOML; `None` for other values.
pub(in crate::funcs) fn toml(value: &Val) -> Option<String> {
    let time = time_of(value)?;
    let layout = match &time.zone {
        Zone::Fixed(name, _) if **name == *TOML_DATETIME => "2006-01-02T15:04:05.999999999",
        Zone::Fixed(name, _) if **name == *TOML_DATE => "2006-01-02",
        Zone::Fixed(name, _) if **name == *TOML_TIME => "15:04:05.999999999",
        _ => RFC3339,
    };
    Some(layout::format(time, layout))
}

#[cfg(feature = "crypto")]
/// The year, and the time in ASN.1 with a four-digit year.
pub(in crate::funcs) fn asn1(seconds: i64) -> (i64, String) {
    let time = Time::unix(seconds, 0, Zone::Utc);
    (time.shown().year, layout::format(&time, "20060102150405Z"))
}

/// A time in UTC.
pub(in crate::funcs) fn utc(civil: &Civil) -> Val {
    value(Time::civil(civil, Zone::Utc), &Zone::Utc)
}

/// A time at an offset without a name, in seconds east.
pub(in crate::funcs) fn offset(civil: &Civil, offset: i64) -> Val {
    value(Time::civil(civil, Zone::Fixed("".into(), offset)), &Zone::Utc)
}

/// A time in a zone with that name and offset 0.
pub(in crate::funcs) fn named(civil: &Civil, name: &str) -> Val {
    value(Time::civil(civil, Zone::Fixed(name.into(), 0)), &Zone::Utc)
}

const fn method(name: &'static str, params: &'static [Type]) -> Method {
    Method {
        name,
        params,
        variadic: false,
    }
}

const METHODS: &[Method] = &[
    method("Add", &[Type::Duration]),
    method("AddDate", &[Type::Int, Type::Int, Type::Int]),
    method("After", &[Type::Time]),
    method("Before", &[Type::Time]),
    method("Compare", &[Type::Time]),
    method("Day", &[]),
    method("Equal", &[Type::Time]),
    method("Format", &[Type::String]),
    method("Hour", &[]),
    method("IsDST", &[]),
    method("IsZero", &[]),
    method("Local", &[]),
    method("Minute", &[]),
    method("Month", &[]),
    method("Nanosecond", &[]),
    method("Round", &[Type::Duration]),
    method("Second", &[]),
    method("String", &[]),
    method("Sub", &[Type::Time]),
    method("Truncate", &[Type::Duration]),
    method("UTC", &[]),
    method("Unix", &[]),
    method("UnixMicro", &[]),
    method("UnixMilli", &[]),
    method("UnixNano", &[]),
    method("Weekday", &[]),
    method("Year", &[]),
    method("YearDay", &[]),
];

impl Object for Moment {
    fn type_name(&self) -> &str {
        "time.Time"
    }

    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn call(&self, name: &str, args: &[Val]) -> Result<Val, FuncError> {
        let number = |index: usize| match args.get(index) {
            Some(Val::Int(value, _)) => *value,
            _ => 0,
        };
        let other = || args.first().and_then(time_of).cloned().unwrap_or_else(Time::zero);
        let moment = |time: Time| value(time, &self.local);
        let time = &self.time;
        let shown = time.shown();
        Ok(match name {
            "Add" => moment(time.add(number(0))),
            "AddDate" => moment(time.add_date(number(0), number(1), number(2))),
            "Round" | "Truncate" => moment(self.cut(number(0), name == "Round")),
            "UTC" => moment(time.within(Zone::Utc)),
            "Local" => moment(time.within(self.local.clone())),
            "After" => Val::Bool(time.total() > other().total()),
            "Before" => Val::Bool(time.total() < other().total()),
            "Equal" => Val::Bool(time.total() == other().total()),
            "IsZero" => Val::Bool(time.is_zero()),
            "IsDST" => Val::Bool(time.zone.is_dst(time.seconds)),
            "Compare" => Val::int(time.total().cmp(&other().total()) as i64),
            "Sub" => Val::Int(time.since(&other()), IntType::Duration),
            "Format" => {
                let layout = args.first().and_then(Val::as_str).cloned().unwrap_or_default();
                Val::str(layout::format(time, &layout.to_text()))
            }
            "String" => Val::str(self.show()),
            "Year" => Val::int(shown.year),
            "Month" => Val::Int(shown.month, IntType::Month),
            "Day" => Val::int(shown.day),
            "Hour" => Val::int(shown.hour),
            "Minute" => Val::int(shown.minute),
            "Second" => Val::int(shown.second),
            "Nanosecond" => Val::int(i64::from(time.nanos)),
            "Weekday" => Val::Int(time.weekday(), IntType::Weekday),
            "YearDay" => Val::int(time.year_day()),
            "Unix" => Val::int64(time.seconds),
            "UnixMilli" => Val::int64(scaled(time.total(), 1_000_000)),
            "UnixMicro" => Val::int64(scaled(time.total(), 1_000)),
            "UnixNano" => Val::int64(scaled(time.total(), 1)),
            other => return Err(FuncError::new(format!("no method {other}"))),
        })
    }

    fn string(&self) -> Option<String> {
        Some(self.show())
    }

    fn json(&self) -> Val {
        Val::str(layout::format(&self.time, RFC3339))
    }

    fn equals(&self, other: &dyn Object) -> bool {
        let other: Option<&Moment> = other.as_any().downcast_ref();
        other.is_some_and(|Moment { time: other, .. }| {
            let Time { seconds, nanos, zone } = &self.time;
            *seconds == other.seconds && *nanos == other.nanos && *zone == other.zone
        })
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl Moment {
    fn show(&self) -> String {
        layout::format(&self.time, "2006-01-02 15:04:05.999999999 -0700 MST")
    }

    /// `Time.Truncate` and `Time.Round`.
    fn cut(&self, to: i64, nearest: bool) -> Time {
        if to <= 0 {
            return self.time.clone();
        }
        let behind = self.time.remainder(to);
        if nearest && behind >= to - behind {
            self.time.add(to - behind)
        } else {
            self.time.add(-behind)
        }
    }
}

/// Go's int64 wraps around.
#[allow(clippy::cast_possible_truncation, reason = "as in Go")]
fn scaled(nanos: i128, unit: i128) -> i64 {
    nanos.div_euclid(unit) as i64
}

/// A duration as `Duration.String` shows it.
pub(super) fn show_duration(nanos: i64) -> Val {
    Val::str(duration::show(nanos))
}
