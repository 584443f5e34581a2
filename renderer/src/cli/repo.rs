//! `repo`: Helm's list of chart repositories and their indexes, in Helm's own files and with Helm's messages.

use std::path::{Path, PathBuf};

use super::args::repo::{
    ListFlags, RepoAddArgs, RepoCommand, RepoIndexArgs, RepoListArgs, RepoRemoveArgs, RepoUpdateArgs,
};
use super::client::{client_options, retry_options};
use super::context::{CommandOutcome, CommandResult, Context};
use super::keys::ask;
use super::progress::TerminalProgress;
use super::table::table;
use crate::credentials::without_credentials;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::oci::{ClientOptions, Credentials, Secret};
use crate::report::documents::{Document as _, RepositoriesDocument, RepositoryName};
use crate::report::{self, Report};
use crate::repositories::helm_paths;
use crate::repositories::index::{self, MadeIndex};
use crate::repositories::list::{self, RepositoryEntry, RepositoryList};
use crate::repositories::web::Web;

/// Discontinued repositories, and their replacements.
const GONE: &[(&str, &str)] = &[
    (
        "//kubernetes-charts.storage.googleapis.com",
        "https://charts.helm.sh/stable",
    ),
    (
        "//kubernetes-charts-incubator.storage.googleapis.com",
        "https://charts.helm.sh/incubator",
    ),
];

/// `repo`
pub(crate) fn repo(command: &RepoCommand, context: &Context<'_>) -> CommandResult {
    let done = match command {
        RepoCommand::Add(args) => add(args, context),
        RepoCommand::List(args) => list(args, context),
        RepoCommand::Update(args) => update(args, context),
        RepoCommand::Remove(args) => remove(args, context),
        RepoCommand::Index(args) => make_index(args, context),
    };
    done.unwrap_or_else(|problem| CommandResult::One(Box::new(CommandOutcome::failed(problem))))
}

impl ListFlags {
    /// Helm's list.
    pub(crate) fn list(&self, context: &Context<'_>) -> Result<PathBuf> {
        let given = self.list.repository_config.clone();
        given
            .or_else(|| helm_paths::repository_config(context.world))
            .ok_or_else(|| nowhere("list of repositories", "--repository-config"))
    }

    /// The folder of indexes.
    pub(crate) fn cache(&self, context: &Context<'_>) -> Result<PathBuf> {
        let given = self.repository_cache.clone();
        given
            .or_else(|| helm_paths::repository_cache(context.world))
            .ok_or_else(|| nowhere("indexes", "--repository-cache"))
    }

    /// The repositories.
    ///
    /// # Errors
    /// Helm's message, if there are none.
    pub(crate) fn read(&self, context: &Context<'_>, none: &str) -> Result<Vec<RepositoryEntry>> {
        let list = RepositoryList::read(&self.list(context)?)?.unwrap_or_default();
        if list.repositories.is_empty() {
            let one = Diagnostic::error(Class::Usage, none);
            return Err(one.hint("`repo add NAME URL` adds one").into());
        }
        Ok(list.repositories)
    }
}

fn nowhere(what: &str, flag: &str) -> Diagnostics {
    let message = format!("there is no folder for Helm's {what}: HOME is not set");
    Diagnostic::error(Class::Usage, message)
        .hint(format!("name one with `{flag}`"))
        .into()
}

fn usage<T>(message: String) -> Result<T> {
    Err(Diagnostic::error(Class::Usage, message).into())
}

fn done(outcome: report::Outcome, name: &str, file: &Path, text: String) -> CommandOutcome {
    CommandOutcome {
        report: Report {
            outcome: Some(outcome),
            reference: Some(name.to_owned()),
            file: Some(file.display().to_string()),
            ..Report::default()
        },
        text,
        problem: None,
    }
}

