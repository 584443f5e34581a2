//! What README templates see: the chart's metadata, the rows of its values, and the sections they are in.
//!
//! Names and order of the fields are helm-docs'. `.ChartValues`, the nodes of its YAML library, is nil.

use std::any::Any;
use std::rc::Rc;

use super::Options;
use super::metadata::Metadata;
use super::rows::Row;
use crate::template::{List, ListType, Map, Object, Val};

/// The section of values that have none.
const OTHER: &str = "Other Values";

/// A struct of helm-docs.
#[derive(Debug)]
struct Record {
    type_name: &'static str,
    fields: Vec<(&'static str, Val)>,
    /// Structs whose fields are its own, too; their names stand among the fields.
    embedded: Vec<Val>,
}

impl Object for Record {
    fn type_name(&self) -> &str {
        self.type_name
    }

    fn field(&self, name: &str) -> Option<Val> {
        let own = self.fields.iter().find(|(field, _)| *field == name);
        own.map(|(_, value)| value.clone()).or_else(|| {
            let objects = self.embedded.iter().filter_map(|value| match value {
                Val::Object(object) => Some(object),
                _ => None,
            });
            objects.into_iter().find_map(|object| object.field(name))
        })
    }

    fn fields(&self) -> Vec<(String, Val)> {
        let fields = self.fields.iter();
        fields
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    }

    fn json_fields(&self) -> Option<Vec<(String, Val)>> {
        let mut fields = Vec::new();
        for (name, value) in &self.fields {
            match value {
                Val::Object(object) if self.is_embedded(object) => {
                    fields.extend(object.json_fields().unwrap_or_default());
                }
                _ => fields.push(((*name).to_owned(), value.clone())),
            }
        }
        Some(fields)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Record {
    fn is_embedded(&self, object: &Rc<dyn Object>) -> bool {
        let same = |value: &Val| matches!(value, Val::Object(one) if Rc::ptr_eq(one, object));
        self.embedded.iter().any(same)
    }
}

fn record(type_name: &'static str, fields: Vec<(&'static str, Val)>) -> Val {
    Val::Object(Rc::new(Record {
        type_name,
        fields,
        embedded: Vec::new(),
    }))
}

/// A record whose first fields are structs that it embeds.
fn embedding(
    type_name: &'static str,
    embedded: Vec<(&'static str, Val)>,
    fields: Vec<(&'static str, Val)>,
) -> Val {
    let values = embedded.iter().map(|(_, value)| value.clone()).collect();
    Val::Object(Rc::new(Record {
        type_name,
        fields: embedded.into_iter().chain(fields).collect(),
        embedded: values,
    }))
}

fn text(value: &str) -> Val {
    Val::str(value)
}

fn list(items: Vec<Val>) -> Val {
    if items.is_empty() {
        return Val::List(List::nil(ListType::Any));
    }
    Val::list(items)
}

/// The value of a README template's dot.
pub(super) fn data(metadata: &Metadata, folder: &str, rows: &[Row], options: &Options) -> Val {
    let info = embedding(
        "helm.ChartDocumentationInfo",
        vec![
            ("ChartMeta", chart_meta(metadata)),
            ("ChartRequirements", requirements(metadata)),
        ],
        vec![
            ("ChartDirectory", text(folder)),
            ("ChartValues", Val::Nil),
            ("ChartValuesDescriptions", Val::Map(Map::default())),
        ],
    );
    embedding(
        "document.chartTemplateData",
        vec![("ChartDocumentationInfo", info)],
        vec![
            ("HelmDocsVersion", text(&options.footer_version)),
            ("Values", values(rows.iter())),
            ("Sections", sections(rows)),
            ("SkipVersionFooter", Val::Bool(options.skip_footer)),
        ],
    )
}

fn chart_meta(metadata: &Metadata) -> Val {
    let maintainers = metadata.maintainers.iter().map(|one| {
        record(
            "helm.ChartMetaMaintainer",
            vec![
                ("Email", text(&one.email)),
                ("Name", text(&one.name)),
                ("Url", text(&one.url)),
            ],
        )
    });
    let sources: Vec<Val> = metadata.sources.iter().map(|one| text(one)).collect();
    record(
        "helm.ChartMeta",
        vec![
            ("ApiVersion", text(&metadata.api_version)),
            ("AppVersion", text(&metadata.app_version)),
            ("KubeVersion", text(&metadata.kube_version)),
            ("Name", text(&metadata.name)),
            ("Deprecated", Val::Bool(metadata.is_deprecated)),
            ("Description", text(&metadata.description)),
            ("Version", text(&metadata.version)),
            ("Home", text(&metadata.home)),
            ("Type", text(&metadata.chart_type)),
            ("Sources", list(sources)),
            ("Engine", text(&metadata.engine)),
            ("Maintainers", list(maintainers.collect())),
        ],
    )
}

fn requirements(metadata: &Metadata) -> Val {
    let items = metadata.dependencies.iter().map(|one| {
        record(
            "helm.ChartRequirementsItem",
            vec![
                ("Name", text(&one.name)),
                ("Version", text(&one.version)),
                ("Repository", text(&one.repository)),
                ("Alias", text(&one.alias)),
            ],
        )
    });
    record(
        "helm.ChartRequirements",
        vec![("Dependencies", list(items.collect()))],
    )
}

fn values<'r>(rows: impl Iterator<Item = &'r Row>) -> Val {
    list(rows.map(value_row).collect())
}

fn value_row(row: &Row) -> Val {
    record(
        "document.valueRow",
        vec![
            ("Key", text(&row.key)),
            ("Type", text(&row.value_type)),
            ("NotationType", text(&row.notation_type)),
            ("AutoDefault", text(&row.auto_default)),
            ("Default", text(&row.default)),
            ("AutoDescription", text(&row.auto_description)),
            ("Description", text(&row.description)),
            ("Section", text(&row.section)),
            ("Column", Val::count(row.column)),
            ("LineNumber", Val::count(row.line)),
            ("Dependency", text(&row.dependency)),
            ("IsGlobal", Val::Bool(row.is_global)),
        ],
    )
}

/// The sections, in the order of their first rows, and apart from them the rows that have none.
fn sections(rows: &[Row]) -> Val {
    let section = |name: &str, rows: Vec<&Row>| {
        let items = values(rows.into_iter());
        record(
            "document.section",
            vec![("SectionName", text(name)), ("SectionItems", items)],
        )
    };
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !row.section.is_empty() && !names.contains(&row.section.as_str()) {
            names.push(&row.section);
        }
    }
    let of = |name: &str| rows.iter().filter(|row| row.section == name).collect();
    let named = names.iter().map(|name| section(name, of(name)));
    record(
        "document.sections",
        vec![
            ("DefaultSection", section(OTHER, of(""))),
            ("Sections", list(named.collect())),
        ],
    )
}
