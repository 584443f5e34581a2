//! Formats values by fmt's verbs, with width and precision.

use super::number::{self, Flags};
use super::quote::{can_backquote, quote_ascii, quote_bytes, quote_char};
use crate::limits::{MAX_NESTING, MAX_TEXT_BYTES};
use crate::memory;
use crate::text::Str;
use crate::value::{IntType, Kind, Val};

/// The placeholder for an address.
const ADDRESS: u64 = 0xc0_0000_0000;

/// Prints values by one directive.
pub(super) struct Printer<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) flags: Flags,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    /// `%+v`: structs with names.
    pub(super) plus_v: bool,
    /// `%#v`: Go's syntax.
    pub(super) sharp_v: bool,
    /// While a bad verb is reported, methods are not called.
    erroring: bool,
}

impl<'a> Printer<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            flags: Flags::default(),
            width: None,
            precision: None,
            plus_v: false,
            sharp_v: false,
            erroring: false,
        }
    }

    /// One argument of a call.
    pub(super) fn value(&mut self, value: &Val, verb: char) {
        match verb {
            _ if value.is_nil() => match verb {
                'T' | 'v' => self.pad(b"<nil>"),
                _ => self.bad_verb(None, verb),
            },
            'T' => {
                let name = value.type_name().to_owned();
                self.string(name.as_bytes());
            }
            'p' => self.pointer(value),
            _ => self.at(value, verb, 0),
        }
    }

    fn at(&mut self, value: &Val, verb: char, depth: usize) {
        let more = value.as_str().map_or(0, Str::len);
        if depth > MAX_NESTING || self.out.len() > MAX_TEXT_BYTES || !memory::fits(self.out.len() + more) {
            // Go would print until its stack or memory is exhausted.
            self.out.extend_from_slice(b"...");
            return;
        }
        if !self.sharp_v
            && !self.erroring
            && matches!(verb, 'v' | 's' | 'x' | 'X' | 'q')
            && let Some(text) = own_words(value)
        {
            self.text(text.as_bytes(), verb, value);
            return;
        }
        match value {
            Val::Nil | Val::Null if self.sharp_v => self.out.extend_from_slice(b"interface {}(nil)"),
            Val::Nil | Val::Null => self.out.extend_from_slice(b"<nil>"),
            Val::Bool(truth) => match verb {
                't' | 'v' => self.pad(truth.to_string().as_bytes()),
                _ => self.bad_verb(Some(value), verb),
            },
            Val::Int(number, _) => self.integer(value, number.unsigned_abs(), *number < 0, true, verb),
            Val::Uint(number, _) => self.integer(value, *number, false, false, verb),
            Val::Float(number) => self.float(value, *number, verb),
            Val::Complex(re, im) => self.complex(value, *re, *im, verb),
            Val::Str(text) => self.text(text.as_bytes(), verb, value),
            Val::Bytes(bytes) => self.bytes(bytes, verb),
            Val::List(list) => self.sequence(value.type_name(), list.iter(), verb, depth),
            Val::Map(map) => self.entries(value.type_name(), &map.entries(), verb, depth),
            Val::Object(object) => {
                let fields = object.fields();
                match object.kind() {
                    Kind::Map => self.entries(object.type_name(), &fields, verb, depth),
                    Kind::Slice => {
                        self.sequence(
                            object.type_name(),
                            fields.iter().map(|(_, item)| item),
                            verb,
                            depth,
                        );
                    }
                    Kind::Ptr if depth > 0 => match verb {
                        'v' | 'p' | 'b' | 'o' | 'd' | 'x' | 'X' => self.address(),
                        _ => self.bad_verb(Some(value), verb),
                    },
                    kind => self.fields(kind, object.type_name(), &fields, verb, depth),
                }
            }
        }
    }

    fn sequence<'v>(&mut self, name: &str, items: impl Iterator<Item = &'v Val>, verb: char, depth: usize) {
        let separator: &[u8] = if self.sharp_v { b", " } else { b" " };
        if self.sharp_v {
            self.out.extend_from_slice(name.as_bytes());
        }
        self.out.push(if self.sharp_v { b'{' } else { b'[' });
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.out.extend_from_slice(separator);
            }
            self.at(item, verb, depth + 1);
        }
        self.out.push(if self.sharp_v { b'}' } else { b']' });
    }

    fn entries<K: AsRef<str>>(&mut self, name: &str, entries: &[(K, Val)], verb: char, depth: usize) {
        let separator: &[u8] = if self.sharp_v { b", " } else { b" " };
        if self.sharp_v {
            self.out.extend_from_slice(name.as_bytes());
            self.out.push(b'{');
        } else {
            self.out.extend_from_slice(b"map[");
        }
        for (index, (key, item)) in entries.iter().enumerate() {
            if index > 0 {
                self.out.extend_from_slice(separator);
            }
            self.text(key.as_ref().as_bytes(), verb, &Val::str(key.as_ref()));
            self.out.push(b':');
            self.at(item, verb, depth + 1);
        }
        self.out.push(if self.sharp_v { b'}' } else { b']' });
    }

    fn fields(&mut self, kind: Kind, name: &str, fields: &[(String, Val)], verb: char, depth: usize) {
        if kind == Kind::Ptr {
            self.out.push(b'&');
        }
        if self.sharp_v {
            self.out
                .extend_from_slice(name.trim_start_matches('*').as_bytes());
        }
        let separator: &[u8] = if self.sharp_v { b", " } else { b" " };
        self.out.push(b'{');
        for (index, (name, item)) in fields.iter().enumerate() {
            if index > 0 {
                self.out.extend_from_slice(separator);
            }
            if self.plus_v || self.sharp_v {
                self.out.extend_from_slice(name.as_bytes());
                self.out.push(b':');
            }
            self.at(item, verb, depth + 1);
        }
        self.out.push(b'}');
    }

    fn pointer(&mut self, value: &Val) {
        match value.kind() {
            Kind::Map | Kind::Slice | Kind::Ptr | Kind::Func => self.address(),
            _ => self.bad_verb(Some(value), 'p'),
        }
    }

    fn address(&mut self) {
        let flags = Flags {
            sharp: !self.flags.sharp,
            ..self.flags
        };
        let text = number::integer(ADDRESS, false, 16, false, 'v', 0, flags);
        self.pad(text.as_bytes());
    }

    fn text(&mut self, bytes: &[u8], verb: char, value: &Val) {
        match verb {
            'v' if self.sharp_v => self.quoted(bytes),
            'v' | 's' => self.string(bytes),
            'x' => self.hex(bytes, false),
            'X' => self.hex(bytes, true),
            'q' => self.quoted(bytes),
            _ => self.bad_verb(Some(value), verb),
        }
    }

    fn string(&mut self, bytes: &[u8]) {
        let cut = self.truncated(bytes).to_vec();
        self.pad(&cut);
    }

    fn quoted(&mut self, bytes: &[u8]) {
        let bytes = self.truncated(bytes);
        let text = if self.flags.sharp && can_backquote(bytes) {
            format!("`{}`", String::from_utf8_lossy(bytes))
        } else if self.flags.plus {
            quote_ascii(bytes)
        } else {
            quote_bytes(bytes)
        };
        self.pad(text.as_bytes());
    }

    /// Truncates to the precision, in characters.
    fn truncated<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let Some(count) = self.precision else { return bytes };
        let starts = bytes.utf8_chunks().flat_map(|chunk| {
            let valid = chunk.valid().chars().map(char::len_utf8);
            valid.chain(chunk.invalid().iter().map(|_| 1))
        });
        let end: usize = starts.take(count).sum();
        bytes.get(..end).unwrap_or(bytes)
    }

    fn hex(&mut self, bytes: &[u8], upper: bool) {
        let length = self
            .precision
            .map_or(bytes.len(), |precision| precision.min(bytes.len()));
        let bytes = bytes.get(..length).unwrap_or(bytes);
        let prefix = match (self.flags.sharp, upper) {
            (false, _) => "",
            (true, false) => "0x",
            (true, true) => "0X",
        };
        let mut text = String::new();
        for (index, byte) in bytes.iter().enumerate() {
            if index > 0 && self.flags.space {
                text.push(' ');
            }
            if index == 0 || self.flags.space {
                text.push_str(prefix);
            }
            text.push_str(&if upper {
                format!("{byte:02X}")
            } else {
                format!("{byte:02x}")
            });
        }
        self.pad(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8], verb: char) {
        match verb {
            's' => self.string(bytes),
            'x' => self.hex(bytes, false),
            'X' => self.hex(bytes, true),
            'q' => self.quoted(bytes),
            _ => {
                let items: Vec<Val> = bytes
                    .iter()
                    .map(|byte| Val::Uint(u64::from(*byte), crate::UintType::Uint8))
                    .collect();
                self.sequence(
                    if verb == 'v' || verb == 'd' {
                        "[]byte"
                    } else {
                        "[]uint8"
                    },
                    items.iter(),
                    verb,
                    0,
                );
            }
        }
    }

    fn integer(&mut self, value: &Val, size: u64, negative: bool, signed: bool, verb: char) {
        let (base, upper) = match verb {
            'v' if self.sharp_v && !signed => {
                let flags = Flags {
                    sharp: true,
                    ..self.flags
                };
                let text = number::integer(size, false, 16, false, verb, 0, flags);
                return self.pad_number(&text);
            }
            'v' | 'd' => (10, false),
            'b' => (2, false),
            'o' | 'O' => (8, false),
            'x' => (16, false),
            'X' => (16, true),
            'c' | 'q' | 'U' => return self.character(size, negative, verb),
            _ => return self.bad_verb(Some(value), verb),
        };
        if self.precision == Some(0) && size == 0 {
            return self.pad_number("");
        }
        let signed = negative || self.flags.plus || self.flags.space;
        let digits = match (self.precision, self.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if self.flags.zero && !self.flags.minus => {
                width - usize::from(signed && width > 0)
            }
            _ => 0,
        };
        let text = number::integer(size, negative, base, upper, verb, digits, self.flags);
        self.pad_number(&text);
    }

    fn character(&mut self, size: u64, negative: bool, verb: char) {
        let code = if negative { size.wrapping_neg() } else { size };
        let character = u32::try_from(code)
            .ok()
            .and_then(char::from_u32)
            .unwrap_or('\u{fffd}');
        match verb {
            'c' => self.pad(character.to_string().as_bytes()),
            'q' => self.pad(quote_char(character, self.flags.plus).as_bytes()),
            _ => {
                let digits = self.precision.unwrap_or(4).max(4);
                let mut text = format!("U+{code:0digits$X}");
                let shown = u32::try_from(code).ok().and_then(char::from_u32);
                if let Some(shown) = shown.filter(|shown| self.flags.sharp && super::is_printable(*shown)) {
                    text.push_str(&format!(" '{shown}'"));
                }
                self.pad_number(&text);
            }
        }
    }

    fn float(&mut self, value: &Val, number: f64, verb: char) {
        let (verb, default) = match verb {
            'v' => ('g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => (verb, None),
            'f' | 'e' | 'E' => (verb, Some(6)),
            'F' => ('f', Some(6)),
            _ => return self.bad_verb(Some(value), verb),
        };
        let precision = self.precision.or(default);
        let text = number::float(number, verb, precision, self.flags.sharp);
        let (sign, body) = text.split_at_checked(1).unwrap_or(("+", ""));
        let sign = if self.flags.space && sign == "+" && !self.flags.plus {
            " "
        } else {
            sign
        };
        if number.is_nan() || number.is_infinite() {
            let shown = self.flags.plus || self.flags.space || !number.is_nan();
            let text = if shown {
                format!("{sign}{body}")
            } else {
                body.to_owned()
            };
            let text = if number.is_infinite() && sign == "+" && !self.flags.plus {
                format!("+{body}")
            } else {
                text
            };
            return self.pad_number(&text);
        }
        if !self.flags.plus && sign == "+" {
            return self.pad(body.as_bytes());
        }
        let length = body.chars().count() + 1;
        match self.width {
            Some(width) if self.flags.zero && !self.flags.minus && width > length => {
                self.out.extend_from_slice(sign.as_bytes());
                self.out.extend(std::iter::repeat_n(b'0', width - length));
                self.out.extend_from_slice(body.as_bytes());
            }
            _ => self.pad(format!("{sign}{body}").as_bytes()),
        }
    }

    fn complex(&mut self, value: &Val, re: f64, im: f64, verb: char) {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return self.bad_verb(Some(value), verb);
        }
        let plus = self.flags.plus;
        self.out.push(b'(');
        self.float(value, re, verb);
        self.flags.plus = true;
        self.float(value, im, verb);
        self.out.extend_from_slice(b"i)");
        self.flags.plus = plus;
    }

    pub(super) fn bad_verb(&mut self, value: Option<&Val>, verb: char) {
        self.erroring = true;
        self.out.extend_from_slice(format!("%!{verb}(").as_bytes());
        match value {
            Some(value) => {
                self.out.extend_from_slice(value.type_name().as_bytes());
                self.out.push(b'=');
                self.at(value, 'v', 0);
            }
            None => self.out.extend_from_slice(b"<nil>"),
        }
        self.out.push(b')');
        self.erroring = false;
    }

    /// Pads to the width; with zeros only if requested, and on the left.
    pub(super) fn pad(&mut self, bytes: &[u8]) {
        let zero = self.flags.zero && !self.flags.minus;
        self.padded(bytes, if zero { b'0' } else { b' ' });
    }

    /// Pads to the width with spaces: padding zeros are already digits of a number.
    fn pad_number(&mut self, text: &str) {
        self.padded(text.as_bytes(), b' ');
    }

    fn padded(&mut self, bytes: &[u8], fill: u8) {
        let count = match self.width {
            Some(width) => width.saturating_sub(characters(bytes)),
            None => 0,
        };
        if !self.flags.minus {
            self.out.extend(std::iter::repeat_n(fill, count));
        }
        self.out.extend_from_slice(bytes);
        if self.flags.minus {
            self.out.extend(std::iter::repeat_n(fill, count));
        }
    }
}

