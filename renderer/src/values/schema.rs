//! `values.schema.json`: validates the values of a chart and its subcharts against their schemas.
//!
//! In: a tree of charts with their schemas, and the merged values. Out: nothing, or every violation with the message of
//! Helm 4.3.1. Drafts 4, 6, 7, 2019-09 and 2020-12; formats are asserted up to draft 7, as in Helm.
//!
//! # Differences from Helm
//!
//! - Referenced schemas must be in the schema, or in a [`SchemaStore`]: nothing is fetched, and `file:` is never read.
//!   An unknown `$schema` is such a reference.
//! - A `urn:` that is not in the schema accepts anything, without Helm's warning.
//! - The format `period` is not checked.
//! - The steps of a check, the size of patterns and the nesting of schemas are bounded.
//! - Numbers of a schema that no float holds are refused, and an `$id` or an anchor may stand twice.
//! - For a schema with endless recursion Helm reports the two locations.

use std::sync::Arc;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{PatternOptions, Retrieve, Uri, ValidationError, Validator};
use serde_json::Value as Json;
use solar_go_json::Piece;

pub use super::schema_bounds::TooManySteps;
use super::schema_bounds::{KEYWORD, MAX_LOOKED_INTO, Steps, pattern_bytes, prepare};
use super::schema_cycles::{looked_into, refers_to_itself};
use super::schema_documents::{Documents, HOME, NoSchemas, SchemaStore};
pub use super::schema_messages::MAX_LISTED;
use super::schema_messages::{additional, is_duration, is_semver, is_uuid, not_listed, quoted, words};
use super::schema_mistakes::{SchemaMistake, mistakes, not_json};
use super::schema_patterns::{self, PatternKeyword};
use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::funcs::re2;
use crate::source::{Location, Source, Span};
use crate::value::{Map, Number, Value};

/// A chart with its subcharts.
#[derive(Debug, Clone)]
pub struct Level<'c> {
    /// The chart's name, or a subchart's alias.
    pub chart: &'c str,
    /// Its values.schema.json.
    pub schema: Option<&'c Arc<Source>>,
    /// Its subcharts, in the chart's order.
    pub children: Vec<Level<'c>>,
}

/// Returns the location of the value at a path of keys and indices, if known.
pub type Locate<'l> = dyn Fn(&[String]) -> Option<Location> + 'l;

/// The maximum nesting of charts.
const MAX_DEPTH: usize = 100;
/// The maximum nesting of a schema, which `serde_json` has, too.
const MAX_SCHEMA_DEPTH: usize = 127;

/// The violations in the values of a chart and its subcharts.
#[derive(Debug)]
#[non_exhaustive]
pub struct SchemaViolations {
    /// The charts whose values are invalid, in the order of the tree.
    pub charts: Vec<String>,
    /// The first [`MAX_LISTED`] violations.
    pub listed: Vec<SchemaViolation>,
    /// How many more there are.
    pub omitted: usize,
}

/// One violation of a chart's schema.
#[derive(Debug)]
#[non_exhaustive]
pub struct SchemaViolation {
    /// The chart's name.
    pub chart: String,
    /// Helm's message.
    pub message: String,
    /// The causes (the alternatives of an `anyOf`), one line each.
    pub causes: Vec<String>,
    /// Values, or why a schema can't be fetched.
    pub class: Class,
    /// Where the value stands, or the mistake in the schema, when that is known.
    pub location: Option<Location>,
}

impl SchemaViolation {
    /// The diagnostic, of class values.
    pub fn into_diagnostic(self) -> Diagnostic {
        let Self {
            chart,
            message,
            causes,
            class,
            location,
        } = self;
        let plain = Diagnostic::error(class, format!("{chart}: {message}"));
        let explained = causes.into_iter().fold(plain, Diagnostic::note);
        Diagnostic {
            location,
            ..explained
        }
    }
}

impl SchemaViolations {
    /// Helm's message before the list of charts.
    pub const HEADLINE: &str =
        "values don't meet the specifications of the schema(s) in the following chart(s):";

