//! A run executes templates: whole, traced, or as a function includes one.

use std::sync::Arc;

use super::ast::Tree;
use super::error::{Error, Failure};
use super::exec::Frame;
use super::origins::Origins;
use super::run::{Run, Slot};
use super::text::Str;
use super::value::Val;

impl<C: 'static> Run<'_, C> {
    /// What a template prints when it is run with `dot`.
    pub fn execute(&mut self, tree: &Arc<Tree>, dot: Val) -> Result<Vec<u8>, Box<Error>> {
        self.execute_to(tree, dot, <[u8]>::to_vec)
    }

    /// What `taken` makes of what a template prints.
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
        // Behind what is there already: a text of its own would have to grow.
        let start = self.out.len();
        let outer = std::mem::replace(&mut self.start, start);
        let done = Frame::run(self, tree, Slot::plain(dot));
        self.start = outer;
        let printed = taken(self.out.get(start..).unwrap_or_default());
        self.out.truncate(start);
        done.map(|()| printed)
    }

    /// As [`Run::execute`]; also which nodes printed it.
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

    /// As [`Run::execute`] within a run that is traced.
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

    /// What a named template prints when a function runs it.
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
