//! `.Capabilities`: the versions of Kubernetes and Helm that templates see.
//!
//! The defaults are those of Helm 4.3.1 without a cluster, recorded from it.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::diag::{Class, Diagnostic, Result};
use crate::source::{Location, Source, Span};
use crate::template::print::quote;
use crate::template::{FuncError, Kind, Method, Object, Type, Val};

/// The API versions of Helm 4.3.1, in its order.
const API_VERSIONS: &[&str] = &[
    "v1",
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "internal.apiserver.k8s.io/v1alpha1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "lifecycle.k8s.io/v1alpha1",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1beta1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storagemigration.k8s.io/v1",
    "storagemigration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
];

/// The build information of Helm 4.3.1.
const HELM: [(&str, &str, &str); 5] = [
    ("Version", "version", "v4.3"),
    ("GitCommit", "git_commit", ""),
    ("GitTreeState", "git_tree_state", ""),
    ("GoVersion", "go_version", "go1.26.8"),
    ("KubeClientVersion", "kube_client_version", "v1.37"),
];

/// The build information of Helm 4.3.1, field by field.
#[must_use]
pub fn helm_version() -> [(&'static str, &'static str); 5] {
    HELM.map(|(field, _, text)| (field, text))
}

/// The build information for templates: `.Capabilities.HelmVersion`.
#[must_use]
pub fn helm_version_object() -> Val {
    Val::Object(Rc::new(BuildInfo))
}

/// The cluster's version and its API versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Its version.
    pub kube_version: KubeVersion,
    /// The group versions it serves, in order; there may be duplicates.
    pub api_versions: Vec<String>,
}

/// A version of Kubernetes as in Helm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeVersion {
    /// The given version, with a leading `v`.
    pub version: String,
    /// Only the numbers, with a leading `v`: used for constraints and when printed.
    pub normalized: String,
    /// The first number.
    pub major: String,
    /// The second number.
    pub minor: String,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            kube_version: KubeVersion {
                version: "v1.37.0".to_owned(),
                normalized: "v1.37.0".to_owned(),
                major: "1".to_owned(),
                minor: "37".to_owned(),
            },
            api_versions: API_VERSIONS.iter().map(|&name| name.to_owned()).collect(),
        }
    }
}

impl Capabilities {
    /// Helm's defaults, with the values of `--kube-version` and `--api-versions`.
    ///
    /// # Errors
    /// Class usage, with Helm's message and the position in the flag's value.
    pub fn with(kube_version: Option<&str>, api_versions: &[String]) -> Result<Self> {
        let mut all = Self::default();
        if let Some(text) = kube_version.filter(|text| !text.is_empty()) {
            all.kube_version = KubeVersion::parse(text).map_err(|why| {
                let source = Source::new("--kube-version", text);
                let place = Location::new(&source, Span::new(0, text.len()));
                let message = format!("invalid kube version '{text}': {why}");
                Diagnostic::error(Class::Usage, message)
                    .at(place)
                    .hint("give at least two numbers, as in 1.31 or v1.31.2")
            })?;
        }
        all.api_versions.extend_from_slice(api_versions);
        Ok(all)
    }

    /// The value for templates: Go's pointer to the struct.
    pub fn to_val(&self) -> Val {
        self.to_val_recording(Arc::default())
    }

    /// As [`Capabilities::to_val`]; `reads_version` becomes true when a template reads the version.
    pub(super) fn to_val_recording(&self, reads_version: Arc<AtomicBool>) -> Val {
        Val::Object(Rc::new(Shown {
            reads_version,
            kube_version: Val::Object(Rc::new(self.kube_version.clone())),
            api_versions: Val::Object(Rc::new(VersionSet(self.api_versions.clone()))),
            helm_version: Val::Object(Rc::new(BuildInfo)),
        }))
    }
}

impl KubeVersion {
    /// As Helm's `ParseKubeVersion`: at least two numbers, then any text.
    ///
    /// # Errors
    /// Helm's message.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let blank = |one: char| matches!(one, ' ' | '\t' | '\n' | '\u{c}' | '\r');
        let trimmed = text.trim_start_matches(blank);
        let trimmed = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let mut numbers = Vec::new();
        let mut rest = trimmed;
        loop {
            let digits = rest.len() - rest.trim_start_matches(|one: char| one.is_ascii_digit()).len();
            if digits == 0 {
                break;
            }
            let (number, behind) = rest.split_at(digits);
            numbers.push(number);
            rest = behind;
            match behind.strip_prefix('.') {
                Some(next) if next.starts_with(|one: char| one.is_ascii_digit()) => rest = next,
                _ => break,
            }
        }
        // Go's `.` doesn't match line breaks.
        if numbers.is_empty() || rest.contains('\n') {
            return Err(format!("could not parse {} as version", quote(text)));
        }
        let [major, minor, ..] = numbers.as_slice() else {
            return Err(format!("illegal version string {}", quote(text)));
        };
        if major.len() > 1 && major.starts_with('0') {
            let (major, text) = (quote(major), quote(text));
            return Err(format!(
                "illegal zero-prefixed version component {major} in {text}"
            ));
        }
        let parsed: Vec<String> = numbers
            .iter()
            .map(|digits| number(digits, text))
            .collect::<std::result::Result<_, String>>()?;
        let plain = |digits: &str| digits.parse::<u64>().unwrap_or(0).to_string();
        Ok(Self {
            version: if text.starts_with('v') {
                text.to_owned()
            } else {
                format!("v{text}")
            },
            normalized: format!("v{}", parsed.join(".")),
            major: plain(major),
            minor: plain(minor),
        })
    }
}

