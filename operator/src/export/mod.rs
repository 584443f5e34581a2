//! All objects of the API group as YAML that can be applied to another API server: one that had SolAr's own, or
//! another cluster.
//!
//! In: an API server that serves the group, ours or SolAr's. Out: documents in an order in which they can be applied,
//! and notes for people on what is not among them. Secrets are not read; those that are referred to are named.
//!
//! # Guarantees
//! The same objects give the same bytes: kinds in the order of `kinds`, objects in the order in which API servers list
//! them, by namespace and name. No more than a page of `PAGE_SIZE` objects is in memory.

mod kinds;
mod object;
mod secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use kube::Client;
use kube::api::ListParams;
use kube::core::Request;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::{GROUP, VERSION};
use crate::runtime::api_message;
use crate::yaml;
use kinds::ExportKind;
use object::{Exported, exported};
use secrets::SecretNames;

/// How many objects are requested at a time; one may be a megabyte and a half.
const PAGE_SIZE: u32 = 50;

/// Where the export goes.
pub trait Output {
    /// A piece of the YAML.
    fn yaml(&mut self, text: &str) -> io::Result<()>;
    /// What somebody should know, on one line.
    fn note(&mut self, text: &str);
}

/// What became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many objects of each kind are in the YAML.
    pub exported: BTreeMap<&'static str, usize>,
    /// How many objects should be there and are not: they can't be read.
    pub unreadable: usize,
}

/// Why an export ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Nobody serves the group.
    #[error("the cluster does not serve {GROUP}/{VERSION}")]
    NotServed,
    /// The API server refused a list, or did not answer.
    #[error("listing {kind}: {}", api_message(cause))]
    List {
        /// Of what.
        kind: String,
        /// Why.
        cause: Box<kube::Error>,
    },
    /// The list took longer than the API server keeps its state.
    #[error("the list of {kind} has expired while it was read")]
    Expired {
        /// Of what.
        kind: &'static str,
    },
    /// The API server answered with the page that was read: it would do so for ever.
    #[error("listing {kind}: the API server returns the same page again and again")]
    Repeated {
        /// Of what.
        kind: &'static str,
    },
    /// Writing the YAML.
    #[error("can't write: {0}")]
    Write(#[from] io::Error),
}

/// One page of a list.
#[derive(Deserialize)]
struct Page {
    metadata: PageMetadata,
    #[serde(default)]
    items: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    token: Option<String>,
}

/// An export that is being written.
struct Export<'a, O> {
    client: &'a Client,
    output: &'a mut O,
    summary: Summary,
    secrets: SecretNames,
}

/// Writes all objects, or those of some namespaces.
pub async fn export<O: Output>(
    client: &Client,
    namespaces: &BTreeSet<String>,
    output: &mut O,
) -> Result<Summary, ExportError> {
    let mut export = Export {
        client,
        output,
        summary: Summary::default(),
        secrets: SecretNames::default(),
    };
    let served = export.served().await?;
    export.output.yaml(&format!(
        "# The objects of {GROUP}/{VERSION}, in an order in which they can be applied: kubectl apply --server-side -f FILE\n"
    ))?;
    for kind in kinds::all() {
        match served.get(kind.id.plural) {
            Some(namespaced) if *namespaced == kind.id.namespaced => export.kind(&kind, namespaces).await?,
            Some(_) => {
                let id = kind.id;
                let scopes = ["cluster-scoped", "namespaced"];
                let scope = |namespaced: bool| scopes.get(usize::from(namespaced)).copied().unwrap_or("");
                export.output.note(&format!(
                    "{} is left out: it is {} there, and {} here",
                    id.kind,
                    scope(!id.namespaced),
                    scope(id.namespaced)
                ));
            }
            None => {}
        }
    }
    let comment = export.secrets.comment();
    export.output.yaml(&comment)?;
    for line in export.secrets.lines() {
        export.output.note(&line);
    }
    Ok(export.summary)
}

impl<O: Output> Export<'_, O> {
    /// The kinds that the cluster serves, by their names in URLs, and whether they are namespaced.
    async fn served(&mut self) -> Result<BTreeMap<String, bool>, ExportError> {
        let version = format!("{GROUP}/{VERSION}");
        let list = self.client.list_api_group_resources(&version).await;
        let list = list.map_err(|cause| match cause {
            kube::Error::Api(status) if status.code == 404 => ExportError::NotServed,
            cause => ExportError::List {
                kind: format!("the kinds of {version}"),
                cause: Box::new(cause),
            },
        })?;
        let resources = list.resources.into_iter();
        let kinds: Vec<_> = resources.filter(|one| !one.name.contains('/')).collect();
        let known: BTreeSet<&str> = kinds::all().iter().map(|kind| kind.id.plural).collect();
        for other in kinds.iter().filter(|one| !known.contains(one.name.as_str())) {
            let note = format!("{} is left out: this operator has no such kind", other.kind);
            self.output.note(&note);
        }
        Ok(kinds.into_iter().map(|one| (one.name, one.namespaced)).collect())
    }

    async fn kind(&mut self, kind: &ExportKind, namespaces: &BTreeSet<String>) -> Result<(), ExportError> {
        if namespaces.is_empty() {
            return self.list(kind, None).await;
        }
        if !kind.id.namespaced {
            return Ok(());
        }
        for namespace in namespaces {
            self.list(kind, Some(namespace)).await?;
        }
        Ok(())
    }

    async fn list(&mut self, kind: &ExportKind, namespace: Option<&str>) -> Result<(), ExportError> {
        let mut token: Option<String> = None;
        loop {
            let page = self.page(kind, namespace, token.as_deref()).await?;
            for item in page.items.into_iter().flatten() {
                self.object(kind, &item)?;
            }
            let next = page.metadata.token.filter(|token| !token.is_empty());
            if next.is_none() {
                return Ok(());
            }
            if next == token {
                return Err(ExportError::Repeated { kind: kind.id.kind });
            }
            token = next;
        }
    }

    async fn page(
        &self,
        kind: &ExportKind,
        namespace: Option<&str>,
        token: Option<&str>,
    ) -> Result<Page, ExportError> {
        let plural = kind.id.plural;
        let path = match namespace {
            Some(namespace) => format!("/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{plural}"),
            None => format!("/apis/{GROUP}/{VERSION}/{plural}"),
        };
        let params = ListParams {
            limit: Some(PAGE_SIZE),
            continue_token: token.map(str::to_owned),
            ..ListParams::default()
        };
        let failed = |cause| match cause {
            kube::Error::Api(status) if status.code == 410 => ExportError::Expired { kind: kind.id.kind },
            cause => ExportError::List {
                kind: plural.to_owned(),
                cause: Box::new(cause),
            },
        };
        let request = Request::new(path)
            .list(&params)
            .map_err(kube::Error::BuildRequest);
        self.client
            .request(request.map_err(failed)?)
            .await
            .map_err(failed)
    }

    fn object(&mut self, kind: &ExportKind, item: &RawValue) -> Result<(), ExportError> {
        match exported(kind, item.get()) {
            Exported::Object(object) => {
                for note in &object.notes {
                    self.output.note(note);
                }
                self.secrets.add(kind.id.kind, &object.value, &object.key_pairs);
                let mut text = "---\n".to_owned();
                yaml::write(&object.value, &mut text);
                *self.summary.exported.entry(kind.id.kind).or_default() += 1;
                self.output.yaml(&text)?;
            }
            Exported::LeftOut(why) => self.output.note(&why),
            Exported::Unreadable(why) => {
                self.summary.unreadable += 1;
                self.output.note(&why);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
