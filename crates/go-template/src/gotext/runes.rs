//! Classes and cases of characters, by Go's `unicode` of Go 1.26 (Unicode 15.0).
//!
//! Rust's own tables are of a later Unicode, and map some characters to several.

use super::tables;

/// Category Lu.
pub fn is_upper(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_uppercase()
    } else {
        within(tables::UPPER, c)
    }
}

/// Category Ll.
pub fn is_lower(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_lowercase()
    } else {
        within(tables::LOWER, c)
    }
}

/// Category Lt.
pub fn is_title(c: char) -> bool {
    within(tables::TITLE, c)
}

/// Category P: ASCII's `$+<=>^`|~` are symbols, not punctuation.
pub fn is_punct(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_punctuation() && !"$+<=>^`|~".contains(c)
    } else {
        within(tables::PUNCT, c)
    }
}

/// Category N.
pub fn is_number(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_digit()
    } else {
        within(tables::NUMBER, c)
    }
}

/// Categories L and Nd, and the underscore: the characters of names.
pub fn is_name(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || c == '_'
    } else {
        within(tables::NAME, c)
    }
}

/// Letters, marks, numbers, punctuation, symbols, and the space: the characters that quoting doesn't escape.
pub fn is_print(c: char) -> bool {
    if c.is_ascii() {
        matches!(c, ' '..='~')
    } else {
        within(tables::PRINT, c)
    }
}

/// Unicode's white space.
pub fn is_space(c: char) -> bool {
    c.is_whitespace()
}

/// The character in upper case.
pub fn to_upper(c: char) -> char {
    if c.is_ascii() {
        c.to_ascii_uppercase()
    } else {
        mapped(c, 2)
    }
}

/// The character in lower case.
pub fn to_lower(c: char) -> char {
    if c.is_ascii() {
        c.to_ascii_lowercase()
    } else {
        mapped(c, 3)
    }
}

/// The character in title case.
pub fn to_title(c: char) -> char {
    if c.is_ascii() {
        c.to_ascii_uppercase()
    } else {
        mapped(c, 4)
    }
}

/// Whether the table's ranges of first, last and step contain it.
fn within(table: &[u32], c: char) -> bool {
    let code = u32::from(c);
    let (mut low, mut high) = (0, table.len() / 3);
    while low < high {
        let middle = low.midpoint(high);
        let Some([first, last, step]) = table.get(middle * 3..middle * 3 + 3) else {
            return false;
        };
        if code < *first {
            high = middle;
        } else if code > *last {
            low = middle + 1;
        } else {
            return (code - first) % step == 0;
        }
    }
    false
}

/// Maps a character; `column` selects the mapping in the table's rows.
fn mapped(c: char, column: usize) -> char {
    let Ok(code) = i32::try_from(u32::from(c)) else {
        return c;
    };
    let row = tables::CASE.partition_point(|row| row[1] < code);
    let Some(row) = tables::CASE.get(row).filter(|row| row[0] <= code) else {
        return c;
    };
    let delta = row.get(column).copied().unwrap_or(0);
    let code = if delta == tables::ALTERNATE {
        row[0] + ((code - row[0]) & !1 | i32::from(column == 3))
    } else {
        code + delta
    };
    u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_gos() {
        let cases = [
            ('ß', 'ß', 'ß', 'ß'),
            ('İ', 'İ', 'i', 'İ'),
            ('\u{1c6}', '\u{1c4}', '\u{1c6}', '\u{1c5}'),
            ('ā', 'Ā', 'ā', 'Ā'),
            ('Ā', 'Ā', 'ā', 'Ā'),
            ('ᾳ', 'ᾼ', 'ᾳ', 'ᾼ'),
            ('ა', 'Ა', 'ა', 'ა'),
            ('x', 'X', 'x', 'X'),
            ('世', '世', '世', '世'),
        ];
        for (c, upper, lower, title) in cases {
            assert_eq!(
                (to_upper(c), to_lower(c), to_title(c)),
                (upper, lower, title),
                "{c}"
            );
        }
    }

    #[test]
    fn classes_are_gos() {
        assert!(is_upper('Ā') && !is_upper('ā') && is_lower('ā') && !is_lower('ª'));
        assert!(is_title('\u{1c5}') && !is_title('a'));
        assert!(is_punct('¿') && is_punct('-') && !is_punct('+') && !is_punct('€'));
        assert!(is_number('½') && is_number('٣') && !is_number('x'));
        assert!(is_name('é') && is_name('_') && !is_name('½'));
        assert!(is_print('é') && !is_print('\u{a0}') && !is_print('\u{200b}') && !is_print('\u{e000}'));
    }
}
