use std::path::{Path, PathBuf};

use super::*;
use crate::chart::load;
use crate::engine::{ParsedChart, RenderRequest};
use crate::source::Source;
use crate::world::Fixed;
use crate::yaml;

/// The names of keys that are misspelt are at least so long: one that is shorter has no letters to swap.
const MIN_KEY: usize = 3;
/// How many keys are misspelt, and how many of them must be found.
const PLANTED: usize = 50;
const FOUND: usize = 45;

fn shop() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/value-checks/shop")
}

fn values_of(path: &Path) -> Map {
    let text = std::fs::read_to_string(path).unwrap();
    let source = Source::new(path.display().to_string(), text);
    let nodes = yaml::parse_all(&source, Class::Values, &yaml::Limits::default()).unwrap();
    match nodes.into_iter().next().map(yaml::Node::into_value) {
        Some(Value::Map(map)) => map,
        _ => Map::default(),
    }
}

fn given(values: Map) -> GivenValues {
    GivenValues::new(None, (values, ValueOrigins::default()))
}

fn ci_values(chart: &Path) -> Vec<GivenValues> {
    let entries = std::fs::read_dir(chart.join("ci"))
        .into_iter()
        .flatten()
        .flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with("-values.yaml"));
    paths.sort();
    let files = paths.iter();
    files
        .map(|path| {
            GivenValues::new(
                Some(path.display().to_string()),
                (values_of(path), ValueOrigins::default()),
            )
        })
        .collect()
}

/// `replicaCount` as `repilcaCount`.
fn misspelt(name: &str) -> Option<String> {
    let letters: Vec<char> = name.chars().collect();
    let at = (1..letters.len().saturating_sub(1)).find(|at| letters.get(*at) != letters.get(at + 1))?;
    let mut out = letters;
    out.swap(at, at + 1);
    (name.len() >= MIN_KEY).then(|| out.into_iter().collect())
}

/// Values with one key alone, misspelt.
fn planted(path: &[String], value: &Value) -> Option<(Map, Vec<String>)> {
    let (last, above) = path.split_last()?;
    let name = misspelt(last)?;
    let mut map = Map::default();
    map.insert(name.clone(), value.clone());
    let all = above.iter().rev().fold(map, |inner, key| {
        let mut outer = Map::default();
        outer.insert(key.clone(), Value::Map(inner));
        outer
    });
    Some((all, above.iter().cloned().chain([name]).collect()))
}

/// The paths of all values that are neither maps nor lists.
fn scalars(map: &Map, path: &mut Vec<String>, out: &mut Vec<(Vec<String>, Value)>) {
    for (key, value) in map.iter() {
        path.push(key.clone());
        match value {
            Value::Map(inner) => scalars(inner, path, out),
            Value::List(_) => {}
            other => out.push((path.clone(), other.clone())),
        }
        path.pop();
    }
}

/// Which of the misspelt keys are found.
fn finds(chart: &Loaded, path: &[String], value: &Value) -> Option<bool> {
    let (values, wrong) = planted(path, value)?;
    let reads = ValueReads::of(chart, &[&values]).unwrap();
    Some(reads.unread(&values).iter().any(|one| one.path == wrong))
}

#[test]
fn the_patterns_of_public_charts_give_no_false_alarm() {
    let chart = load::load(&shop()).unwrap();
    let mut runs = vec![given(Map::default())];
    runs.extend(ci_values(&shop()));
    assert_eq!(runs.len(), 2);
    let found = check(&chart, &runs, Scope::GivenAndChart).unwrap();
    let found: Vec<&str> = found.iter().map(|one| one.diagnostic.message.as_str()).collect();
    assert_eq!(found, [""; 0]);
}

#[test]
fn misspelt_keys_are_found_with_what_is_meant() {
    let chart = load::load(&shop()).unwrap();
    let mut all = Vec::new();
    scalars(&chart.values, &mut Vec::new(), &mut all);
    // Those of which any key is taken: environment variables, what is printed as a whole; and names of two letters.
    let is_open = |path: &[String]| {
        ["env", "securityContext", "tags"]
            .iter()
            .any(|key| path.first().is_some_and(|first| first == key))
            || path.last().is_some_and(|last| last.len() < MIN_KEY)
    };
    all.retain(|(path, _)| !is_open(path));
    let missed: Vec<String> = all
        .iter()
        .filter(|(path, value)| finds(&chart, path, value) != Some(true))
        .map(|(path, _)| path.join("."))
        .collect();
    assert!(all.len() >= PLANTED, "{}", all.len());
    assert_eq!(missed, [""; 0]);
    for (path, value) in &all {
        let (values, _) = planted(path, value).unwrap();
        let unread = ValueReads::of(&chart, &[&values]).unwrap().unread(&values);
        assert_eq!(
            unread.iter().map(|one| one.near.clone()).collect::<Vec<_>>(),
            [Some(path.join("."))]
        );
    }
}

