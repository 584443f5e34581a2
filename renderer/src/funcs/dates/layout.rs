//! Go's time layouts, which are given by an example: `Mon Jan 2 15:04:05 MST 2006`.

use super::time::Time;
use super::{DAYS, MONTHS};

/// An element of a layout that represents a part of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayoutPart {
    /// `2006`
    Year,
    /// `06`
    ShortYear,
    /// `January`
    MonthName,
    /// `Jan`
    ShortMonthName,
    /// `1` and `01`
    Month(Pad),
    /// `Monday`
    DayName,
    /// `Mon`
    ShortDayName,
    /// `2`, `_2` and `02`
    Day(Pad),
    /// `__2` and `002`
    YearDay(Pad),
    /// `15`
    Hour,
    /// `3` and `03`
    Hour12(Pad),
    /// `4` and `04`
    Minute(Pad),
    /// `5` and `05`
    Second(Pad),
    /// `PM`, and `pm` when not upper
    Half { upper: bool },
    /// `MST`
    ZoneName,
    /// `-0700` and its kin.
    Offset(Offset),
    /// `.000`, or `.999` when `trim`; also with a comma.
    Fraction { comma: bool, digits: usize, trim: bool },
}

/// The padding of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pad {
    None,
    Blank,
    Zero,
}

/// The format of an offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset {
    /// `Z` for UTC itself.
    pub(super) z: bool,
    pub(super) colon: bool,
    pub(super) minutes: bool,
    pub(super) seconds: bool,
}

/// The text before the first element, the element, its text, and the rest.
pub(super) struct Chunk<'l> {
    pub(super) prefix: &'l str,
    pub(super) part: Option<LayoutPart>,
    pub(super) text: &'l str,
    pub(super) rest: &'l str,
}

/// The literal elements, longest first where one is a prefix of another.
const WORDS: [(&str, LayoutPart); 29] = [
    ("January", LayoutPart::MonthName),
    ("Jan", LayoutPart::ShortMonthName),
    ("Monday", LayoutPart::DayName),
    ("Mon", LayoutPart::ShortDayName),
    ("MST", LayoutPart::ZoneName),
    ("01", LayoutPart::Month(Pad::Zero)),
    ("02", LayoutPart::Day(Pad::Zero)),
    ("03", LayoutPart::Hour12(Pad::Zero)),
    ("04", LayoutPart::Minute(Pad::Zero)),
    ("05", LayoutPart::Second(Pad::Zero)),
    ("06", LayoutPart::ShortYear),
    ("002", LayoutPart::YearDay(Pad::Zero)),
    ("15", LayoutPart::Hour),
    ("1", LayoutPart::Month(Pad::None)),
    ("2006", LayoutPart::Year),
    ("2", LayoutPart::Day(Pad::None)),
    ("_2", LayoutPart::Day(Pad::Blank)),
    ("__2", LayoutPart::YearDay(Pad::Blank)),
    ("3", LayoutPart::Hour12(Pad::None)),
    ("4", LayoutPart::Minute(Pad::None)),
    ("5", LayoutPart::Second(Pad::None)),
    ("PM", LayoutPart::Half { upper: true }),
    ("pm", LayoutPart::Half { upper: false }),
    ("070000", offset_part(false, true, true)),
    ("07:00:00", offset_part(true, true, true)),
    ("0700", offset_part(false, true, false)),
    ("07:00", offset_part(true, true, false)),
    ("07", offset_part(false, false, false)),
    ("", LayoutPart::Year),
];

/// The range of the offsets in [`WORDS`].
const OFFSETS: std::ops::Range<usize> = 23..28;

const fn offset_part(colon: bool, minutes: bool, seconds: bool) -> LayoutPart {
    LayoutPart::Offset(Offset {
        z: false,
        colon,
        minutes,
        seconds,
    })
}

/// Splits a layout at its first element.
pub(super) fn next(layout: &str) -> Chunk<'_> {
    for (at, _) in layout.char_indices() {
        let (prefix, tail) = layout.split_at_checked(at).unwrap_or((layout, ""));
        if let Some((part, length)) = part_at(tail) {
            let (text, rest) = tail.split_at_checked(length).unwrap_or((tail, ""));
            return Chunk {
                prefix,
                part: Some(part),
                text,
                rest,
            };
        }
    }
    Chunk {
        prefix: layout,
        part: None,
        text: "",
        rest: "",
    }
}

fn part_at(tail: &str) -> Option<(LayoutPart, usize)> {
    let lower_follows = |length: usize| tail.as_bytes().get(length).is_some_and(u8::is_ascii_lowercase);
    match tail.bytes().next()? {
        sign @ (b'-' | b'Z') => {
            let digits = tail.get(1..)?;
            let offsets = WORDS.get(OFFSETS)?;
            let (word, part) = offsets.iter().find(|(word, _)| digits.starts_with(word))?;
            let part = match *part {
                LayoutPart::Offset(offset) => LayoutPart::Offset(Offset {
                    z: sign == b'Z',
                    ..offset
                }),
                other => other,
            };
            Some((part, word.len() + 1))
        }
        point @ (b'.' | b',') => {
            let digit = *tail.as_bytes().get(1)?;
            if !matches!(digit, b'0' | b'9') {
                return None;
            }
            let digits = tail.bytes().skip(1).take_while(|byte| *byte == digit).count();
            let ends = !tail.as_bytes().get(digits + 1).is_some_and(u8::is_ascii_digit);
            let part = LayoutPart::Fraction {
                comma: point == b',',
                digits,
                trim: digit == b'9',
            };
            ends.then_some((part, digits + 1))
        }
        // `_2006` is an underscore and a year.
        b'_' if tail.starts_with("_2006") => None,
        _ => {
            let words = WORDS.get(..OFFSETS.start)?;
            let (word, part) = words.iter().find(|(word, _)| tail.starts_with(word))?;
            let cut = matches!(part, LayoutPart::ShortMonthName | LayoutPart::ShortDayName)
                && lower_follows(word.len());
            (!cut).then_some((*part, word.len()))
        }
    }
}

