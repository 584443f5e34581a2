//! The result of a run: one schema for `-o json`, `--result-file` and the
//! termination message of a Job.
//!
//! Schema 1 is a contract with machines: fields are added, never renamed.

#[cfg(feature = "cli")]
pub(crate) mod application;
#[cfg(feature = "cli")]
pub(crate) mod comparison;
#[cfg(feature = "cli")]
pub(crate) mod difference;
#[cfg(feature = "cli")]
pub(crate) mod documents;
#[cfg(all(test, feature = "cli"))]
mod page;
#[cfg(feature = "cli")]
pub(crate) mod testing;
#[cfg(feature = "cli")]
pub(crate) mod validation;
#[cfg(feature = "cli")]
pub(crate) mod values;

use serde::{Deserialize, Serialize};

use crate::diag::{Class, Diagnostic, Diagnostics, Severity};
use crate::reference::Digest;
use crate::source::Location;

/// The version of the schema.
pub const SCHEMA: u32 = 1;
/// The maximum size of a document, in bytes: Kubernetes' limit for a termination message.
pub const MAX_DOCUMENT: usize = 4096;
/// The maximum length of a message in a bounded list, in bytes.
const MAX_LISTED_MESSAGE: usize = 500;

/// The result for one chart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// What was done; absent on failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// In a list: the folder, config or archive that this result is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The chart's name, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The chart's version, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What would be done, with `publish --check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would: Option<Outcome>,
    /// Where the chart is: `host/repo/name:1.0.0`, `oci-layout:DIR:tag`, `file:PATH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The manifest's digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The manifest's size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The chart's archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<BlobReport>,
    /// Of an import: the files in the artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentReport>,
    /// Of an import from Hugging Face: the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The digest found at the tag, when it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing_digest: Option<String>,
    /// With `unchanged`: why the digest at the tag differs from the chart's own; with `deleted`: why the manifest stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The results of further tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<TagReport>,
    /// Of a push with a key: `signed`, or `unchanged` when this key had signed the chart before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<Outcome>,
    /// Of a copy: the number of manifests copied that refer to the chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referrers: Option<u64>,
    /// Who signed the archive, when its provenance was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The file or folder that was written: an archive, a chart's folder, the credentials file, a public key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The file with the private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

/// Whose key signed an archive, by Helm's provenance file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// The user IDs of the key.
    pub signed_by: Vec<String>,
    /// The key's fingerprint, in hexadecimal.
    pub fingerprint: String,
}

/// A blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BlobReport {
    /// Its digest.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
}

/// The files of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContentReport {
    /// How many there are.
    pub files: u64,
    /// Their size together, in bytes.
    pub size: u64,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Outcome {
    /// The tag did not exist; the chart was pushed.
    Created,
    /// The tag already had this chart; nothing was sent.
    Unchanged,
    /// The tag had another digest and was overwritten.
    Replaced,
    /// The tag has another digest, which was kept.
    Skipped,
    /// The chart was rendered or packaged; no push was requested.
    Rendered,
    /// The chart was fetched.
    Pulled,
    /// The chart was signed.
    Signed,
    /// A signature of the chart is valid.
    Verified,
    /// The registry accepts the credentials, and they were stored.
    Saved,
    /// The stored credentials were removed.
    Removed,
    /// The chart was deleted from the registry.
    Deleted,
    /// There was nothing to delete.
    Absent,
}

/// The result for one of several tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TagReport {
    /// The tag.
    pub tag: String,
    /// What was done.
    pub outcome: Outcome,
    /// The digest found at the tag, when it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing_digest: Option<String>,
}

/// One tag of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TagEntry {
    /// The tag, as the registry has it.
    pub tag: String,
    /// The chart version that the tag stands for, when it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Why the command failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErrorReport {
    /// The class: see [classes](#error-classes).
    pub class: String,
    /// Whether a retry may succeed.
    pub transient: bool,
    /// One line for people.
    pub message: String,
    /// Why; each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What to do; each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// Each mistake by itself, when there are several or when one has a location.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Mistake>,
}

/// One mistake, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Mistake {
    /// The class: see [classes](#error-classes).
    pub class: String,
    /// One line for people, without the location.
    pub message: String,
    /// The file, or the flag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// Why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

#[derive(Serialize)]
struct ResultDocument<'a> {
    schema: u32,
    #[serde(flatten)]
    report: &'a Report,
}

#[derive(Serialize)]
struct Documents<'a> {
    schema: u32,
    results: &'a [Report],
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<usize>,
}

impl Outcome {
    /// The name in the document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Unchanged => "unchanged",
            Self::Replaced => "replaced",
            Self::Skipped => "skipped",
            Self::Rendered => "rendered",
            Self::Pulled => "pulled",
            Self::Signed => "signed",
            Self::Verified => "verified",
            Self::Saved => "saved",
            Self::Removed => "removed",
            Self::Deleted => "deleted",
            Self::Absent => "absent",
        }
    }
}

