//! Called as `helm`: the same lines give what Helm gives, on standard output, in its files and as exit codes; all of
//! Helm's help is walked.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testbed::{Registry, Tool};

use crate::dependency::{chart, web};
use crate::{Run, binary, command};

/// A folder in which `helm` is one of the two.
pub(crate) struct Home {
    pub(crate) folder: tempfile::TempDir,
}

impl Home {
    pub(crate) fn of(program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        symlink(program, folder.path().join("bin/helm")).unwrap();
        Self { folder }
    }

    pub(crate) fn helm() -> Self {
        Self::of(&Tool::Helm.path())
    }

    pub(crate) fn ours() -> Self {
        Self::of(binary())
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A command in the folder, in which `helm` is found.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", format!("{}:/usr/bin:/bin", self.at("bin").display()))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// What a line of shell prints, with this folder as `HERE`.
    pub(crate) fn sh(&self, line: &str) -> Run {
        let run = Run::of(self.command("sh").args(["-c", line]));
        let here = self.folder.path().display().to_string();
        Run {
            stdout: run.stdout.replace(&here, "HERE"),
            ..run
        }
    }
}

/// What a server has: an index at its top, and archives that Helm packed.
fn served(helm: &Home) -> BTreeMap<String, Vec<u8>> {
    for version in ["0.1.0", "0.1.10", "0.2.0-rc.1"] {
        chart(&helm.at("src/app"), "app", version, &[]);
        let text = format!(
            "apiVersion: v2\nname: app\nversion: {version}\nappVersion: '1.16'\ndescription: A server of pages\nkeywords: [http]\n"
        );
        fs::write(helm.at("src/app/Chart.yaml"), text).unwrap();
        assert_eq!(helm.sh("helm package src/app -d served").code, 0);
    }
    assert_eq!(helm.sh("helm repo index served").code, 0);
    let files = fs::read_dir(helm.at("served")).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = format!("/{}", entry.file_name().to_string_lossy());
        (name, fs::read(entry.path()).unwrap())
    });
    let mut files: BTreeMap<String, Vec<u8>> = files.collect();
    files.insert("/values.yaml".to_owned(), b"greeting: from afar\n".to_vec());
    files
}

