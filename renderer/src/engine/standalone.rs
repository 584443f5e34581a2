//! Texts that are no templates of a chart: [`run_texts`].

use std::sync::Arc;

use super::limits::Limits;
use super::stack::on_large_stack;
use super::template_error::TemplateError;
use crate::diag::{Diagnostics, Result};
use crate::funcs::Context;
use crate::source::Source;
use crate::template::{Functions, Run, Set, Val};
use crate::world::World;

/// What is run.
pub(crate) struct TextTemplates<'a> {
    /// The functions that texts can call.
    pub(crate) functions: &'a Functions<Context>,
    /// Named templates, which the texts may define anew.
    pub(crate) library: &'a Arc<Source>,
    /// The texts, which are run in this order.
    pub(crate) texts: &'a [Arc<Source>],
    /// The template of the library that is run after them.
    pub(crate) main: Option<&'a str>,
    /// The limits.
    pub(crate) limits: &'a Limits,
    /// The clock and entropy.
    pub(crate) world: &'a Arc<dyn World>,
}

/// What the texts print one after the other, with the value that `dot` makes.
///
/// # Errors
/// Class template: a text that can't be parsed, that fails, or that exceeds a limit.
pub(crate) fn run_texts(templates: &TextTemplates<'_>, dot: &(dyn Fn() -> Val + Sync)) -> Result<Vec<u8>> {
    on_large_stack(|| run_here(templates, dot).map_err(|problem| Diagnostics::from(problem.diagnostic())))?
}

fn run_here(
    templates: &TextTemplates<'_>,
    dot: &(dyn Fn() -> Val + Sync),
) -> std::result::Result<Vec<u8>, TemplateError> {
    // Declared first, so that it is dropped after all values.
    let _limited = templates.limits.hold();
    let mut set = Set::default();
    let mut names: Vec<Arc<str>> = Vec::new();
    for source in std::iter::once(templates.library).chain(templates.texts) {
        let name: Arc<str> = Arc::from(source.name());
        let trees = templates
            .functions
            .parse(&name, source)
            .map_err(TemplateError::Parse)?;
        trees.into_iter().for_each(|tree| set.add(tree));
        names.push(name);
    }
    names.extend(templates.main.map(Arc::from));
    let context = Context::new(Arc::clone(templates.world), None, false);
    let mut run = templates.limits.on(Run::new(templates.functions, &set, context));
    let value = dot();
    let mut out = Vec::new();
    for name in names.iter().skip(1) {
        if let Some(tree) = run.find(name) {
            let printed = run
                .execute(&tree, value.clone())
                .map_err(|error| TemplateError::Run {
                    error,
                    names: run.template_names(),
                })?;
            out.extend(printed);
        }
    }
    Ok(out)
}
