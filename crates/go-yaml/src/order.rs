//! The order of keys in go-yaml's output: numbers in names count as numbers, `a9` before `a10`.

use std::cmp::Ordering;

use super::dialect::Dialect;

/// The entries of a map as go-yaml writes them.
///
/// The comparison is not transitive for every set of keys (digits overflow, leading
/// zeros), and the standard library's sort may panic then; a plain merge sort can't.
/// Go's result is arbitrary in such cases.
pub(super) fn sorted<T: Copy>(mut entries: Vec<(&str, T)>, dialect: Dialect) -> Vec<(&str, T)> {
    let mut width = 1;
    while width < entries.len() {
        let mut merged = Vec::with_capacity(entries.len());
        for pair in entries.chunks(width * 2) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, dialect, &mut merged);
        }
        entries = merged;
        width *= 2;
    }
    entries
}

fn merge<'a, T>(left: &[(&'a str, T)], right: &[(&'a str, T)], dialect: Dialect, out: &mut Vec<(&'a str, T)>)
where
    T: Copy,
{
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some((a, _)), Some((b, _))) if compare(b, a, dialect) == Ordering::Less => right.next(),
            (Some(_), _) => left.next(),
            (None, _) => right.next(),
        };
        match next {
            Some(entry) => out.push(*entry),
            None => return,
        }
    }
}

/// Letters sort after everything else and by code point among themselves; runs of digits by
/// their number, shorter runs first. In go-yaml v3 letters come first after a digit.
pub(super) fn compare(a: &str, b: &str, dialect: Dialect) -> Ordering {
    // Most keys differ in a letter, and go-yaml compares ASCII letters as bytes.
    let differ = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    if let Some((byte_a, byte_b)) = differ
        && byte_a.is_ascii_alphabetic()
        && byte_b.is_ascii_alphabetic()
    {
        return byte_a.cmp(&byte_b);
    }
    let common = common_prefix(a, b);
    let (before, rest_a) = a.split_at_checked(common).unwrap_or((a, ""));
    let rest_b = b.get(common..).unwrap_or("");
    let (Some(first_a), Some(first_b)) = (rest_a.chars().next(), rest_b.chars().next()) else {
        return rest_a.len().cmp(&rest_b.len());
    };
    match (is_letter(first_a), is_letter(first_b)) {
        (true, true) => return first_a.cmp(&first_b),
        (letter, other) if letter != other => {
            let letters_first = dialect == Dialect::GoYaml3 && before.ends_with(is_digit);
            return if letter == letters_first {
                Ordering::Less
            } else {
                Ordering::Greater
            };
        }
        _ => {}
    }
    // Inside a number, a zero is a digit like any other and not a leading one.
    let begun = (first_a == '0' || first_b == '0') && ends_in_number(before);
    let (number_a, length_a) = leading_number(rest_a, begun);
    let (number_b, length_b) = leading_number(rest_b, begun);
    number_a
        .cmp(&number_b)
        .then(length_a.cmp(&length_b))
        .then(first_a.cmp(&first_b))
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.chars()
        .zip(b.chars())
        .take_while(|(a, b)| a == b)
        .map(|(same, _)| same.len_utf8())
        .sum()
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

fn ends_in_number(text: &str) -> bool {
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit);
    digits.into_iter().any(|digit| digit != b'0')
}

fn leading_number(text: &str, begun: bool) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((i64::from(begun), 0), |(number, length), digit| {
        // Go's int64 wraps around.
        let number = number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
        (number, length + 1)
    })
}

/// An approximation of Go's `unicode.IsLetter` by the standard library: letter-like numbers are excluded, but some
/// combining marks are included.
fn is_letter(character: char) -> bool {
    character.is_ascii_alphabetic()
        || !character.is_ascii() && character.is_alphabetic() && !character.is_numeric()
}