    /// Helm's line before it lists the violations of each chart.
    pub fn headline(&self) -> String {
        format!("{} {}", Self::HEADLINE, self.charts.join(", "))
    }
}

impl From<SchemaViolations> for Diagnostics {
    /// The headline, then each violation.
    fn from(found: SchemaViolations) -> Self {
        // When nothing is known to be wrong with the values, another attempt may succeed.
        let mut classes = found.listed.iter().map(|one| one.class);
        let class = classes.next().filter(|first| classes.all(|one| one == *first));
        let headline = Diagnostic::error(class.unwrap_or(Class::Values), found.headline())
            .hint("--skip-schema-validation renders without these checks");
        let listed = found.listed.into_iter().map(SchemaViolation::into_diagnostic);
        std::iter::once(headline).chain(listed).collect()
    }
}

/// Validates the values against the schema of each chart; a chart without one costs nothing.
///
/// # Errors
/// Each violation, with its location if `locate` knows it.
pub fn validate(chart: &Level<'_>, values: &Map, locate: &Locate<'_>) -> Result<(), SchemaViolations> {
    validate_with(chart, values, locate, &NoSchemas)
}

/// As [`validate`], with schemas that others may refer to by URL.
///
/// # Errors
/// As [`validate`].
pub fn validate_with(
    chart: &Level<'_>,
    values: &Map,
    locate: &Locate<'_>,
    store: &dyn SchemaStore,
) -> Result<(), SchemaViolations> {
    let mut check = SchemaCheck {
        found: SchemaViolations {
            charts: Vec::new(),
            listed: Vec::new(),
            omitted: 0,
        },
        locate,
        store,
    };
    check.level(chart, values, &mut Vec::new());
    let mut found = check.found;
    if found.charts.is_empty() {
        return Ok(());
    }
    if let (Some(last), 1..) = (found.listed.last_mut(), found.omitted) {
        last.causes.push(not_listed(found.omitted, "violations"));
    }
    Err(found)
}

struct SchemaCheck<'l> {
    found: SchemaViolations,
    locate: &'l Locate<'l>,
    store: &'l dyn SchemaStore,
}

impl SchemaCheck<'_> {
    fn level(&mut self, level: &Level<'_>, values: &Map, path: &mut Vec<String>) {
        if let Some(schema) = level.schema {
            self.one(level.chart, schema, values, path);
        }
        if path.len() >= MAX_DEPTH {
            return;
        }
        for child in &level.children {
            path.push(child.chart.to_owned());
            match values.get(child.chart) {
                None | Some(Value::Null) => {}
                Some(Value::Map(values)) => self.level(child, values, path),
                Some(other) => {
                    let type_name = go_type(other);
                    let message = format!("invalid type for values: expected object (map), got {type_name}");
                    self.tell(child.chart, message, path);
                }
            }
            path.pop();
        }
    }

    fn one(&mut self, chart: &str, schema: &Arc<Source>, values: &Map, path: &[String]) {
        let room = MAX_LISTED - self.found.listed.len();
        let store = self.store;
        let Violations { listed, omitted } = with_room(|| violations(schema, values, room, store));
        self.found.omitted += omitted;
        if omitted > 0 {
            self.name(chart);
        }
        for Violation {
            of,
            message,
            causes,
            class,
        } in listed
        {
            let location = match of {
                Subject::Values(pointer) => (self.locate)(&[path, &segments(&pointer)].concat()),
                Subject::Schema(span) => span.map(|span| Location::new(schema, span)),
            };
            self.list(chart, message, location);
            if let Some(last) = self.found.listed.last_mut() {
                (last.causes, last.class) = (causes, class);
            }
        }
    }

    fn tell(&mut self, chart: &str, message: String, path: &[String]) {
        if self.found.listed.len() < MAX_LISTED {
            return self.list(chart, message, (self.locate)(path));
        }
        self.found.omitted += 1;
        self.name(chart);
    }

    fn list(&mut self, chart: &str, message: String, location: Option<Location>) {
        self.name(chart);
        self.found.listed.push(SchemaViolation {
            chart: chart.to_owned(),
            message,
            causes: Vec::new(),
            class: Class::Values,
            location,
        });
    }

    /// Adds the chart to the headline.
    fn name(&mut self, chart: &str) {
        let charts = &mut self.found.charts;
        if charts.last().is_none_or(|last| last != chart) {
            charts.push(chart.to_owned());
        }
    }
}

