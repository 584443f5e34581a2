//! The keys of `set`: `image.tag`, `hosts[0].name`, `annotations.[example.org/a]`.
//!
//! They are not those of `--set`: a backslash escapes nothing, and a key with dots stands in brackets after a dot.

use crate::value::{Map, Value};
use crate::yaml;

/// The largest index of a list: as many items are made.
pub const MAX_SET_INDEX: usize = 65_536;
/// The most steps of a key: values are as deep, and no deeper than in a file.
pub const MAX_SET_STEPS: usize = yaml::Limits::DEPTH;

/// A parsed key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetPath(Vec<SetStep>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum SetStep {
    Key(String),
    Index(usize),
}

impl SetPath {
    /// Parses a key.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the key is empty".to_owned());
        }
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            rest = match rest.strip_prefix('[') {
                Some(inside) => bracket_key(inside, &mut steps)?,
                None => plain_key(rest, &mut steps)?,
            };
            while let Some(inside) = rest.strip_prefix('[') {
                rest = index(inside, &mut steps)?;
            }
            if steps.len() > MAX_SET_STEPS {
                return Err(format!("the key has more than {MAX_SET_STEPS} steps"));
            }
            rest = match rest.strip_prefix('.') {
                Some("") => return Err("a key is missing after the last dot".to_owned()),
                Some(next) => next,
                None if rest.is_empty() => return Ok(Self(steps)),
                None => return Err(format!("`.`, `[` or the end is expected before `{rest}`")),
            };
        }
    }

    /// A map with the value where the path leads to.
    pub(super) fn to_map(&self, value: Value) -> Map {
        let nested = self.0.iter().rev().fold(value, |value, step| match step {
            SetStep::Key(key) => Value::Map([(key.clone(), value)].into_iter().collect()),
            SetStep::Index(index) => {
                let mut items = vec![Value::Null; *index];
                items.push(value);
                Value::List(items)
            }
        });
        match nested {
            Value::Map(map) => map,
            // A path begins with a key.
            _ => Map::default(),
        }
    }
}

fn bracket_key<'t>(inside: &'t str, steps: &mut Vec<SetStep>) -> Result<&'t str, String> {
    let (key, rest) = inside.split_once(']').ok_or("`]` is missing")?;
    steps.push(SetStep::Key(key.to_owned()));
    Ok(rest)
}

fn plain_key<'t>(rest: &'t str, steps: &mut Vec<SetStep>) -> Result<&'t str, String> {
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    let (key, rest) = rest.split_at(end);
    if let Some(token) = key
        .chars()
        .find(|char| matches!(char, '=' | ',' | '{' | '}' | ']'))
    {
        return Err(format!(
            "`{token}` is not allowed in a key; a key with it stands in brackets: `parent.[{key}]`"
        ));
    }
    steps.push(SetStep::Key(key.to_owned()));
    Ok(rest)
}

fn index<'t>(inside: &'t str, steps: &mut Vec<SetStep>) -> Result<&'t str, String> {
    let (digits, rest) = inside.split_once(']').ok_or("`]` is missing")?;
    let number = digits.parse::<usize>().map_err(|_| {
        format!("`[{digits}]` is no index; a key in brackets stands after a dot: `parent.[{digits}]`")
    })?;
    if number > MAX_SET_INDEX {
        return Err(format!("index {number} is more than {MAX_SET_INDEX}"));
    }
    steps.push(SetStep::Index(number));
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_into_maps_and_lists() {
        let cases = [
            ("a", r#"{"a":1}"#),
            ("a.b.c", r#"{"a":{"b":{"c":1}}}"#),
            ("a[1].b", r#"{"a":[null,{"b":1}]}"#),
            ("a[0][1]", r#"{"a":[[null,1]]}"#),
            ("a.[x.y/z].b", r#"{"a":{"x.y/z":{"b":1}}}"#),
            ("a[0].[x.y]", r#"{"a":[{"x.y":1}]}"#),
            ("[x.y]", r#"{"x.y":1}"#),
            ("a..b", r#"{"a":{"":{"b":1}}}"#),
            ("a b.c/d:e", r#"{"a b":{"c/d:e":1}}"#),
            (r"a\.b", r#"{"a\\":{"b":1}}"#),
        ];
        for (path, expected) in cases {
            let map = SetPath::parse(path).unwrap().to_map(Value::from(1_i64));
            assert_eq!(Value::Map(map).to_json(), expected, "{path}");
        }
    }

    #[test]
    fn wrong_paths_are_refused() {
        let large = format!("a[{}]", MAX_SET_INDEX + 1);
        for path in [
            "",
            "a.",
            "a[",
            "a[x]",
            "a[-1]",
            "a[0]b",
            "a]",
            "a=b",
            "a,b",
            "a.{b}",
            "a.[b",
            large.as_str(),
        ] {
            assert!(SetPath::parse(path).is_err(), "{path}");
        }
        assert!(SetPath::parse(&format!("a[{MAX_SET_INDEX}]")).is_ok());
    }

    #[test]
    fn a_key_has_no_more_steps_than_a_file_is_deep() {
        let of = |steps: usize| vec!["a"; steps].join(".");
        let deepest = SetPath::parse(&of(MAX_SET_STEPS)).unwrap();
        assert_eq!(deepest.to_map(Value::Null).len(), 1);
        let why = SetPath::parse(&of(MAX_SET_STEPS + 1)).unwrap_err();
        assert!(why.contains("more than 1000 steps"), "{why}");
        let lists = format!("a{}", "[0]".repeat(MAX_SET_STEPS));
        assert!(SetPath::parse(&lists).is_err());
    }
}
