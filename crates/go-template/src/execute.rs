//! Executes templates in a run: plain, traced, or included by a function.

use std::sync::Arc;

use super::ast::Tree;
use super::error::{Error, Failure};
use super::exec::Frame;
use super::origins::Origins;
use super::run::{Run, Slot};
use super::text::Str;
use super::value::Val;

impl<C: 'static> Run<'_, C> {
    /// Runs a template with `dot`; returns its output.
    pub fn execute(&mut self, tree: &Arc<Tree>, dot: Val) -> Result<Vec<u8>, Box<Error>> {
        self.execute_to(tree, dot, <[u8]>::to_vec)
    }

    /// Runs a template; `taken` converts its output.
    fn execute_to<T>(
        &mut self,
        tree: &Arc<Tree>,
        dot: Val,
        taken: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Box<Error>> {
        if let Some(outer) = self.origins.take() {
            let printed = self.execute_inside(tree, dot, outer)?;
            return Ok(taken(&printed));
        }
        // Appended to the existing output: a new buffer would have to grow.
        let start = self.out.len();
        let outer = std::mem::replace(&mut self.start, start);
        let done = Frame::run(self, tree, Slot::plain(dot));
        self.start = outer;
        let printed = taken(self.out.get(start..).unwrap_or_default());
        self.out.truncate(start);
        done.map(|()| printed)
    }

    /// As [`Run::execute`], but also records the nodes that printed the output.
    pub fn execute_traced(&mut self, tree: &Arc<Tree>, dot: Val) -> Result<(Vec<u8>, Origins), Box<Error>> {
        let outer = std::mem::take(&mut self.out);
        let outer_start = std::mem::take(&mut self.start);
        let outer_origins = self.origins.replace(Box::default());
        let done = Frame::run(self, tree, Slot::plain(dot));
        let printed = std::mem::replace(&mut self.out, outer);
        self.start = outer_start;
        let own = std::mem::replace(&mut self.origins, outer_origins);
        done?;
        let mut origins = own.map(|own| *own).unwrap_or_default();
        origins.set_text(&printed);
        Ok((printed, origins))
    }

    /// As [`Run::execute`], inside a traced run.
    fn execute_inside(
        &mut self,
        tree: &Arc<Tree>,
        dot: Val,
        mut outer: Box<Origins>,
    ) -> Result<Vec<u8>, Box<Error>> {
        let done = self.execute_traced(tree, dot);
        let printed = done.map(|(printed, origins)| {
            outer.add_inner(&tree.name, origins);
            printed
        });
        self.origins = Some(outer);
        printed
    }

    /// Runs a named template for a function; returns its output.
    pub fn include(&mut self, name: &str, dot: Val) -> Result<Str, Failure> {
        let Some(tree) = self.find(name) else {
            return Err(Failure::NoTemplate(name.to_owned()));
        };
        let printed = self.execute_to(&tree, dot, Str::copy_of);
        printed.map_err(|error| Failure::Nested {
            prefix: String::new(),
            error,
        })
    }
}
