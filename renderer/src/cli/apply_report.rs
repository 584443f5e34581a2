//! What `apply` would change, as a [`DiffReport`], and what it has done, as lines and as JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value as Json;
use solar_server_side_apply::{ObjectKey, PreparedObject};

use super::apply::RenderedFor;
use super::diff_lines::printable;
use super::diff_report::DiffReport;
use crate::cluster::client::Applied;
use crate::cluster::dry_run::DryRun;
use crate::cluster::error::ApiError;
use crate::diff::{DiffOptions, RenderedDocument, Role, diff};
use crate::draw::Style;
use crate::engine::manifest::Manifest;
use crate::report::application::{AppliedEntry, ApplyDocument, ApplyTotal};
use crate::report::documents::Document as _;

/// The most objects that a note names.
const MAX_NAMED: usize = 5;

/// The report of a dry run; `results` has the numbers of the chart's objects.
pub(super) fn dry_run_report(
    results: &[(usize, &PreparedObject, DryRun)],
    rendered: &RenderedFor<'_>,
    mut notes: Vec<String>,
    shows_secrets: bool,
) -> DiffReport {
    let (mut from, mut to) = (Vec::new(), Vec::new());
    // Of each document of `to`, the number of its object.
    let mut numbers = Vec::new();
    let mut unchanged = 0;
    for (number, one, result) in results {
        let Some(object) = rendered.objects.get(*number) else {
            continue;
        };
        let would = match result {
            DryRun::Unchanged => {
                unchanged += 1;
                continue;
            }
            DryRun::Changed(live, would) => {
                from.push(document(&object.source, live));
                would
            }
            DryRun::Created | DryRun::Unchecked(_) => &one.object,
            DryRun::Refused(_) => continue,
        };
        to.push(document(&object.source, would));
        numbers.push(*number);
    }
    notes.extend(unchecked(results));
    let options = DiffOptions {
        shows_secrets,
        ..DiffOptions::new(&rendered.request.release.namespace)
    };
    let mut found = diff(&from, &to, &options);
    found.unchanged = unchanged;
    for one in &mut found.objects {
        let number = one.to.as_ref().and_then(|side| numbers.get(side.document));
        let Some(object) = number.and_then(|number| rendered.objects.get(*number)) else {
            continue;
        };
        for side in one.from.iter_mut().chain(&mut one.to) {
            side.document = object.document;
            side.item = object.item;
            side.role = object.role;
        }
    }
    let label = format!("the cluster of {}", rendered.context);
    let chart = (
        rendered.side,
        rendered.rendering,
        rendered.chart,
        rendered.request,
    );
    DiffReport::of_cluster(found, label, chart, notes)
}

/// An object as a document of its template.
fn document(source: &Arc<str>, object: &Json) -> RenderedDocument {
    RenderedDocument {
        role: Role::Manifest,
        manifest: Manifest::of_text(source, &object.to_string()),
    }
}

/// A sentence for each reason why objects were not checked.
fn unchecked(results: &[(usize, &PreparedObject, DryRun)]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (_, one, result) in results {
        let DryRun::Unchecked(reason) = result else {
            continue;
        };
        let name = one.key.to_string();
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    let sentence = |(reason, names): (&str, Vec<String>)| {
        let shown: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
        let more = match names.len().checked_sub(MAX_NAMED) {
            Some(more) if more > 0 => format!(" and {more} more"),
            _ => String::new(),
        };
        format!(
            "shown as the chart has it, unchecked, since {reason}: {}{more}",
            shown.join(", ")
        )
    };
    reasons.into_iter().map(sentence).collect()
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObjectOutcome {
    Applied(Applied),
    Failed,
    NotTried,
}

impl ObjectOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Applied(Applied::Created) => "created",
            Self::Applied(Applied::Changed) => "changed",
            Self::Applied(Applied::Unchanged) => "unchanged",
            Self::Failed => "failed",
            Self::NotTried => "not tried",
        }
    }

    /// The color of the terminal.
    fn color(self) -> &'static str {
        match self {
            Self::Applied(Applied::Created) => "32",
            Self::Applied(Applied::Changed) => "33",
            Self::Applied(Applied::Unchanged) => "2",
            Self::Failed | Self::NotTried => "31",
        }
    }
}

/// An object that was applied, or not.
pub(super) struct AppliedObject {
    pub(super) key: ObjectKey,
    api_version: String,
    template: Option<String>,
    outcome: ObjectOutcome,
    message: Option<String>,
}

