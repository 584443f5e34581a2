//! Kubeconfigs, as kubectl reads them: `--kubeconfig`, else the files of KUBECONFIG, else `~/.kube/config`; of entries
//! with the same name the first one counts.
//!
//! In: files. Out: a [`Connection`]: the server and the user of a context. Errors name file and line, and never have
//! anything of the text, which holds passwords.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use crate::diag::{Class, Diagnostic, Result, did_you_mean};
use crate::fsio;
use crate::secret::Secret;
use crate::source::Source;
use crate::world::World;
use crate::yaml::{self, Node};

/// The maximum size of a kubeconfig, and of a file that it names, in bytes.
pub(crate) const MAX_FILE: usize = 4 << 20;
/// The maximum number of files in KUBECONFIG.
const MAX_FILES: usize = 100;

/// Which kubeconfig, and which of its contexts.
#[derive(Debug, Clone, Default)]
pub(crate) struct KubeconfigChoice {
    /// `--kubeconfig`
    pub(crate) file: Option<PathBuf>,
    /// `--kube-context`
    pub(crate) context: Option<String>,
}

/// The server and the user of a context.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The context's name.
    pub(crate) context: String,
    /// The cluster's URL.
    pub(crate) server: Url,
    /// PEM certificates that are trusted, instead of the system's.
    pub(crate) authority: Option<String>,
    /// The name that the certificate must have.
    pub(crate) server_name: Option<String>,
    /// Whether any certificate is accepted.
    pub(crate) insecure: bool,
    /// A proxy's URL, which may have a password.
    pub(crate) proxy: Option<Secret>,
    /// How the user says who it is.
    pub(crate) user: User,
}

/// A user of a kubeconfig.
#[derive(Debug, Default)]
pub(crate) struct User {
    /// A bearer token.
    pub(crate) token: Option<Secret>,
    /// The client certificate and its key, PEM.
    pub(crate) identity: Option<(String, Secret)>,
    /// A name and a password.
    pub(crate) basic: Option<(String, Secret)>,
    /// A program that prints a token or a client certificate.
    pub(crate) exec: Option<ExecPlugin>,
    /// On whose behalf requests are made.
    pub(crate) impersonated: Option<Impersonated>,
}

/// A program that prints credentials.
#[derive(Debug)]
pub(crate) struct ExecPlugin {
    pub(crate) api_version: String,
    pub(crate) command: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, Secret)>,
    pub(crate) interactive: InteractiveMode,
    /// Whether the program is told which cluster it is for.
    pub(crate) provides_cluster: bool,
    /// What to install, if the program is missing.
    pub(crate) install_hint: String,
    /// The file and the line that name it.
    pub(crate) at: String,
}

/// Whether a program gets the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InteractiveMode {
    Never,
    IfAvailable,
    Always,
}

/// Another user, on whose behalf requests are made.
#[derive(Debug)]
pub(crate) struct Impersonated {
    pub(crate) user: String,
    pub(crate) uid: Option<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: Vec<(String, String)>,
}

/// A file of a kubeconfig.
struct KubeconfigFile {
    path: PathBuf,
    source: Arc<Source>,
    root: Node,
}

/// A named entry of a file.
#[derive(Clone, Copy)]
struct Item<'f> {
    file: &'f KubeconfigFile,
    node: &'f Node,
}

/// Reads the kubeconfig, and takes a context of it.
///
/// # Errors
/// Class usage: there is no kubeconfig, or no such context. Class config: what is missing or wrong in a file. Class io: a
/// file can't be read.
pub(crate) fn connection(choice: &KubeconfigChoice, world: &dyn World) -> Result<Connection> {
    let files = read_all(choice, world)?;
    let current = files.iter().find_map(|file| file.top("current-context"));
    let given = choice.context.clone().filter(|name| !name.is_empty());
    let name = given.or_else(|| world.env("HELM_KUBECONTEXT"));
    let name = match name.or_else(|| current.map(str::to_owned)) {
        Some(name) => name,
        None => {
            let message = format!("{}: no current-context is set", shown(&files));
            let hint = format!(
                "--kube-context chooses one of: {}",
                names(&files, "contexts").join(", ")
            );
            return Err(Diagnostic::error(Class::Usage, message).hint(hint).into());
        }
    };
    let Some(context) = find(&files, "contexts", "context", &name) else {
        let known = names(&files, "contexts");
        let one = Diagnostic::error(
            Class::Usage,
            format!("{}: no context is named {name:?}", shown(&files)),
        );
        return Err(match did_you_mean(&name, known.iter().copied()) {
            Some(similar) => one.hint(format!("did you mean {similar:?}?")),
            None => one.hint(format!("there are: {}", known.join(", "))),
        }
        .into());
    };
    let referred = |field: &str, list: &str| -> Result<Item<'_>> {
        let name = context.text(field)?.unwrap_or_default();
        let found = find(&files, list, field, name);
        found.ok_or_else(|| context.wrong(field, &format!("names no {field} that there is")))
    };
    let cluster = referred("cluster", "clusters")?;
    let user = match context.text("user")? {
        Some(_) => of_user(referred("user", "users")?)?,
        None => User::default(),
    };
    of_cluster(name, cluster, user)
}

