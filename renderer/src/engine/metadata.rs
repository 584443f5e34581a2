//! `.Chart`: Chart.yaml with Go's field names.
//!
//! Helm 4.3.1 turns its struct into a map: it has every field, absent ones with the zero value of their type, and an
//! unknown name is nil like any missing key.

use crate::chart::details::{DependencyDetails, Details, Maintainer};
use crate::value::{Map, Value};

/// The map, without `IsRoot`.
pub fn metadata(details: &Details) -> Map {
    let Details {
        name,
        home,
        sources,
        version,
        description,
        keywords,
        maintainers,
        icon,
        api_version,
        condition,
        tags,
        app_version,
        deprecated,
        annotations,
        kube_version,
        dependencies,
        kind,
    } = details;
    let dependencies = dependencies.as_deref().unwrap_or_default();
    [
        ("Name", text(name)),
        ("Home", text(home)),
        ("Sources", texts(sources)),
        ("Version", text(version)),
        ("Description", text(description)),
        ("Keywords", texts(keywords)),
        (
            "Maintainers",
            Value::List(maintainers.iter().map(maintainer).collect()),
        ),
        ("Icon", text(icon)),
        ("APIVersion", text(api_version)),
        ("Condition", text(condition)),
        ("Tags", text(tags)),
        ("AppVersion", text(app_version)),
        ("Deprecated", Value::from(*deprecated)),
        ("Annotations", strings(annotations)),
        ("KubeVersion", text(kube_version)),
        (
            "Dependencies",
            Value::List(dependencies.iter().map(dependency).collect()),
        ),
        ("Type", text(kind)),
    ]
    .into_iter()
    .collect()
}

fn maintainer(one: &Maintainer) -> Value {
    let Maintainer { name, email, url } = one;
    let fields = [("Name", text(name)), ("Email", text(email)), ("URL", text(url))];
    Value::Map(fields.into_iter().collect())
}

fn dependency(one: &DependencyDetails) -> Value {
    let DependencyDetails {
        name,
        version,
        repository,
        condition,
        tags,
        enabled,
        import_values,
        // The parsed form of a field above.
        imports: _,
        alias,
    } = one;
    let fields = [
        ("Name", text(name)),
        ("Version", text(version)),
        ("Repository", text(repository)),
        ("Condition", text(condition)),
        ("Tags", texts(tags)),
        ("Enabled", Value::from(*enabled)),
        ("ImportValues", Value::List(import_values.clone())),
        ("Alias", text(alias)),
    ];
    Value::Map(fields.into_iter().collect())
}

/// An absent map is nil in Go.
fn strings(list: &[(String, String)]) -> Value {
    if list.is_empty() {
        return Value::Null;
    }
    Value::Map(
        list.iter()
            .map(|(key, value)| (key.as_str(), text(value)))
            .collect(),
    )
}

fn text(text: &str) -> Value {
    Value::from(text)
}

fn texts(list: &[String]) -> Value {
    Value::List(list.iter().map(|one| text(one)).collect())
}
