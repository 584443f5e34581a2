use super::*;
use crate::world::Fixed;

/// A folder of kubeconfigs, by name.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const WHOLE: &str = "\
apiVersion: v1
kind: Config
current-context: prod
contexts:
- name: prod
  context: {cluster: one, user: me, namespace: shop}
- name: anonymous
  context: {cluster: two}
clusters:
- name: one
  cluster:
    server: https://10.0.0.1:6443/path
    certificate-authority-data: Y2E=
    tls-server-name: api.test
- name: two
  cluster: {server: http://localhost:8080, insecure-skip-tls-verify: true, proxy-url: 'http://u:t0p@p.test'}
users:
- name: me
  user: {client-certificate-data: Y2VydA==, client-key: key.pem, token: t0p}
";

fn choose(folder: &tempfile::TempDir, context: Option<&str>) -> KubeconfigChoice {
    KubeconfigChoice {
        file: Some(folder.path().join("config")),
        context: context.map(str::to_owned),
    }
}

#[test]
fn a_context_has_a_server_and_a_user() {
    let folder = folder(&[("config", WHOLE), ("key.pem", "the key")]);
    let found = connection(&choose(&folder, None), &Fixed::default()).unwrap();
    assert_eq!(
        (found.context.as_str(), found.server.as_str()),
        ("prod", "https://10.0.0.1:6443/path")
    );
    assert_eq!(found.authority.as_deref(), Some("ca"));
    assert_eq!(found.server_name.as_deref(), Some("api.test"));
    let (certificate, key) = found.user.identity.as_ref().unwrap();
    assert_eq!((certificate.as_str(), key.expose()), ("cert", "the key"));
    assert!(!format!("{found:?}").contains("t0p"));
    let found = connection(&choose(&folder, Some("anonymous")), &Fixed::default()).unwrap();
    assert!(found.insecure && found.user.token.is_none());
    assert_eq!(
        found.proxy.as_ref().map(Secret::expose),
        Some("http://u:t0p@p.test")
    );
    assert!(!format!("{found:?}").contains("t0p"));
    let by_variable = Fixed::with_env(&[("HELM_KUBECONTEXT", "anonymous")]);
    let found = connection(&choose(&folder, None), &by_variable).unwrap();
    assert_eq!(found.context, "anonymous");
}

/// As kubectl merges them: what comes first counts.
#[test]
fn files_of_the_variable_are_merged() {
    let first = "current-context: other\nusers:\n- {name: me, user: {token: first}}\n";
    let folder = folder(&[("first", first), ("config", WHOLE), ("key.pem", "key")]);
    let list = ["missing", "first", "config"].map(|name| folder.path().join(name));
    let list = std::env::join_paths(list).unwrap();
    let world = Fixed::with_env(&[("KUBECONFIG", list.to_str().unwrap())]);
    let choice = KubeconfigChoice {
        file: None,
        context: Some("prod".to_owned()),
    };
    let found = connection(&choice, &world).unwrap();
    assert_eq!(found.user.token.as_ref().map(Secret::expose), Some("first"));
    assert!(found.user.identity.is_none());
    let problem = connection(&KubeconfigChoice::default(), &world).unwrap_err();
    assert!(
        problem.to_string().contains("no context is named \"other\""),
        "{problem}"
    );
}

/// The user of the whole kubeconfig.
const USER: &str = "{client-certificate-data: Y2VydA==, client-key: key.pem, token: t0p}";

/// What takes the place of what, and what is then said.
const MISTAKES: &[(&str, &str, Class, &str)] = &[
    (
        "prod\ncontexts",
        "prof\ncontexts",
        Class::Usage,
        "no context is named \"prof\"",
    ),
    (
        "current-context: prod\n",
        "",
        Class::Usage,
        "no current-context is set",
    ),
    (
        "cluster: one",
        "cluster: t0p",
        Class::Config,
        "config:6: cluster names no cluster that there is",
    ),
    (
        "user: me,",
        "user: t0p,",
        Class::Config,
        "config:6: user names no user that there is",
    ),
    (
        "https://10.0.0.1:6443/path",
        "t0p",
        Class::Config,
        "config:12: server is no https:// URL",
    ),
    (
        "    server: https://10.0.0.1:6443/path\n",
        "",
        Class::Config,
        "config:12: there is no server",
    ),
    (
        "Y2E=",
        "t0p",
        Class::Config,
        "config:13: certificate-authority-data is not base64",
    ),
    (
        "tls-server-name: api.test",
        "insecure-skip-tls-verify: true",
        Class::Config,
        "config:14: insecure-skip-tls-verify can't be given",
    ),
    (
        "tls-server-name: api.test",
        "insecure-skip-tls-verify: t0p",
        Class::Config,
        "config:14: insecure-skip-tls-verify is neither",
    ),
    (
        "client-key: key.pem, ",
        "",
        Class::Config,
        "config:19: there is no client-key-data",
    ),
    ("key.pem", "missing.pem", Class::Config, "missing.pem"),
    (
        "token: t0p",
        "token: [t0p]",
        Class::Config,
        "config:19: token is no text",
    ),
    (
        "token: t0p",
        "auth-provider: {name: gcp, config: {t0p: x}}",
        Class::Config,
        "config:19: auth-provider is no longer",
    ),
    (
        USER,
        "{exec: {command: t0p}}",
        Class::Config,
        "config:19: apiVersion is neither",
    ),
    (
        USER,
        "{exec: {apiVersion: client.authentication.k8s.io/v1, env: [{name: A, value: t0p}]}}",
        Class::Config,
        "config:19: there is no command",
    ),
    (
        USER,
        "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, env: [{name: A, value: t0p}]}}",
        Class::Config,
        "config:19: there is no interactiveMode",
    ),
    (
        USER,
        "{exec: {command: x, interactiveMode: t0p, apiVersion: client.authentication.k8s.io/v1, env: [{name: A, value: t0p}]}}",
        Class::Config,
        "config:19: interactiveMode is none",
    ),
];

fn is_named(text: &str, class: Class, expected: &str) {
    let folder = folder(&[("config", text), ("key.pem", "key")]);
    let problem = connection(&choose(&folder, None), &Fixed::default()).unwrap_err();
    assert!(problem.to_string().contains(expected), "{expected}: {problem}");
    assert_eq!(problem.class(), class, "{expected}");
    let shown = format!("{problem:?}");
    assert!(!shown.contains("t0p"), "{shown}");
}

#[test]
fn what_is_wrong_is_named_with_file_and_line_and_without_values() {
    for (from, to, class, expected) in MISTAKES {
        assert!(WHOLE.contains(from), "{from}");
        is_named(&WHOLE.replace(from, to), *class, expected);
    }
    is_named(
        &format!("{WHOLE}\nt0p: {{"),
        Class::Config,
        "the kubeconfig is not YAML",
    );
    for text in ["t0p", "kind: Pod"] {
        is_named(text, Class::Config, "config:1: not a kubeconfig");
    }
}

#[test]
fn a_context_with_a_similar_name_is_a_hint() {
    let similar = folder(&[("config", WHOLE), ("key.pem", "key")]);
    let problem = connection(&choose(&similar, Some("prot")), &Fixed::default()).unwrap_err();
    assert_eq!(problem.iter().next().unwrap().hints, ["did you mean \"prod\"?"]);
}

#[test]
fn without_a_kubeconfig_the_error_says_where_one_was_searched() {
    let folder = folder(&[]);
    let home = folder.path().to_str().unwrap();
    let world = Fixed::with_env(&[("HOME", home)]);
    let problem = connection(&KubeconfigChoice::default(), &world).unwrap_err();
    assert!(problem.to_string().contains("/.kube/config"), "{problem}");
    let problem = connection(&KubeconfigChoice::default(), &Fixed::default()).unwrap_err();
    assert_eq!(problem.to_string(), "there is no kubeconfig");
    let problem = connection(&choose(&folder, None), &Fixed::default()).unwrap_err();
    assert_eq!(problem.class(), Class::Config, "{problem}");
    let huge = " ".repeat(MAX_FILE + 1);
    let folder = self::folder(&[("config", &huge)]);
    let problem = connection(&choose(&folder, None), &Fixed::default()).unwrap_err();
    assert!(problem.to_string().contains("4 MiB"), "{problem}");
}

/// A slash makes a path of a command, below the kubeconfig's folder.
#[test]
fn a_programs_path_is_relative_to_the_kubeconfig() {
    for (command, is_relative) in [("aws", false), ("./bin/aws", true), ("/usr/bin/aws", false)] {
        let user = format!(
            "{{exec: {{apiVersion: client.authentication.k8s.io/v1beta1, command: {command}, args: [get, token]}}}}"
        );
        let own = "{client-certificate-data: Y2VydA==, client-key: key.pem, token: t0p}";
        let folder = folder(&[("config", &WHOLE.replace(own, &user))]);
        let found = connection(&choose(&folder, None), &Fixed::default()).unwrap();
        let plugin = found.user.exec.unwrap();
        assert_eq!(plugin.args, ["get", "token"]);
        assert_eq!(plugin.interactive, InteractiveMode::IfAvailable);
        let expected = match is_relative {
            true => folder.path().join(command),
            false => PathBuf::from(command),
        };
        assert_eq!(plugin.command, expected);
    }
}
