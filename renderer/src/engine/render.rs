//! Runs a [`Program`] with values: every template's text.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::files::Files;
use super::functions::{functions, without_no_value};
use super::limits::Limits;
use super::locate_error::Traced;
use super::program::{Program, ProgramUnit};
use super::stack::on_large_stack;
use super::template_error::TemplateError;
use super::values_methods::VALUES;
use crate::diag::{Diagnostic, Diagnostics, Result};
use crate::funcs::{Context, ObjectLookup, SeededResults};
use crate::source::Location;
use crate::template::memory::Charge;
use crate::template::{Error, Map, MapType, Run, Val};
use crate::value as data;
use crate::world::World;

/// The inputs of a rendering, in addition to the chart.
pub struct RenderInput<'a> {
    /// The root chart's values, with those of its dependencies in them.
    pub values: &'a data::Map,
    /// `.Release`.
    pub release: &'a data::Map,
    /// `.Capabilities`; made on the rendering's own thread.
    pub capabilities: &'a (dyn Fn() -> Val + Sync),
    /// The clock and entropy.
    pub world: Arc<dyn World>,
    /// A fixed seed instead of the system's randomness.
    pub seed: Option<u64>,
    /// Whether rendering continues after `fail` and `required`.
    pub lint: bool,
    /// The resource limits.
    pub limits: Limits,
    /// The templates, by full name, whose output is traced to their nodes.
    pub traced: BTreeSet<Arc<str>>,
    /// What `lookup` finds.
    pub cluster: Arc<dyn ObjectLookup>,
    /// What slow functions returned for the seed in other renderings.
    pub seeded: Arc<SeededResults>,
}

/// The output of a rendering.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RenderOutput {
    /// The text of each template that is no partial, by full name, in the order they ran.
    pub texts: Vec<(Arc<str>, String)>,
    /// The functions called whose result differs from run to run.
    pub impure: Vec<&'static str>,
    /// The functions called whose random results come from [`RenderInput::seed`].
    pub predictable: Vec<&'static str>,
    /// What [`RenderInput::traced`] asks for.
    pub origins: Traced,
}

impl Program {
    /// Runs every template that is no partial. The first failure ends it, as in Helm.
    pub fn render(&self, input: &RenderInput<'_>) -> Result<RenderOutput> {
        let (output, problems) = self.run(input, true)?;
        let problems = problems.iter().map(TemplateError::diagnostic).collect();
        Diagnostics::or(problems, output)
    }

    /// Renders what can be rendered; returns every failure, or only the first.
    pub fn run(
        &self,
        input: &RenderInput<'_>,
        first_ends: bool,
    ) -> Result<(RenderOutput, Vec<TemplateError>)> {
        let ran = on_large_stack(|| self.run_here(input, first_ends))?;
        // Templates see an unreadable file as empty, so this error takes precedence over theirs.
        Diagnostics::or(unread(&self.root), ran)
    }

    /// The location of invalid UTF-8 in a template's text, or in another one that it may include.
    fn not_utf8(&self, name: &str) -> Option<Location> {
        let others = self.entries.iter().map(|entry| &*entry.name);
        std::iter::once(name).chain(others).find_map(|name| {
            let source = &self.set.get(name)?.source;
            Some(Location::new(source, source.not_utf8()?))
        })
    }

    fn run_here(&self, input: &RenderInput<'_>, first_ends: bool) -> (RenderOutput, Vec<TemplateError>) {
        // Declared first, so that it is dropped after all values.
        let _limited = input.limits.hold();
        let values = Map::with(MapType::Named(VALUES), entries(input.values));
        let mut scopes = Vec::new();
        let shared = SharedScope {
            release: release(input.release),
            capabilities: (input.capabilities)(),
        };
        scope(&self.root, true, values, &shared, &mut scopes);
        let mut context = Context::new(Arc::clone(&input.world), input.seed, input.lint);
        context.cluster = Arc::clone(&input.cluster);
        context.seeded = Arc::clone(&input.seeded);
        let mut run = input.limits.on(Run::new(functions(), &self.set, context));
        let (mut output, mut problems) = (RenderOutput::default(), Vec::new());
        let mut texts = Vec::new();
        for entry in &self.entries {
            let base = entry.name.rsplit('/').next().unwrap_or(&entry.name);
            let (Some(scope), false) = (scopes.get(entry.unit), base.starts_with('_')) else {
                continue;
            };
            let traced = input.traced.contains(&entry.name).then_some(&mut output.origins);
            let problem = match run_one(&mut run, scope, &entry.name, traced).map(String::from_utf8) {
                Ok(Ok(text)) => {
                    texts.push(Charge::of(text.len()));
                    output.texts.push((Arc::clone(&entry.name), text));
                    continue;
                }
                Ok(Err(_)) => TemplateError::NotText {
                    name: Arc::clone(&entry.name),
                    place: self.not_utf8(&entry.name),
                },
                Err(error) => TemplateError::Run {
                    error,
                    names: run.template_names(),
                },
            };
            problems.push(problem);
            if first_ends {
                break;
            }
            run.context.includes.clear();
        }
        output.impure = run.context.impure.iter().copied().collect();
        output.predictable = run.context.predictable.iter().copied().collect();
        // A chart can create cyclic maps, which would never be freed.
        for TemplateScope { dot, .. } in scopes {
            for (key, _) in dot.entries() {
                dot.remove(&key);
            }
        }
        (output, problems)
    }
}

