//! Constraints: which versions satisfy them.

use super::{MAX_CONSTRAINT, MAX_GROUPS, Scan, SemverError, Version, VersionParts, compare_prereleases};

/// The comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterEqual,
    LessEqual,
    Tilde,
    Caret,
}

/// Longer operators first.
const OPS: &[(&str, Op)] = &[
    ("!=", Op::NotEqual),
    (">=", Op::GreaterEqual),
    ("=>", Op::GreaterEqual),
    ("<=", Op::LessEqual),
    ("=<", Op::LessEqual),
    ("~>", Op::Tilde),
    ("=", Op::Equal),
    (">", Op::Greater),
    ("<", Op::Less),
    ("~", Op::Tilde),
    ("^", Op::Caret),
];

/// Which numbers of a range are wildcards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// None: `1.2.3`.
    No,
    /// All of them: `*`.
    Major,
    /// The last two: `1`, `1.x`.
    Minor,
    /// The last: `1.2`, `1.2.x`.
    Patch,
}

#[derive(Debug, Clone)]
struct Range {
    op: Op,
    version: Version,
    open: Open,
}

/// A constraint on versions.
#[derive(Debug, Clone)]
pub struct Constraint {
    groups: Vec<Vec<Range>>,
}

impl Constraint {
    /// Parses a constraint: `^1.2`, `>= 1.2, < 3 || ~4.1`, `1.2 - 2.0`, `1.x`.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        if text.len() > MAX_CONSTRAINT {
            return Err(SemverError::ConstraintTooLong);
        }
        let text = spelled_out(text);
        let groups: Vec<&str> = text.split("||").collect();
        if groups.len() > MAX_GROUPS {
            return Err(SemverError::TooManyGroups);
        }
        let groups: Result<_, _> = groups.into_iter().map(group).collect();
        Ok(Self { groups: groups? })
    }

    /// Whether the version satisfies it. A pre-release only satisfies alternatives that name one themselves.
    pub fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            let named = group.iter().any(|range| !range.version.prerelease.is_empty());
            (named || version.prerelease.is_empty()) && group.iter().all(|range| range.holds(version))
        })
    }
}

/// `1.2 - 2.3` as `>= 1.2, <= 2.3 `.
fn spelled_out(text: &str) -> String {
    let mut out = text.to_owned();
    let mut place = 0;
    while place < text.len() {
        let Some((whole, low, high)) = hyphen_range(text, place) else {
            place += 1;
            continue;
        };
        place += whole.len();
        out = out.replacen(whole, &format!(">= {low}, <= {high} "), 1);
    }
    out
}

fn hyphen_range(text: &str, place: usize) -> Option<(&str, &str, &str)> {
    let mut scan = Scan { text, place };
    if !text.is_char_boundary(place) {
        return None;
    }
    scan.spaces();
    let low = scan.version(is_range_digit)?.whole;
    if scan.spaces() == 0 || !scan.skip("-") || scan.spaces() == 0 {
        return None;
    }
    let high = scan.version(is_range_digit)?.whole;
    scan.spaces();
    Some((text.get(place..scan.place)?, low, high))
}

/// The characters that Masterminds first accepts as a range's number; it only refuses `|` later.
fn is_range_digit(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'x' | b'X' | b'*' | b'|')
}

fn group(text: &str) -> Result<Vec<Range>, SemverError> {
    let improper = || SemverError::Improper(text.to_owned());
    let mut scan = Scan::new(text);
    let mut found = Vec::new();
    scan.spaces();
    loop {
        let op = OPS.iter().find(|(name, _)| scan.rest().starts_with(name));
        let (name, op) = op.copied().unwrap_or(("", Op::Equal));
        scan.skip(name);
        scan.spaces();
        found.push((op, scan.version(is_range_digit).ok_or_else(improper)?));
        let spaces = scan.spaces();
        if scan.at_end() {
            break;
        }
        let comma = scan.skip(",");
        if comma {
            scan.spaces();
        }
        if !comma && spaces == 0 {
            return Err(improper());
        }
    }
    found.iter().map(|(op, shape)| Range::new(*op, shape)).collect()
}

impl Range {
    fn new(op: Op, shape: &VersionParts<'_>) -> Result<Self, SemverError> {
        let is_open = |number: &str| matches!(number, "" | "x" | "X" | "*");
        let [major, minor, patch] = shape.numbers;
        let pre = if shape.prerelease.is_empty() {
            String::new()
        } else {
            format!("-{}", shape.prerelease)
        };
        let (open, text) = if is_open(major) {
            (Open::Major, format!("0.0.0{pre}"))
        } else if is_open(minor) {
            (Open::Minor, format!("{major}.0.0{pre}"))
        } else if is_open(patch) {
            (Open::Patch, format!("{major}.{minor}.0{pre}"))
        } else {
            (Open::No, shape.whole.to_owned())
        };
        let version = Version::parse(&text).map_err(|_| SemverError::Constraint)?;
        Ok(Self { op, version, open })
    }

    fn holds(&self, version: &Version) -> bool {
        let order = version.precedence(&self.version);
        let major = version.major.cmp(&self.version.major);
        let minor = version.minor.cmp(&self.version.minor);
        match self.op {
            Op::Equal if self.open == Open::No => order.is_eq(),
            Op::Equal | Op::Tilde => self.holds_tilde(version),
            Op::NotEqual => self.differs(version),
            Op::Greater => match self.open {
                Open::No => order.is_gt(),
                Open::Minor => major.is_gt(),
                Open::Patch => major.then(minor).is_gt(),
                Open::Major => major.is_gt() || major.is_eq() && order.is_gt(),
            },
            Op::Less => order.is_lt(),
            Op::GreaterEqual => order.is_ge(),
            Op::LessEqual => match self.open {
                Open::No => order.is_le(),
                Open::Minor => major.is_le(),
                Open::Patch | Open::Major => major.then(minor).is_le(),
            },
            Op::Caret => self.holds_caret(version),
        }
    }

    fn differs(&self, version: &Version) -> bool {
        if self.open == Open::No {
            return version.precedence(&self.version).is_ne();
        }
        if version.major != self.version.major {
            return true;
        }
        match self.open {
            Open::Minor => false,
            Open::Patch => {
                version.minor != self.version.minor
                    || version.prerelease != self.version.prerelease
                        && compare_prereleases(&version.prerelease, &self.version.prerelease).is_ne()
            }
            Open::Major | Open::No => {
                (version.minor, version.patch) != (self.version.minor, self.version.patch)
                    || version.precedence(&self.version).is_ne()
            }
        }
    }

    fn holds_tilde(&self, version: &Version) -> bool {
        let from = &self.version;
        if version.precedence(from).is_lt() {
            return false;
        }
        let any =
            (from.major, from.minor, from.patch) == (0, 0, 0) && matches!(self.open, Open::No | Open::Major);
        any || version.major == from.major && (version.minor == from.minor || self.open == Open::Minor)
    }

    fn holds_caret(&self, version: &Version) -> bool {
        let from = &self.version;
        if version.precedence(from).is_lt() {
            return false;
        }
        if version.major != from.major || from.major > 0 || self.open == Open::Minor {
            return version.major == from.major;
        }
        if version.minor != from.minor || from.minor > 0 || self.open == Open::Patch {
            return version.minor == from.minor;
        }
        version.patch == from.patch
    }
}