/// What is wrong.
enum Subject {
    /// What a JSON pointer leads to in the chart's values.
    Values(String),
    /// The schema itself, there.
    Schema(Option<Span>),
}

/// One violation.
struct Violation {
    of: Subject,
    message: String,
    causes: Vec<String>,
    class: Class,
}

impl Violation {
    fn new(error: &ValidationError<'_>, instance: &Json) -> Self {
        let pointer = error.instance_path().to_string();
        let (message, causes) = words(error, instance);
        Self {
            message: format!("at {}: {message}", quoted(&pointer)),
            of: Subject::Values(pointer + &one_too_many(error, instance)),
            causes,
            class: Class::Values,
        }
    }

    fn of_schema(mistake: SchemaMistake) -> Self {
        let SchemaMistake {
            message,
            causes,
            class,
            span,
        } = mistake;
        Self {
            of: Subject::Schema(span),
            message,
            causes,
            class,
        }
    }

    fn missing(pointer: String, names: &[String]) -> Self {
        let list: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let noun = if names.len() == 1 {
            "property"
        } else {
            "properties"
        };
        let message = format!("at {}: missing {noun} {}", quoted(&pointer), list.join(", "));
        Self {
            of: Subject::Values(pointer),
            message,
            causes: Vec::new(),
            class: Class::Values,
        }
    }
}

/// The first property that a map may not have, as the pointer goes on to it.
fn one_too_many(error: &ValidationError<'_>, values: &Json) -> String {
    let name = additional(error, values).into_iter().next();
    name.map_or_else(String::new, |name| {
        format!("/{}", name.replace('~', "~0").replace('/', "~1"))
    })
}

/// Runs work that recurses as deeply as values nest, on a large stack.
fn with_room(work: impl FnOnce() -> Violations + Send) -> Violations {
    // Only reserved: pages that are not used take no memory.
    const STACK: usize = 256 << 20;
    // A WebAssembly module has no threads. Too many steps end it, since its panics can't be caught.
    if cfg!(target_family = "wasm") {
        return work();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        match thread.spawn_scoped(scope, work).map(|running| running.join()) {
            Ok(Ok(found)) => found,
            Ok(Err(panic)) if panic.is::<TooManySteps>() => Violations::of_schema(TooManySteps.to_string()),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => Violations::of_schema(format!("the schema can't be checked: {error}")),
        }
    })
}

/// The violations in one chart's values: the first ones, and the number of others.
#[derive(Default)]
struct Violations {
    listed: Vec<Violation>,
    omitted: usize,
}

impl Violations {
    fn of_schema(message: String) -> Self {
        Self::of_schemas(vec![SchemaMistake::of_all(message)], 1)
    }

    fn of_schemas(mistakes: Vec<SchemaMistake>, room: usize) -> Self {
        let mut found = Self::default();
        for mistake in mistakes {
            found.add(room, || Violation::of_schema(mistake));
        }
        found
    }

    /// Adds a violation while there is room; its text is only built then.
    fn add(&mut self, room: usize, violation: impl FnOnce() -> Violation) {
        if self.listed.len() < room {
            self.listed.push(violation());
        } else {
            self.omitted += 1;
        }
    }
}

fn violations(source: &Source, values: &Map, room: usize, store: &dyn SchemaStore) -> Violations {
    let (mut schema, mut documents) = match parse(source, store) {
        Ok(parsed) => parsed,
        Err(mistake) => return Violations::of_schemas(vec![mistake], room),
    };
    let others = documents.each_mut();
    let patterns = prepare(std::iter::once((&mut schema, Vec::new())).chain(others), values);
    let error = if patterns.refused().is_empty() {
        match compile(&schema, pattern_bytes(patterns.count()), documents) {
            Ok(validator) => return violations_of(&validator, values, room),
            Err(error) => Some(error),
        }
    } else {
        None
    };
    // As it was before it was prepared.
    let original = read(source).unwrap_or_default();
    Violations::of_schemas(mistakes(source, &original, error.as_deref(), &patterns), room)
}

