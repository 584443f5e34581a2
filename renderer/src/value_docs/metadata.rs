//! What READMEs say of a chart: fields of Chart.yaml, and of the requirements.yaml of an older chart.
//!
//! It is less than what Helm reads, and stricter only about types: a version may be missing, and numbers are texts as they
//! are written.

use std::sync::Arc;

use super::values::{Content, Values};
use crate::diag::{Class, Diagnostic, Result};
use crate::source::{Location, Source, Span};
use crate::yaml::{self, Limits, ScalarType};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) api_version: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) app_version: String,
    pub(super) kube_version: String,
    pub(super) description: String,
    pub(super) home: String,
    pub(super) chart_type: String,
    pub(super) engine: String,
    pub(super) is_deprecated: bool,
    pub(super) sources: Vec<String>,
    pub(super) maintainers: Vec<Maintainer>,
    /// By repository and name.
    pub(super) dependencies: Vec<Dependency>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Maintainer {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) url: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dependency {
    pub(super) repository: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) alias: String,
}

impl Metadata {
    /// Reads Chart.yaml.
    pub(super) fn read(source: &Arc<Source>) -> Result<Self> {
        let mut out = Self::default();
        with_fields(source, |fields, name, value| {
            match name {
                "apiVersion" => out.api_version = fields.text(value)?,
                "name" => out.name = fields.text(value)?,
                "version" => out.version = fields.text(value)?,
                "appVersion" => out.app_version = fields.text(value)?,
                "kubeVersion" => out.kube_version = fields.text(value)?,
                "description" => out.description = fields.text(value)?,
                "home" => out.home = fields.text(value)?,
                "type" => out.chart_type = fields.text(value)?,
                "engine" => out.engine = fields.text(value)?,
                "deprecated" => out.is_deprecated = fields.truth(value)?,
                "sources" => {
                    let items = fields.items(value)?.into_iter();
                    out.sources = items.map(|item| fields.text(item)).collect::<Result<_>>()?;
                }
                "maintainers" => {
                    let items = fields.items(value)?.into_iter();
                    out.maintainers = items
                        .map(|item| maintainer(fields, item))
                        .collect::<Result<_>>()?;
                }
                "dependencies" => out.dependencies = dependencies(fields, value)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// Takes the dependencies of a chart of version 1 from its requirements.yaml.
    pub(super) fn add_requirements(&mut self, source: &Arc<Source>) -> Result<()> {
        self.dependencies.clear();
        with_fields(source, |fields, name, value| {
            if name == "dependencies" {
                self.dependencies = dependencies(fields, value)?;
            }
            Ok(())
        })
    }
}

fn maintainer(fields: &mut Values<'_>, item: usize) -> Result<Maintainer> {
    let mut out = Maintainer::default();
    for (name, value) in fields.entries(item)? {
        match name {
            "name" => out.name = fields.text(value)?,
            "email" => out.email = fields.text(value)?,
            "url" => out.url = fields.text(value)?,
            _ => {}
        }
    }
    Ok(out)
}

fn dependencies(fields: &mut Values<'_>, value: usize) -> Result<Vec<Dependency>> {
    let mut all = Vec::new();
    for item in fields.items(value)? {
        let mut one = Dependency::default();
        for (name, value) in fields.entries(item)? {
            match name {
                "name" => one.name = fields.text(value)?,
                "version" => one.version = fields.text(value)?,
                "repository" => one.repository = fields.text(value)?,
                "alias" => one.alias = fields.text(value)?,
                _ => {}
            }
        }
        all.push(one);
    }
    all.sort_by(|a, b| (&a.repository, &a.name).cmp(&(&b.repository, &b.name)));
    Ok(all)
}

fn with_fields(
    source: &Arc<Source>,
    mut read: impl FnMut(&mut Values<'_>, &str, usize) -> Result<()>,
) -> Result<()> {
    let Some(document) = yaml::parse_written(source, Class::Chart, &Limits::default())? else {
        return Ok(());
    };
    let mut fields = Values::new(source, &document);
    for (name, value) in fields.entries(document.root())? {
        read(&mut fields, name, value)?;
    }
    Ok(())
}

impl<'d> Values<'d> {
    fn wrong(&self, id: usize, expected: &str) -> Diagnostic {
        let span = self.document.node(id).map_or(Span::default(), |node| node.span);
        let message = format!("expected {expected}");
        Diagnostic::error(Class::Chart, message).at(Location::new(self.source, span))
    }

    fn entries(&mut self, id: usize) -> Result<Vec<(&'d str, usize)>> {
        match self.content(id, 0)? {
            Content::Entries(entries) => Ok(entries
                .into_iter()
                .map(|(key, value)| (self.key(key), value))
                .collect()),
            Content::Scalar {
                kind: ScalarType::Null,
                ..
            } => Ok(Vec::new()),
            _ => Err(self.wrong(id, "a map").into()),
        }
    }

    fn items(&mut self, id: usize) -> Result<Vec<usize>> {
        match self.content(id, 0)? {
            Content::Items(items) => Ok(items),
            Content::Scalar {
                kind: ScalarType::Null,
                ..
            } => Ok(Vec::new()),
            _ => Err(self.wrong(id, "a list").into()),
        }
    }

    /// A scalar as it is written.
    fn text(&mut self, id: usize) -> Result<String> {
        match self.content(id, 0)? {
            Content::Scalar {
                kind: ScalarType::Null,
                ..
            } => Ok(String::new()),
            Content::Scalar { text, .. } => Ok(text.to_owned()),
            _ => Err(self.wrong(id, "text").into()),
        }
    }

    /// A boolean, also in the words of YAML 1.1.
    fn truth(&mut self, id: usize) -> Result<bool> {
        match self.content(id, 0)? {
            Content::Scalar {
                kind: ScalarType::Bool(value),
                ..
            } => Ok(value),
            Content::Scalar {
                kind: ScalarType::Null,
                ..
            } => Ok(false),
            Content::Scalar {
                kind: ScalarType::Text,
                text,
                is_text: false,
            } => match text.to_ascii_lowercase().as_str() {
                "y" | "yes" | "on" => Ok(true),
                "n" | "no" | "off" => Ok(false),
                _ => Err(self.wrong(id, "true or false").into()),
            },
            _ => Err(self.wrong(id, "true or false").into()),
        }
    }
}