fn number(digits: &str, text: &str) -> std::result::Result<String, String> {
    let number = digits.parse::<u64>().map(|number| number.to_string());
    number.map_err(|_| {
        let digits = quote(digits);
        format!(
            "illegal non-numeric version component {digits} in {}: strconv.ParseUint: parsing {digits}: value out \
             of range",
            quote(text)
        )
    })
}

/// `*common.Capabilities`
#[derive(Debug)]
struct Shown {
    reads_version: Arc<AtomicBool>,
    kube_version: Val,
    api_versions: Val,
    helm_version: Val,
}

impl Object for Shown {
    fn type_name(&self) -> &str {
        "*common.Capabilities"
    }

    fn kind(&self) -> Kind {
        Kind::Ptr
    }

    fn field(&self, name: &str) -> Option<Val> {
        match name {
            "KubeVersion" => {
                self.reads_version.store(true, Ordering::Relaxed);
                Some(self.kube_version.clone())
            }
            "APIVersions" => Some(self.api_versions.clone()),
            "HelmVersion" => Some(self.helm_version.clone()),
            _ => None,
        }
    }

    fn fields(&self) -> Vec<(String, Val)> {
        self.reads_version.store(true, Ordering::Relaxed);
        vec![
            ("KubeVersion".to_owned(), self.kube_version.clone()),
            ("APIVersions".to_owned(), self.api_versions.clone()),
            ("HelmVersion".to_owned(), self.helm_version.clone()),
        ]
    }