impl Report {
    /// A failure; the caller fills in what was known by then.
    pub fn failure(diagnostics: &Diagnostics) -> Self {
        let class = diagnostics.class();
        Self {
            error: Some(ErrorReport {
                class: class.as_str().to_owned(),
                transient: class.is_transient(),
                message: diagnostics.to_string(),
                notes: each_once(diagnostics.iter().flat_map(|one| &one.notes)),
                hints: each_once(diagnostics.iter().flat_map(|one| &one.hints)),
                errors: mistakes(diagnostics),
            }),
            ..Self::default()
        }
    }

    /// Fills in the digest.
    #[must_use]
    pub fn with_digest(mut self, digest: &Digest, size: u64) -> Self {
        self.digest = Some(digest.to_string());
        self.size = Some(size);
        self
    }

    /// The document without a length limit, for standard output and files.
    pub fn to_whole_json(&self) -> String {
        encode(&ResultDocument {
            schema: SCHEMA,
            report: self,
        })
    }

    /// The document: compact JSON of at most [`MAX_DOCUMENT`] bytes, one line, no newline.
    /// To fit, first the single mistakes are dropped, then notes, then hints; then the message is truncated at a
    /// character boundary and marked with `…`.
    pub fn to_json(&self) -> String {
        let text = encode(&ResultDocument {
            schema: SCHEMA,
            report: self,
        });
        if text.len() <= MAX_DOCUMENT {
            return text;
        }
        let mut short = self.clone();
        while let Some(error) = &mut short.error
            && (error.errors.pop().is_some() || error.notes.pop().or_else(|| error.hints.pop()).is_some())
        {
            let text = encode(&ResultDocument {
                schema: SCHEMA,
                report: &short,
            });
            if text.len() <= MAX_DOCUMENT {
                return text;
            }
        }
        let mut keep = short.error.as_ref().map_or(0, |error| error.message.len());
        loop {
            keep = keep.saturating_sub(keep / 8 + 1);
            if let (Some(error), Some(whole)) = (&mut short.error, &self.error) {
                error.message = cut(&whole.message, keep);
            }
            let text = encode(&ResultDocument {
                schema: SCHEMA,
                report: &short,
            });
            if text.len() <= MAX_DOCUMENT || keep == 0 {
                return text;
            }
        }
    }
}

/// The document for several charts: `{"schema":1,"results":[…]}`, in the order given, whole.
/// For standard output and files, which have no limit.
pub fn list_to_json(reports: &[Report]) -> String {
    encode(&Documents {
        schema: SCHEMA,
        results: reports,
        omitted: None,
    })
}

/// As [`list_to_json`], but within [`MAX_DOCUMENT`]: failures come first, and `omitted` counts the results that don't
/// fit.
pub fn list_to_bounded_json(reports: &[Report]) -> String {
    let mut results = reports.to_vec();
    results.sort_by_key(|report| report.error.is_none());
    for error in results.iter_mut().filter_map(|report| report.error.as_mut()) {
        (error.notes, error.hints, error.errors) = (Vec::new(), Vec::new(), Vec::new());
        if error.message.len() > MAX_LISTED_MESSAGE {
            error.message = cut(&error.message, MAX_LISTED_MESSAGE);
        }
    }
    loop {
        let omitted = reports.len() - results.len();
        let text = encode(&Documents {
            schema: SCHEMA,
            results: &results,
            omitted: (omitted > 0).then_some(omitted),
        });
        if text.len() <= MAX_DOCUMENT || results.pop().is_none() {
            return text;
        }
    }
}

/// A document of strings: `{"schema":1,"name":"text",…}`.
pub fn text_to_json(pairs: &[(&str, &str)]) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, text)| format!(",{}:{}", quoted(name), quoted(text)))
        .collect();
    format!("{{\"schema\":{SCHEMA}{}}}", pairs.concat())
}

/// A success that could not be reported everywhere: adds an error to the document.
pub fn with_loss(json: &str, message: &str) -> String {
    let class = Class::Io;
    let error = ErrorReport {
        class: class.as_str().to_owned(),
        transient: class.is_transient(),
        message: message.to_owned(),
        notes: Vec::new(),
        hints: Vec::new(),
        errors: Vec::new(),
    };
    let open = json.strip_suffix('}').unwrap_or(json);
    format!("{open},\"error\":{}}}", encode(&error))
}

/// A document without the schema number that results have, as Helm prints it.
#[cfg(feature = "cli")]
pub(crate) fn plain_json(document: &impl Serialize) -> String {
    encode(document)
}

fn encode(document: &impl Serialize) -> String {
    // These types always serialise: no maps with other keys than strings, no failing writers.
    serde_json::to_string(document).unwrap_or_default()
}

/// A single mistake without a location adds nothing to the failure itself.
fn mistakes(diagnostics: &Diagnostics) -> Vec<Mistake> {
    let errors: Vec<&Diagnostic> = diagnostics
        .iter()
        .filter(|one| one.severity == Severity::Error)
        .collect();
    match errors.as_slice() {
        [one] if one.location.is_none() => Vec::new(),
        errors => errors.iter().map(|one| Mistake::of(one)).collect(),
    }
}