fn of_cluster(context: String, cluster: Item<'_>, user: User) -> Result<Connection> {
    let Some(server) = cluster.text("server")? else {
        return Err(cluster.missing("server"));
    };
    let server = Url::parse(server)
        .ok()
        .filter(|url| matches!(url.scheme(), "https" | "http") && url.has_host());
    let server = server.ok_or_else(|| cluster.wrong("server", "is no https:// URL"))?;
    let insecure = cluster.flag("insecure-skip-tls-verify")?;
    let authority = cluster.data("certificate-authority")?;
    if insecure && authority.is_some() {
        let why = "can't be given with a certificate authority";
        return Err(cluster.wrong("insecure-skip-tls-verify", why));
    }
    Ok(Connection {
        context,
        server,
        authority: authority.map(|text| text.expose().to_owned()),
        server_name: cluster.text("tls-server-name")?.map(str::to_owned),
        insecure,
        proxy: cluster.text("proxy-url")?.map(Secret::new),
        user,
    })
}

fn of_user(user: Item<'_>) -> Result<User> {
    if user.node.get("auth-provider").is_some_and(|node| !node.is_null()) {
        let why = "is no longer supported by Kubernetes' clients: use an exec plugin";
        return Err(user.wrong("auth-provider", why));
    }
    let token = match (user.text("tokenFile")?, user.text("token")?) {
        (Some(path), _) => Some(Secret::new(user.read("tokenFile", path)?.expose().trim())),
        (None, token) => token.map(Secret::new),
    };
    let certificate = user.data("client-certificate")?;
    let key = user.data("client-key")?;
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate.expose().to_owned(), key)),
        (None, None) => None,
        (Some(_), None) => return Err(user.missing("client-key-data, but a client certificate")),
        (None, Some(_)) => return Err(user.missing("client-certificate-data, but a client key")),
    };
    let name = user.text("username")?;
    let password = user.text("password")?;
    Ok(User {
        token,
        identity,
        basic: name.map(|name| (name.to_owned(), Secret::new(password.unwrap_or_default()))),
        exec: match user.node.get("exec").filter(|node| !node.is_null()) {
            Some(node) => Some(exec(Item { node, ..user })?),
            None => None,
        },
        impersonated: impersonated(user)?,
    })
}

fn impersonated(user: Item<'_>) -> Result<Option<Impersonated>> {
    let Some(name) = user.text("as")? else {
        return Ok(None);
    };
    let extra = user
        .node
        .get("as-user-extra")
        .map(Node::entries)
        .unwrap_or_default();
    let extra = extra.iter().flat_map(|entry| {
        let values = entry.value.items().iter().filter_map(Node::as_str);
        values.map(|value| (entry.key.clone(), value.to_owned()))
    });
    Ok(Some(Impersonated {
        user: name.to_owned(),
        uid: user.text("as-uid")?.map(str::to_owned),
        groups: user.list("as-groups")?,
        extra: extra.collect(),
    }))
}

