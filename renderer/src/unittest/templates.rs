//! Which templates a suite renders, and which an assertion is about.
//!
//! In a suite's patterns `*` stands for any characters, slashes too; nothing else is special. A name without
//! `templates/`, `charts/` or `crds/` before it is one below `templates/`.

use std::collections::BTreeSet;

/// The full name of a template, as in `# Source:`; `chart` is the path of the chart that the suite is in.
pub(super) fn full_name(chart: &str, name: &str) -> String {
    let name = name
        .strip_prefix("./")
        .map_or(name.to_owned(), |rest| format!("templates/{rest}"));
    let first = name.split('/').next().unwrap_or_default();
    match first {
        "templates" | "charts" | "crds" | "**" => clean(&format!("{chart}/{name}")),
        _ => clean(&format!("{chart}/templates/{name}")),
    }
}

/// The path without `.`, `..` and empty parts.
fn clean(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a template only defines others.
pub(super) fn is_partial(name: &str) -> bool {
    name.rsplit('/').next().unwrap_or(name).starts_with('_')
}

/// What a suite selects: names, and patterns with `*`.
#[derive(Debug, Clone)]
pub(super) struct Selected {
    patterns: Vec<String>,
    excluded: Vec<String>,
}

impl Selected {
    pub(super) fn new(chart: &str, patterns: &[String], excluded: &[String]) -> Self {
        let full = |list: &[String]| list.iter().map(|name| full_name(chart, name)).collect();
        Self {
            patterns: full(patterns),
            excluded: full(excluded),
        }
    }

    /// Whether a template is selected; all are if the suite has no patterns.
    pub(super) fn has(&self, name: &str) -> bool {
        let is_any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        (self.patterns.is_empty() || is_any(&self.patterns)) && !is_any(&self.excluded)
    }

    /// Whether it selects by more than names: it is empty, or a pattern has a `*`.
    pub(super) fn has_patterns(&self) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.contains('*'))
    }

    /// The templates among `all` that are selected, and the names without `*`, even if there are no such templates.
    pub(super) fn among<'a>(&self, all: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
        let exact = self.patterns.iter().filter(|pattern| !pattern.contains('*'));
        let mut out: BTreeSet<String> = exact.filter(|name| self.has(name)).cloned().collect();
        out.extend(all.filter(|name| self.has(name)).map(str::to_owned));
        out
    }
}

/// Whether a pattern with `*` matches a whole name.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_below_templates() {
        let cases = [
            ("a.yaml", "c/templates/a.yaml"),
            ("sub/a.yaml", "c/templates/sub/a.yaml"),
            ("templates/a.yaml", "c/templates/a.yaml"),
            ("charts/k/templates/a.yaml", "c/charts/k/templates/a.yaml"),
            ("crds/a.yaml", "c/crds/a.yaml"),
            ("**/a.yaml", "c/**/a.yaml"),
            ("templates//a.yaml", "c/templates/a.yaml"),
            ("templates/sub/../a.yaml", "c/templates/a.yaml"),
            ("sub/./a.yaml", "c/templates/sub/a.yaml"),
        ];
        for (name, expected) in cases {
            assert_eq!(full_name("c", name), expected);
        }
    }

    #[test]
    fn a_star_matches_any_characters() {
        let all: BTreeSet<String> = [
            "c/templates/NOTES.txt",
            "c/templates/a.yaml",
            "c/templates/s/b.yaml",
        ]
        .map(str::to_owned)
        .into();
        let cases: [(&[&str], &[&str], &[&str]); 6] = [
            (&[], &[], &["NOTES.txt", "a.yaml", "s/b.yaml"]),
            (&["*.yaml"], &[], &["a.yaml", "s/b.yaml"]),
            (&["templates/**/*.yaml"], &[], &["s/b.yaml"]),
            (&["templates/*"], &["a.yaml"], &["NOTES.txt", "s/b.yaml"]),
            (&["a.yaml", "x.yaml"], &[], &["a.yaml", "x.yaml"]),
            (&["templates/?.yaml"], &["*.yaml"], &[]),
        ];
        for (patterns, excluded, expected) in cases {
            let owned = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
            let selected = Selected::new("c", &owned(patterns), &owned(excluded));
            let found = selected.among(all.iter().map(String::as_str));
            let names: Vec<_> = found
                .iter()
                .map(|name| name.trim_start_matches("c/templates/"))
                .collect();
            assert_eq!(names, expected, "{patterns:?}");
        }
    }
}
