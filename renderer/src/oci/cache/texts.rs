//! Texts from web servers, kept by their URL for a time: a file among the blobs, named by the digest of the URL.

use std::io::Write as _;
use std::time::Duration;

use sha2::Digest as _;

use super::BlobCache;
use crate::fsio;
use crate::reference::Digest;
use crate::world::World;

impl BlobCache {
    /// The text that was kept for a URL, when it is not older than `age` and whole.
    pub(crate) fn text(&self, url: &str, age: Duration, limit: usize, world: &dyn World) -> Option<Vec<u8>> {
        use std::io::Read as _;
        let file = fsio::open(&self.path_of(&name_of(url))).ok()?;
        let kept = file.metadata().and_then(|metadata| metadata.modified()).ok()?;
        // A time in the future is a clock that was set back.
        if world.now().duration_since(kept).ok()? > age {
            return None;
        }
        let mut bytes = Vec::new();
        let most = limit as u64 + 1 + digest_of(b"").to_string().len() as u64;
        file.take(most).read_to_end(&mut bytes).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let text = bytes.get(end + 1..)?;
        (bytes.get(..end)? == digest_of(text).to_string().as_bytes()).then(|| text.to_vec())
    }

    /// Keeps a text. Not kept is only slower next time.
    pub(crate) fn keep_text(&self, url: &str, text: &[u8]) {
        let Some(mut draft) = self.draft(&name_of(url)) else {
            return;
        };
        let head = format!("{}\n", digest_of(text));
        if draft
            .write_all(head.as_bytes())
            .and_then(|()| draft.write_all(text))
            .is_ok()
        {
            let _ = draft.commit();
        }
    }
}

fn digest_of(text: &[u8]) -> Digest {
    Digest::from_sha256(&sha2::Sha256::digest(text).into())
}

/// No blob has this digest: nobody knows what its text would be.
fn name_of(url: &str) -> Digest {
    digest_of(format!("text of {url}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::cache::Retention;
    use crate::world::System;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    #[test]
    fn a_text_is_kept_for_its_url_until_it_is_old_or_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let cache = BlobCache::at(folder.path().to_owned());
        let read = |url: &str| cache.text(url, DAY, 100, &System);
        cache.keep_text("https://a/b", b"{}");
        assert_eq!(
            (read("https://a/b"), read("https://a/c")),
            (Some(b"{}".to_vec()), None)
        );
        // It is counted, and removed with the others.
        assert_eq!(cache.usage().unwrap().files, 1);
        let path = cache.path_of(&name_of("https://a/b"));
        let open = || std::fs::File::options().append(true).open(&path).unwrap();
        open().set_modified(System.now() - 2 * DAY).unwrap();
        assert_eq!(read("https://a/b"), None);
        cache.keep_text("https://a/b", b"{}");
        assert_eq!(read("https://a/b"), Some(b"{}".to_vec()));
        open().write_all(b"x").unwrap();
        assert_eq!(read("https://a/b"), None);
        assert_eq!(cache.prune(Retention::default(), &System).unwrap().files, 1);
    }
}
