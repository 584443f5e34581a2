//! Dates and durations: sprig 3.3's functions, Helm 4.3's, and Go's `time.Time`.
//!
//! Zones come from the time zone database in the binary, so that they exist in a container without files. The local
//! zone is the one that `TZ` names there, and UTC by default: `/etc/localtime`, which Helm reads too, would make a
//! chart's output depend on the machine.

mod duration;
mod layout;
mod object;
mod parse;
mod table;
mod time;
mod zone;

#[cfg(feature = "crypto")]
pub(in crate::funcs) use self::object::asn1;
pub(in crate::funcs) use self::object::{named, offset, rfc3339, toml, utc};
pub(super) use self::table::TABLE;
pub(in crate::funcs) use self::time::Civil;

/// The zone name of a TOML date with a time and without a zone.
pub(in crate::funcs) const TOML_DATETIME: &str = "datetime-local";
/// The zone name of a TOML date without a time.
pub(in crate::funcs) const TOML_DATE: &str = "date-local";
/// The zone name of a TOML time without a date.
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
