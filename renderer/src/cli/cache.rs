//! `cache`: the cache of earlier downloads.

use std::path::Path;
use std::time::Duration;

use super::args::cache::{CacheCommand, CacheFlags, CacheFolderFlag, PruneArgs};
use super::context::{CommandOutcome, CommandResult, Context};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::oci::{BlobCache, CacheUsage, Retention};
use crate::report::documents::{CacheDocument, CacheSummary, Document as _};

impl CacheFolderFlag {
    fn find(&self, context: &Context<'_>) -> Option<BlobCache> {
        let given = self.cache_dir.clone().map(BlobCache::at);
        given.or_else(|| BlobCache::of(context.world))
    }
}

impl CacheFlags {
    /// The cache to use.
    pub(crate) fn find(&self, context: &Context<'_>) -> Option<BlobCache> {
        self.place.find(context).filter(|_| !self.no_cache)
    }
}

/// `cache`
pub(crate) fn cache(command: &CacheCommand, context: &Context<'_>) -> CommandResult {
    let result = match command {
        CacheCommand::Info(place) => info(place, context),
        CacheCommand::Prune(args) => prune(args, context),
    };
    result.unwrap_or_else(|problem| CommandResult::One(Box::new(CommandOutcome::failed(problem))))
}

fn find(place: &CacheFolderFlag, context: &Context<'_>) -> Result<BlobCache> {
    let none = || {
        Diagnostic::error(
            Class::Usage,
            "there is no cache: neither SOLAR_RENDER_CACHE nor HOME is set",
        )
    };
    Ok(place.find(context).ok_or_else(none)?)
}

fn info(place: &CacheFolderFlag, context: &Context<'_>) -> Result<CommandResult> {
    let cache = find(place, context)?;
    let usage = cache.usage().map_err(|error| cannot(cache.dir(), &error))?;
    let dir = cache.dir().display().to_string();
    Ok(CommandResult::Document {
        json: document(&dir, usage, None),
        text: format!("{dir}: {}\n", shown(usage)),
    })
}

fn prune(args: &PruneArgs, context: &Context<'_>) -> Result<CommandResult> {
    const DEFAULT_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
    let cache = find(&args.place, context)?;
    let default = (!args.all && args.max_size.is_none()).then_some(DEFAULT_AGE);
    let keep = Retention {
        age: args.max_age.or(default),
        bytes: args.max_size,
    };
    let removed = cache
        .prune(keep, context.world)
        .map_err(|error| cannot(cache.dir(), &error))?;
    let left = cache.usage().map_err(|error| cannot(cache.dir(), &error))?;
    let dir = cache.dir().display().to_string();
    Ok(CommandResult::Document {
        json: document(&dir, left, Some(removed)),
        text: format!("Removed: {}\nLeft: {}\n", shown(removed), shown(left)),
    })
}

fn document(dir: &str, there: CacheUsage, removed: Option<CacheUsage>) -> String {
    let cache = CacheSummary {
        dir: dir.to_owned(),
        files: there.files,
        size: there.bytes,
        removed: removed.map(|removed| removed.files),
        freed: removed.map(|removed| removed.bytes),
    };
    CacheDocument { cache }.to_json()
}

fn shown(usage: CacheUsage) -> String {
    format!("{} blobs, {}", usage.files, fsio::size(usage.bytes))
}

fn cannot(dir: &Path, error: &std::io::Error) -> crate::diag::Diagnostics {
    fsio::cannot("use the cache", dir, error, Class::Io)
}
