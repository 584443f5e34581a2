//! Parses a time by a layout, as Go's `time.ParseInLocation`, with its messages.

use super::layout::{self, LayoutPart, Offset, Pad};
use super::time::{Civil, Time, days, days_in, is_leap};
use super::zone::Zone;
use super::{DAYS, MONTHS};

/// Parses a time. Without a zone it is in `local`.
pub(super) fn parse(layout: &str, value: &str, local: &Zone) -> Result<Time, String> {
    let mut found = ParsedFields::default();
    let mut rest = value;
    let mut left = layout;
    loop {
        let chunk = layout::next(left);
        rest =
            skip(rest, chunk.prefix).map_err(|at| cannot(value, layout, at.unwrap_or(rest), chunk.prefix))?;
        let Some(part) = chunk.part else { break };
        left = chunk.rest;
        rest = match found.take(part, rest, left) {
            Ok(rest) => rest,
            Err(Bad::Form) => return Err(cannot(value, layout, rest, chunk.text)),
            Err(Bad::Range(what)) => return Err(wrong(value, &format!("{what} out of range"))),
        };
    }
    if !rest.is_empty() {
        return Err(wrong(value, &format!("extra text: {}", quote(rest))));
    }
    found.time(local).map_err(|what| wrong(value, what))
}

fn cannot(value: &str, layout: &str, rest: &str, part: &str) -> String {
    format!(
        "parsing time {} as {}: cannot parse {} as {}",
        quote(value),
        quote(layout),
        quote(rest),
        quote(part)
    )
}

fn wrong(value: &str, what: &str) -> String {
    format!("parsing time {}: {what}", quote(value))
}

/// Quotes as Go's `time` package does: bytes beyond ASCII are escaped.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=0x7f => out.push(char::from(byte)),
            other => out.push_str(&format!("\\x{other:02x}")),
        }
    }
    out.push('"');
    out
}

/// The rest after a prefix; a space matches any number of spaces. The error is the position of the mismatch.
fn skip<'v>(value: &'v str, prefix: &str) -> Result<&'v str, Option<&'v str>> {
    let mut value = value;
    let mut prefix = prefix;
    while let Some(expected) = prefix.chars().next() {
        if expected == ' ' {
            if !value.is_empty() && !value.starts_with(' ') {
                return Err(Some(value));
            }
            prefix = prefix.trim_start_matches(' ');
            value = value.trim_start_matches(' ');
            continue;
        }
        value = value.strip_prefix(expected).ok_or(Some(value))?;
        prefix = prefix.strip_prefix(expected).unwrap_or_default();
    }
    Ok(value)
}

