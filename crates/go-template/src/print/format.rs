//! `printf`: the format text, directive by directive.

use super::number::Flags;
use super::verbs::Printer;
use crate::text::Str;
use crate::value::Val;

/// The maximum width, precision and argument number in Go.
const LARGEST: i64 = 1_000_000;

/// As `fmt.Sprintf`.
pub fn sprintf(format: &Str, args: &[Val]) -> Str {
    let mut out = Vec::with_capacity(format.len() + 16 * args.len());
    let mut state = State {
        format: format.as_bytes(),
        position: 0,
        args,
        next: 0,
        after_index: false,
        reordered: false,
        good_index: true,
    };
    state.run(&mut out);
    Str::from_bytes(out)
}

struct State<'a> {
    format: &'a [u8],
    position: usize,
    args: &'a [Val],
    /// The index of the next argument.
    next: usize,
    /// Whether the directive's last part was an index like `[3]`.
    after_index: bool,
    reordered: bool,
    good_index: bool,
}

impl State<'_> {
    fn run(&mut self, out: &mut Vec<u8>) {
        loop {
            let rest = self.format.get(self.position..).unwrap_or_default();
            let text = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
            out.extend_from_slice(rest.get(..text).unwrap_or_default());
            self.position += text;
            if self.position >= self.format.len() {
                break;
            }
            self.position += 1;
            if !self.directive(out) {
                break;
            }
        }
        self.extra(out);
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.position).copied()
    }

    /// A directive after its `%`; returns whether the format continues.
    fn directive(&mut self, out: &mut Vec<u8>) -> bool {
        self.good_index = true;
        self.after_index = false;
        let mut printer = Printer::new(out);
        self.flags(&mut printer.flags);
        self.index();
        self.width(&mut printer);
        self.precision(&mut printer);
        if !self.after_index {
            self.index();
        }
        let Some(verb) = self.verb() else {
            printer.out.extend_from_slice(b"%!(NOVERB)");
            return false;
        };
        let arg = self.args.get(self.next);
        match (verb, arg) {
            ('%', _) => printer.out.push(b'%'),
            _ if !self.good_index => printer
                .out
                .extend_from_slice(format!("%!{verb}(BADINDEX)").as_bytes()),
            (_, None) => printer
                .out
                .extend_from_slice(format!("%!{verb}(MISSING)").as_bytes()),
            (_, Some(arg)) => {
                if verb == 'v' {
                    printer.sharp_v = std::mem::take(&mut printer.flags.sharp);
                    printer.plus_v = std::mem::take(&mut printer.flags.plus);
                }
                if verb == 'w' {
                    printer.bad_verb((!arg.is_nil()).then_some(arg), verb);
                } else {
                    printer.value(arg, verb);
                }
                self.next += 1;
            }
        }
        true
    }

    fn verb(&mut self) -> Option<char> {
        let rest = self.format.get(self.position..).unwrap_or_default();
        let chunk = rest.utf8_chunks().next()?;
        let verb = chunk.valid().chars().next();
        self.position += verb.map_or(1, char::len_utf8);
        Some(verb.unwrap_or('\u{fffd}'))
    }

    fn flags(&mut self, flags: &mut Flags) {
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => return,
            }
            self.position += 1;
        }
    }

    fn width(&mut self, printer: &mut Printer<'_>) {
        if self.peek() == Some(b'*') {
            self.position += 1;
            match self.argument_number() {
                Some(width) => {
                    printer.width = usize::try_from(width.unsigned_abs()).ok();
                    if width < 0 {
                        printer.flags.minus = true;
                        printer.flags.zero = false;
                    }
                }
                None => printer.out.extend_from_slice(b"%!(BADWIDTH)"),
            }
            self.after_index = false;
        } else {
            printer.width = self.digits();
            if self.after_index && printer.width.is_some() {
                self.good_index = false;
            }
        }
    }

    fn precision(&mut self, printer: &mut Printer<'_>) {
        if self.peek() != Some(b'.') || self.position + 1 >= self.format.len() {
            return;
        }
        self.position += 1;
        if self.after_index {
            self.good_index = false;
        }
        self.index();
        if self.peek() == Some(b'*') {
            self.position += 1;
            let precision = self
                .argument_number()
                .and_then(|precision| usize::try_from(precision).ok());
            if precision.is_none() {
                printer.out.extend_from_slice(b"%!(BADPREC)");
            }
            printer.precision = precision;
            self.after_index = false;
        } else {
            printer.precision = Some(self.digits().unwrap_or(0));
        }
    }

    /// A number in the format; beyond the maximum the rest of the format is dropped, as in Go.
    fn digits(&mut self) -> Option<usize> {
        let (number, end) = parse_number(self.format, self.position, self.format.len());
        self.position = end;
        number
    }

    /// A number among the arguments, for `*`.
    fn argument_number(&mut self) -> Option<i64> {
        let arg = self.args.get(self.next)?;
        self.next += 1;
        let number = match arg {
            Val::Int(number, _) => *number,
            Val::Uint(number, _) => i64::try_from(*number).ok()?,
            _ => return None,
        };
        (-LARGEST..=LARGEST).contains(&number).then_some(number)
    }

    /// `[3]`: sets the next argument.
    fn index(&mut self) {
        if self.peek() != Some(b'[') {
            self.after_index = false;
            return;
        }
        self.reordered = true;
        let rest = self.format.get(self.position..).unwrap_or_default();
        let close = rest
            .iter()
            .position(|byte| *byte == b']')
            .filter(|_| rest.len() >= 3);
        let Some(close) = close else {
            self.position += 1;
            self.good_index = false;
            self.after_index = false;
            return;
        };
        let (number, end) = parse_number(rest, 1, close);
        self.position += close + 1;
        match number.filter(|_| end == close) {
            Some(number) if number >= 1 && number <= self.args.len() => {
                self.next = number - 1;
                self.after_index = true;
            }
            Some(_) => {
                self.good_index = false;
                self.after_index = true;
            }
            None => {
                self.good_index = false;
                self.after_index = false;
            }
        }
    }

    fn extra(&self, out: &mut Vec<u8>) {
        let rest = self.args.get(self.next..).unwrap_or_default();
        if self.reordered || rest.is_empty() {
            return;
        }
        out.extend_from_slice(b"%!(EXTRA ");
        for (index, arg) in rest.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            if arg.is_nil() {
                out.extend_from_slice(b"<nil>");
                continue;
            }
            out.extend_from_slice(arg.type_name().as_bytes());
            out.push(b'=');
            Printer::new(out).value(arg, 'v');
        }
        out.push(b')');
    }
}