fn characters(bytes: &[u8]) -> usize {
    bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + chunk.invalid().len())
        .sum()
}

/// The result of a type's `String()`.
fn own_words(value: &Val) -> Option<String> {
    match value {
        Val::Int(number, IntType::Duration) => Some(duration(*number)),
        Val::Int(number, IntType::Month) => Some(named(*number, &MONTHS, 1, "Month")),
        Val::Int(number, IntType::Weekday) => Some(named(*number, &WEEKDAYS, 0, "Weekday")),
        Val::Object(object) => object.string(),
        _ => None,
    }
}

const MONTHS: [&str; 12] = [
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
const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

fn named(number: i64, names: &[&str], first: i64, kind: &str) -> String {
    let index = usize::try_from(number.wrapping_sub(first)).ok();
    match index.and_then(|index| names.get(index)) {
        Some(name) => (*name).to_owned(),
        None => format!("%!{kind}({number})"),
    }
}

/// Go's `Duration.String`: `1h2m3.5s`, and below a second `1.5ms`.
fn duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let size = nanoseconds.unsigned_abs();
    let decimal = |size: u64, unit: u64, digits: usize| {
        let fraction = format!("{:0digits$}", size % unit);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{}{point}{fraction}", size / unit)
    };
    let text = match size {
        0 => return "0s".to_owned(),
        1..1_000 => format!("{size}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(size, 1_000, 3)),
        1_000_000..1_000_000_000 => format!("{}ms", decimal(size, 1_000_000, 6)),
        _ => {
            let minutes = size / 60_000_000_000;
            let seconds = decimal(size % 60_000_000_000, 1_000_000_000, 9);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_in_go() {
        let cases = [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (245_000_000_000, "4m5s"),
            (18_367_001_000_000, "5h6m7.001s"),
            (-1_500_000, "-1.5ms"),
        ];
        for (nanoseconds, expected) in cases {
            assert_eq!(duration(nanoseconds), expected);
        }
    }
}
