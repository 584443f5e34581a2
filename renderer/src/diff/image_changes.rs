//! Which images are others.

use std::collections::BTreeSet;

use super::RenderedDocument;
use super::object::Object;
use crate::compare::pairs::Pairs;
use crate::engine::images::images;

/// An image that is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageChange {
    /// The older; absent if an image is new.
    pub from: Option<String>,
    /// The newer; absent if an image is no longer used.
    pub to: Option<String>,
}

/// The images that only one of two lists of objects names: with another tag, from elsewhere with the same name, or alone.
/// `kept` are the documents that are in both renderings: an image that one of them names is neither new nor gone.
pub(super) fn image_changes(from: &[Object], to: &[Object], kept: &[&RenderedDocument]) -> Vec<ImageChange> {
    let names = |objects: &[Object]| -> Vec<String> {
        let found = images(objects.iter().map(|one| (one.source.as_ref(), &one.value)));
        found.into_iter().map(|image| image.name).collect()
    };
    let (all_from, all_to) = (names(from), names(to));
    let only = |list: &[String], other: &[String]| -> Vec<String> {
        let only = list.iter().filter(|name| other.binary_search(name).is_err());
        only.cloned().collect()
    };
    let (older, newer) = (only(&all_from, &all_to), only(&all_to, &all_from));
    let mut pairs = Pairs::default();
    pairs.add(&older, &newer, |name| Some(repository(name).to_owned()));
    pairs.add(&older, &newer, |name| {
        Some(repository(name).rsplit('/').next()?.to_owned())
    });
    let all_paired = pairs.iter().count() == older.len().max(newer.len());
    let words = match all_paired {
        true => BTreeSet::new(),
        false => image_words(kept),
    };
    let is_kept = |name: &String| words.contains(name.as_str());
    let mut out = Vec::new();
    for (number, name) in older.iter().enumerate() {
        let partner = pairs.partner(number).and_then(|partner| newer.get(partner));
        if partner.is_some() || !is_kept(name) {
            out.push(ImageChange {
                from: Some(name.clone()),
                to: partner.cloned(),
            });
        }
    }
    let added = newer.iter().enumerate();
    let added = added.filter(|(number, name)| !pairs.has_partner(*number) && !is_kept(name));
    out.extend(added.map(|(_, name)| ImageChange {
        from: None,
        to: Some(name.clone()),
    }));
    out
}

/// The words of the lines that may name an image.
fn image_words<'d>(documents: &[&'d RenderedDocument]) -> BTreeSet<&'d str> {
    let lines = documents.iter().flat_map(|one| one.manifest.text().lines());
    let lines = lines.filter(|line| line.contains("image") || line.contains("reference"));
    let is_between =
        |char: char| char.is_whitespace() || matches!(char, '"' | '\'' | ',' | '{' | '}' | '[' | ']');
    lines.flat_map(|line| line.split(is_between)).collect()
}

/// An image without tag and digest.
fn repository(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    let name = image.rfind('/').map_or(0, |slash| slash + 1);
    match image.get(name..).and_then(|rest| rest.find(':')) {
        Some(colon) => image.get(..name + colon).unwrap_or(image),
        None => image,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_neither_tag_nor_digest() {
        for (image, expected) in [
            ("nginx", "nginx"),
            ("nginx:1", "nginx"),
            ("host:5000/a/nginx", "host:5000/a/nginx"),
            ("host:5000/a/nginx:1@sha256:ab", "host:5000/a/nginx"),
        ] {
            assert_eq!(repository(image), expected);
        }
    }
}