impl Mistake {
    /// The entry for a diagnostic.
    pub fn of(one: &Diagnostic) -> Self {
        let position = one.location.as_ref().map(Location::position);
        Self {
            class: one.class.as_str().to_owned(),
            message: one.message.clone(),
            file: one.location.as_ref().map(|place| place.source.name().to_owned()),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            notes: one.notes.clone(),
            hints: one.hints.clone(),
        }
    }
}

fn each_once<'t>(texts: impl Iterator<Item = &'t String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
    all
}

fn cut(text: &str, keep: usize) -> String {
    let end = text.floor_char_boundary(keep);
    format!("{}…", text.get(..end).unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_has_the_documented_form() {
        let report = Report {
            outcome: Some(Outcome::Created),
            reference: Some("h/r/n:1.0.0".into()),
            digest: Some("sha256:aa".into()),
            size: Some(512),
            layer: Some(BlobReport {
                digest: "sha256:bb".into(),
                size: 1234,
            }),
            ..Report::default()
        };
        assert_eq!(
            report.to_json(),
            r#"{"schema":1,"outcome":"created","reference":"h/r/n:1.0.0","digest":"sha256:aa","size":512,"layer":{"digest":"sha256:bb","size":1234}}"#
        );
    }

    #[test]
    fn a_long_message_is_cut_at_a_character_and_marked() {
        for filler in ["x", "é", "\u{1}", "\"", "😀"] {
            let error = Diagnostic::error(Class::Config, filler.repeat(9000));
            let text = Report::failure(&error.into()).to_json();
            assert!(
                text.len() <= MAX_DOCUMENT && text.len() > MAX_DOCUMENT / 2,
                "{} bytes",
                text.len()
            );
            assert!(text.contains("…\"}}"));
            let back: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(back["error"]["class"], "config");
        }
    }

    #[test]
    fn notes_and_hints_come_once_and_give_way_to_the_message() {
        let one = |filler: usize| {
            Diagnostic::error(Class::Network, "x".repeat(filler))
                .note("why")
                .hint("what to do")
        };
        let both: Diagnostics = [one(1), one(1)].into_iter().collect();
        assert_eq!(
            Report::failure(&both).to_json(),
            r#"{"schema":1,"error":{"class":"network","transient":true,"message":"x; x","notes":["why"],"hints":["what to do"],"errors":[{"class":"network","message":"x","notes":["why"],"hints":["what to do"]},{"class":"network","message":"x","notes":["why"],"hints":["what to do"]}]}}"#
        );
        let text = Report::failure(&one(MAX_DOCUMENT - 100).into()).to_json();
        assert!(!text.contains("notes") && text.contains("hints"), "{text}");
        assert!(!text.contains('…') && text.len() <= MAX_DOCUMENT, "{text}");
        let text = list_to_bounded_json(&[Report::failure(&both)]);
        assert!(!text.contains("hints"), "{text}");
    }

    #[test]
    fn a_long_list_keeps_its_failures_and_counts_what_it_leaves_out() {
        let success = Report {
            reference: Some("r".repeat(100)),
            ..Report::default()
        };
        let failure = Report::failure(&Diagnostic::error(Class::Chart, "x".repeat(9000)).into());
        let reports: Vec<Report> = std::iter::repeat_n(success, 99).chain([failure]).collect();
        let text = list_to_bounded_json(&reports);
        assert!(text.len() <= MAX_DOCUMENT, "{} bytes", text.len());
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        let kept = back["results"].as_array().unwrap();
        assert_eq!(kept[0]["error"]["class"], "chart");
        assert_eq!(back["omitted"], 100 - kept.len());
        assert!(!list_to_bounded_json(&reports[..2]).contains("omitted"));
    }

    #[test]
    fn exit_codes_and_transience_agree_with_the_table() {
        let table = [
            (Class::Config, 1, false),
            (Class::Template, 1, false),
            (Class::Chart, 1, false),
            (Class::Values, 1, false),
            (Class::Usage, 2, false),
            (Class::Conflict, 3, false),
            (Class::Digest, 3, false),
            (Class::Signature, 3, false),
            (Class::Auth, 4, false),
            (Class::Refused, 4, false),
            (Class::Protocol, 4, false),
            (Class::Registry, 5, true),
            (Class::Network, 5, true),
            (Class::Io, 5, true),
            (Class::Internal, 70, true),
            (Class::Interrupted, 130, true),
            (Class::Terminated, 143, true),
        ];
        for (class, code, transient) in table {
            assert_eq!(
                (class.exit_code(), class.is_transient()),
                (code, transient),
                "{}",
                class.as_str()
            );
        }
        // A wrong command line takes precedence.
        let passing = |class: &&(Class, u8, bool)| class.1 < 70 && class.0 != Class::Usage;
        let weights = table.iter().filter(passing).map(|(class, ..)| class.weight());
        assert!(weights.is_sorted(), "the lower exit code speaks for both");
        assert!(Class::Usage.weight() < Class::Config.weight());
        let all = table.iter().map(|(class, ..)| *class);
        assert_eq!(all.min_by_key(|class| class.weight()), Some(Class::Interrupted));
        assert!(Class::Internal.weight() < Class::Config.weight());
    }
}
