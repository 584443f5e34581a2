//! Patterns of `.Files.Glob`, as github.com/gobwas/glob reads them with `/` as separator.
//!
//! `*` and `?` stop at a slash, `**` does not; `[abc]`, `[a-z]`, `[!abc]`, `{a,b}`, `\x`. A backslash at the end is
//! ignored. Where a pattern has a fixed length, gobwas cuts characters beyond ASCII at the ends of its pieces:
//! `?.txt` does not match `é.txt`.

/// The maximum number of steps of a match: nested `*` and `{}` can backtrack excessively.
const MAX_MATCH_STEPS: usize = 1_000_000;
/// The maximum nesting of `{}`.
const MAX_PATTERN_DEPTH: usize = 32;

/// A pattern that can be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    parts: Vec<GlobPart>,
    /// The pieces of a pattern of fixed length, as gobwas splits it.
    row: Option<Vec<Vec<GlobPart>>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum GlobPart {
    Char(char),
    /// `?`
    One,
    /// `*`
    Many,
    /// `**`
    All,
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    Either(Vec<Vec<GlobPart>>),
}

impl Glob {
    /// Parses a pattern; `None` if it is invalid: Helm then matches everything.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let characters: Vec<char> = pattern.chars().collect();
        let mut position = 0;
        let parts = sequence(&characters, &mut position, 0)?;
        (position >= characters.len()).then(|| Self::new(parts))
    }

    /// Matches everything.
    pub(super) fn all() -> Self {
        Self::new(vec![GlobPart::All])
    }

    fn new(parts: Vec<GlobPart>) -> Self {
        Self {
            row: row(&parts),
            parts,
        }
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        if !name.is_ascii()
            && let Some(row) = &self.row
        {
            return matches_row(row, name);
        }
        let name: Vec<char> = name.chars().collect();
        let parts: Vec<&GlobPart> = self.parts.iter().collect();
        let mut steps = 0;
        matches(&parts, &name, &mut steps)
    }
}

/// The pieces of a pattern of fixed length, as gobwas splits it; `None` for other patterns, and for a single piece.
fn row(parts: &[GlobPart]) -> Option<Vec<Vec<GlobPart>>> {
    let mut pieces: Vec<Vec<GlobPart>> = Vec::new();
    for part in parts {
        match (part, pieces.last_mut()) {
            (GlobPart::Char(_), Some(text)) if matches!(text.last(), Some(GlobPart::Char(_))) => {
                text.push(part.clone());
            }
            (GlobPart::Char(_) | GlobPart::One | GlobPart::Set { .. }, _) => {
                pieces.push(vec![part.clone()]);
            }
            _ => return None,
        }
    }
    (pieces.len() > 1).then_some(pieces)
}

/// As in gobwas, only the first byte of a piece's last character is compared.
fn matches_row(pieces: &[Vec<GlobPart>], name: &str) -> bool {
    let length: usize = pieces.iter().map(Vec::len).sum();
    if name.chars().count() != length {
        return false;
    }
    let mut rest = name.as_bytes();
    pieces.iter().all(|piece| {
        let Some((last, before)) = piece.split_last() else {
            return true;
        };
        let found: Vec<(char, usize)> = go_runes(rest).take(before.len()).collect();
        let start: usize = found.iter().map(|(_, width)| width).sum();
        let Some(first_byte) = rest.get(start).copied() else {
            return false;
        };
        rest = rest.get(start + 1..).unwrap_or_default();
        let first_byte = if first_byte.is_ascii() {
            char::from(first_byte)
        } else {
            char::REPLACEMENT_CHARACTER
        };
        let fits = |part: &GlobPart, found: char| match part {
            // Literals are compared by bytes.
            GlobPart::Char(wanted) => found == *wanted && found != char::REPLACEMENT_CHARACTER,
            GlobPart::One => found != '/',
            GlobPart::Set { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&found)) != *negated
            }
            _ => false,
        };
        before
            .iter()
            .zip(&found)
            .all(|(part, (found, _))| fits(part, *found))
            && fits(last, first_byte)
    })
}

/// Characters with their lengths; an invalid byte is U+FFFD.
fn go_runes(bytes: &[u8]) -> impl Iterator<Item = (char, usize)> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let invalid = chunk.invalid().iter().map(|_| (char::REPLACEMENT_CHARACTER, 1));
        let valid = chunk.valid().chars().map(|found| (found, found.len_utf8()));
        valid.chain(invalid)
    })
}

/// Parts up to the end, or the end of an alternative.
fn sequence(pattern: &[char], position: &mut usize, depth: usize) -> Option<Vec<GlobPart>> {
    if depth > MAX_PATTERN_DEPTH {
        return None;
    }
    let mut parts = Vec::new();
    while let Some(character) = pattern.get(*position) {
        if depth > 0 && matches!(character, ',' | '}') {
            return Some(parts);
        }
        *position += 1;
        parts.push(match character {
            '*' if pattern.get(*position) == Some(&'*') => {
                *position += 1;
                GlobPart::All
            }
            '*' => GlobPart::Many,
            '?' => GlobPart::One,
            '\\' => {
                let Some(escaped) = pattern.get(*position) else {
                    break;
                };
                *position += 1;
                GlobPart::Char(*escaped)
            }
            '[' => set(pattern, position)?,
            '{' => alternatives(pattern, position, depth)?,
            other => GlobPart::Char(*other),
        });
    }
    Some(parts)
}

