//! The fields of Chart.yaml, as in the template scope.
//!
//! The fields, their order and their zero values are those of Helm 4.3.1's
//! `chart.Metadata`: an absent string is empty, an absent list has no elements.

use super::fields::{Struct, text_of, value_of};
use super::values_file::floats;
use crate::template::Val;
use crate::template::print::sprint;
use crate::value::Value;

/// The fields of Chart.yaml.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Details {
    /// `name`; for a chart with an alias, the alias.
    pub name: String,
    /// `home`
    pub home: String,
    /// `sources`
    pub sources: Vec<String>,
    /// `version`
    pub version: String,
    /// `description`
    pub description: String,
    /// `keywords`
    pub keywords: Vec<String>,
    /// `maintainers`
    pub maintainers: Vec<Maintainer>,
    /// `icon`
    pub icon: String,
    /// `apiVersion`; `v1` if it is absent.
    pub api_version: String,
    /// `condition`
    pub condition: String,
    /// `tags`
    pub tags: String,
    /// `appVersion`
    pub app_version: String,
    /// `deprecated`
    pub deprecated: bool,
    /// `annotations`, in key order.
    pub annotations: Vec<(String, String)>,
    /// `kubeVersion`
    pub kube_version: String,
    /// `dependencies`, of Chart.yaml or of requirements.yaml; `None` if neither has the field. An empty list differs:
    /// with it Helm uses the charts in `charts/`.
    pub dependencies: Option<Vec<DependencyDetails>>,
    /// `type`
    pub kind: String,
}

/// A maintainer of a chart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Maintainer {
    /// `name`
    pub name: String,
    /// `email`
    pub email: String,
    /// `url`
    pub url: String,
}

/// A dependency of a chart.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct DependencyDetails {
    /// `name`; once dependencies are processed, the alias if there is one.
    pub name: String,
    /// `version`: a constraint.
    pub version: String,
    /// `repository`
    pub repository: String,
    /// `condition`: paths, separated by commas.
    pub condition: String,
    /// `tags`
    pub tags: Vec<String>,
    /// `enabled`: overwritten when dependencies are processed.
    pub enabled: bool,
    /// `import-values`: strings, and maps of `child` and `parent`; numbers are float64.
    pub import_values: Vec<Value>,
    /// The parsed `import_values`; entries that are neither string nor map are ignored.
    pub imports: Vec<Import>,
    /// `alias`
    pub alias: String,
}

/// A table of a subchart's values that becomes its parent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// Path in the subchart's values.
    pub child: String,
    /// Path in the parent's values; `.` is the top level.
    pub parent: String,
    /// Whether it was written as the name of an export.
    pub is_export: bool,
}

impl Details {
    /// Creates it from the decoded fields.
    pub(super) fn new(
        fields: &Struct,
        maintainers: Option<&[Struct]>,
        dependencies: Option<&[Struct]>,
    ) -> Self {
        let text = |name| text_of(fields, name);
        Self {
            name: text("name"),
            home: text("home"),
            sources: texts(fields, "sources"),
            version: text("version"),
            description: text("description"),
            keywords: texts(fields, "keywords"),
            maintainers: maintainers
                .unwrap_or_default()
                .iter()
                .map(Maintainer::new)
                .collect(),
            icon: text("icon"),
            api_version: text("apiVersion"),
            condition: text("condition"),
            tags: text("tags"),
            app_version: text("appVersion"),
            deprecated: flag(fields, "deprecated"),
            annotations: annotations(fields),
            kube_version: text("kubeVersion"),
            dependencies: dependencies.map(|list| list.iter().map(DependencyDetails::new).collect()),
            kind: text("type"),
        }
    }

    /// Whether it is a library chart, whose templates are only included.
    pub fn is_library(&self) -> bool {
        self.kind.eq_ignore_ascii_case("library")
    }

    /// The dependencies; empty if the field is absent.
    pub fn dependencies(&self) -> &[DependencyDetails] {
        self.dependencies.as_deref().unwrap_or_default()
    }
}

impl Maintainer {
    fn new(fields: &Struct) -> Self {
        Self {
            name: text_of(fields, "name"),
            email: text_of(fields, "email"),
            url: text_of(fields, "url"),
        }
    }
}

impl Import {
    fn new(value: &Value) -> Option<Self> {
        match value {
            Value::String(name) => Some(Self {
                child: format!("exports.{name}"),
                parent: ".".to_owned(),
                is_export: true,
            }),
            Value::Map(map) => {
                let text = |key| {
                    let value = map.get(key).map_or(Val::Nil, Val::from_data);
                    sprint(&value).to_text().into_owned()
                };
                Some(Self {
                    child: text("child"),
                    parent: text("parent"),
                    is_export: false,
                })
            }
            _ => None,
        }
    }
}

impl DependencyDetails {
    fn new(fields: &Struct) -> Self {
        let import_values: Vec<Value> = match value_of(fields, "import-values") {
            Some(Value::List(items)) => items.iter().cloned().filter_map(floats).collect(),
            _ => Vec::new(),
        };
        Self {
            name: text_of(fields, "name"),
            version: text_of(fields, "version"),
            repository: text_of(fields, "repository"),
            condition: text_of(fields, "condition"),
            tags: texts(fields, "tags"),
            enabled: flag(fields, "enabled"),
            imports: import_values.iter().filter_map(Import::new).collect(),
            import_values,
            alias: text_of(fields, "alias"),
        }
    }

    /// The name of its values in the parent, and of its templates' folder.
    pub fn key(&self) -> &str {
        if self.alias.is_empty() {
            &self.name
        } else {
            &self.alias
        }
    }
}

fn texts(fields: &Struct, name: &str) -> Vec<String> {
    match value_of(fields, name) {
        Some(Value::List(items)) => items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

fn flag(fields: &Struct, name: &str) -> bool {
    matches!(value_of(fields, name), Some(Value::Bool(true)))
}

fn annotations(fields: &Struct) -> Vec<(String, String)> {
    let Some(Value::Map(map)) = value_of(fields, "annotations") else {
        return Vec::new();
    };
    map.iter()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}