enum Bad {
    Form,
    Range(&'static str),
}

/// The fields parsed so far.
#[derive(Default)]
struct ParsedFields {
    civil: Civil,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    /// Whether it is after noon.
    half: Option<bool>,
    utc: bool,
    offset: Option<i64>,
    zone: String,
}

impl ParsedFields {
    /// Parses an element; returns the rest.
    fn take<'v>(&mut self, part: LayoutPart, value: &'v str, layout: &str) -> Result<&'v str, Bad> {
        let (number, rest) = match part {
            LayoutPart::Year => {
                let digits = value.get(..4).ok_or(Bad::Form)?;
                let all = digits.bytes().all(|byte| byte.is_ascii_digit());
                self.civil.year = digits.parse().ok().filter(|_| all).ok_or(Bad::Form)?;
                return value.get(4..).ok_or(Bad::Form);
            }
            LayoutPart::ShortYear => {
                let year: i64 = value
                    .get(..2)
                    .and_then(|digits| digits.parse().ok())
                    .ok_or(Bad::Form)?;
                self.civil.year = year + if year >= 69 { 1900 } else { 2000 };
                return value.get(2..).ok_or(Bad::Form);
            }
            LayoutPart::MonthName | LayoutPart::ShortMonthName => {
                let (index, rest) = name(&MONTHS, part == LayoutPart::ShortMonthName, value)?;
                self.month = Some(index + 1);
                return Ok(rest);
            }
            LayoutPart::DayName | LayoutPart::ShortDayName => {
                return name(&DAYS, part == LayoutPart::ShortDayName, value).map(|(_, rest)| rest);
            }
            LayoutPart::Half { upper } => return self.take_half(upper, value),
            LayoutPart::ZoneName => return self.take_zone(value),
            LayoutPart::Offset(style) => return self.take_offset(style, value),
            LayoutPart::Fraction { digits, trim, .. } => return self.take_fraction(digits, trim, value),
            LayoutPart::Month(pad)
            | LayoutPart::Hour12(pad)
            | LayoutPart::Minute(pad)
            | LayoutPart::Second(pad) => one_or_two(value, pad == Pad::Zero)?,
            LayoutPart::Hour => one_or_two(value, false)?,
            LayoutPart::Day(pad) => {
                let blank = if pad == Pad::Blank {
                    value.strip_prefix(' ')
                } else {
                    None
                };
                one_or_two(blank.unwrap_or(value), pad == Pad::Zero)?
            }
            LayoutPart::YearDay(pad) => up_to_three(value, pad)?,
        };
        self.set(part, number)?;
        if matches!(part, LayoutPart::Second(_)) {
            return self.take_unannounced_fraction(rest, layout);
        }
        Ok(rest)
    }

    fn set(&mut self, part: LayoutPart, number: i64) -> Result<(), Bad> {
        let within = |fits: bool, what: &'static str| if fits { Ok(()) } else { Err(Bad::Range(what)) };
        match part {
            LayoutPart::Month(_) => {
                self.month = Some(number);
                within((1..=12).contains(&number), "month")
            }
            LayoutPart::Day(_) => {
                self.day = Some(number);
                Ok(())
            }
            LayoutPart::YearDay(_) => {
                self.year_day = Some(number);
                Ok(())
            }
            LayoutPart::Hour => {
                self.civil.hour = number;
                within(number < 24, "hour")
            }
            LayoutPart::Hour12(_) => {
                self.civil.hour = number;
                within(number <= 12, "hour")
            }
            LayoutPart::Minute(_) => {
                self.civil.minute = number;
                within(number < 60, "minute")
            }
            _ => {
                self.civil.second = number;
                within(number < 60, "second")
            }
        }
    }

    fn take_half<'v>(&mut self, upper: bool, value: &'v str) -> Result<&'v str, Bad> {
        let [after, before] = if upper { ["PM", "AM"] } else { ["pm", "am"] };
        if let Some(rest) = value.strip_prefix(after) {
            self.half = Some(true);
            return Ok(rest);
        }
        let rest = value.strip_prefix(before).ok_or(Bad::Form)?;
        // If a text has both, PM wins.
        self.half = self.half.or(Some(false));
        Ok(rest)
    }

    fn take_zone<'v>(&mut self, value: &'v str) -> Result<&'v str, Bad> {
        if let Some(rest) = value.strip_prefix("UTC") {
            self.utc = true;
            return Ok(rest);
        }
        let length = zone_length(value).ok_or(Bad::Form)?;
        let (name, rest) = value.split_at_checked(length).ok_or(Bad::Form)?;
        name.clone_into(&mut self.zone);
        Ok(rest)
    }

    fn take_offset<'v>(&mut self, style: Offset, value: &'v str) -> Result<&'v str, Bad> {
        if style.z
            && let Some(rest) = value.strip_prefix('Z')
        {
            self.utc = true;
            return Ok(rest);
        }
        let mut at = 1;
        let mut parts = [0; 3];
        let wanted = [true, style.minutes, style.seconds];
        for (index, (part, wanted)) in parts.iter_mut().zip(wanted).enumerate() {
            if !wanted {
                continue;
            }
            if style.colon && index > 0 {
                if value.as_bytes().get(at) != Some(&b':') {
                    return Err(Bad::Form);
                }
                at += 1;
            }
            let digits = value.get(at..at + 2).ok_or(Bad::Form)?;
            let all = digits.bytes().all(|byte| byte.is_ascii_digit());
            *part = digits.parse::<i64>().ok().filter(|_| all).ok_or(Bad::Form)?;
            at += 2;
        }
        let [hours, minutes, seconds] = parts;
        let limits = [
            (hours, 24, "time zone offset hour"),
            (minutes, 60, "time zone offset minute"),
            (seconds, 60, "time zone offset second"),
        ];
        // The last error is the one that is reported.
        if let Some((.., what)) = limits.into_iter().rev().find(|(value, limit, _)| value > limit) {
            return Err(Bad::Range(what));
        }
        let size = (hours * 60 + minutes) * 60 + seconds;
        self.offset = Some(match value.as_bytes().first() {
            Some(b'+') => size,
            Some(b'-') => -size,
            _ => return Err(Bad::Form),
        });
        value.get(at..).ok_or(Bad::Form)
    }

    fn take_fraction<'v>(&mut self, digits: usize, trim: bool, value: &'v str) -> Result<&'v str, Bad> {
        let count = fraction_digits(value);
        if trim {
            if count > 0 {
                self.set_fraction(value, count);
            }
            return value
                .get(if count > 0 { count + 1 } else { 0 }..)
                .ok_or(Bad::Form);
        }
        if count < digits {
            return Err(Bad::Form);
        }
        self.set_fraction(value, digits);
        value.get(digits + 1..).ok_or(Bad::Form)
    }

    /// Seconds may be followed by a fraction that the layout does not have.
    fn take_unannounced_fraction<'v>(&mut self, value: &'v str, layout: &str) -> Result<&'v str, Bad> {
        let count = fraction_digits(value);
        let announced = matches!(layout::next(layout).part, Some(LayoutPart::Fraction { .. }));
        if count == 0 || announced {
            return Ok(value);
        }
        self.set_fraction(value, count);
        value.get(count + 1..).ok_or(Bad::Form)
    }

    fn set_fraction(&mut self, value: &str, count: usize) {
        let digits = value.bytes().skip(1).take(count).chain(std::iter::repeat(b'0'));
        self.civil.nanosecond = digits
            .take(9)
            .fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    }

    fn time(mut self, local: &Zone) -> Result<Time, &'static str> {
        match self.half {
            Some(true) if self.civil.hour < 12 => self.civil.hour += 12,
            Some(false) if self.civil.hour == 12 => self.civil.hour = 0,
            _ => {}
        }
        self.settle_day()?;
        let civil = &self.civil;
        if civil.day < 1 || civil.day > days_in(civil.year, civil.month) {
            return Err("day out of range");
        }
        if self.utc {
            return Ok(Time::civil(civil, Zone::Utc));
        }
        let in_utc = civil.seconds();
        if let Some(offset) = self.offset {
            let seconds = in_utc - offset;
            let (there, name) = local.offset(seconds);
            let same = there == offset && (self.zone.is_empty() || *name == *self.zone);
            let zone = if same {
                local.clone()
            } else {
                Zone::Fixed(self.zone.as_str().into(), offset)
            };
            return Ok(Time::unix(seconds, civil.nanosecond, zone));
        }
        if self.zone.is_empty() {
            return Ok(Time::civil(civil, local.clone()));
        }
        if let Some(offset) = local.offset_named(&self.zone, in_utc) {
            return Ok(Time::unix(in_utc - offset, civil.nanosecond, local.clone()));
        }
        let hours = self
            .zone
            .strip_prefix("GMT")
            .and_then(|hours| hours.parse::<i64>().ok());
        let offset = hours.unwrap_or(0) * 3_600;
        // Go keeps the seconds of the offset, which this layout doesn't show.
        let zone = Zone::Fixed(self.zone.as_str().into(), offset);
        Ok(Time::unix(in_utc, civil.nanosecond, zone))
    }

    /// The month and the day, by the day of the year if there is one.
    fn settle_day(&mut self) -> Result<(), &'static str> {
        let year = self.civil.year;
        let Some(year_day) = self.year_day else {
            self.civil.month = self.month.unwrap_or(1);
            self.civil.day = self.day.unwrap_or(1);
            return Ok(());
        };
        if year_day < 1 || year_day > 365 + i64::from(is_leap(year)) {
            return Err("day-of-year out of range");
        }
        let first = |month: i64| days(year, month, 1) - days(year, 1, 1) + 1;
        let month = (1..=12)
            .rev()
            .find(|month| first(*month) <= year_day)
            .unwrap_or(1);
        let day = year_day - first(month) + 1;
        if self.month.is_some_and(|known| known != month) {
            return Err("day-of-year does not match month");
        }
        if self.day.is_some_and(|known| known != day) {
            return Err("day-of-year does not match day");
        }
        (self.civil.month, self.civil.day) = (month, day);
        Ok(())
    }
}