/// Decimal digits from `start` on, and their end.
fn parse_number(text: &[u8], start: usize, end: usize) -> (Option<usize>, usize) {
    let mut number: Option<i64> = None;
    let mut position = start;
    while let Some(digit) = text
        .get(position)
        .filter(|byte| position < end && byte.is_ascii_digit())
    {
        if number.is_some_and(|number| number > LARGEST) {
            return (None, end);
        }
        number = Some(number.unwrap_or(0) * 10 + i64::from(digit - b'0'));
        position += 1;
    }
    (number.and_then(|number| usize::try_from(number).ok()), position)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected texts come from Go 1.26's `fmt.Sprintf`.
    #[test]
    #[allow(clippy::too_many_lines, reason = "a table")]
    fn directives_work_as_in_go() {
        let list = Val::list(vec![Val::int(1), Val::str("a"), Val::Nil]);
        let map = Val::from_entries([("b", Val::str("x")), ("a", Val::Float(1e6))]);
        let cases: Vec<(&str, Vec<Val>, &str)> = vec![
            (
                "%d|%5d|%-5d|%05d|%+d|% d",
                vec![Val::int(42); 6],
                "42|   42|42   |00042|+42| 42",
            ),
            (
                "%x|%X|%#x|%o|%#o|%O|%b|%c|%q|%U",
                vec![Val::int(42); 10],
                "2a|2A|0x2a|52|052|0o52|101010|*|'*'|U+002A",
            ),
            (
                "%s|%10s|%-10s|%.2s|%q|%x",
                vec![Val::str("héy"); 6],
                "héy|       héy|héy       |hé|\"héy\"|68c3a979",
            ),
            (
                "%v|%.2f|%8.3f|%e|%g",
                vec![Val::Float(3.5); 5],
                "3.5|3.50|   3.500|3.500000e+00|3.5",
            ),
            (
                "%v %v",
                vec![list.clone(), map.clone()],
                "[1 a <nil>] map[a:1e+06 b:x]",
            ),
            (
                "%#v",
                vec![map],
                "map[string]interface {}{\"a\":1e+06, \"b\":\"x\"}",
            ),
            ("%d", vec![list], "[1 %!d(string=a) <nil>]"),
            ("%d", vec![Val::str("x")], "%!d(string=x)"),
            ("%s", vec![Val::int(1)], "%!s(int=1)"),
            ("%d %d", vec![Val::int(1)], "1 %!d(MISSING)"),
            ("%d", vec![Val::int(1), Val::str("x")], "1%!(EXTRA string=x)"),
            ("%!", vec![], "%!!(MISSING)"),
            ("%", vec![], "%!(NOVERB)"),
            ("100%%", vec![], "100%"),
            ("%[2]d %[1]d", vec![Val::int(1), Val::int(2)], "2 1"),
            ("%[3]d", vec![Val::int(1)], "%!d(BADINDEX)"),
            (
                "%*d|%-*d",
                vec![Val::int(4), Val::int(1), Val::int(4), Val::int(1)],
                "   1|1   ",
            ),
            ("%.*f", vec![Val::int(1), Val::Float(2.25)], "2.2"),
            ("%t %v", vec![Val::Bool(true), Val::Nil], "true <nil>"),
            ("%s", vec![Val::Nil], "%!s(<nil>)"),
            ("%T %T", vec![Val::Float(1.0), Val::Nil], "float64 <nil>"),
            (
                "%06.2f|%+.1f",
                vec![Val::Float(-1.5), Val::Float(1.0)],
                "-01.50|+1.0",
            ),
            (
                "%6v|%-6v|",
                vec![Val::Bool(true), Val::Bool(false)],
                "  true|false |",
            ),
        ];
        for (format, args, expected) in cases {
            assert_eq!(sprintf(&Str::from(format), &args), expected, "{format}");
        }
    }
}