fn violations_of(validator: &Validator, values: &Map, room: usize) -> Violations {
    let instance = Json::Object(object(values));
    let mut found = Violations::default();
    let mut missing: Option<(String, Vec<String>)> = None;
    for error in validator.iter_errors(&instance) {
        // The library reports each missing property; Helm lists those of a map together.
        if let Kind::Required { property } = error.kind() {
            let pointer = error.instance_path().to_string();
            let property = property.as_str().unwrap_or_default().to_owned();
            match &mut missing {
                Some((at, names)) if *at == pointer => names.push(property),
                other => {
                    if let Some((pointer, names)) = other.replace((pointer, vec![property])) {
                        found.add(room, || Violation::missing(pointer, &names));
                    }
                }
            }
            continue;
        }
        if let Some((pointer, names)) = missing.take() {
            found.add(room, || Violation::missing(pointer, &names));
        }
        found.add(room, || Violation::new(&error, &instance));
    }
    if let Some((pointer, names)) = missing {
        found.add(room, || Violation::missing(pointer, &names));
    }
    found
}

/// A JSON pointer's keys and indices.
pub(super) fn segments(pointer: &str) -> Vec<String> {
    let pieces = pointer.split('/').skip(1);
    pieces
        .map(|piece| piece.replace("~1", "/").replace("~0", "~"))
        .collect()
}

fn read(source: &Source) -> serde_json::Result<Json> {
    let bytes = source.bytes(0..source.text().len());
    let mut schema: Json = serde_json::from_slice(&bytes).or_else(|error| as_in_go(&bytes).ok_or(error))?;
    name_draft(&mut schema);
    Ok(schema)
}

/// Lone surrogates are U+FFFD in Go. `None` for what this reader refuses, too, and for numbers beyond a float.
fn as_in_go(bytes: &[u8]) -> Option<Json> {
    let limits = solar_go_json::Limits {
        depth: MAX_SCHEMA_DEPTH,
        values: usize::MAX,
    };
    let make = |piece: Piece<'_, Option<Json>>, _| {
        Some(match piece {
            Piece::Null => Json::Null,
            Piece::Bool(value) => Json::Bool(value),
            Piece::Number(text) => Json::Number(text.parse().ok()?),
            Piece::String(text) => Json::String(text.into_owned()),
            Piece::List(items) => Json::Array(items.into_iter().collect::<Option<_>>()?),
            Piece::Map(members) => {
                let members = members.into_iter();
                let members = members.map(|one| Some((one.key.into_owned(), one.value?)));
                Json::Object(members.collect::<Option<_>>()?)
            }
        })
    };
    solar_go_json::read(bytes, limits, make).ok()?
}

fn parse(source: &Source, store: &dyn SchemaStore) -> Result<(Json, Documents), SchemaMistake> {
    let schema = read(source).map_err(|error| not_json(source, &error))?;
    let documents = Documents::collect(&schema, store, &name_draft);
    let documents = documents.map_err(|error| SchemaMistake::of_document(source, error))?;
    let bundle = documents.bundle(&schema);
    let whole = bundle.as_ref().unwrap_or(&schema);
    if refers_to_itself(whole) {
        let message = "values.schema.json: a `$ref` leads back to itself without end";
        return Err(SchemaMistake::of_all(message.to_owned()));
    }
    if looked_into(whole) > MAX_LOOKED_INTO {
        return Err(SchemaMistake::of_all(format!(
            "values.schema.json: `unevaluatedProperties` or `unevaluatedItems` take more than {MAX_LOOKED_INTO} steps"
        )));
    }
    Ok((schema, documents))
}

/// In older drafts the URL of a schema may have a fragment, which Helm does without.
fn drop_fragment(schema: &mut Json) {
    let draft = schema.get("$schema").and_then(Json::as_str).unwrap_or_default();
    let name = if draft.contains("/draft-04/") { "id" } else { "$id" };
    if draft.contains("/draft-0")
        && let Some(Json::String(id)) = schema.get_mut(name)
        && let Some(at) = id.find('#').filter(|at| *at > 0)
    {
        id.truncate(at);
    }
}