/// A command with a slash is relative to the kubeconfig's folder.
fn exec(plugin: Item<'_>) -> Result<ExecPlugin> {
    let Some(command) = plugin.text("command")? else {
        return Err(plugin.missing("command"));
    };
    let api_version = plugin.text("apiVersion")?.unwrap_or_default();
    if !matches!(
        api_version,
        "client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1"
    ) {
        let why = "is neither client.authentication.k8s.io/v1 nor client.authentication.k8s.io/v1beta1";
        return Err(plugin.wrong("apiVersion", why));
    }
    let interactive = match plugin.text("interactiveMode")? {
        Some("Never") => InteractiveMode::Never,
        Some("Always") => InteractiveMode::Always,
        Some("IfAvailable") => InteractiveMode::IfAvailable,
        None if api_version.ends_with("v1beta1") => InteractiveMode::IfAvailable,
        None => return Err(plugin.missing("interactiveMode")),
        Some(_) => return Err(plugin.wrong("interactiveMode", "is none of Never, IfAvailable and Always")),
    };
    let mut env = Vec::new();
    for one in plugin.node.get("env").map(Node::items).unwrap_or_default() {
        let one = Item { node: one, ..plugin };
        let Some(name) = one.text("name")? else {
            return Err(one.missing("name"));
        };
        env.push((
            name.to_owned(),
            Secret::new(one.text("value")?.unwrap_or_default()),
        ));
    }
    // As Go's exec.LookPath: only a name without a slash is searched.
    let path = match command.contains('/') {
        true => plugin.file.folder().join(command),
        false => PathBuf::from(command),
    };
    Ok(ExecPlugin {
        api_version: api_version.to_owned(),
        command: path,
        args: plugin.list("args")?,
        env,
        interactive,
        provides_cluster: plugin.flag("provideClusterInfo")?,
        install_hint: plugin.text("installHint")?.unwrap_or_default().to_owned(),
        at: plugin.at("command"),
    })
}

/// Where kubeconfigs are, in the order in which they count: the given file, else those of KUBECONFIG, else the user's.
pub(crate) fn paths(given: Option<&Path>, world: &dyn World) -> Vec<PathBuf> {
    let given = given.filter(|path| !path.as_os_str().is_empty());
    match (given, world.env("KUBECONFIG")) {
        (Some(path), _) => vec![path.to_owned()],
        (None, Some(list)) => std::env::split_paths(&list)
            .filter(|path| !path.as_os_str().is_empty())
            .take(MAX_FILES)
            .collect(),
        (None, None) => {
            let home = world.home();
            home.map(|home| home.join(".kube/config")).into_iter().collect()
        }
    }
}

/// All files, in the order in which they count.
fn read_all(choice: &KubeconfigChoice, world: &dyn World) -> Result<Vec<KubeconfigFile>> {
    let paths = paths(choice.file.as_deref(), world);
    if let Some(file) = choice.file.as_deref().filter(|path| !path.as_os_str().is_empty()) {
        return Ok(vec![read(file)?]);
    }
    // As in kubectl: of several files some may be missing.
    let files = paths.iter().filter(|path| path.exists()).map(|path| read(path));
    let files = files.collect::<Result<Vec<_>>>()?;
    if !files.is_empty() {
        return Ok(files);
    }
    let searched: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let message = match searched.is_empty() {
        true => "there is no kubeconfig".to_owned(),
        false => format!("there is no kubeconfig at {}", searched.join(" or ")),
    };
    let one = Diagnostic::error(Class::Usage, message);
    Err(one
        .hint("--kubeconfig FILE or the variable KUBECONFIG names one")
        .into())
}

fn read(path: &Path) -> Result<KubeconfigFile> {
    let source = fsio::read_text(path, MAX_FILE, Class::Config)?;
    let wrong = |line: usize, why: &str| {
        let message = format!("{}:{line}: {why}", path.display());
        Diagnostic::error(Class::Config, message).into()
    };
    // The excerpt that such an error is drawn with would show the text.
    let root = yaml::parse(&source, Class::Config, &yaml::Limits::default()).map_err(|problem| {
        let location = problem.location().cloned();
        let line = location.map_or(1, |location| location.position().line);
        wrong(line, "the kubeconfig is not YAML")
    })?;
    let file = KubeconfigFile {
        path: path.to_owned(),
        source,
        root,
    };
    let is = |key: &str, expected: &str| file.top(key).is_none_or(|found| found == expected);
    if file.root.entries().is_empty() || !is("kind", "Config") || !is("apiVersion", "v1") {
        return Err(wrong(1, "not a kubeconfig: expected apiVersion v1, kind Config"));
    }
    Ok(file)
}

