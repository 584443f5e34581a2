//! A container image of local files, as an OCI archive that containerd imports.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use solar_release::tree::Tree;
use tar::Header;

use crate::run;

/// One layer with some files; without a shell, a package manager, or anything else.
#[derive(Debug, Clone)]
pub struct Image {
    reference: String,
    entrypoint: String,
    user: String,
    files: Vec<(String, PathBuf)>,
}

impl Image {
    /// An image of one program, which is at `/NAME`, is the entry point, and runs as `user`.
    ///
    /// The libraries of a dynamically linked program are included.
    pub fn of_program(reference: &str, name: &str, program: &Path, user: &str) -> Self {
        let image = Self {
            reference: reference.to_owned(),
            entrypoint: format!("/{name}"),
            user: user.to_owned(),
            files: Vec::new(),
        };
        let image = image.with_file(&format!("/{name}"), program);
        libraries(program).into_iter().fold(image, |image, library| {
            let at = library.to_str().unwrap().to_owned();
            image.with_file(&at, &library)
        })
    }

    /// Adds a file.
    #[must_use]
    pub fn with_file(mut self, at: &str, from: &Path) -> Self {
        self.files
            .push((at.trim_start_matches('/').to_owned(), from.to_owned()));
        self
    }

    /// Writes the archive.
    pub(crate) fn write(&self, path: &Path) {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let image = solar_release::image::Image {
            architecture: architecture.to_owned(),
            entrypoint: vec![self.entrypoint.clone()],
            command: Vec::new(),
            user: self.user.clone(),
            labels: Vec::new(),
            files: self.tree(),
            // Compressing programs with debug information takes longer than importing them.
            is_compressed: false,
        };
        let blobs = image.blobs().unwrap();
        let mut entry = blobs.manifest.descriptor();
        entry["annotations"] = json!({"io.containerd.image.name": self.reference});
        let index = json!({"schemaVersion": 2, "manifests": [entry]}).to_string();

        let mut archive = tar::Builder::new(File::create(path).unwrap());
        append(&mut archive, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#);
        append(&mut archive, "index.json", index.as_bytes());
        for blob in [&blobs.layer, &blobs.config, &blobs.manifest] {
            let name = format!("blobs/{}", blob.digest().replace(':', "/"));
            append(&mut archive, &name, &blob.bytes);
        }
        archive.into_inner().unwrap().flush().unwrap();
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::default();
        // Mount points of the runtime: it couldn't create the folders in a read-only root.
        for folder in ["dev", "etc", "proc", "sys", "tmp"] {
            tree.add_folder(folder, 0o755);
        }
        for (at, from) in &self.files {
            tree.add_file(at, from).unwrap();
        }
        tree
    }
}

/// The libraries that the dynamic loader would load, and the loader itself; empty for a static program.
pub fn libraries(program: &Path) -> BTreeSet<PathBuf> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    if !output.status.success() {
        return BTreeSet::new();
    }
    // `libc.so.6 => /lib/libc.so.6 (0x…)`, `/lib64/ld-linux-x86-64.so.2 (0x…)`
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    words.map(PathBuf::from).collect()
}

/// A static program that does nothing until it is killed: it holds a pod's namespaces.
pub(crate) fn pause(folder: &Path) -> Image {
    let source = folder.join("pause.rs");
    fs::write(
        &source,
        "fn main() {\n    loop {\n        std::thread::park();\n    }\n}\n",
    )
    .unwrap();
    let program = folder.join("pause");
    run(Command::new("rustc")
        .args(["--edition=2024", "-Cpanic=abort", "-Cstrip=symbols"])
        .args(["-Ctarget-feature=+crt-static", "-Crelocation-model=static"])
        .arg("-o")
        .arg(&program)
        .arg(&source));
    Image::of_program(PAUSE, "pause", &program, "65535:65535")
}

/// Its name.
pub(crate) const PAUSE: &str = "localhost/pause:testbed";

fn append<W: std::io::Write>(archive: &mut tar::Builder<W>, name: &str, data: &[u8]) {
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(u64::try_from(data.len()).unwrap());
    archive.append_data(&mut header, name, data).unwrap();
}
