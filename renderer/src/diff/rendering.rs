//! What a chart renders to, as documents that can be compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::{Diagnostic, Result};
use crate::engine::manifest::{Manifest, ManifestFilter, Manifests};
use crate::engine::{ParsedChart, RenderRequest};

/// What a document is for Helm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
    /// A file of a `crds` folder, which is installed once and never upgraded.
    Crd,
    /// An object of the release.
    Manifest,
    /// A hook.
    Hook,
}

impl Role {
    /// As in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Crd => "crd",
            Self::Manifest => "manifest",
            Self::Hook => "hook",
        }
    }
}

/// A document that a chart renders to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RenderedDocument {
    /// What it is for Helm.
    pub role: Role,
    /// Its text, and the template that printed it.
    pub manifest: Manifest,
}

/// What a chart renders to: its CRDs, its objects and its hooks.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Rendering {
    /// The documents; a file of `crds/` is one, until [`split_crds`] splits it.
    pub documents: Vec<RenderedDocument>,
    /// The warnings about the chart.
    pub warnings: Vec<Diagnostic>,
}

impl Rendering {
    /// Renders a chart.
    ///
    /// # Errors
    /// Errors of the chart, the values or a template, and output that is not YAML. A file of `crds/` that is not YAML is
    /// none: Helm prints it as it is, and it is compared as a text.
    pub fn of(chart: &ParsedChart, request: &RenderRequest, hooks: ManifestFilter) -> Result<Self> {
        let rendered = chart.render(request)?;
        let manifests = chart.manifests(request, rendered.texts, false)?;
        let mut documents = Vec::new();
        for crd in &rendered.crds {
            let whole = Manifest::of_text(&crd.name, &crd.body.text());
            documents.extend(of_role(Role::Crd, [whole]));
        }
        let hooks: Vec<Manifest> = manifests.chosen_hooks(hooks).cloned().collect();
        documents.extend(of_role(Role::Manifest, manifests.manifests));
        documents.extend(of_role(Role::Hook, hooks));
        Ok(Self {
            documents,
            warnings: rendered.warnings,
        })
    }
}

/// Splits the files of `crds/` that are not the same in both renderings into their documents: those that are the same,
/// megabytes in some charts, are never parsed.
pub fn split_crds(from: &mut Rendering, to: &mut Rendering) {
    let files = |one: &Rendering| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for document in one.documents.iter().filter(|document| document.role == Role::Crd) {
            *counts.entry(document.manifest.text().to_owned()).or_default() += 1;
        }
        counts
    };
    let (older, newer) = (files(from), files(to));
    for (rendering, mut others) in [(from, newer), (to, older)] {
        for document in std::mem::take(&mut rendering.documents) {
            let other = others
                .get_mut(document.manifest.text())
                .filter(|count| **count > 0);
            match other {
                _ if document.role != Role::Crd => rendering.documents.push(document),
                Some(count) => {
                    *count -= 1;
                    rendering.documents.push(document);
                }
                None => rendering
                    .documents
                    .extend(of_role(Role::Crd, split(document.manifest))),
            }
        }
    }
}

/// The documents of a file; the file itself if it is not YAML.
fn split(file: Manifest) -> Vec<Manifest> {
    let texts = vec![(Arc::clone(&file.source), file.text().to_owned())];
    match Manifests::new("", texts, false) {
        Ok(parts) => parts.manifests.into_iter().chain(parts.hooks).collect(),
        Err(_) => vec![file],
    }
}

fn of_role(
    role: Role,
    manifests: impl IntoIterator<Item = Manifest>,
) -> impl Iterator<Item = RenderedDocument> {
    let all = manifests.into_iter();
    all.map(move |manifest| RenderedDocument { role, manifest })
}