fn shown(files: &[KubeconfigFile]) -> String {
    let paths: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
    paths.join(", ")
}

fn names<'f>(files: &'f [KubeconfigFile], list: &str) -> Vec<&'f str> {
    let items = files.iter().flat_map(|file| file.items(list));
    items.filter_map(|item| item.get("name")?.as_str()).collect()
}

/// The entry with a name; `field` has what is in it.
fn find<'f>(files: &'f [KubeconfigFile], list: &str, field: &str, name: &str) -> Option<Item<'f>> {
    files.iter().find_map(|file| {
        let mut items = file.items(list).iter();
        let item = items.find(|item| item.get("name").and_then(Node::as_str) == Some(name))?;
        let node = item.get(field)?;
        Some(Item { file, node })
    })
}

impl KubeconfigFile {
    fn top(&self, key: &str) -> Option<&str> {
        self.root.get(key)?.as_str().filter(|text| !text.is_empty())
    }

    fn items(&self, list: &str) -> &[Node] {
        self.root.get(list).map(Node::items).unwrap_or_default()
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

impl<'f> Item<'f> {
    /// A field's text; `None` if it is absent or empty.
    fn text(&self, field: &str) -> Result<Option<&'f str>> {
        match self.node.get(field) {
            Some(node) if !node.is_null() => match node.as_str() {
                Some(text) => Ok(Some(text).filter(|text| !text.is_empty())),
                None => Err(self.wrong(field, "is no text")),
            },
            _ => Ok(None),
        }
    }

    fn flag(&self, field: &str) -> Result<bool> {
        match self.node.get(field).map(|node| node.to_value()) {
            None | Some(crate::value::Value::Null) => Ok(false),
            Some(crate::value::Value::Bool(value)) => Ok(value),
            Some(_) => Err(self.wrong(field, "is neither true nor false")),
        }
    }

    fn list(&self, field: &str) -> Result<Vec<String>> {
        let items = self.node.get(field).map(Node::items).unwrap_or_default();
        let texts = items.iter().map(|item| {
            let text = item.as_str().map(str::to_owned);
            text.ok_or_else(|| self.wrong(field, "has an item that is no text"))
        });
        texts.collect()
    }

    /// What `<field>-data` has as base64, else the content of the file that `<field>` names.
    fn data(&self, field: &str) -> Result<Option<Secret>> {
        let inline = format!("{field}-data");
        if let Some(data) = self.text(&inline)? {
            let decoded = STANDARD.decode(data.trim()).ok();
            let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            let decoded = decoded.ok_or_else(|| self.wrong(&inline, "is not base64 of a PEM text"))?;
            return Ok(Some(Secret::new(decoded)));
        }
        match self.text(field)? {
            Some(path) => self.read(field, path).map(Some),
            None => Ok(None),
        }
    }

    /// A file that is named by a field, relative to the kubeconfig's folder.
    fn read(&self, field: &str, path: &str) -> Result<Secret> {
        let path = self.file.folder().join(path);
        let text = fsio::read_text(&path, MAX_FILE, Class::Config).map_err(|problem| {
            let note = format!("{} names it", self.at(field));
            let list = problem.into_vec().into_iter();
            list.map(|one| {
                Diagnostic {
                    location: None,
                    ..one
                }
                .note(note.clone())
            })
            .collect::<crate::diag::Diagnostics>()
        })?;
        Ok(Secret::new(text.text()))
    }

    /// The file and the line of a field, else of the entry.
    fn at(&self, field: &str) -> String {
        let mut entries = self.node.entries().iter();
        let own = entries
            .find(|entry| entry.key == field)
            .map(|entry| entry.key_span.start);
        let line = self
            .file
            .source
            .position(own.unwrap_or(self.node.span.start))
            .line;
        format!("{}:{line}", self.file.path.display())
    }

    fn wrong(&self, field: &str, why: &str) -> crate::diag::Diagnostics {
        let message = format!("{}: {field} {why}", self.at(field));
        Diagnostic::error(Class::Config, message).into()
    }

    fn missing(&self, field: &str) -> crate::diag::Diagnostics {
        let message = format!("{}: there is no {field}", self.at(""));
        Diagnostic::error(Class::Config, message).into()
    }
}

#[cfg(test)]
#[path = "kubeconfig_tests.rs"]
mod tests;