/// Formats a time by a layout.
pub(super) fn format(time: &Time, layout: &str) -> String {
    let shown = time.shown();
    let (offset, name) = time.zone.offset(time.seconds);
    let mut out = String::with_capacity(layout.len() + 10);
    let mut rest = layout;
    loop {
        let chunk = next(rest);
        out.push_str(chunk.prefix);
        let Some(part) = chunk.part else { return out };
        rest = chunk.rest;
        match part {
            LayoutPart::Year => number(shown.year, 4, '0', &mut out),
            LayoutPart::ShortYear => number(shown.year.max(0) % 100, 2, '0', &mut out),
            LayoutPart::MonthName => out.push_str(month_name(shown.month)),
            LayoutPart::ShortMonthName => out.push_str(short(month_name(shown.month))),
            LayoutPart::Month(pad) => padded(shown.month, 2, pad, &mut out),
            LayoutPart::DayName => out.push_str(day_name(time.weekday())),
            LayoutPart::ShortDayName => out.push_str(short(day_name(time.weekday()))),
            LayoutPart::Day(pad) => padded(shown.day, 2, pad, &mut out),
            LayoutPart::YearDay(pad) => padded(time.year_day(), 3, pad, &mut out),
            LayoutPart::Hour => number(shown.hour, 2, '0', &mut out),
            LayoutPart::Hour12(pad) => padded((shown.hour + 11) % 12 + 1, 2, pad, &mut out),
            LayoutPart::Minute(pad) => padded(shown.minute, 2, pad, &mut out),
            LayoutPart::Second(pad) => padded(shown.second, 2, pad, &mut out),
            LayoutPart::Half { upper } => {
                let half = if shown.hour >= 12 { "PM" } else { "AM" };
                out.push_str(&if upper {
                    half.to_owned()
                } else {
                    half.to_lowercase()
                });
            }
            LayoutPart::ZoneName if !name.is_empty() => out.push_str(&name),
            LayoutPart::ZoneName => {
                let minutes = offset / 60;
                out.push(if minutes < 0 { '-' } else { '+' });
                number(minutes.abs() / 60, 2, '0', &mut out);
                number(minutes.abs() % 60, 2, '0', &mut out);
            }
            LayoutPart::Offset(style) => push_offset(offset, style, &mut out),
            LayoutPart::Fraction { comma, digits, trim } => {
                let point = if comma { ',' } else { '.' };
                fraction(time.nanos, point, digits, trim, &mut out);
            }
        }
    }
}

pub(super) fn month_name(month: i64) -> &'static str {
    let index = usize::try_from(month - 1).unwrap_or(0);
    MONTHS.get(index).copied().unwrap_or_default()
}

fn day_name(day: i64) -> &'static str {
    let index = usize::try_from(day).unwrap_or(0);
    DAYS.get(index).copied().unwrap_or_default()
}

fn short(name: &'static str) -> &'static str {
    name.get(..3).unwrap_or(name)
}

fn padded(value: i64, width: usize, pad: Pad, out: &mut String) {
    match pad {
        Pad::None => number(value, 0, '0', out),
        Pad::Blank => number(value, width, ' ', out),
        Pad::Zero => number(value, width, '0', out),
    }
}

fn number(value: i64, width: usize, fill: char, out: &mut String) {
    let digits = value.unsigned_abs().to_string();
    if value < 0 {
        out.push('-');
    }
    out.extend(std::iter::repeat_n(fill, width.saturating_sub(digits.len())));
    out.push_str(&digits);
}

fn push_offset(offset: i64, style: Offset, out: &mut String) {
    if style.z && offset == 0 {
        out.push('Z');
        return;
    }
    // Go drops the seconds first, so that half a minute west is `-00:00`.
    let minutes = offset / 60;
    out.push(if minutes < 0 { '-' } else { '+' });
    number(minutes.abs() / 60, 2, '0', out);
    if style.colon {
        out.push(':');
    }
    if style.minutes {
        number(minutes.abs() % 60, 2, '0', out);
    }
    if style.seconds {
        if style.colon {
            out.push(':');
        }
        number(offset.abs() % 60, 2, '0', out);
    }
}

fn fraction(nanos: u32, point: char, digits: usize, trim: bool, out: &mut String) {
    let all = format!("{nanos:09}");
    let mut text: String = all.chars().take(digits).collect();
    if trim {
        text.truncate(text.trim_end_matches('0').len());
        if text.is_empty() {
            return;
        }
    }
    out.push(point);
    out.push_str(&text);
}