fn set(pattern: &[char], position: &mut usize) -> Option<GlobPart> {
    let negated = pattern.get(*position) == Some(&'!');
    *position += usize::from(negated);
    let mut ranges = Vec::new();
    loop {
        let mut from = *pattern.get(*position)?;
        *position += 1;
        match from {
            ']' => break,
            '\\' => {
                from = *pattern.get(*position)?;
                *position += 1;
            }
            _ => {}
        }
        if pattern.get(*position) == Some(&'-') && pattern.get(*position + 1).is_some_and(|next| *next != ']')
        {
            let to = *pattern.get(*position + 1)?;
            *position += 2;
            if to < from {
                return None;
            }
            ranges.push((from, to));
        } else {
            ranges.push((from, from));
        }
    }
    (!ranges.is_empty()).then_some(GlobPart::Set { negated, ranges })
}

fn alternatives(pattern: &[char], position: &mut usize, depth: usize) -> Option<GlobPart> {
    let mut list = Vec::new();
    loop {
        list.push(sequence(pattern, position, depth + 1)?);
        // An unclosed one ends with the pattern.
        let end = pattern.get(*position).copied().unwrap_or('}');
        *position += 1;
        if end == '}' {
            return Some(GlobPart::Either(list));
        }
    }
}

fn matches(parts: &[&GlobPart], name: &[char], steps: &mut usize) -> bool {
    *steps += 1;
    if *steps > MAX_MATCH_STEPS {
        return false;
    }
    let Some((part, rest)) = parts.split_first() else {
        return name.is_empty();
    };
    let one = |fits: &dyn Fn(char) -> bool, steps: &mut usize| match name.split_first() {
        Some((first, after)) => fits(*first) && matches(rest, after, steps),
        None => false,
    };
    match part {
        GlobPart::Char(wanted) => one(&|found| found == *wanted, steps),
        GlobPart::One => one(&|found| found != '/', steps),
        GlobPart::Set { negated, ranges } => {
            let inside = |found| ranges.iter().any(|(from, to)| (*from..=*to).contains(&found));
            one(&|found| inside(found) != *negated, steps)
        }
        GlobPart::Many | GlobPart::All => {
            let stops = matches!(part, GlobPart::Many);
            let reach = name.iter().take_while(|found| !stops || **found != '/').count();
            (0..=reach).any(|taken| matches(rest, name.get(taken..).unwrap_or_default(), steps))
        }
        GlobPart::Either(list) => list.iter().any(|alternative| {
            let parts: Vec<&GlobPart> = alternative.iter().chain(rest.iter().copied()).collect();
            matches(&parts, name, steps)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from `.Files.Glob` of Helm 4.3.1 with these names.
    #[test]
    fn patterns_match_as_in_helm() {
        let names = ["a.txt", "b.txt", "dir/a.txt", "dir/sub/c.yaml", "x[1].md"];
        let cases: [(&str, &[&str]); 10] = [
            ("*.txt", &["a.txt", "b.txt"]),
            ("**.txt", &["a.txt", "b.txt", "dir/a.txt"]),
            ("dir/*", &["dir/a.txt"]),
            ("dir/**", &["dir/a.txt", "dir/sub/c.yaml"]),
            ("**/*.yaml", &["dir/sub/c.yaml"]),
            ("?.txt", &["a.txt", "b.txt"]),
            ("[!a].txt", &["b.txt"]),
            ("{a,dir/a}.txt", &["a.txt", "dir/a.txt"]),
            ("x\\[1\\].md", &["x[1].md"]),
            ("[b-c].txt", &["b.txt"]),
        ];
        for (pattern, expected) in cases {
            let glob = Glob::parse(pattern).unwrap();
            let found: Vec<&str> = names.into_iter().filter(|name| glob.matches(name)).collect();
            assert_eq!(found, expected, "{pattern}");
        }
        let names = [
            "a", "a.txt", "aa", "aé", "aéb", "b.txt", "bé", "é", "é.txt", "éa", "éa.txt",
        ];
        let cases: [(&str, &[&str]); 12] = [
            ("?.txt", &["a.txt", "b.txt"]),
            ("[!a].txt", &["b.txt"]),
            ("??.txt", &[]),
            ("é.txt", &["é.txt"]),
            ("[é].txt", &[]),
            ("a?b", &[]),
            ("é?.txt", &[]),
            ("?", &["a", "é"]),
            ("a?", &["aa", "aé"]),
            ("?a", &["aa"]),
            ("?é", &[]),
            ("a\\", &["a"]),
        ];
        for (pattern, expected) in cases {
            let glob = Glob::parse(pattern).unwrap();
            let found: Vec<&str> = names.into_iter().filter(|name| glob.matches(name)).collect();
            assert_eq!(found, expected, "{pattern}");
        }
        for bad in ["[a", "[]"] {
            assert_eq!(Glob::parse(bad), None, "{bad}");
        }
    }
}