/// The errors of files that templates requested.
fn unread(unit: &ProgramUnit) -> Vec<Diagnostic> {
    let own = unit.files.iter().filter_map(|(_, body)| body.problem());
    let own = own.flat_map(Diagnostics::into_vec);
    own.chain(unit.children.iter().flat_map(unread)).collect()
}

fn run_one(
    run: &mut Run<'_, Context>,
    scope: &TemplateScope,
    name: &Arc<str>,
    traced: Option<&mut Traced>,
) -> std::result::Result<Vec<u8>, Box<Error>> {
    let template = Map::typed(MapType::Named(VALUES));
    template.set("Name", Val::str(name));
    template.set("BasePath", Val::str(format!("{}/templates", scope.path)));
    scope.dot.set("Template", Val::Map(template));
    let Some(tree) = run.find(name) else {
        return Ok(Vec::new());
    };
    let dot = Val::Map(scope.dot.clone());
    let bytes = match traced {
        None => run.execute(&tree, dot)?,
        Some(all) => {
            let (bytes, origins) = run.execute_traced(&tree, dot)?;
            all.insert(Arc::clone(name), origins);
            bytes
        }
    };
    Ok(without_no_value(bytes))
}

/// The scope of a chart's templates.
struct TemplateScope {
    path: String,
    dot: Map,
}

struct SharedScope {
    release: Val,
    capabilities: Val,
}

/// The scopes of a chart and its subcharts, parents first; returns the chart's own.
fn scope(
    unit: &ProgramUnit,
    root: bool,
    values: Map,
    shared: &SharedScope,
    out: &mut Vec<TemplateScope>,
) -> Map {
    let dot = Map::typed(MapType::Named(VALUES));
    out.push(TemplateScope {
        path: unit.path.clone(),
        dot: dot.clone(),
    });
    let subcharts = Map::default();
    for child in &unit.children {
        let own = match values.get(&child.name) {
            Some(Val::Map(map)) => map.as_type(MapType::Named(VALUES)),
            _ => Map::typed(MapType::Named(VALUES)),
        };
        let inner = scope(child, false, own, shared, out);
        subcharts.set(child.name.as_str(), Val::Map(inner.as_type(MapType::Any)));
    }
    let files = unit
        .files
        .iter()
        .map(|(path, body)| (Arc::clone(path), body.clone()));
    dot.set("Chart", chart(&unit.metadata, root));
    dot.set("Files", Val::Object(Rc::new(Files::new(files))));
    dot.set("Release", shared.release.clone());
    dot.set("Capabilities", shared.capabilities.clone());
    dot.set("Values", Val::Map(values));
    dot.set("Subcharts", Val::Map(subcharts));
    dot
}

/// `.Release`; its revision is an int.
fn release(data: &data::Map) -> Val {
    let map = Map::from_data(data);
    if let Some(Val::Int(revision, _)) = map.get("Revision") {
        map.set("Revision", Val::int(revision));
    }
    Val::Map(map)
}

/// `.Chart`. Helm turns its struct into a map; only the annotations keep their type.
fn chart(metadata: &data::Map, root: bool) -> Val {
    let map = Map::from_data(metadata);
    let annotations = match map.get("Annotations") {
        Some(Val::Map(given)) => Map::with(MapType::Strings, given.borrow().clone()),
        _ => Map::typed(MapType::NilStrings),
    };
    map.set("Annotations", Val::Map(annotations));
    map.set("IsRoot", Val::Bool(root));
    Val::Map(map)
}

fn entries(map: &data::Map) -> BTreeMap<Arc<str>, Val> {
    let converted = map.iter();
    converted
        .map(|(key, value)| (Arc::from(key.as_str()), Val::from_data(value)))
        .collect()
}
