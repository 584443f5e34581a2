//! Dates and durations: sprig 3.3's functions, Helm 4.3's, and Go's `time.Time`.
//!
//! Zones come from the time zone database built into the program, so that a container
//! without files has them. The local zone is what `TZ` names there, and UTC when it is not
//! set: a machine's `/etc/localtime`, which Helm reads too, would make a chart's text
//! depend on the machine.

mod duration;
mod layout;
mod object;
mod parse;
mod table;
mod time;
mod zone;

pub(in crate::funcs) use self::object::{asn1, named, offset, rfc3339, toml, utc};
pub(super) use self::table::TABLE;
pub(in crate::funcs) use self::time::Civil;

/// The zone's name of a TOML date with a time and without a zone.
pub(in crate::funcs) const TOML_DATETIME: &str = "datetime-local";
/// Of a TOML date without a time.
pub(in crate::funcs) const TOML_DATE: &str = "date-local";
/// Of a TOML time without a date.
pub(in crate::funcs) const TOML_TIME: &str = "time-local";

pub(in crate::funcs) const NANOS: i64 = 1_000_000_000;

pub(in crate::funcs) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
