//! `--output-dir`: a file for each template, as Helm writes them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use crate::diag::{Class, Diagnostic, Result};
use crate::engine::manifest::{Crd, ManifestFilter, Manifests};
use crate::fsio;

/// Writes the files; returns Helm's messages about them.
///
/// CRDs are written to the folder itself, everything else below the release's name, if one is given. Documents of one
/// template share a file. A hook is appended to an existing file, even of an earlier run.
pub(crate) fn write_files(
    manifests: &Manifests,
    crds: &[Crd],
    choice: ManifestFilter,
    folder: &Path,
    release: Option<&str>,
) -> Result<String> {
    let root = folder.display().to_string();
    let below = match release {
        // Go cleans joined paths.
        Some(release) => folder
            .join(release)
            .components()
            .filter(|part| *part != Component::CurDir)
            .collect::<PathBuf>(),
        None => folder.to_owned(),
    };
    let below = below.display().to_string();
    let mut folder = OutputFolder {
        messages: String::new(),
        written: BTreeSet::new(),
    };
    for crd in crds {
        let again = folder.written.contains(&crd.name);
        folder.write(&root, &crd.name, &crd.body.text(), again)?;
    }
    folder.written.clear();
    for manifest in &manifests.manifests {
        let again = folder.written.contains(&*manifest.source);
        folder.write(&below, &manifest.source, manifest.text(), again)?;
    }
    for hook in manifests.chosen_hooks(choice) {
        let there = Path::new(&below).join(&*hook.source).exists();
        folder.write(&below, &hook.source, hook.text(), there)?;
    }
    Ok(folder.messages)
}

struct OutputFolder {
    messages: String,
    written: BTreeSet<String>,
}

impl OutputFolder {
    fn write(&mut self, folder: &str, name: &str, text: &str, append: bool) -> Result<()> {
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !Path::new(name).components().all(plain) {
            let message = format!("{name} would be written outside of the folder");
            return Err(Diagnostic::error(Class::Chart, message).into());
        }
        let shown = format!("{folder}/{name}");
        let path = Path::new(&shown);
        let cannot = |error: std::io::Error| fsio::cannot("write", path, &error, Class::Io);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(cannot)?;
        }
        let mut options = OpenOptions::new();
        let options = if append {
            options.append(true)
        } else {
            options.write(true).create(true).truncate(true)
        };
        let mut file = options.open(path).map_err(cannot)?;
        file.write_all(format!("---\n# Source: {name}\n{text}\n").as_bytes())
            .map_err(cannot)?;
        self.written.insert(name.to_owned());
        // Writing to a String can't fail.
        let _ = writeln!(self.messages, "wrote {shown}");
        Ok(())
    }
}
