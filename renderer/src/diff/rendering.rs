//! What a chart renders to, as documents that can be compared.

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
    /// The documents.
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
            let text = crd.body.text();
            let texts = vec![(Arc::from(crd.name.as_str()), text.clone().into_owned())];
            let parts = match Manifests::new("", texts, false) {
                Ok(parts) => parts.manifests.into_iter().chain(parts.hooks).collect(),
                Err(_) => vec![Manifest::of_text(&crd.name, &text)],
            };
            documents.extend(of_role(Role::Crd, parts));
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

fn of_role(
    role: Role,
    manifests: impl IntoIterator<Item = Manifest>,
) -> impl Iterator<Item = RenderedDocument> {
    let all = manifests.into_iter();
    all.map(move |manifest| RenderedDocument { role, manifest })
}
