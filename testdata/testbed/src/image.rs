//! A container image of local files, as an OCI archive that containerd imports.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{EntryType, Header};

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
        let layer = self.layer();
        let config = json!({
            "architecture": architecture, "os": "linux",
            "config": {"Entrypoint": [self.entrypoint], "User": self.user, "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
        });
        let config = config.to_string().into_bytes();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
            "layers": [descriptor("application/vnd.oci.image.layer.v1.tar", &layer)],
        });
        let manifest = manifest.to_string().into_bytes();
        let mut entry = descriptor("application/vnd.oci.image.manifest.v1+json", &manifest);
        entry["annotations"] = json!({"io.containerd.image.name": self.reference});
        let index = json!({"schemaVersion": 2, "manifests": [entry]}).to_string();

        let mut archive = tar::Builder::new(File::create(path).unwrap());
        append(
            &mut archive,
            "oci-layout",
            0o644,
            br#"{"imageLayoutVersion":"1.0.0"}"#,
        );
        append(&mut archive, "index.json", 0o644, index.as_bytes());
        for blob in [&layer, &config, &manifest] {
            let name = format!("blobs/{}", digest(blob).replace(':', "/"));
            append(&mut archive, &name, 0o644, blob);
        }
        archive.into_inner().unwrap().flush().unwrap();
    }

    fn layer(&self) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        // Mount points of the runtime: it couldn't create the folders in a read-only root.
        let mut folders: BTreeSet<String> = ["dev", "etc", "proc", "sys", "tmp"].map(str::to_owned).into();
        for (at, _) in &self.files {
            let parents = Path::new(at).ancestors().skip(1);
            folders.extend(parents.map(|parent| parent.to_str().unwrap().to_owned()));
        }
        for folder in folders.iter().filter(|folder| !folder.is_empty()) {
            let mut header = header(0o755, 0);
            header.set_entry_type(EntryType::Directory);
            archive.append_data(&mut header, folder, &[][..]).unwrap();
        }
        for (at, from) in &self.files {
            let mode = fs::metadata(from).unwrap().permissions().mode();
            append(&mut archive, at, mode & 0o555, &fs::read(from).unwrap());
        }
        archive.into_inner().unwrap()
    }
}

/// The libraries that the dynamic loader would load, and the loader itself; empty for a static program.
fn libraries(program: &Path) -> BTreeSet<PathBuf> {
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

fn descriptor(kind: &str, blob: &[u8]) -> Value {
    json!({"mediaType": kind, "digest": digest(blob), "size": blob.len()})
}

fn digest(blob: &[u8]) -> String {
    let hex: String = Sha256::digest(blob)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hex}")
}

fn header(mode: u32, size: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_mode(mode);
    header.set_size(u64::try_from(size).unwrap());
    header
}

fn append<W: std::io::Write>(archive: &mut tar::Builder<W>, name: &str, mode: u32, data: &[u8]) {
    archive
        .append_data(&mut header(mode, data.len()), name, data)
        .unwrap();
}