impl AppliedObject {
    /// Of a request's result.
    pub(super) fn new(
        key: &ObjectKey,
        object: &Json,
        template: Option<&str>,
        result: Result<Applied, &ApiError>,
    ) -> Self {
        let shown = |error: &ApiError| match key.kind.as_str() {
            "Secret" => error.clone().without_values().to_string(),
            _ => error.to_string(),
        };
        Self {
            key: key.clone(),
            api_version: object["apiVersion"].as_str().unwrap_or_default().to_owned(),
            template: template.map(str::to_owned),
            outcome: result.map_or(ObjectOutcome::Failed, ObjectOutcome::Applied),
            message: result.err().map(shown),
        }
    }

    /// Of one that comes after the cluster has stopped answering.
    pub(super) fn not_tried(key: &ObjectKey, object: &Json, template: Option<&str>) -> Self {
        Self {
            outcome: ObjectOutcome::NotTried,
            ..Self::new(key, object, template, Ok(Applied::Unchanged))
        }
    }

    pub(super) fn is_untried(&self) -> bool {
        self.outcome == ObjectOutcome::NotTried
    }
}

/// What was done.
pub(super) struct ApplyReport {
    context: String,
    release: String,
    namespace: String,
    chart: String,
    version: String,
    pub(super) objects: Vec<AppliedObject>,
}

impl ApplyReport {
    /// Nothing yet.
    pub(super) fn new(rendered: &RenderedFor<'_>) -> Self {
        let details = &rendered.side.loaded.details;
        Self {
            context: rendered.context.to_owned(),
            release: rendered.request.release.name.clone(),
            namespace: rendered.request.release.namespace.clone(),
            chart: details.name.clone(),
            version: details.version.clone(),
            objects: Vec::new(),
        }
    }

    fn count(&self, outcome: ObjectOutcome) -> usize {
        self.objects.iter().filter(|one| one.outcome == outcome).count()
    }

    fn total(&self) -> ApplyTotal {
        ApplyTotal {
            created: self.count(ObjectOutcome::Applied(Applied::Created)),
            changed: self.count(ObjectOutcome::Applied(Applied::Changed)),
            unchanged: self.count(ObjectOutcome::Applied(Applied::Unchanged)),
            failed: self.count(ObjectOutcome::Failed),
            not_tried: self.count(ObjectOutcome::NotTried),
        }
    }

    /// A line for each object, then the numbers.
    pub(super) fn text(&self, style: Style) -> String {
        let mut out = String::new();
        for one in &self.objects {
            let what = format!("{:9}", one.outcome.as_str());
            let what = match style {
                Style::Ansi => format!("\u{1b}[{}m{what}\u{1b}[0m", one.outcome.color()),
                _ => what,
            };
            // Writing to a String can't fail.
            let _ = writeln!(out, "{what} {}", printable(&one.key.to_string()));
        }
        let ApplyTotal {
            created,
            changed,
            unchanged,
            failed,
            not_tried,
        } = self.total();
        let numbers = [
            (created, "created"),
            (changed, "changed"),
            (unchanged, "unchanged"),
            (failed, "failed"),
            (not_tried, "not tried"),
        ];
        let numbers = numbers.iter().enumerate();
        let shown = numbers.filter(|(place, (count, _))| *place < 3 || *count > 0);
        let shown: Vec<String> = shown
            .map(|(_, (count, what))| format!("{count} {what}"))
            .collect();
        let title = printable(&format!(
            "{} {} in the cluster of {}",
            self.chart, self.version, self.context
        ));
        let _ = writeln!(out, "{title}: {}; nothing was deleted", shown.join(", "));
        out
    }

    /// For machines.
    pub(super) fn json(&self) -> String {
        let objects = self.objects.iter().map(|one| AppliedEntry {
            api_version: one.api_version.clone(),
            kind: one.key.kind.clone(),
            namespace: one.key.namespace.clone(),
            name: one.key.name.clone(),
            outcome: one.outcome.as_str(),
            template: one.template.clone(),
            message: one.message.clone(),
        });
        ApplyDocument {
            context: self.context.clone(),
            chart: self.chart.clone(),
            version: self.version.clone(),
            release: self.release.clone(),
            namespace: self.namespace.clone(),
            total: self.total(),
            objects: objects.collect(),
        }
        .to_json()
    }
}