fn add(args: &RepoAddArgs, context: &Context<'_>) -> Result<CommandResult> {
    let name = args.name.as_str();
    check_names(args)?;
    let mut client = client_options(&args.registry_with_password()?)?;
    let entry = entry_of(args, &client);
    // Neither Helm's cache of archives nor ours holds indexes.
    client.cache = None;
    let path = args.files.list(context)?;
    let _held = list::lock(&path, context.world)?;
    let mut list = RepositoryList::read(&path)?.unwrap_or_default();
    if let Some(known) = list.get(name).filter(|_| !args.force_update) {
        if *known == entry {
            let text = format!("\"{name}\" already exists with the same configuration, skipping\n");
            let outcome = done(report::Outcome::Unchanged, name, &path, text);
            return Ok(CommandResult::One(Box::new(outcome)));
        }
        let message = format!("repository name ({name}) already exists, please specify a different name");
        let one = Diagnostic::error(Class::Usage, message);
        return Err(one.hint("--force-update replaces it").into());
    }
    let progress = TerminalProgress::new(context.printer, "reading");
    let web = Web::new(
        &client,
        Some(&path).filter(|path| path.exists()).map(PathBuf::as_path),
        None,
        context.world,
        &progress,
    )?;
    let kept = web
        .index_text(&entry)
        .and_then(|text| index::keep(&args.files.cache(context)?, name, &entry.url, text));
    progress.end();
    kept.map_err(|problem| unreachable_repository(problem, &entry.url))?;
    list.put(entry);
    list.write(&path)?;
    let text = format!("\"{name}\" has been added to your repositories\n");
    let outcome = done(report::Outcome::Saved, name, &path, text);
    Ok(CommandResult::One(Box::new(outcome)))
}

fn check_names(args: &RepoAddArgs) -> Result<()> {
    let (name, url) = (&args.name, &args.url);
    if name.contains('/') || name.is_empty() || name.starts_with('.') {
        let message =
            format!("repository name ({name}) contains '/', please specify a different name without '/'");
        return match name.contains('/') {
            true => usage(message),
            false => usage(format!("repository name ({name}) is empty or begins with a dot")),
        };
    }
    if url.starts_with("oci://") {
        let one = Diagnostic::error(
            Class::Usage,
            format!("{url} is a registry, and no chart repository"),
        );
        return Err(one
            .note("registries need not be added")
            .hint(format!("name charts by their references: `{url}/CHART`"))
            .into());
    }
    let gone = GONE.iter().find(|(part, _)| url.contains(part));
    if let Some((_, there)) = gone.filter(|_| !args.allow_deprecated_repos) {
        return usage(format!(
            "repo \"{url}\" is no longer available; try \"{there}\" instead"
        ));
    }
    Ok(())
}

impl RepoAddArgs {
    /// The flags; prompts for the password if only the user is given.
    fn registry_with_password(&self) -> Result<super::args::registry::RegistryFlags> {
        let mut registry = self.registry.clone();
        if registry.username.is_some() && registry.password.is_none() && !registry.password_stdin {
            registry.password = ask("Password: ")?.map(super::args::registry::HiddenSecret);
        }
        Ok(registry)
    }
}

fn entry_of(args: &RepoAddArgs, client: &ClientOptions) -> RepositoryEntry {
    let (username, password) = match &client.credentials {
        Some(Credentials::Basic { username, password }) => (username.clone(), password.clone()),
        _ => (String::new(), Secret::default()),
    };
    // Helm writes absolute paths, since the list is used from any folder.
    let whole = |path: &Option<PathBuf>| {
        let path = path.clone().unwrap_or_default();
        std::path::absolute(&path).unwrap_or(path)
    };
    RepositoryEntry {
        name: args.name.clone(),
        url: args.url.clone(),
        username,
        password,
        ca_file: whole(&client.tls.ca_file),
        cert_file: whole(&client.tls.cert_file),
        key_file: whole(&client.tls.key_file),
        insecure_skip_tls_verify: client.tls.insecure_skip_verify,
        pass_credentials_all: args.pass_credentials,
    }
}

fn unreachable_repository(problem: Diagnostics, url: &str) -> Diagnostics {
    let shown = without_credentials(url);
    let note = format!("looks like \"{shown}\" is not a valid chart repository or cannot be reached");
    problem
        .into_vec()
        .into_iter()
        .map(|one| one.note(note.clone()))
        .collect()
}

fn list(args: &RepoListArgs, context: &Context<'_>) -> Result<CommandResult> {
    let list = RepositoryList::read(&args.files.list(context)?)?.unwrap_or_default();
    let names: Vec<RepositoryName> = list
        .repositories
        .iter()
        .map(|one| RepositoryName {
            name: one.name.clone(),
            url: without_credentials(&one.url).into_owned(),
        })
        .collect();
    let mut rows = vec![["NAME", "URL"]];
    if args.no_headers {
        rows.clear();
    }
    rows.extend(names.iter().map(|one| [one.name.as_str(), one.url.as_str()]));
    let text = match names.is_empty() {
        true => {
            // On standard error as in Helm, so that a pipe gets nothing.
            context.printer.notice("no repositories to show");
            String::new()
        }
        false => table(&rows, 0),
    };
    let json = match context.called_as.is_helm() {
        true => report::plain_json(&names),
        false => RepositoriesDocument { repositories: names }.to_json(),
    };
    Ok(CommandResult::Document { json, text })
}

