//! `--allow-remote-schemas`: schemas that values.schema.json refers to by URL, fetched as Helm does.
//!
//! Only over HTTPS, without credentials of any kind, within the bounds of all schemas and [`FETCH_TIME`]. A schema
//! is fetched once in a run, and kept in the cache for [`KEPT`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::Digest as _;
use url::Url;

use super::args::schemas::SchemaFlags;
use super::context::Context;
use super::printer::Printer;
use super::progress::TerminalProgress;
use crate::credentials::without_credentials;
use crate::diag::{Class, Diagnostics, Result};
use crate::oci::fetch::Fetcher;
use crate::oci::{BlobCache, ClientOptions};
use crate::reference::Digest;
use crate::values::schema_documents::{MAX_DOCUMENT, SchemaStore, Unread};
use crate::world::{System, World as _};

/// How long all of a run's schemas may take.
const FETCH_TIME: Duration = Duration::from_secs(60);
/// How old one may be that is taken from the cache.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// The text at a URL, within a time.
type Fetch = dyn Fn(&Url, Duration) -> std::result::Result<Vec<u8>, Unread> + Send + Sync;

/// Where schemas are read from.
///
/// `client` says how servers are reached; its credentials are not used. With `notes_digests` standard error names what
/// was read, so that a result that should be the same every time says what it depends on.
pub(crate) fn schema_store(
    flags: &SchemaFlags,
    client: ClientOptions,
    notes_digests: bool,
    context: &Context<'_>,
) -> Result<Arc<dyn SchemaStore>> {
    let local = flags.store()?;
    if !flags.allow_remote_schemas {
        return Ok(local);
    }
    let client = ClientOptions {
        credentials: None,
        ..client
    };
    let cache = client.cache.clone().or_else(|| BlobCache::of(context.world));
    let printer = context.printer.clone();
    let fetch = move |url: &Url, time: Duration| {
        let options = ClientOptions {
            deadline: Some(client.deadline.map_or(time, |given| given.min(time))),
            ..client.clone()
        };
        let progress = TerminalProgress::new(&printer, "reading");
        let failed = |failure| {
            let problem = Diagnostics::from(failure);
            Unread {
                // What a retry doesn't mend is wrong with the schema.
                class: Some(problem.class())
                    .filter(|class| class.is_transient())
                    .unwrap_or(Class::Values),
                reason: problem.to_string(),
            }
        };
        let fetcher = Fetcher::new(&options, &System, &progress).map_err(failed)?;
        let text = fetcher.text(url, None, MAX_DOCUMENT);
        progress.end();
        text.map_err(failed)
    };
    Ok(Arc::new(RemoteSchemas {
        local,
        fetch: Box::new(fetch),
        cache,
        printer: notes_digests.then(|| context.printer.clone()),
        state: Mutex::default(),
    }))
}

struct RemoteSchemas {
    /// What is asked first.
    local: Arc<dyn SchemaStore>,
    fetch: Box<Fetch>,
    cache: Option<BlobCache>,
    /// Hears of the digests.
    printer: Option<Printer>,
    state: Mutex<FetchedSchemas>,
}

#[derive(Default)]
struct FetchedSchemas {
    texts: BTreeMap<String, Vec<u8>>,
    /// How long it has taken.
    spent: Duration,
}

impl fmt::Debug for RemoteSchemas {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RemoteSchemas")
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

impl SchemaStore for RemoteSchemas {
    fn read(&self, url: &Url) -> std::result::Result<Option<Vec<u8>>, Unread> {
        if let Some(text) = self.local.read(url)? {
            return Ok(Some(text));
        }
        if url.scheme() != "https" {
            return Err("schemas are fetched over https:// alone".to_owned().into());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("schemas are fetched without credentials, and the URL has some"
                .to_owned()
                .into());
        }
        // One at a time: charts in parallel refer to the same ones.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = state.texts.get(url.as_str()) {
            return Ok(Some(text.clone()));
        }
        let cached = self.cache.as_ref();
        let cached = cached.and_then(|cache| cache.text(url.as_str(), KEPT, MAX_DOCUMENT, &System));
        let text = match cached {
            Some(text) => text,
            None => self.fetched(url, &mut state.spent)?,
        };
        if let Some(printer) = &self.printer {
            let digest = Digest::from_sha256(&sha2::Sha256::digest(&text).into());
            printer.notice(&without_credentials(&format!("schema {url} {digest}")));
        }
        state.texts.insert(url.to_string(), text.clone());
        Ok(Some(text))
    }
}

impl RemoteSchemas {
    fn fetched(&self, url: &Url, spent: &mut Duration) -> std::result::Result<Vec<u8>, Unread> {
        let Some(left) = FETCH_TIME.checked_sub(*spent).filter(|left| !left.is_zero()) else {
            return Err(Unread {
                class: Class::Network,
                reason: format!("fetching schemas took longer than {} s", FETCH_TIME.as_secs()),
            });
        };
        let begin = System.uptime();
        let text = (self.fetch)(url, left);
        *spent += System.uptime().saturating_sub(begin);
        let text = text?;
        if let Some(cache) = &self.cache {
            cache.keep_text(url.as_str(), &text);
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::values::schema_documents::NoSchemas;

    /// A store, and how often it fetched.
    fn store(cache: Option<BlobCache>) -> (RemoteSchemas, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let fetch = move |url: &Url, _: Duration| {
            counted.fetch_add(1, Ordering::SeqCst);
            match url.path() {
                "/gone" => Err("404".to_owned().into()),
                path => Ok(path.as_bytes().to_vec()),
            }
        };
        let store = RemoteSchemas {
            local: Arc::new(NoSchemas),
            fetch: Box::new(fetch),
            cache,
            printer: None,
            state: Mutex::default(),
        };
        (store, count)
    }

    fn read(store: &RemoteSchemas, url: &str) -> std::result::Result<Vec<u8>, String> {
        let text = store.read(&Url::parse(url).unwrap());
        text.map(Option::unwrap).map_err(|unread| unread.reason)
    }

    #[test]
    fn a_schema_is_fetched_once_over_https_and_without_credentials() {
        let (store, count) = store(None);
        for _ in 0..2 {
            assert_eq!(read(&store, "https://a/b").unwrap(), b"/b");
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
        for (url, reason) in [
            ("http://a/b", "over https:// alone"),
            ("file:///etc/passwd", "over https:// alone"),
            ("https://me:secret@a/b", "without credentials"),
            ("https://me@a/b", "without credentials"),
            ("https://a/gone", "404"),
        ] {
            let error = read(&store, url).unwrap_err();
            assert!(
                error.contains(reason) && !error.contains("secret"),
                "{url}: {error}"
            );
        }
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn the_next_run_takes_it_from_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let cache = || Some(BlobCache::at(folder.path().to_owned()));
        for (runs, expected) in [(store(cache()), 1), (store(cache()), 0)] {
            let (store, count) = runs;
            assert_eq!(read(&store, "https://a/b").unwrap(), b"/b");
            assert_eq!(count.load(Ordering::SeqCst), expected);
        }
    }

    #[test]
    fn all_of_them_have_one_time() {
        let (store, count) = store(None);
        store.state.lock().unwrap().spent = FETCH_TIME;
        assert!(
            read(&store, "https://a/b")
                .unwrap_err()
                .contains("longer than 60 s")
        );
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }
}
