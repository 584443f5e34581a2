//! Which images are others.

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
/// `is_kept` says whether other objects name an image in both renderings.
pub(super) fn image_changes(
    from: &[&Object],
    to: &[&Object],
    is_kept: &dyn Fn(&str) -> bool,
) -> Vec<ImageChange> {
    let names = |objects: &[&Object]| -> Vec<String> {
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
