//! The API of Hugging Face, as the crate `hf-hub` uses it: which commit a revision is, which files it has, where they
//! are. `HF_ENDPOINT` names another server, `HF_TOKEN` the token, which is only sent to that server.

use std::fmt::Display;

use url::Url;

use super::listing::{self, TreeFile};
use super::pattern::{ListScope, Patterns};
use super::source::HubRepository;
use super::{RemoteFile, hub_token};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::oci::{ClientError, Downloader, Failure, RequestHeaders};
use crate::world::World;

/// The variable with the server's URL.
const ENDPOINT: &str = "HF_ENDPOINT";
const DEFAULT_ENDPOINT: &str = "https://huggingface.co";
/// The maximum size of an answer of the API, in bytes.
const MAX_PAGE: usize = 8 << 20;
/// The maximum number of pages of a list.
const MAX_PAGES: usize = 200;
/// The maximum number of files of an artifact: its manifest, with a layer for each, must stay below 4 MiB.
pub(super) const MAX_FILES: usize = 5000;

/// The server.
pub(super) struct Hub<'h, 'a> {
    downloader: &'h Downloader<'a>,
    endpoint: Url,
    headers: RequestHeaders,
}

/// The files of a commit.
pub(super) struct Listing {
    /// The commit that the revision is now.
    pub(super) commit: String,
    /// The selected files, by path.
    pub(super) files: Vec<RemoteFile>,
}