    fn json_fields(&self) -> Option<Vec<(String, Val)>> {
        Some(self.fields())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl KubeVersion {
    /// The fields in JSON.
    fn seen(&self) -> impl Iterator<Item = (String, Val)> {
        self.fields()
            .into_iter()
            .filter(|(name, _)| name != "normalizedVersion")
    }
}

impl Object for KubeVersion {
    fn type_name(&self) -> &str {
        "common.KubeVersion"
    }

    fn field(&self, name: &str) -> Option<Val> {
        match name {
            "Version" => Some(Val::str(self.version.as_str())),
            "Major" => Some(Val::str(self.major.as_str())),
            "Minor" => Some(Val::str(self.minor.as_str())),
            _ => None,
        }
    }

    /// The fields as `%v` prints them: with the one that templates and JSON don't have.
    fn fields(&self) -> Vec<(String, Val)> {
        let Self {
            version,
            normalized,
            major,
            minor,
        } = self;
        let all = [
            ("Version", version),
            ("normalizedVersion", normalized),
            ("Major", major),
            ("Minor", minor),
        ];
        all.map(|(name, text)| (name.to_owned(), Val::str(text.as_str())))
            .into()
    }

    fn methods(&self) -> &'static [Method] {
        const METHODS: &[Method] = &[
            Method {
                name: "GitVersion",
                params: &[],
                variadic: false,
            },
            Method {
                name: "String",
                params: &[],
                variadic: false,
            },
        ];
        METHODS
    }

    fn call(&self, name: &str, _args: &[Val]) -> std::result::Result<Val, FuncError> {
        match name {
            "GitVersion" => Ok(Val::str(self.version.as_str())),
            _ => Ok(Val::str(self.normalized.as_str())),
        }
    }

    fn bare(&self) -> Option<String> {
        Some(self.normalized.clone())
    }

    fn json(&self) -> Val {
        Val::from_entries(self.seen())
    }

    fn json_fields(&self) -> Option<Vec<(String, Val)>> {
        Some(self.seen().collect())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// `common.VersionSet`
#[derive(Debug)]
struct VersionSet(Vec<String>);

impl Object for VersionSet {
    fn type_name(&self) -> &str {
        "common.VersionSet"
    }

    fn kind(&self) -> Kind {
        Kind::Slice
    }

    fn fields(&self) -> Vec<(String, Val)> {
        let items = self.0.iter();
        items
            .map(|name| (String::new(), Val::str(name.as_str())))
            .collect()
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    fn methods(&self) -> &'static [Method] {
        const METHODS: &[Method] = &[Method {
            name: "Has",
            params: &[Type::String],
            variadic: false,
        }];
        METHODS
    }

    fn call(&self, _name: &str, args: &[Val]) -> std::result::Result<Val, FuncError> {
        let wanted = args.first().and_then(Val::as_str);
        let has = wanted.is_some_and(|wanted| self.0.iter().any(|name| *wanted == name.as_str()));
        Ok(Val::Bool(has))
    }

    fn json(&self) -> Val {
        Val::strings(self.0.iter().map(String::as_str))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// `version.BuildInfo`
#[derive(Debug)]
struct BuildInfo;

impl Object for BuildInfo {
    fn type_name(&self) -> &str {
        "version.BuildInfo"
    }

    fn field(&self, name: &str) -> Option<Val> {
        let (_, _, text) = HELM.iter().find(|(field, ..)| *field == name)?;
        Some(Val::str(*text))
    }

    fn fields(&self) -> Vec<(String, Val)> {
        HELM.map(|(field, _, text)| (field.to_owned(), Val::str(text)))
            .into()
    }

    /// Omits empty fields.
    fn json(&self) -> Val {
        Val::from_entries(self.json_fields().unwrap_or_default())
    }

    fn json_fields(&self) -> Option<Vec<(String, Val)>> {
        let told = HELM.iter().filter(|(.., text)| !text.is_empty());
        Some(
            told.map(|(_, name, text)| ((*name).to_owned(), Val::str(*text)))
                .collect(),
        )
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::print::sprint;

    /// Recorded with `helm template --kube-version`.
    #[test]
    fn versions_are_read_as_helm_reads_them() {
        let cases = [
            ("1.31", "v1.31", "v1.31", "1", "31"),
            ("v1.29", "v1.29", "v1.29", "1", "29"),
            ("1.31.2-gke.1", "v1.31.2-gke.1", "v1.31.2", "1", "31"),
            ("1.29+", "v1.29+", "v1.29", "1", "29"),
            ("v1.29.3+k3s1", "v1.29.3+k3s1", "v1.29.3", "1", "29"),
            ("1.02", "v1.02", "v1.2", "1", "2"),
            ("1.2.3.4", "v1.2.3.4", "v1.2.3.4", "1", "2"),
            (" v1.2", "v v1.2", "v1.2", "1", "2"),
            ("1.2x.3", "v1.2x.3", "v1.2", "1", "2"),
            ("1.2.", "v1.2.", "v1.2", "1", "2"),
        ];
        for (text, version, normalized, major, minor) in cases {
            let parsed = KubeVersion::parse(text).unwrap();
            let found = (
                parsed.version.as_str(),
                parsed.normalized.as_str(),
                parsed.major.as_str(),
                parsed.minor.as_str(),
            );
            assert_eq!(found, (version, normalized, major, minor), "{text}");
        }
        let bad = [
            ("1", "illegal version string \"1\""),
            ("abc", "could not parse \"abc\" as version"),
            ("1.x", "illegal version string \"1.x\""),
            ("vv1.2", "could not parse \"vv1.2\" as version"),
            (
                "01.2",
                "illegal zero-prefixed version component \"01\" in \"01.2\"",
            ),
            ("1.2\n", "could not parse \"1.2\\n\" as version"),
            (
                "99999999999999999999.1",
                "illegal non-numeric version component \"99999999999999999999\" in \"99999999999999999999.1\": \
                 strconv.ParseUint: parsing \"99999999999999999999\": value out of range",
            ),
        ];
        for (text, expected) in bad {
            assert_eq!(KubeVersion::parse(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn api_versions_are_appended() {
        let all = Capabilities::with(None, &["x/v1".to_owned()]).unwrap();
        assert_eq!(all.api_versions.len(), 58);
        assert_eq!(all.api_versions.last().map(String::as_str), Some("x/v1"));
        let Val::Object(shown) = all.to_val() else {
            panic!("an object")
        };
        let Some(Val::Object(set)) = shown.field("APIVersions") else {
            panic!("an object")
        };
        let has = |name| set.call("Has", &[Val::str(name)]).unwrap().truth();
        assert!(has("x/v1") && has("apps/v1") && !has("apps/v9"));
    }

    /// Recorded with `helm template`.
    #[test]
    fn it_prints_as_gos_structs() {
        let Val::Object(shown) = Capabilities::default().to_val() else {
            panic!("an object")
        };
        let field = |name| shown.field(name).unwrap();
        let text = |value: &Val| sprint(value).to_text().into_owned();
        assert_eq!(text(&field("KubeVersion")), "{v1.37.0 v1.37.0 1 37}");
        assert_eq!(text(&field("HelmVersion")), "{v4.3   go1.26.8 v1.37}");
        assert!(text(&field("APIVersions")).starts_with("[v1 admissionregistration.k8s.io/v1 "));
        let whole = text(&Val::Object(shown.clone()));
        assert!(
            whole.starts_with("&{{v1.37.0 v1.37.0 1 37} [v1 ") && whole.ends_with("{v4.3   go1.26.8 v1.37}}"),
            "{whole}"
        );
        let json = |value: &Val| value.to_data().unwrap().to_json();
        assert_eq!(
            json(&field("HelmVersion")),
            r#"{"go_version":"go1.26.8","kube_client_version":"v1.37","version":"v4.3"}"#
        );
        assert_eq!(
            json(&field("KubeVersion")),
            r#"{"Major":"1","Minor":"37","Version":"v1.37.0"}"#
        );
    }
}
