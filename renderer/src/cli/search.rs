//! `search repo`: charts of the repositories in Helm's list, from the cached indexes.
//!
//! Matching, order and the table are as in Helm.

use super::args::search::{SearchCommand, SearchRepoArgs};
use super::context::{CommandOutcome, CommandResult, Context};
use super::table::table;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::report;
use crate::report::documents::{Document as _, FoundChart, SearchDocument};
use crate::repositories::MAX_INDEX;
use crate::repositories::index::{self, ListedVersion};
use crate::semver::{Constraint, Version};

/// The separator between the searched fields of a chart: a match in the first field scores best.
const SEPARATOR: char = '\u{b}';
/// The maximum length of a regular expression, in bytes.
const MAX_PATTERN: usize = 4096;
/// The maximum size of a compiled regular expression, in bytes.
const MAX_PATTERN_PROGRAM: usize = 1 << 20;

/// A matching chart of a repository.
struct Match {
    name: String,
    score: usize,
    version: Version,
    chart: ListedVersion,
}

/// `search`
pub(crate) fn search(command: &SearchCommand, context: &Context<'_>) -> CommandResult {
    let SearchCommand::Repo(args) = command;
    let done = search_repo(args, context);
    done.unwrap_or_else(|problem| CommandResult::One(Box::new(CommandOutcome::failed(problem))))
}

fn search_repo(args: &SearchRepoArgs, context: &Context<'_>) -> Result<CommandResult> {
    let range = match (args.version.as_str(), args.devel) {
        ("", false) => ">0.0.0",
        ("", true) => ">0.0.0-0",
        (given, _) => given,
    };
    let constraint = Constraint::parse(range).map_err(|error| {
        let message = format!("an invalid version/constraint format: {error}");
        Diagnostic::error(Class::Usage, message).note(format!("in --version {range:?}"))
    })?;
    let pattern = Pattern::new(&args.keywords.join(" "), args.regexp)?;
    let mut found = all_matches(args, &pattern, context)?;
    found.retain(|one| constraint.check(&one.version));
    // An index may list a version twice.
    found.dedup_by(|one, last| one.name == last.name && one.chart.version == last.chart.version);
    if !args.versions {
        let mut last = None;
        found.retain(|one| last.replace(one.name.clone()).is_none_or(|last| last != one.name));
    }
    if found.is_empty() && args.fail_on_no_result {
        return Err(Diagnostic::error(Class::Chart, "no results found").into());
    }
    Ok(shown(found, args.max_col_width, context))
}

fn shown(found: Vec<Match>, most: usize, context: &Context<'_>) -> CommandResult {
    let charts: Vec<FoundChart> = found
        .into_iter()
        .map(|one| FoundChart {
            name: one.name,
            version: one.chart.version,
            app_version: one.chart.app_version,
            description: one.chart.description,
        })
        .collect();
    let mut rows = vec![["NAME", "CHART VERSION", "APP VERSION", "DESCRIPTION"]];
    rows.extend(
        charts
            .iter()
            .map(|one| [&one.name, &one.version, &one.app_version, &one.description].map(String::as_str)),
    );
    let text = match charts.is_empty() {
        true => "No results found\n".to_owned(),
        false => table(&rows, most),
    };
    let json = match context.called_as.is_helm() {
        true => report::plain_json(&charts),
        false => SearchDocument { charts }.to_json(),
    };
    CommandResult::Document { json, text }
}

/// Every version of every chart that matches: best first, then by name, newest first.
fn all_matches(args: &SearchRepoArgs, pattern: &Pattern, context: &Context<'_>) -> Result<Vec<Match>> {
    let cache = args.files.cache(context)?;
    let mut found = Vec::new();
    for entry in args.files.read(context, "no repositories configured")? {
        let path = index::cached_file(&cache, &entry.name);
        let read = fsio::read_text(&path, MAX_INDEX, Class::Config).and_then(|source| index::parse(&source));
        let Ok(charts) = read else {
            let message = format!(
                "Repo \"{}\" is corrupt or missing. Try 'helm repo update'.",
                entry.name
            );
            context.printer.warn(&Diagnostic::warning(Class::Config, message));
            continue;
        };
        for (name, versions) in charts {
            for chart in versions {
                let score = pattern.score(&entry.name, &name, &chart);
                if let (Some(score), Ok(version)) = (score, Version::parse(&chart.version)) {
                    found.push(Match {
                        name: format!("{}/{name}", entry.name),
                        score,
                        version,
                        chart,
                    });
                }
            }
        }
    }
    found.sort_by(|a, b| {
        let by_name = a.score.cmp(&b.score).then_with(|| a.name.cmp(&b.name));
        by_name.then_with(|| b.version.precedence(&a.version))
    });
    Ok(found)
}

/// The search pattern.
enum Pattern {
    Everything,
    Text(String),
    Expression(regex::Regex),
}

impl Pattern {
    fn new(keyword: &str, is_expression: bool) -> Result<Self> {
        if keyword.is_empty() {
            return Ok(Self::Everything);
        }
        if !is_expression {
            return Ok(Self::Text(keyword.to_lowercase()));
        }
        let wrong =
            |reason: String| Diagnostic::error(Class::Usage, format!("--regexp {keyword:?}: {reason}"));
        if keyword.len() > MAX_PATTERN {
            return Err(wrong(format!("it is longer than {MAX_PATTERN} bytes")).into());
        }
        let built = regex::RegexBuilder::new(keyword)
            .size_limit(MAX_PATTERN_PROGRAM)
            .build();
        Ok(Self::Expression(built.map_err(|error| wrong(error.to_string()))?))
    }

    /// The index of the field with the match, if any.
    fn score(&self, repository: &str, name: &str, chart: &ListedVersion) -> Option<usize> {
        let parts = [
            name,
            &format!("{repository}/{name}"),
            &chart.description,
            &chart.keywords.join(" "),
        ];
        let line = parts.join(SEPARATOR.to_string().as_str());
        let part_at = |line: &str, at: usize| line.get(..at).unwrap_or(line).matches(SEPARATOR).count();
        match self {
            Self::Everything => Some(0),
            Self::Text(text) => {
                let lower = line.to_lowercase();
                lower.find(text).map(|at| part_at(&lower, at))
            }
            Self::Expression(regex) => regex.find(&line).map(|found| part_at(&line, found.start())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_in_the_name_scores_best() {
        let chart = ListedVersion {
            version: "1.0.0".to_owned(),
            app_version: String::new(),
            description: "A web server".to_owned(),
            keywords: vec!["http".to_owned()],
        };
        let score = |keyword: &str, is_expression| {
            Pattern::new(keyword, is_expression)
                .unwrap()
                .score("stable", "nginx", &chart)
        };
        assert_eq!(score("", false), Some(0));
        assert_eq!(score("NGI", false), Some(0));
        assert_eq!(score("stable/", false), Some(1));
        assert_eq!(score("Server", false), Some(2));
        assert_eq!(score("http", false), Some(3));
        assert_eq!(score("apache", false), None);
        assert_eq!(score("^ng.nx", true), Some(0));
        assert_eq!(score("WEB", true), None);
        assert!(Pattern::new("(", true).is_err());
        assert!(Pattern::new(&"x".repeat(MAX_PATTERN + 1), true).is_err());
        assert!(Pattern::new("(((x{200}){200}){200})", true).is_err());
    }
}
