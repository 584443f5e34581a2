//! An OCI image layout on disk: images for several platforms under one tag.
//!
//! Blobs are written before what refers to them, and `index.json` last.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::image::{Blob, Image};
use crate::tree::with_path;

const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const NAME: &str = "org.opencontainers.image.ref.name";

/// Writes the images, and an index of them under a tag, whose digest is returned. Other tags of the layout stay.
///
/// # Errors
/// The folder can't be written, or holds an invalid `index.json`.
pub fn write(folder: &Path, tag: &str, images: &[Image]) -> io::Result<String> {
    fs::create_dir_all(folder.join("blobs/sha256")).map_err(|error| with_path(&error, folder))?;
    let mut manifests = Vec::new();
    for image in images {
        let blobs = image.blobs()?;
        for blob in [&blobs.layer, &blobs.config, &blobs.manifest] {
            put(folder, blob)?;
        }
        let mut entry = blobs.manifest.descriptor();
        entry["platform"] = json!({"architecture": image.architecture, "os": "linux"});
        manifests.push(entry);
    }
    let index = Blob {
        media_type: INDEX_TYPE,
        bytes: json!({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": manifests})
            .to_string()
            .into_bytes(),
    };
    put(folder, &index)?;
    fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
    let mut entry = index.descriptor();
    entry["annotations"] = json!({NAME: tag});
    let tags = with_entry(tags(folder)?, tag, entry);
    let top = json!({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": tags});
    fs::write(folder.join("index.json"), top.to_string())?;
    Ok(index.digest())
}

/// The entries of `index.json`.
fn tags(folder: &Path) -> io::Result<Vec<Value>> {
    let path = folder.join("index.json");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(with_path(&error, &path)),
    };
    let index: Value = serde_json::from_slice(&bytes).map_err(|error| with_path(&error.into(), &path))?;
    let entries = index["manifests"].as_array().cloned();
    entries.ok_or_else(|| io::Error::other(format!("{}: it has no manifests", path.display())))
}

/// The entries with this one in the place of the tag's old one, sorted by tag.
fn with_entry(mut entries: Vec<Value>, tag: &str, entry: Value) -> Vec<Value> {
    let name = |entry: &Value| entry["annotations"][NAME].as_str().unwrap_or_default().to_owned();
    entries.retain(|old| name(old) != tag);
    entries.push(entry);
    entries.sort_by_key(name);
    entries
}

fn put(folder: &Path, blob: &Blob) -> io::Result<()> {
    let path = folder.join("blobs").join(blob.digest().replace(':', "/"));
    fs::write(&path, &blob.bytes).map_err(|error| with_path(&error, &path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn image(architecture: &str) -> Image {
        let mut files = Tree::default();
        files.add_content("/run", architecture.as_bytes().to_vec(), 0o555);
        Image {
            architecture: architecture.to_owned(),
            entrypoint: vec!["/run".to_owned()],
            command: Vec::new(),
            user: "65532:65532".to_owned(),
            labels: vec![("org.opencontainers.image.version".to_owned(), "1.0.0".to_owned())],
            files,
            is_compressed: true,
        }
    }

    fn json_of(folder: &Path, descriptor: &Value) -> Value {
        let digest = descriptor["digest"].as_str().unwrap();
        let bytes = fs::read(folder.join("blobs").join(digest.replace(':', "/"))).unwrap();
        assert_eq!(crate::image::digest(&bytes), digest);
        assert_eq!(descriptor["size"], bytes.len());
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn an_index_names_an_image_for_each_architecture() {
        let folder = tempfile::tempdir().unwrap();
        let images = [image("amd64"), image("arm64")];
        let digest = write(folder.path(), "1.0.0", &images).unwrap();
        let top: Value =
            serde_json::from_slice(&fs::read(folder.path().join("index.json")).unwrap()).unwrap();
        assert_eq!(top["manifests"][0]["annotations"][NAME], "1.0.0");
        assert_eq!(top["manifests"][0]["digest"], digest);
        let index = json_of(folder.path(), &top["manifests"][0]);
        for (at, architecture) in ["amd64", "arm64"].into_iter().enumerate() {
            let entry = &index["manifests"][at];
            assert_eq!(
                entry["platform"],
                json!({"architecture": architecture, "os": "linux"})
            );
            let manifest = json_of(folder.path(), entry);
            let config = json_of(folder.path(), &manifest["config"]);
            assert_eq!(config["architecture"], architecture);
            assert_eq!(config["config"]["Entrypoint"], json!(["/run"]));
            assert_eq!(
                config["config"]["Labels"]["org.opencontainers.image.version"],
                "1.0.0"
            );
        }
    }

    #[test]
    fn tags_are_replaced_alone_and_the_same_images_give_the_same_digest() {
        let folder = tempfile::tempdir().unwrap();
        let first = write(folder.path(), "b", &[image("amd64")]).unwrap();
        let second = write(folder.path(), "a", &[image("amd64")]).unwrap();
        assert_eq!(first, second);
        let other = write(folder.path(), "b", &[image("arm64")]).unwrap();
        assert_ne!(first, other);
        let found = tags(folder.path()).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|entry| (entry["annotations"][NAME].as_str(), entry["digest"].as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (Some("a"), Some(second.as_str())),
                (Some("b"), Some(other.as_str()))
            ]
        );
    }

    #[test]
    fn an_index_that_is_none_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("index.json"), "[]").unwrap();
        let error = write(folder.path(), "b", &[image("amd64")]).unwrap_err();
        assert!(error.to_string().contains("index.json"), "{error}");
        assert_eq!(fs::read(folder.path().join("index.json")).unwrap(), b"[]");
    }
}
