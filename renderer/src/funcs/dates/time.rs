//! A moment and the zone it is shown in: Go's `time.Time`.

use super::NANOS;
use super::zone::Zone;

/// A moment: seconds since 1970 in UTC, nanoseconds, and its zone.
#[derive(Debug, Clone)]
pub(super) struct Time {
    pub(super) seconds: i64,
    /// Below a billion.
    pub(super) nanos: u32,
    pub(super) zone: Zone,
}

/// A civil date and time of day.
#[derive(Debug, Clone, Copy)]
pub(in crate::funcs) struct Civil {
    pub(in crate::funcs) year: i64,
    /// From 1.
    pub(in crate::funcs) month: i64,
    /// From 1.
    pub(in crate::funcs) day: i64,
    pub(in crate::funcs) hour: i64,
    pub(in crate::funcs) minute: i64,
    pub(in crate::funcs) second: i64,
    pub(in crate::funcs) nanosecond: u32,
}

impl Default for Civil {
    /// The first of January of the year 0.
    fn default() -> Self {
        Self {
            year: 0,
            month: 1,
            day: 1,
            hour: 0,
            minute: 0,
            second: 0,
            nanosecond: 0,
        }
    }
}

const DAY: i64 = 86_400;
/// Go's zero time, the first of January of the year 1, in seconds since 1970.
const ZERO: i64 = -62_135_596_800;
/// Years are clamped to this in both directions: Go's dates are meaningless there.
const MAX_YEAR: i64 = 200_000_000_000;

/// Days since 1970 of a date in the Gregorian calendar; months and days may overflow.
pub(super) fn days(year: i64, month: i64, day: i64) -> i64 {
    let months = month.wrapping_sub(1);
    let year = year
        .clamp(-MAX_YEAR, MAX_YEAR)
        .wrapping_add(months.div_euclid(12))
        .clamp(-MAX_YEAR, MAX_YEAR);
    let month = months.rem_euclid(12) + 1;
    // Years start in March, so that a leap day is the last day.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468).wrapping_add(day.wrapping_sub(1))
}

/// Year, month and day of days since 1970.
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days.wrapping_add(719_468);
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

pub(super) fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// How many days a month has.
pub(super) fn days_in(year: i64, month: i64) -> i64 {
    days(year, month + 1, 1) - days(year, month, 1)
}

impl Civil {
    /// Seconds since 1970 if this were UTC.
    pub(super) fn seconds(&self) -> i64 {
        let day = days(self.year, self.month, self.day);
        let time = self
            .hour
            .wrapping_mul(3_600)
            .wrapping_add(self.minute.wrapping_mul(60))
            .wrapping_add(self.second);
        day.wrapping_mul(DAY).wrapping_add(time)
    }
}

impl Time {
    /// Go's zero time.
    pub(super) fn zero() -> Self {
        Self::unix(ZERO, 0, Zone::Utc)
    }

    pub(super) fn unix(seconds: i64, nanos: u32, zone: Zone) -> Self {
        Self { seconds, nanos, zone }
    }

    /// Converts a civil time in a zone. For a skipped or ambiguous time Go uses the offset that is valid at the same
    /// number of seconds in UTC.
    pub(super) fn civil(civil: &Civil, zone: Zone) -> Self {
        let local = civil.seconds();
        let first = zone.offset(local).0;
        let seconds = if first == 0 {
            local
        } else {
            let offset = zone.offset(local.wrapping_sub(first)).0;
            local.wrapping_sub(offset)
        };
        Self::unix(seconds, civil.nanosecond, zone)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.seconds == ZERO && self.nanos == 0
    }

    /// The same moment in another zone.
    pub(super) fn within(&self, zone: Zone) -> Self {
        Self::unix(self.seconds, self.nanos, zone)
    }

    /// The civil time in its zone.
    pub(super) fn shown(&self) -> Civil {
        let local = self.seconds.wrapping_add(self.zone.offset(self.seconds).0);
        let (year, month, day) = date(local.div_euclid(DAY));
        let second = local.rem_euclid(DAY);
        Civil {
            year,
            month,
            day,
            hour: second / 3_600,
            minute: second / 60 % 60,
            second: second % 60,
            nanosecond: self.nanos,
        }
    }

    /// The weekday; Sunday is 0.
    pub(super) fn weekday(&self) -> i64 {
        let local = self.seconds.wrapping_add(self.zone.offset(self.seconds).0);
        local.div_euclid(DAY).wrapping_add(4).rem_euclid(7)
    }

    /// From 1.
    pub(super) fn year_day(&self) -> i64 {
        let shown = self.shown();
        days(shown.year, shown.month, shown.day) - days(shown.year, 1, 1) + 1
    }

    /// Adds nanoseconds.
    pub(super) fn add(&self, duration: i64) -> Self {
        let nanos = i64::from(self.nanos) + duration.rem_euclid(NANOS);
        let seconds = self
            .seconds
            .wrapping_add(duration.div_euclid(NANOS))
            .wrapping_add(nanos / NANOS);
        let nanos = u32::try_from(nanos % NANOS).unwrap_or(0);
        Self::unix(seconds, nanos, self.zone.clone())
    }

    /// Adds years, months and days on the calendar.
    pub(super) fn add_date(&self, years: i64, months: i64, days: i64) -> Self {
        let mut shown = self.shown();
        shown.year = shown.year.wrapping_add(years);
        shown.month = shown.month.wrapping_add(months);
        shown.day = shown.day.wrapping_add(days);
        Self::civil(&shown, self.zone.clone())
    }

    /// Nanoseconds since another time, saturating.
    pub(super) fn since(&self, other: &Self) -> i64 {
        let difference = self.total() - other.total();
        i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
    }

    /// Nanoseconds since 1970.
    pub(super) fn total(&self) -> i128 {
        i128::from(self.seconds) * i128::from(NANOS) + i128::from(self.nanos)
    }

    /// The time since the last multiple of a duration after Go's zero time.
    pub(super) fn remainder(&self, duration: i64) -> i64 {
        let since_zero = self.total() - i128::from(ZERO) * i128::from(NANOS);
        i64::try_from(since_zero.rem_euclid(i128::from(duration.max(1)))).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_round_trip() {
        for day in (-1_000_000..1_000_000).step_by(37) {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
        }
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(days(2024, 14, 1), days(2025, 2, 1));
        assert_eq!(days(2024, 3, 0), days(2024, 2, 29));
        assert_eq!(days_in(2100, 2), 28);
    }
}
