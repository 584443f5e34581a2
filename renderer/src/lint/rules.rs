//! The table of all rules of `lint`: id, severity, origin, check and description.
//!
//! Findings refer to their rules here; ids are written nowhere else. The page `docs/reference/lint-rules.md` is
//! [`to_markdown`].

use super::Severity;

/// Which part of a chart is checked: one module of `lint` each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// Chart.yaml.
    ChartYaml,
    /// values.yaml and values.schema.json.
    Values,
    /// The files in `templates/`, and what they render to.
    Templates,
    /// `charts/`, and the dependencies in Chart.yaml.
    Dependencies,
    /// The files in `crds/`.
    Crds,
}

impl Check {
    /// The heading in the docs.
    pub fn title(self) -> &'static str {
        match self {
            Self::ChartYaml => "Chart.yaml",
            Self::Values => "Values",
            Self::Templates => "Templates",
            Self::Dependencies => "Dependencies",
            Self::Crds => "CRDs",
        }
    }

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChartYaml => "chart-yaml",
            Self::Values => "values",
            Self::Templates => "templates",
            Self::Dependencies => "dependencies",
            Self::Crds => "crds",
        }
    }
}

/// Who reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleOrigin {
    /// `helm lint` 4.3.1 reports it, and so do we, with the same message.
    Helm,
    /// Helm reports it up to the first finding that ends its run; we report all.
    HelmAndOurs,
    /// Only we report it.
    Ours,
}

impl RuleOrigin {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Helm => "helm",
            Self::HelmAndOurs => "helm, and further ones here",
            Self::Ours => "solar-render",
        }
    }
}

/// A rule of lint.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// Its id in JSON, in reports and in the docs.
    pub id: &'static str,
    /// The severity of its findings.
    pub severity: Severity,
    /// Who reports it.
    pub origin: RuleOrigin,
    /// The check that finds it.
    pub check: Check,
    /// The description of its findings, one sentence.
    pub doc: &'static str,
}