fn update(args: &RepoUpdateArgs, context: &Context<'_>) -> Result<CommandResult> {
    let all = args
        .files
        .read(context, "no repositories found. You must add one before updating")?;
    for name in &args.names {
        if !all.iter().any(|one| one.name == *name) {
            return usage(format!(
                "no repositories found matching '{name}'.  Nothing will be updated"
            ));
        }
    }
    let chosen = all
        .iter()
        .filter(|one| args.names.is_empty() || args.names.contains(&one.name));
    let (client, cache) = (retry_options(&args.retries), args.files.cache(context)?);
    let progress = TerminalProgress::new(context.printer, "reading");
    let web = Web::new(&client, None, None, context.world, &progress)?;
    let outcomes = chosen.map(|entry| {
        let kept = web
            .index_text(entry)
            .and_then(|text| index::keep(&cache, &entry.name, &entry.url, text));
        match kept {
            Ok(()) => {
                let name = &entry.name;
                let text = format!("...Successfully got an update from the \"{name}\" chart repository\n");
                done(
                    report::Outcome::Saved,
                    name,
                    &index::cached_file(&cache, name),
                    text,
                )
            }
            Err(problem) => CommandOutcome::failed(unreachable_repository(problem, &entry.url)),
        }
    });
    let mut outcomes: Vec<CommandOutcome> = outcomes.collect();
    progress.end();
    let is_whole = outcomes.iter().all(|one| one.problem.is_none());
    let frame = "Hang tight while we grab the latest from your chart repositories...\n";
    if let Some(first) = outcomes.first_mut() {
        first.text.insert_str(0, frame);
    }
    if let Some(last) = outcomes.last_mut().filter(|_| is_whole) {
        last.text.push_str("Update Complete. ⎈Happy Helming!⎈\n");
    }
    Ok(CommandResult::Many(outcomes))
}

fn remove(args: &RepoRemoveArgs, context: &Context<'_>) -> Result<CommandResult> {
    let path = args.files.list(context)?;
    let none = || Diagnostics::from(Diagnostic::error(Class::Usage, "no repositories configured"));
    if !path.exists() {
        return Err(none());
    }
    let _held = list::lock(&path, context.world)?;
    let mut list = RepositoryList::read(&path)?.ok_or_else(none)?;
    if list.repositories.is_empty() {
        return Err(none());
    }
    let cache = args.files.cache(context)?;
    let mut outcomes = Vec::new();
    for name in &args.names {
        if !list.remove(name) {
            let one = Diagnostic::error(Class::Usage, format!("no repo named \"{name}\" found"));
            outcomes.push(CommandOutcome::failed(one.into()));
            // As in Helm: repositories that were named before are removed.
            break;
        }
        list.write(&path)?;
        index::forget(&cache, name)?;
        let text = format!("\"{name}\" has been removed from your repositories\n");
        outcomes.push(done(report::Outcome::Removed, name, &path, text));
    }
    Ok(CommandResult::Many(outcomes))
}

fn make_index(args: &RepoIndexArgs, context: &Context<'_>) -> Result<CommandResult> {
    let now = crate::dependencies::timestamp(context.world)?;
    let mut made = MadeIndex::of_folder(&args.dir, &args.url, &now)?;
    if let Some(path) = args.merge.as_ref().filter(|path| path.exists()) {
        made.merge(path)?;
    }
    let text = match args.json {
        true => made.to_json(),
        false => made.to_yaml(),
    };
    let path = args.dir.join("index.yaml");
    fsio::write_atomically(&path, text.as_bytes())
        .map_err(|error| fsio::cannot("write", &path, &error, Class::Io))?;
    let shown = path.display().to_string();
    let text = match context.called_as.is_helm() {
        true => String::new(),
        false => format!("Wrote: {shown}\n"),
    };
    let outcome = CommandOutcome {
        report: Report {
            outcome: Some(report::Outcome::Saved),
            file: Some(shown),
            ..Report::default()
        },
        text,
        problem: None,
    };
    Ok(CommandResult::One(Box::new(outcome)))
}
