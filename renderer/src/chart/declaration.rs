//! Where a chart declares its dependencies.

use std::sync::Arc;

use crate::diag::Class;
use crate::source::{Location, Source};
use crate::yaml;

/// The name of a dependency in the first of these texts that declares it: an older chart's requirements.yaml, and
/// Chart.yaml.
pub fn declaration<'s>(texts: impl IntoIterator<Item = &'s Arc<Source>>, name: &str) -> Option<Location> {
    texts.into_iter().find_map(|source| {
        let node = yaml::parse(source, Class::Chart, &yaml::Limits::default()).ok()?;
        let mut items = node.get("dependencies")?.items().iter();
        let item = items.find_map(|item| item.get("name").filter(|node| node.as_str() == Some(name)))?;
        Some(Location::new(source, item.span))
    })
}