/// Declares each rule as a constant, and all of them as [`RULES`].
macro_rules! rules {
    ($($name:ident: $id:literal, $severity:ident, $origin:ident, $check:ident, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            pub static $name: Rule = Rule {
                id: $id,
                severity: Severity::$severity,
                origin: RuleOrigin::$origin,
                check: Check::$check,
                doc: $doc,
            };
        )*
        /// All rules, in the order in which they are checked.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    CHART_YAML: "chart-yaml", Error, Helm, ChartYaml, "Chart.yaml is a directory.";
    CHART_YAML_SYNTAX: "chart-yaml-syntax", Error, Helm, ChartYaml, "Chart.yaml is missing, is not YAML, or a field has the wrong type.";
    CHART_YAML_STRICT: "chart-yaml-strict", Warning, Helm, ChartYaml, "Chart.yaml has a duplicate key or an unknown field.";
    CHART_NAME: "chart-name", Error, Helm, ChartYaml, "The chart has no name, or its name is a path.";
    CHART_API_VERSION: "chart-api-version", Error, Helm, ChartYaml, "`apiVersion` is missing or neither v1 nor v2.";
    CHART_VERSION_TYPE: "chart-version-type", Error, Helm, ChartYaml, "`version` is not a string: a number loses its zeros.";
    CHART_VERSION: "chart-version", Error, Helm, ChartYaml, "`version` is missing or not a semantic version.";
    CHART_APP_VERSION_TYPE: "chart-app-version-type", Error, Helm, ChartYaml, "`appVersion` is not a string.";
    CHART_MAINTAINERS: "chart-maintainers", Error, Helm, ChartYaml, "A maintainer has no name, or an invalid e-mail address or URL.";
    CHART_SOURCES: "chart-sources", Error, Helm, ChartYaml, "An entry of `sources` is not a URL.";
    CHART_ICON: "chart-icon", Info, Helm, ChartYaml, "The chart has no icon.";
    CHART_ICON_URL: "chart-icon-url", Error, Helm, ChartYaml, "`icon` is not a URL.";
    CHART_TYPE: "chart-type", Error, Helm, ChartYaml, "`type` is set, which requires apiVersion v2.";
    CHART_DEPENDENCIES: "chart-dependencies", Error, Helm, ChartYaml, "`dependencies` is set, which requires apiVersion v2.";
    CHART_VERSION_STRICT: "chart-version-strict", Warning, Helm, ChartYaml, "`version` is not a strict semantic version (three numbers, no `v`).";
    VALUES_FILE: "values-file", Info, Helm, Values, "The chart has no values.yaml.";
    VALUES_SYNTAX: "values-syntax", Error, Helm, Values, "values.yaml is not YAML, or not a map.";
    DUPLICATE_KEY: "duplicate-key", Warning, Ours, Values, "A key stands twice in a map of values.yaml; the last one counts.";
    VALUES_SCHEMA: "values-schema", Error, HelmAndOurs, Values, "Values violate values.schema.json of the chart or of a dependency.";
    TEMPLATES_FOLDER: "templates-folder", Warning, Helm, Templates, "The chart has no templates folder.";
    TEMPLATES_NOT_A_FOLDER: "templates-not-a-folder", Error, Helm, Templates, "`templates` is not a directory.";
    CHART_LOAD: "chart", Error, Helm, Templates, "The chart cannot be loaded, so its templates or CRDs are not checked.";
    TEMPLATE_SYNTAX: "template-syntax", Error, HelmAndOurs, Templates, "A template cannot be parsed.";
    TEMPLATE_RENDER: "template-render", Error, HelmAndOurs, Templates, "A template fails when it is rendered.";
    TEMPLATE_EXTENSION: "template-extension", Error, Helm, Templates, "A file in `templates/` is not named `.yaml`, `.yml`, `.tpl` or `.txt`.";
    TOP_INDENT: "top-indent", Warning, Helm, Templates, "A rendered file starts with an indented line.";
    YAML_SYNTAX: "yaml-syntax", Error, HelmAndOurs, Templates, "A rendered file or a CRD is not YAML.";
    OBJECT_NAME: "object-name", Warning, Helm, Templates, "`metadata.name` is not a valid Kubernetes name.";
    DEPRECATED_API: "deprecated-api", Warning, Helm, Templates, "The object's API version is deprecated or removed in the Kubernetes version of `--kube-version`.";
    MATCH_SELECTOR: "match-selector", Error, Helm, Templates, "A workload has neither `matchLabels` nor `matchExpressions` in its selector.";
    LIST_ANNOTATIONS: "list-annotations", Error, Helm, Templates, "An item of a List has `helm.sh/resource-policy`, which has no effect there.";
    UNDEFINED_VALUE: "undefined-value", Warning, Ours, Templates, "A template uses a value that no values file sets and that has no default.";
    UNREAD_VALUE: "unread-value", Warning, Ours, Templates, "A value is given that no template of the chart or of its subcharts reads.";
    DEPENDENCY_UNDECLARED: "dependency-undeclared", Error, Helm, Dependencies, "`charts/` holds a chart that Chart.yaml does not declare.";
    DEPENDENCY_UNIQUE: "dependency-unique", Error, Helm, Dependencies, "Two dependencies have the same name or alias.";
    DEPENDENCY_MISSING: "dependency-missing", Warning, Helm, Dependencies, "`charts/` lacks a chart that Chart.yaml declares.";
    CRDS_NOT_A_FOLDER: "crds", Error, Helm, Crds, "`crds` is not a directory.";
    CRD_FILE: "file", Error, Helm, Crds, "A file in `crds/` cannot be read.";
    CRD_API_VERSION: "crd-api-version", Error, Helm, Crds, "An object in `crds/` is not of `apiextensions.k8s.io`.";
    CRD_KIND: "crd-kind", Error, Helm, Crds, "An object in `crds/` is not a CustomResourceDefinition.";
}

/// The table as a page of the docs.
pub fn to_markdown() -> String {
    let mut out = String::from(
        "# Lint rules\n\n<!-- Generated from the table of rules. To make it again: UPDATE_DOCS=1 cargo test -p solar-render --lib lint::rules -->\n\n\
         `solar-render lint` reports these findings; with `-o json` each names its rule. `solar-render lint --rules` prints the same list.\n\n\
         A finding that `helm lint` 4.3.1 reports, too, has Helm's message and decides the exit code as in Helm: errors fail a chart, \
         with `--strict` warnings do, too. The others never fail a chart that Helm accepts.\n",
    );
    let mut heading = None;
    let mut sorted: Vec<&Rule> = RULES.to_vec();
    sorted.sort_by_key(|rule| rule.check);
    for rule in sorted {
        if heading != Some(rule.check) {
            heading = Some(rule.check);
            out.push_str(&format!(
                "\n## {}\n\n| rule | severity | reported by | when |\n|---|---|---|---|\n",
                rule.check.title()
            ));
        }
        out.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            rule.id,
            rule.severity.as_str(),
            rule.origin.as_str(),
            rule.doc
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_and_docs_are_sentences() {
        let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), RULES.len());
        for rule in RULES {
            assert!(rule.doc.ends_with('.') && !rule.doc.contains('|'), "{}", rule.id);
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "asks whether to write the page")]
    fn the_page_of_rules_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/lint-rules.md");
        let path = std::path::Path::new(path);
        let expected = to_markdown();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &expected).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == expected,
            "docs/reference/lint-rules.md is stale: UPDATE_DOCS=1 cargo test -p solar-render --lib lint::rules"
        );
    }

    /// An id elsewhere could be one that the table does not have.
    #[test]
    fn no_other_file_of_lint_spells_an_id() {
        fn files(folder: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => files(&path, out),
                    false => out.push(path),
                }
            }
        }
        let mut all = Vec::new();
        let source = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
        files(&source.join("lint"), &mut all);
        files(&source.join("cli"), &mut all);
        assert!(all.len() > 20);
        for path in all.iter().filter(|path| !path.ends_with("rules.rs")) {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            for rule in RULES.iter().filter(|rule| rule.id.contains('-')) {
                let literal = format!("\"{}\"", rule.id);
                assert!(!text.contains(&literal), "{} spells {literal}", path.display());
            }
        }
    }
}