/// Helm accepts a draft's URL with and without `#`, with http and https, and one for the latest draft.
fn name_draft(schema: &mut Json) {
    drop_fragment(schema);
    let Some(name) = schema.get_mut("$schema") else {
        return;
    };
    let plain = name.as_str().map(|url| url.trim_end_matches('#'));
    let path = plain.and_then(|url| url.strip_prefix("http://").or(url.strip_prefix("https://")));
    let known = match path {
        Some("json-schema.org/schema" | "json-schema.org/draft/2020-12/schema") => {
            "https://json-schema.org/draft/2020-12/schema"
        }
        Some("json-schema.org/draft/2019-09/schema") => "https://json-schema.org/draft/2019-09/schema",
        Some("json-schema.org/draft-07/schema") => "http://json-schema.org/draft-07/schema#",
        Some("json-schema.org/draft-06/schema") => "http://json-schema.org/draft-06/schema#",
        Some("json-schema.org/draft-04/schema") => "http://json-schema.org/draft-04/schema#",
        _ => return,
    };
    *name = Json::from(known);
}

fn compile(
    schema: &Json,
    pattern_bytes: usize,
    documents: Documents,
) -> Result<Validator, Box<ValidationError<'static>>> {
    let steps = Steps::default();
    let keyword = PatternKeyword::new(pattern_bytes);
    let mut options = jsonschema::options();
    if documents.refers_to_draft {
        // The schemas of all drafts, not only of the schema's own.
        options = options.with_registry(&referencing::SPECIFICATIONS);
    }
    let options = options
        // A linear-time engine, as for Go's patterns.
        .with_pattern_options(PatternOptions::regex().size_limit(pattern_bytes))
        .with_base_uri(HOME)
        .with_retriever(Kept(documents))
        // Helm doesn't check content encodings.
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json")
        // See `schema_bounds`.
        .with_keyword(KEYWORD, move |_, _, _| {
            steps.step();
            Ok(Box::new(steps.clone()))
        })
        .with_keyword(schema_patterns::KEYWORD, move |_, value, _| {
            Ok(Box::new(keyword.with(value)))
        })
        .with_format("regex", |text: &str| re2::written(text).is_ok())
        // Helm supports it in every draft that asserts formats.
        .with_format("semver", is_semver)
        .with_format("uuid", is_uuid)
        .with_format("duration", is_duration)
        .with_format("idn-email", |_: &str| true)
        .with_format("idn-hostname", |_: &str| true);
    options.build(schema).map_err(Box::new)
}

/// Serves documents that were read before, and nothing else.
struct Kept(Documents);

impl Retrieve for Kept {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Json, Box<dyn std::error::Error + Send + Sync>> {
        if let Some(schema) = self.0.get(uri.as_str()) {
            return Ok(schema.clone());
        }
        match uri.scheme().as_str() {
            "urn" => Ok(Json::Bool(true)),
            "file" => Err("files are not read for a schema: put what is referred to into its `$defs`".into()),
            _ => Err("nothing is fetched for a schema: put what is referred to into its `$defs`, or in a folder for --schema-location, or fetch it with --allow-remote-schemas".into()),
        }
    }
}

fn object(map: &Map) -> serde_json::Map<String, Json> {
    map.iter()
        .map(|(key, value)| (key.clone(), json(value)))
        .collect()
}

fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(number) => number_json(*number),
        Value::String(text) => Json::String(text.clone()),
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(map) => Json::Object(object(map)),
    }
}

/// A float without a fraction is an integer in Helm, also in draft 4.
#[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
fn number_json(number: Number) -> Json {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number {
        Number::Int(value) => Json::from(value),
        Number::Uint(value) => Json::from(value),
        Number::Float(value) if value.fract() == 0.0 && value.abs() <= EXACT => Json::from(value as i64),
        Number::Float(value) => Json::from(value),
    }
}

/// Go's name of the type.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(Number::Float(_)) => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
    }
}
