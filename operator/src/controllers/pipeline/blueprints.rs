//! The versions of the renderer's blueprints: the hashes of their files. A changed blueprint renders another chart from
//! the same config, so its version is part of every tag.

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::canonical;

macro_rules! files {
    ($name:literal: $($path:literal),+) => {
        &[$(($path, include_str!(concat!("../../../../charts/", $name, "/", $path)))),+]
    };
}

/// The path and content of each file.
type Files = &'static [(&'static str, &'static str)];

const RELEASE: Files =
    files!("release": "Chart.yaml.jinja", "templates/release.yaml.jinja", "values.yaml.jinja");
const BOOTSTRAP: Files =
    files!("bootstrap": "Chart.yaml.jinja", "templates/releases.yaml.jinja", "values.yaml.jinja");

/// The version of the blueprint of release charts.
pub fn release() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| version(RELEASE))
}

/// The version of the blueprint of bootstrap charts.
pub fn bootstrap() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| version(BOOTSTRAP))
}

fn version(files: Files) -> String {
    let files: Vec<Value> = files.iter().map(|(path, text)| json!([path, text])).collect();
    canonical::sha256(&Value::from(files))
}

#[cfg(test)]
mod tests {
    use std::fs::{read_dir, read_to_string};
    use std::path::{Path, PathBuf};

    use super::*;

    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                below(&path, found);
            } else {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_file_of_a_blueprint_counts() {
        for (name, files) in [("release", RELEASE), ("bootstrap", BOOTSTRAP)] {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts").join(name);
            let mut found = Vec::new();
            below(&root, &mut found);
            found.sort();
            let found: Vec<_> = found
                .iter()
                .map(|path| {
                    let name = path.strip_prefix(&root).expect("below").to_str().expect("UTF-8");
                    (name.to_owned(), read_to_string(path).expect("a text"))
                })
                .collect();
            let listed: Vec<_> = files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect();
            assert_eq!(found, listed, "{name}");
        }
        assert_ne!(release(), bootstrap());
        let changed: Files = &[("Chart.yaml.jinja", "a"), ("values.yaml.jinja", "b")];
        let moved: Files = &[("Chart.yaml.jinja", "b"), ("values.yaml.jinja", "a")];
        assert_ne!(version(changed), version(moved));
    }
}
