//! Links of the pages, and where they lead.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::markdown::{Page, ROOT};

/// The links of a page: line and destination. Code never counts as a link.
fn links(page: &Page) -> Vec<(usize, &str)> {
    let lines = page.prose().into_iter();
    lines
        .flat_map(|(number, line)| {
            let starts = line.match_indices("](").map(|(index, _)| index + 2);
            let outside = starts.filter(|start| line[..*start].matches('`').count() % 2 == 0);
            outside.filter_map(move |start| {
                let end = line[start..].find(')')?;
                Some((number, &line[start..start + end]))
            })
        })
        .collect()
}

/// The anchors of a page, as GitHub and mdBook make them of headings.
fn anchors(page: &Page) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in page.prose() {
        let Some(heading) = line.strip_prefix('#') else {
            continue;
        };
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let mut unique = anchor.clone();
        let mut number = 0;
        while !anchors.insert(unique.clone()) {
            number += 1;
            unique = format!("{anchor}-{number}");
        }
    }
    anchors
}

/// `docs/a.md` and `../README.md` to `README.md`.
fn resolve(page: &str, link: &str) -> String {
    let folder = Path::new(page).parent().unwrap();
    let mut out = PathBuf::new();
    for part in folder.join(link).components() {
        match part {
            Component::ParentDir => assert!(out.pop(), "{page}: {link} leaves the repository"),
            part => out.push(part),
        }
    }
    out.to_str().unwrap().to_owned()
}

/// What is wrong with the links of a page.
pub(crate) fn problems(page: &Page, pages: &[Page]) -> Vec<String> {
    let mut problems = Vec::new();
    for (line, link) in links(page) {
        if link.starts_with("https://") {
            continue;
        }
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let path = if file.is_empty() {
            page.path.clone()
        } else {
            resolve(&page.path, file)
        };
        let target = pages.iter().find(|other| other.path == path);
        if target.is_none() && !Path::new(ROOT).join(&path).exists() {
            problems.push(format!("{}:{line}: there is no {path}", page.path));
        }
        if let Some(target) = target.filter(|_| !anchor.is_empty())
            && !anchors(target).contains(anchor)
        {
            problems.push(format!("{}:{line}: {path} has no heading #{anchor}", page.path));
        }
    }
    problems
}

/// The pages that a page links to.
pub(crate) fn targets(page: &Page) -> BTreeSet<String> {
    let links = links(page).into_iter().map(|(_, link)| link);
    links
        .filter(|link| !link.starts_with("https://") && !link.starts_with('#'))
        .map(|link| resolve(&page.path, link.split('#').next().unwrap_or(link)))
        .collect()
}