/// A chart folder with values, in both homes.
fn give_charts(homes: [&Home; 2]) {
    for home in homes {
        let folder = home.at("shop");
        chart(&folder, "shop", "1.0.0", &[]);
        fs::write(
            folder.join("values.yaml"),
            "greeting: hello\nimage: {repository: nginx, tag: ''}\nhosts: [{name: a, port: 1}, {name: b, port: 2}]\n",
        )
        .unwrap();
        fs::write(
            folder.join("templates/x.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: {{ .Release.Namespace }}}\ndata: {greeting: {{ .Values.greeting }}}\n",
        )
        .unwrap();
    }
}

/// Both run each line, in order; what is not the same, with both results.
fn differences(lines: &[&str], server: &str) -> Vec<String> {
    let (helm, ours) = (Home::helm(), Home::ours());
    give_charts([&helm, &ours]);
    let mut wrong = Vec::new();
    for line in lines {
        let line = line.replace("SERVER", server);
        let [theirs, own] = [&helm, &ours].map(|home| home.sh(&line));
        if (theirs.code, &theirs.stdout) != (own.code, &own.stdout) {
            wrong.push(format!(
                "{line}\nhelm {}: {}{}\nours {}: {}{}",
                theirs.code, theirs.stdout, theirs.stderr, own.code, own.stdout, own.stderr
            ));
        }
    }
    wrong
}

fn assert_same(lines: &[&str]) {
    let packer = Home::helm();
    let server = web(served(&packer), None);
    let wrong = differences(lines, &format!("http://{}", server.host()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn repositories_are_kept_and_searched_as_helm_does() {
    assert_same(&[
        "helm repo list",
        "helm repo list -o json",
        "helm repo list -o yaml",
        "helm repo update",
        "helm search repo x",
        "helm repo remove x",
        "helm repo add mine SERVER",
        "helm repo add mine SERVER",
        "helm repo add mine SERVER/x",
        "helm repo add mine SERVER/ --force-update",
        "helm repo add bad SERVER/none",
        "helm repo add a/b SERVER",
        "helm repo add gone https://kubernetes-charts.storage.googleapis.com",
        "helm repo add x",
        "helm repo add two SERVER --username u --password p --pass-credentials",
        "cat .config/helm/repositories.yaml",
        "stat -c %a .config/helm/repositories.yaml .config/helm/repositories.lock",
        "find .cache/helm .config/helm -type f | sort",
        "cat .cache/helm/repository/mine-index.yaml .cache/helm/repository/mine-charts.txt",
        "helm repo list",
        "helm repo list --no-headers",
        "helm repo ls -o json",
        "helm repo list -o yaml",
        "helm repo update mine",
        "helm repo up nope",
        "helm search repo",
        "helm search repo app",
        "helm search repo PAGES",
        "helm search repo http -l",
        "helm search repo -l --devel",
        "helm search repo --version '>0.1.5'",
        "helm search repo --version '>9'",
        "helm search repo --version 'not a range'",
        "helm search repo -o json",
        "helm search repo -o yaml",
        "helm search repo -o table",
        "helm search repo zzz",
        "helm search repo zzz -o json",
        "helm search repo zzz --fail-on-no-result",
        "helm search repo -r '^app'",
        "helm search repo -r '('",
        "helm search repo app --max-col-width 10",
        "helm search repo -o json -l mine/",
        "helm show chart mine/app",
        "helm show values mine/app --version 0.1.0",
        "helm template x mine/app --version '>0.1.5'",
        "helm pull mine/app && ls *.tgz",
        "helm pull mine/none",
        "helm pull nope/app",
        "helm template x mine/app --version 9",
        "helm repo remove nope",
        "helm repo remove two nope",
        "helm repo rm two",
        "cat .config/helm/repositories.yaml",
        "find .cache/helm/repository -type f | sort",
        "HELM_REPOSITORY_CONFIG=$HOME/list helm repo add other SERVER && ls",
        "HELM_REPOSITORY_CACHE=$HOME/indexes helm repo update && ls indexes",
        "helm search hub x",
    ]);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn charts_are_read_packed_and_listed_as_helm_does() {
    assert_same(&[
        "helm version",
        "helm version --short",
        "helm version --template '{{.Version}} {{.GoVersion}}'",
        "helm version --template '{{.Nope}}'",
        "helm version more",
        "helm env",
        "helm env HELM_NAMESPACE",
        "helm env NOPE",
        "helm -n x env HELM_NAMESPACE",
        "HELM_CACHE_HOME=/c HELM_DATA_HOME=/d HELM_BURST_LIMIT=7 HELM_QPS=1.5 helm env | grep -v HELM_BIN",
        "helm plugin list",
        "helm plugin ls",
        "helm nope",
        "helm template",
        "helm show values shop --jsonpath '{.image.repository}'",
        "helm show values shop --jsonpath '{.image}'",
        "helm show values shop --jsonpath '{.nope}'",
        "helm show values shop --jsonpath '{range .hosts[*]}{.name}={.port}{\"\\n\"}{end}'",
        "helm show values shop --jsonpath '{.hosts[?(@.name==\"b\")].port} {.hosts[-1].name} {.hosts[0,1].name}'",
        "helm show values shop --jsonpath '{..repository}'",
        "helm show values shop --jsonpath '{.image'",
        "helm show all shop --jsonpath '{.x}'",
        "helm template x shop -f SERVER/values.yaml",
        "helm template x shop --set-file greeting=SERVER/values.yaml",
        "helm template x shop -f SERVER/none.yaml",
        "helm --namespace n template x shop --debug=false",
        "helm lint shop",
        "helm lint nowhere",
        "helm dependency list shop",
        "helm dep build shop",
        "helm package shop -d packed && ls packed",
        "helm package shop -d packed --version 2.0.0 --app-version 7 && ls packed",
        "helm verify packed/shop-2.0.0.tgz",
        "mkdir got; helm pull SERVER/app-0.1.0.tgz -d got; ls got",
        "helm pull app --repo SERVER --version 0.1.0 --untar --untardir u; ls u",
        "helm repo index empty",
        "mkdir e; helm repo index e; sed 's/20..-[^\"]*/T/' e/index.yaml",
        "mkdir i; cp got/* i; helm repo index i; sed 's/20..-[^\"]*/T/' i/index.yaml",
        "helm repo index i --url SERVER/x/ --merge i/index.yaml; sed 's/20..-[^\"]*/T/' i/index.yaml",
        "rm i/index.yaml; helm repo index i --json; sed 's/20..-[^\"]*/T/' i/index.yaml",
        "helm create new && helm lint new --strict",
        "helm create 'x y' >/dev/null",
        "helm create",
        "helm registry logout 127.0.0.1:1",
        "helm repo >/dev/null",
        "helm >/dev/null",
        "helm completion nosuch >/dev/null; helm completion bash --no-descriptions >/dev/null",
    ]);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn registries_are_filled_and_read_as_by_helm() {
    let registry = Registry::start();
    let (helm, ours) = (Home::helm(), Home::ours());
    give_charts([&helm, &ours]);
    let mut wrong = Vec::new();
    for (home, other) in [(&helm, "theirs"), (&ours, "own")] {
        assert_eq!(home.sh("helm package shop").code, 0);
        fs::write(home.at("to"), format!("oci://{}/{other}", registry.host())).unwrap();
    }
    for line in [
        "helm push shop-1.0.0.tgz $(cat to) --plain-http",
        "sed -i s/hello/changed/ shop/values.yaml && helm package shop && helm push shop-1.0.0.tgz $(cat to) --plain-http",
        "helm pull $(cat to)/shop --plain-http -d . && ls",
        "helm pull $(cat to)/shop --plain-http --version 9",
        "helm show values $(cat to)/shop --plain-http",
        "helm template x $(cat to)/shop --plain-http --version '^1'",
    ] {
        let masked = |run: Run| {
            let text = run.stdout.replace("/theirs", "/HERE").replace("/own", "/HERE");
            let lines = text.lines().map(|line| match line.split_once("sha256:") {
                // Times in the archives differ, and so do the digests.
                Some((before, _)) => format!("{before}sha256:…"),
                None => line.to_owned(),
            });
            (run.code, lines.collect::<Vec<_>>().join("\n"), run.stderr)
        };
        let (theirs, own) = (masked(helm.sh(line)), masked(ours.sh(line)));
        if (theirs.0, &theirs.1) != (own.0, &own.1) {
            wrong.push(format!("{line}\nhelm {theirs:?}\nours {own:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What Argo CD 3.6's repo-server calls, with its order of flags.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn argo_cds_calls_give_what_they_give_with_helm() {
    assert_same(&[
        "helm version --short",
        "helm repo add --username u --password p --insecure-skip-tls-verify --pass-credentials argo SERVER",
        "helm pull --destination . --version 0.1.0 --repo SERVER app && ls *.tgz",
        "helm pull --destination . --version 0.1.10 --username u --password p --insecure-skip-tls-verify --repo SERVER app --pass-credentials && ls *.tgz",
        "cd shop && helm dependency build",
        "cd shop && helm dependency build --insecure-skip-tls-verify --plain-http",
        "helm show values shop",
        "cd shop && helm show chart .",
        "cd shop && helm template . --name-template one",
        "cd shop && helm template . --name-template one --namespace ns --kube-version 1.34.1 --set greeting=a,hosts=null --set-string image.tag=2 --set-file notes=values.yaml --values values.yaml --api-versions v1 --api-versions monitoring.coreos.com/v1 --include-crds --skip-schema-validation --skip-tests",
        "cd shop && helm template . --name-template one --kube-version nonsense",
        "cd shop && helm template . --name-template one --values none.yaml",
        "helm registry logout 127.0.0.1:1",
    ]);
}

/// Argo CD builds dependencies when it reads these words.
#[test]
fn missing_dependencies_are_named_in_the_words_that_argo_cd_reads() {
    let home = Home::ours();
    let dependency = "{name: sub, version: 1.0.0, repository: 'https://h.example.com'}".to_owned();
    chart(&home.at("c"), "c", "1.0.0", &[dependency]);
    let run = home.sh("cd c && helm template . --name-template one");
    assert!(
        run.code == 1
            && run
                .stderr
                .contains("found in Chart.yaml, but missing in charts/ directory"),
        "{}",
        run.stderr
    );
}

/// The commands that Helm's help lists below one.
fn commands_below(helm: &Home, words: &[String]) -> Vec<Vec<String>> {
    let run = Run::of(helm.command("helm").args(words).arg("--help"));
    assert_eq!(run.code, 0, "{words:?}");
    let list = run.stdout.split("Available Commands:").nth(1).unwrap_or("");
    let list = list.split("\n\n").next().unwrap_or("");
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .flat_map(|name| {
            let below = [words, &[name.to_owned()]].concat();
            let deeper = commands_below(helm, &below);
            std::iter::once(below).chain(deeper)
        })
        .collect()
}

/// The long and short flags that a command's help lists.
fn flags_of(helm: &Home, words: &[String]) -> Vec<(String, bool)> {
    let run = Run::of(helm.command("helm").args(words).arg("--help"));
    let flags = run.stdout.lines().filter_map(|line| {
        let line = line.trim_start();
        let (names, _) = line.split_once("  ").filter(|_| line.starts_with('-'))?;
        Some(names.to_owned())
    });
    let each = flags.flat_map(|names| {
        let words: Vec<String> = names
            .split([' ', ','])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let takes_value = words.iter().any(|word| !word.starts_with('-'));
        words
            .into_iter()
            .filter(|word| word.starts_with('-') && word != "-h" && word != "--help")
            .map(move |word| (word, takes_value))
    });
    each.collect()
}

/// Each command is here with each flag, or is refused with the reason and a substitute.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn all_of_helms_help_is_here_or_refused_with_a_reason() {
    let (helm, ours) = (Home::helm(), Home::ours());
    let commands = commands_below(&helm, &[]);
    assert!(
        commands.len() > 50,
        "Helm's help was not understood: {commands:?}"
    );
    let (mut wrong, mut here, mut refused) = (Vec::new(), 0, 0);
    for words in commands {
        let shown = words.join(" ");
        let help = Run::of(ours.command("helm").args(&words).arg("--help"));
        if help.code != 0 {
            refused += 1;
            if help.code != 1 || !help.stderr.contains("note:") || !help.stderr.contains("help:") {
                wrong.push(format!("{shown}: {} {}", help.code, help.stderr));
            }
            continue;
        }
        here += 1;
        // A command with commands below it does nothing of its own.
        if help.stdout.contains("\nCommands:\n") {
            continue;
        }
        let value = |name: &str| match name {
            "--color" | "--colour" => "never",
            "-o" | "--output" => "json",
            _ => "1",
        };
        for (name, takes_value) in flags_of(&helm, &words) {
            let mut call = ours.command("helm");
            call.args(&words).arg(&name);
            if takes_value {
                call.arg(value(&name));
            }
            let run = Run::of(&mut call);
            if run.stderr.contains("unexpected argument") {
                wrong.push(format!("{shown} {name}: {}", run.stderr));
            }
            if run.stderr.contains("is not supported") && !(run.code == 1 && run.stderr.contains("note:")) {
                wrong.push(format!("{shown} {name}: {} {}", run.code, run.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(here > 30 && refused > 15, "{here} {refused}");
}

fn script(home: &Home, text: &str) -> PathBuf {
    let path = home.at("real-helm");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn what_needs_a_cluster_is_refused_or_handed_to_the_helm_that_is_named() {
    let home = Home::ours();
    chart(&home.at("c"), "c", "1.0.0", &[]);
    let run = |words: &[&str], real: Option<&Path>| {
        let mut command = home.command("helm");
        if let Some(real) = real {
            command.env("SOLAR_HELM", real);
        }
        Run::of(command.args(words))
    };
    let cases: [&[&str]; 6] = [
        &["install", "a", "b"],
        &["-n", "x", "--kube-context", "k", "upgrade", "a", "b"],
        &["delete", "a"],
        &["plugin", "install", "x"],
        &["search", "hub", "x"],
        &["template", "x", "c", "--validate"],
    ];
    let real = script(&home, "#!/bin/sh\necho \"real: $*\"\nexit 7\n");
    for words in cases {
        let refused = run(words, None);
        assert!(
            refused.code == 1 && refused.stdout.is_empty() && refused.stderr.contains("note:"),
            "{words:?}: {}",
            refused.stderr
        );
        let handed = run(words, Some(&real));
        assert_eq!(
            (handed.code, handed.stdout),
            (7, format!("real: {}\n", words.join(" "))),
            "{words:?}"
        );
    }
    // What is here stays here.
    let own = run(&["template", "x", "c"], Some(&real));
    assert_eq!(
        (own.code, own.stdout.starts_with("---\n")),
        (0, true),
        "{}",
        own.stderr
    );
    for (real, reason) in [
        (binary(), "which is solar-render itself"),
        (Path::new("/nowhere"), "can't run /nowhere"),
    ] {
        let failed = run(&["list"], Some(real));
        assert!(
            failed.code == 1 && failed.stderr.contains(reason),
            "{}",
            failed.stderr
        );
    }
}

#[test]
fn every_failure_is_1_and_our_own_commands_are_not_helms() {
    let home = Home::ours();
    for words in [
        ["template", "x", "nowhere"].as_slice(),
        &["template", "--nope"],
        &["push", "nowhere", "oci://127.0.0.1:1/x"],
        &["publish", "."],
        &["digest", "."],
        &["nope"],
        &["pull", "oci://127.0.0.1:1/x/y", "--retries", "0"],
    ] {
        let run = Run::of(home.command("helm").args(words));
        assert_eq!(run.code, 1, "{words:?}: {}", run.stderr);
    }
    let help = Run::of(home.command("helm").arg("--help"));
    assert!(
        help.stdout.contains("Usage: helm") && !help.stdout.contains("publish"),
        "{}",
        help.stdout
    );
    let script = Run::of(home.command("helm").args(["completion", "bash"])).stdout;
    assert!(script.contains("_helm()"), "{script}");
    // The pod that it runs in is another program's.
    let log = Run::of(
        home.command("helm")
            .env("POD_NAME", "p")
            .args(["template", "x", "nowhere"]),
    );
    assert_eq!(log.code, 1);
}

#[test]
fn results_are_documents_under_our_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let mut command = command();
        Run::of(
            command
                .env("HOME", folder.path())
                .current_dir(folder.path())
                .args(words),
        )
    };
    let list = run(&["repo", "list", "-o", "json"]).json();
    assert_eq!(
        (&list["schema"], &list["repositories"]),
        (&1.into(), &serde_json::json!([]))
    );
    let env = run(&["env", "HELM_NAMESPACE", "-o", "json"]).json();
    assert_eq!(
        env["environment"],
        serde_json::json!({"HELM_NAMESPACE": "default"})
    );
    assert_eq!(
        run(&["plugin", "list", "-o", "json"]).json()["plugins"],
        serde_json::json!([])
    );
    assert_eq!(
        run(&["env", "HELM_NAMESPACE", "-o", "yaml"]).stdout,
        "environment:\n  HELM_NAMESPACE: default\nschema: 1\n"
    );
    let missing = run(&["search", "repo", "x", "-o", "json"]);
    assert_eq!(
        (missing.code, &missing.json()["error"]["class"]),
        (2, &"usage".into())
    );
    assert_eq!(
        run(&["version", "--template", "{{ .Version }}"]).stdout,
        format!("v{}", env!("CARGO_PKG_VERSION"))
    );
    let oci = run(&["repo", "add", "x", "oci://h/charts"]);
    assert!(
        oci.code == 2 && oci.stderr.contains("need not be added"),
        "{}",
        oci.stderr
    );
}

#[test]
fn a_new_chart_lints_clean_and_renders_with_every_switch_on() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| Run::of(command().current_dir(folder.path()).args(words));
    for name in ["shop", "Odd_Name.2"] {
        let path = format!("deep/{name}");
        assert_eq!(run(&["create", &path]).stdout, format!("Creating {path}\n"));
        let lint = run(&["lint", &path, "--strict"]);
        assert_eq!((lint.code, lint.stderr.as_str()), (0, ""), "{}", lint.stdout);
        let all = "ingress.enabled=true,autoscaling.enabled=true,resources.requests.cpu=1,podLabels.a=b,image.tag=x,ingress.className=c,ingress.tls[0].secretName=s,serviceAccount.annotations.a=b,volumes[0].name=v,nodeSelector.a=b";
        let document = run(&["template", "r", &path, "--set", all, "-o", "json"]).json();
        let kinds: Vec<&str> = document["objects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["object"]["kind"].as_str().unwrap())
            .collect();
        let expected = [
            "ServiceAccount",
            "Service",
            "Deployment",
            "HorizontalPodAutoscaler",
            "Ingress",
            "Pod",
        ];
        assert_eq!(kinds, expected);
    }
    let again = run(&["create", "deep/shop"]);
    assert!(
        again.code == 0 && again.stderr.contains("already exists"),
        "{}",
        again.stderr
    );
    for bad in ["x y", "..", "/"] {
        let refused = run(&["create", bad]);
        assert!(
            refused.code == 2 && refused.stderr.contains("is no name for a chart"),
            "{bad}: {}",
            refused.stderr
        );
    }
}

#[test]
fn a_starter_is_copied_with_the_charts_name_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let starter = folder.path().join("data/starters/mine");
    chart(&starter, "starter", "7.0.0", &[]);
    fs::write(starter.join("templates/a.yaml"), "a: <CHARTNAME>\n").unwrap();
    fs::write(starter.join("values.yaml"), "own: <CHARTNAME>\n").unwrap();
    let run = |words: &[&str]| {
        let mut command = command();
        Run::of(
            command
                .env("HELM_DATA_HOME", folder.path().join("data"))
                .current_dir(folder.path())
                .args(words),
        )
    };
    for (name, at) in [("one", "mine"), ("two", starter.to_str().unwrap())] {
        assert_eq!(run(&["create", name, "--starter", at]).code, 0);
        let read = |path: &str| fs::read_to_string(folder.path().join(name).join(path)).unwrap();
        assert_eq!(read("templates/a.yaml"), format!("a: {name}\n"));
        assert_eq!(read("values.yaml"), format!("own: {name}\n"));
        assert!(
            read("Chart.yaml").contains(&format!("name: \"{name}\"")),
            "{}",
            read("Chart.yaml")
        );
    }
    assert_eq!(run(&["create", "three", "-p", "nope"]).code, 1);
}

/// Values were refused by URL once.
#[test]
fn values_come_from_urls_too_and_credentials_stay_with_their_server() {
    let folder = tempfile::tempdir().unwrap();
    let shop = folder.path().join("shop");
    chart(&shop, "shop", "1.0.0", &[]);
    fs::write(shop.join("templates/x.yaml"), "v: {{ .Values.v }}\n").unwrap();
    // user:hunter2
    let files = BTreeMap::from([("/v.yaml".to_owned(), b"v: far\n".to_vec())]);
    let server = web(files, Some("Basic dXNlcjpodW50ZXIy"));
    let run = |url: &str| {
        Run::of(
            command()
                .args(["template", "r"])
                .arg(&shop)
                .args(["-f", url, "--retries", "0", "-v"]),
        )
    };
    let good = run(&format!("http://user:hunter2@{}/v.yaml", server.host()));
    assert!(
        good.code == 0 && good.stdout.ends_with("v: far\n"),
        "{}",
        good.stderr
    );
    assert!(!good.stderr.contains("hunter2"), "{}", good.stderr);
    let closed = run(&format!("http://{}/v.yaml", server.host()));
    assert_eq!(closed.code, 4, "{}", closed.stderr);
    let missing = run(&format!("http://user:hunter2@{}/none.yaml", server.host()));
    assert!(
        missing.code == 4 && !missing.stderr.contains("hunter2"),
        "{}",
        missing.stderr
    );
}
