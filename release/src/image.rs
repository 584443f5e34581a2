//! A container image of local files: its layer, its config and its manifest.

use std::io::{self, Write as _};

use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::tree::Tree;

/// The media type of a manifest.
pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar";

/// Bytes with their media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The media type.
    pub media_type: &'static str,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// `sha256:` and the digest in hex.
    pub fn digest(&self) -> String {
        digest(&self.bytes)
    }

    /// What refers to it.
    pub fn descriptor(&self) -> Value {
        json!({"mediaType": self.media_type, "digest": self.digest(), "size": self.bytes.len()})
    }
}

/// An image of one layer for one platform.
#[derive(Debug, Clone)]
pub struct Image {
    /// As Go names it: `amd64`, `arm64`.
    pub architecture: String,
    /// The program and the arguments in front; none in an image whose commands are the user's.
    pub entrypoint: Vec<String>,
    /// What runs without arguments.
    pub command: Vec<String>,
    /// `UID:GID`
    pub user: String,
    /// `org.opencontainers.image.…`
    pub labels: Vec<(String, String)>,
    /// What it holds.
    pub files: Tree,
    /// Whether the layer is compressed.
    pub is_compressed: bool,
}

/// The blobs of an image. The manifest refers to the others.
#[derive(Debug, Clone)]
pub struct ImageBlobs {
    /// The files.
    pub layer: Blob,
    /// How the image is run.
    pub config: Blob,
    /// What names both.
    pub manifest: Blob,
}

impl Image {
    /// Its blobs.
    ///
    /// # Errors
    /// A name of a file that no tar format can hold.
    pub fn blobs(&self) -> io::Result<ImageBlobs> {
        let archive = self.files.to_tar()?;
        let diff_id = digest(&archive);
        let layer = if self.is_compressed {
            Blob {
                media_type: "application/vnd.oci.image.layer.v1.tar+gzip",
                bytes: compressed(&archive)?,
            }
        } else {
            Blob {
                media_type: LAYER_TYPE,
                bytes: archive,
            }
        };
        let mut run = json!({"User": self.user, "WorkingDir": "/", "Env": ["PATH=/bin:/usr/bin:/"]});
        if !self.entrypoint.is_empty() {
            run["Entrypoint"] = json!(self.entrypoint);
        }
        if !self.command.is_empty() {
            run["Cmd"] = json!(self.command);
        }
        let labels: serde_json::Map<String, Value> = self
            .labels
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        if !labels.is_empty() {
            run["Labels"] = json!(labels);
        }
        let config = json!({
            "architecture": self.architecture,
            "os": "linux",
            "config": run,
            "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        });
        let config = Blob {
            media_type: CONFIG_TYPE,
            bytes: config.to_string().into_bytes(),
        };
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": config.descriptor(),
            "layers": [layer.descriptor()],
        });
        if !labels.is_empty() {
            manifest["annotations"] = json!(labels);
        }
        let manifest = Blob {
            media_type: MANIFEST_TYPE,
            bytes: manifest.to_string().into_bytes(),
        };
        Ok(ImageBlobs {
            layer,
            config,
            manifest,
        })
    }
}

/// Without a name, a time or the operating system in the header.
fn compressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new()
        .operating_system(255)
        .write(Vec::new(), Compression::new(6));
    gzip.write_all(bytes)?;
    gzip.finish()
}

/// `sha256:` and the digest in hex.
pub fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