fn fraction_digits(value: &str) -> usize {
    if !value.starts_with(['.', ',']) {
        return 0;
    }
    value.bytes().skip(1).take_while(u8::is_ascii_digit).count()
}

/// The index of a name, ignoring case.
fn name<'v>(names: &[&str], short: bool, value: &'v str) -> Result<(i64, &'v str), Bad> {
    for (index, name) in (0..).zip(names) {
        let name = if short {
            name.get(..3).unwrap_or(name)
        } else {
            name
        };
        let found = value.get(..name.len());
        if found.is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return Ok((index, value.get(name.len()..).unwrap_or_default()));
        }
    }
    Err(Bad::Form)
}

fn one_or_two(value: &str, both: bool) -> Result<(i64, &str), Bad> {
    let count = value.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if count == 0 || both && count == 1 {
        return Err(Bad::Form);
    }
    number(value, count)
}

fn up_to_three(value: &str, pad: Pad) -> Result<(i64, &str), Bad> {
    let blanks = if pad == Pad::Blank {
        value.bytes().take(2).take_while(|byte| *byte == b' ').count()
    } else {
        0
    };
    let value = value.get(blanks..).unwrap_or_default();
    let count = value.bytes().take(3).take_while(u8::is_ascii_digit).count();
    if count == 0 || pad == Pad::Zero && count != 3 {
        return Err(Bad::Form);
    }
    number(value, count)
}

fn number(value: &str, count: usize) -> Result<(i64, &str), Bad> {
    let (digits, rest) = value.split_at_checked(count).ok_or(Bad::Form)?;
    Ok((digits.parse().map_err(|_| Bad::Form)?, rest))
}

/// The length of a zone name at the start of a text, by its format alone.
fn zone_length(value: &str) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with("ChST") || value.starts_with("MeST") {
        return Some(4);
    }
    if let Some(rest) = value.strip_prefix("GMT") {
        return Some(3 + signed_hours(rest).unwrap_or(0));
    }
    if value.starts_with(['+', '-']) {
        return signed_hours(value);
    }
    let letters = value.bytes().take(6).take_while(u8::is_ascii_uppercase).count();
    let ends_in_t = value.as_bytes().get(letters.wrapping_sub(1)) == Some(&b'T');
    match letters {
        3 => Some(3),
        4 if ends_in_t || value.starts_with("WITA") => Some(4),
        5 if ends_in_t => Some(5),
        _ => None,
    }
}

fn signed_hours(value: &str) -> Option<usize> {
    let digits = value.strip_prefix(['+', '-'])?;
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let hours: u64 = digits.get(..count)?.parse().ok()?;
    (hours <= 23).then_some(count + 1)
}
