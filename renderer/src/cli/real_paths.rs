//! Maps Helm's template names, `<chart>/templates/a.yaml`, to files, for editors and annotations.

use std::path::{Path, PathBuf};

use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Location;

/// The diagnostics, with the paths of the files.
pub(crate) fn with_real_paths(problem: Diagnostics, root: &Path) -> Diagnostics {
    let list = problem.into_vec().into_iter();
    list.map(|one| with_real_path(one, root)).collect()
}

/// As [`with_real_paths`], for one.
pub(crate) fn with_real_path(one: Diagnostic, root: &Path) -> Diagnostic {
    let moved = |place| with_real_location(place, root);
    Diagnostic {
        location: one.location.map(moved),
        trace: one
            .trace
            .into_iter()
            .map(|(what, place)| (what, place.map(moved)))
            .collect(),
        ..one
    }
}

/// As [`with_real_path`], for a location.
pub(crate) fn with_real_location(place: Location, root: &Path) -> Location {
    match file(&place, root) {
        Some(path) => Location::new(&place.source.renamed(path.display().to_string()), place.span),
        None => place,
    }
}

/// The file in the chart folder with this text: the first part of the name is the chart's.
fn file(place: &Location, root: &Path) -> Option<PathBuf> {
    let (_, below) = place.source.name().split_once('/')?;
    let path = root.join(below);
    let text = std::fs::read(&path).ok()?;
    (text == place.source.text().as_bytes()).then_some(path)
}