#[test]
fn a_key_that_the_chart_has_and_does_not_read_is_a_warning() {
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    let chart = load::load_files(vec![
        file("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"),
        file("values.yaml", "used: 1\nstale: 1\n"),
        file("templates/a.yaml", "{{ .Values.used }}{{ .Values.missing }}"),
    ])
    .unwrap();
    let mut values = Map::default();
    values.insert("stale", Value::from("x"));
    values.insert("usde", Value::from("x"));
    let runs = [given(values)];
    let shown = |scope| -> Vec<String> {
        let found = check(&chart, &runs, scope).unwrap();
        found
            .iter()
            .map(|one| format!("{} {} {}", one.is_error(), one.rule.id, one.key))
            .collect()
    };
    assert_eq!(
        shown(Scope::Given),
        ["false unread-value stale", "true unread-value usde"]
    );
    assert_eq!(
        shown(Scope::GivenAndChart),
        [
            "false unread-value stale",
            "true unread-value usde",
            "false unread-value stale",
            "false undefined-value missing"
        ]
    );
}

/// The charts of a folder of folders, as `CHART_CORPUS` names it.
#[allow(clippy::disallowed_methods, reason = "a test that is asked for by a variable")]
fn corpus() -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("CHART_CORPUS") else {
        return Vec::new();
    };
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut charts: Vec<PathBuf> = folders(Path::new(&folder))
        .iter()
        .flat_map(|repo| folders(repo))
        .collect();
    charts.retain(|path| path.join("Chart.yaml").is_file());
    charts.sort();
    charts
}

/// What is listed is read by nothing: with other values there the charts render to the same.
#[test]
#[ignore = "opt-in: CHART_CORPUS names a folder with public charts"]
fn keys_that_public_charts_do_not_read_change_nothing() {
    for path in corpus() {
        let chart = load::load(&path).unwrap();
        let mut runs = vec![given(Map::default())];
        runs.extend(ci_values(&path));
        let found = check(&chart, &runs, Scope::GivenAndChart).unwrap();
        let unread: Vec<&ValueFinding> = found
            .iter()
            .filter(|one| one.rule == &rules::UNREAD_VALUE)
            .collect();
        if unread.is_empty() {
            continue;
        }
        let parsed = ParsedChart::new(Arc::clone(&chart));
        for run in &runs {
            let plain = rendered(&parsed, run.values.clone());
            for one in &unread {
                let mut values = run.values.clone();
                replace(&mut values, &one.key.split('.').collect::<Vec<_>>());
                assert_eq!(rendered(&parsed, values), plain, "{} {}", path.display(), one.key);
            }
        }
    }
}

/// What a chart renders to; nothing if it fails, since which of its failures is the first differs from run to run.
fn rendered(chart: &ParsedChart, values: Map) -> Option<String> {
    let request = RenderRequest::new("release")
        .seed(18)
        .world(Arc::new(Fixed::default()));
    let mut request = request.skip_schema_validation();
    request.values = values;
    chart.template(&request).ok()
}

/// Puts another value there; nothing where a list is on the way.
fn replace(values: &mut Map, path: &[&str]) {
    match path {
        [] => {}
        [last] => {
            values.insert(*last, Value::from("something else"));
        }
        [first, rest @ ..] => {
            if !values.contains_key(first) {
                values.insert(*first, Value::Map(Map::default()));
            }
            if let Some(Value::Map(inner)) = values.get_mut(first) {
                replace(inner, rest);
            }
        }
    }
}

/// Whether `.Values.a.b` is written in a template.
fn is_named(chart: &Loaded, path: &[String]) -> bool {
    let name = format!(".Values.{}", path.join("."));
    chart.templates.iter().any(|template| {
        let text = template.source.text();
        text.match_indices(&name).any(|(at, _)| {
            let after = text.get(at + name.len()..).and_then(|rest| rest.chars().next());
            !after.is_some_and(|next| next.is_alphanumeric() || next == '_' || next == '.')
        })
    })
}

#[test]
#[ignore = "opt-in: CHART_CORPUS names a folder with public charts"]
fn misspelt_keys_of_public_charts_are_found() {
    let mut all = Vec::new();
    for path in corpus() {
        let chart = load::load(&path).unwrap();
        let mut own = Vec::new();
        scalars(&chart.values, &mut Vec::new(), &mut own);
        own.retain(|(path, _)| {
            is_named(&chart, path) && path.last().is_some_and(|last| last.len() >= MIN_KEY)
        });
        all.extend(
            own.into_iter()
                .map(|(path, value)| (Arc::clone(&chart), path, value)),
        );
    }
    // A linear congruential generator: the same places in every run.
    let mut state: u64 = 18;
    let (mut count, mut found, mut missed) = (0, 0, Vec::new());
    while count < PLANTED && !all.is_empty() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let index = usize::try_from(state >> 33).unwrap() % all.len();
        let (chart, path, value) = all.swap_remove(index);
        match finds(&chart, &path, &value) {
            Some(true) => found += 1,
            Some(false) => missed.push(format!("{} {}", chart.name(), path.join("."))),
            None => continue,
        }
        count += 1;
    }
    assert!(count == 0 || found >= FOUND, "{found} of {count}, not {missed:?}");
}