impl<'h, 'a> Hub<'h, 'a> {
    pub(super) fn new(downloader: &'h Downloader<'a>, world: &dyn World) -> Result<Self> {
        let text = world.env(ENDPOINT).unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
        let endpoint = Url::parse(&format!("{}/", text.trim_end_matches('/'))).ok();
        let endpoint = endpoint.filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.host().is_some()
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
        });
        let Some(endpoint) = endpoint else {
            let message = format!("{ENDPOINT} is {text:?}, which is not the URL of a server");
            return Err(Diagnostic::error(Class::Usage, message).into());
        };
        let mut headers = RequestHeaders::default();
        if let Some(token) = hub_token(world)
            && !headers.bearer(&token)
        {
            return Err(Diagnostic::error(Class::Usage, "HF_TOKEN fits no header").into());
        }
        Ok(Self {
            downloader,
            endpoint,
            headers,
        })
    }

    /// The headers for the server.
    pub(super) fn headers(&self) -> &RequestHeaders {
        &self.headers
    }

    /// Lists the selected files of the revision's commit.
    ///
    /// # Errors
    /// A server that is unreachable or refuses the request; an invalid answer; no file; a file whose name leaves
    /// the folder, or that has no checksum.
    pub(super) fn files(&self, repository: &HubRepository, patterns: &Patterns) -> Result<Listing> {
        let name = repository.name();
        let revision = self.url(&["api", "models", name, "revision"], repository.revision())?;
        let body = self.page(&revision, repository)?.body;
        let commit = listing::commit(&body).map_err(|reason| self.lie(&revision, &reason))?;
        let scope = patterns.scope();
        let mut url = self.tree(name, &commit, &scope)?;
        let mut files = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = match self.downloader.page(&url, &self.headers, MAX_PAGE) {
                Ok(page) => page,
                // The folder doesn't exist in this commit, which does.
                Err(Failure::Client(ClientError::Status { status: 404, .. })) if !scope.folder.is_empty() => {
                    return sorted(repository, commit, Vec::new());
                }
                Err(failure) => return Err(self.explain(failure, repository)),
            };
            let found = listing::files(&page.body).map_err(|reason| self.lie(&url, &reason))?;
            for file in found.into_iter().filter(|file| patterns.select(&file.path)) {
                files.push(self.remote(name, &commit, file)?);
            }
            if files.len() > MAX_FILES {
                let message = format!("more than {MAX_FILES} files of {repository} are selected");
                let one = Diagnostic::error(Class::Refused, message);
                return Err(one.hint("choose some with `--include` and `--exclude`").into());
            }
            match page.next {
                Some(next) => url = next,
                None => return sorted(repository, commit, files),
            }
        }
        let message = format!("the list of files of {repository} has more than {MAX_PAGES} pages");
        Err(Diagnostic::error(Class::Refused, message)
            .hint("name the files or their folder with `--include`: then only the folder is listed")
            .into())
    }

    /// The list of what may be selected. A folder is one element, as the crate `hf-hub` and Python's client have it.
    fn tree(&self, name: &str, commit: &str, scope: &ListScope) -> Result<Url> {
        let ListScope { folder, recursive } = scope;
        let mut url = match folder.as_str() {
            "" => self.url(&["api", "models", name, "tree"], commit)?,
            folder => self.url(&["api", "models", name, "tree", commit], folder)?,
        };
        url.set_query(Some(&format!("recursive={recursive}&expand=false")));
        Ok(url)
    }

    fn remote(&self, name: &str, commit: &str, file: TreeFile) -> Result<RemoteFile> {
        let TreeFile { path, size, checksum } = file;
        let mut url = self.url(&[name, "resolve"], commit)?;
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.extend(path.as_str().split('/'));
        }
        Ok(RemoteFile {
            url,
            path,
            size: Some(size),
            checksum,
        })
    }

    /// `last` is one element, in which slashes are escaped: branches have them.
    fn url(&self, parts: &[&str], last: &str) -> Result<Url> {
        let mut url = self.endpoint.clone();
        match url.path_segments_mut() {
            Ok(mut segments) => {
                segments.pop_if_empty();
                for part in parts {
                    segments.extend(part.split('/'));
                }
                segments.push(last);
            }
            Err(()) => return Err(Diagnostic::error(Class::Internal, "the hub's URL has no path").into()),
        }
        Ok(url)
    }

    fn page(&self, url: &Url, repository: &HubRepository) -> Result<crate::oci::Page> {
        let read = self.downloader.page(url, &self.headers, MAX_PAGE);
        read.map_err(|failure| self.explain(failure, repository))
    }

    /// Says what a refusal of `what` means: the server answers 401 for repositories that don't exist, too.
    pub(super) fn explain(&self, failure: Failure, what: impl Display) -> Diagnostics {
        let host = self.endpoint.host_str().unwrap_or_default();
        let one = |class, text: String| Diagnostic::error(class, text);
        match &failure {
            Failure::Client(
                error @ ClientError::Status {
                    redirected: true,
                    status,
                    ..
                },
            ) => {
                // The storage refuses links that have expired, and may accept a later one.
                let class = match status {
                    401 | 403 => Class::Registry,
                    _ => error.class(),
                };
                one(class, error.to_string())
                    .note(format!(
                        "{host} redirects to this server, which stores the files and gets no token"
                    ))
                    .hint(
                        "its links expire: check the clock of this machine and proxies between, or try again",
                    )
                    .into()
            }
            Failure::Client(ClientError::Status {
                status: status @ (401 | 403),
                ..
            }) => {
                let message = format!("{host} answered {status} for {what}");
                let one = one(Class::Auth, message);
                let hint = match self.headers.is_empty() {
                    true => {
                        "it is gated, private or does not exist: set HF_TOKEN to a token that may read it"
                    }
                    false => {
                        "the token in HF_TOKEN may not read it: accept its terms on its page, or use another token"
                    }
                };
                one.hint(hint).into()
            }
            Failure::Client(ClientError::Status { status: 404, .. }) => {
                let message = format!("{host} has no {what}");
                let one = one(Class::Refused, message);
                one.hint("check the repository's name and the revision").into()
            }
            _ => failure.into(),
        }
    }

    fn lie(&self, url: &Url, reason: &str) -> Diagnostic {
        let shown = format!("{}{}", url.origin().ascii_serialization(), url.path());
        Diagnostic::error(Class::Protocol, format!("GET {shown}: {reason}"))
    }
}

fn sorted(repository: &HubRepository, commit: String, mut files: Vec<RemoteFile>) -> Result<Listing> {
    files.sort_by(|one, other| one.path.cmp(&other.path));
    if files.is_empty() {
        let message = format!("{repository} has no files that are selected");
        let one = Diagnostic::error(Class::Refused, message);
        return Err(one.hint("check `--include` and `--exclude`").into());
    }
    let twice = files.windows(2).find_map(|pair| match pair {
        [one, other] if one.path == other.path => Some(&one.path),
        _ => None,
    });
    if let Some(path) = twice {
        let message = format!("{repository} lists {path} twice");
        return Err(Diagnostic::error(Class::Protocol, message).into());
    }
    Ok(Listing { commit, files })
}
