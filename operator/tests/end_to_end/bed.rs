//! A node with a registry, in which the chart is installed, and the tasks that are applied there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::{
    Auth, ClusterSetup, Image, Node, Registry, Setup, SourceController, eventually, run, workspace_program,
};

pub(super) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
pub(super) const NAMESPACE: &str = "solar-system";
const RENDERER: &str = "localhost/solar-render:test";
const OPERATOR: &str = "localhost/solar-operator:test";
/// As in both Containerfiles.
const USER: &str = "65532:65532";
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
pub(super) const USERNAME: &str = "pusher";
pub(super) const PASSWORD: &str = "p:w\"o'r$d";
pub(super) const LIMIT: Duration = Duration::from_secs(180);

/// A node with a registry and the chart, which is in it twice: as it is, and for the tasks with the
/// label `broken`, with a renderer that there is no image of.
pub(super) struct Bed {
    pub(super) node: Node,
    pub(super) registry: Registry,
    pub(super) renderer: PathBuf,
    flux: OnceLock<SourceController>,
}

/// A task to be made from a file.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) name: &'a str,
    pub(super) config: &'a str,
    pub(super) registry: &'a str,
    pub(super) repository: &'a str,
    /// The namespace of a `RenderTask`.
    pub(super) namespace: Option<&'a str>,
    pub(super) secret: &'a str,
    pub(super) label: &'a str,
    pub(super) sign_key: Option<&'a str>,
    pub(super) expected_digest: Option<&'a str>,
}

pub(super) fn bed() -> &'static Bed {
    static BED: LazyLock<Bed> = LazyLock::new(Bed::start);
    &BED
}

pub(super) fn registry_setup(node: &Node) -> Setup<'static> {
    Setup {
        auth: Auth::Basic {
            username: USERNAME,
            password: PASSWORD,
        },
        network: Some(node.network()),
        ..Setup::default()
    }
}

fn images(renderer: &Path) -> [Image; 2] {
    let folder = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let renderer = match folder("SOLAR_RENDER_IMAGE") {
        Some(folder) => Image::of_program(RENDERER, "solar-render", &folder.join("solar-render"), USER)
            .with_file("/solar-renderer", &folder.join("solar-renderer"))
            .with_file(CERTIFICATES, &folder.join("ca-certificates.crt")),
        None => Image::of_program(RENDERER, "solar-render", renderer, USER),
    };
    let operator = folder("SOLAR_OPERATOR_IMAGE").map(|folder| folder.join("solar-operator"));
    let operator = operator.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_solar-operator")));
    let operator = Image::of_program(OPERATOR, "solar-operator", &operator, USER);
    [renderer, operator]
}

impl Bed {
    fn start() -> Self {
        let renderer = workspace_program("solar-render", "solar-render");
        let node = Node::start(&ClusterSetup::default(), &images(&renderer));
        let registry = Registry::with(&registry_setup(&node));
        let bed = Self {
            node,
            registry,
            renderer,
            flux: OnceLock::new(),
        };
        for namespace in [NAMESPACE, "broken-system", "tenant"] {
            bed.kubectl(&["create", "namespace", namespace]);
            let restricted = "pod-security.kubernetes.io/enforce=restricted";
            bed.kubectl(&["label", "namespace", namespace, restricted]);
        }
        bed.install(
            "solar-operator",
            NAMESPACE,
            &[
                "renderer.image.tag=test",
                "labelSelector=!broken",
                "pipeline.enabled=true",
            ],
        );
        let missing = [
            "renderer.image.tag=missing",
            "labelSelector=broken",
            "crds.install=false",
            "replicas=1",
        ];
        bed.install("broken", "broken-system", &missing);
        for (name, password) in [("push", PASSWORD), ("wrong", "guess")] {
            bed.make_secret(NAMESPACE, name, password);
        }
        bed
    }

    /// `solar-render template … | kubectl apply`, and the pods are ready.
    fn install(&self, name: &str, namespace: &str, set: &[&str]) {
        let mut template = Command::new(&self.renderer);
        template.args(["template", name, "charts/solar-operator", "-n", namespace]);
        template.args([
            "--set",
            "image.repository=localhost/solar-operator,image.tag=test",
        ]);
        template.args([
            "--set",
            "image.pullPolicy=Never,renderer.image.repository=localhost/solar-render",
        ]);
        let set = set.iter().flat_map(|set| ["--set", set]);
        self.node
            .cluster()
            .apply(&run(template.args(set).current_dir(ROOT)));
        let deployment = self.kubectl(&["-n", namespace, "get", "deployment", "-o", "name"]);
        let rollout = [
            "-n",
            namespace,
            "rollout",
            "status",
            deployment.trim(),
            "--timeout=180s",
        ];
        let output = self.node.cluster().kubectl_command(&rollout).output().unwrap();
        if !output.status.success() {
            let pods = self.kubectl(&["-n", namespace, "describe", "pods"]);
            let logs = ["-n", namespace, "logs", deployment.trim(), "--all-pods"];
            let logs = self.node.cluster().kubectl_command(&logs).output().unwrap();
            panic!(
                "{namespace} does not start:\n{pods}\n{}",
                String::from_utf8_lossy(&logs.stdout)
            );
        }
    }

    /// Starts Flux's source-controller, for the tests that need it.
    pub(super) fn flux(&self) {
        self.flux
            .get_or_init(|| SourceController::start(self.node.cluster()));
    }

    pub(super) fn kubectl(&self, arguments: &[&str]) -> String {
        self.node.cluster().kubectl(arguments)
    }

    pub(super) fn make_secret(&self, namespace: &str, name: &str, password: &str) {
        let (user, password) = (format!("username={USERNAME}"), format!("password={password}"));
        let literals = ["--from-literal", &user, "--from-literal", &password];
        let make = [
            "-n",
            namespace,
            "create",
            "secret",
            "generic",
            name,
            "--type=kubernetes.io/basic-auth",
        ];
        let yaml = self.kubectl(&[&make[..], &literals[..], &["--dry-run=client", "-o", "yaml"]].concat());
        self.node.cluster().apply(&yaml);
    }

    /// `solar-operator task … | kubectl apply`
    pub(super) fn order(&self, order: Order<'_>) {
        let mut task = Command::new(env!("CARGO_BIN_EXE_solar-operator"));
        task.args([
            "task",
            order.config,
            "--name",
            order.name,
            "--repository",
            order.repository,
        ]);
        task.args([
            "--base-url",
            &format!("oci://{}/charts", order.registry),
            "--tag",
            "1.4.2",
        ]);
        task.args(["--push-secret", order.secret, "--plain-http"]);
        let optional = [
            ("--sign-key-secret", order.sign_key),
            ("--expected-digest", order.expected_digest),
        ];
        for (flag, value) in optional {
            task.args(value.into_iter().flat_map(|value| [flag, value]));
        }
        match order.namespace {
            Some(namespace) => task.args(["--namespace", namespace]),
            None => task.arg("--cluster"),
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), run(task.current_dir(ROOT))).unwrap();
        let label = [
            "label",
            "--local",
            order.label,
            "-o",
            "yaml",
            "-f",
            file.path().to_str().unwrap(),
        ];
        self.node.cluster().apply(&self.kubectl(&label));
    }

    pub(super) fn task(&self, order: Order<'_>) -> Value {
        let text = match order.namespace {
            Some(namespace) => {
                self.kubectl(&["-n", namespace, "get", "rendertask", order.name, "-o", "json"])
            }
            None => self.kubectl(&["get", "clusterrendertask", order.name, "-o", "json"]),
        };
        serde_json::from_str(&text).unwrap()
    }

    /// All that there is to say of a task when a test fails: itself, its events, and what the
    /// operator logged of it.
    pub(super) fn story(&self, order: Order<'_>) -> String {
        let logs = [
            "-n",
            NAMESPACE,
            "logs",
            "deployment/solar-operator",
            "--all-pods",
            "--tail=-1",
        ];
        let logs = self.kubectl(&logs);
        let lines: Vec<&str> = logs.lines().filter(|line| line.contains(order.name)).collect();
        let about = format!("regarding.name={}", order.name);
        let events = self.kubectl(&["get", "events.events.k8s.io", "-A", "--field-selector", &about]);
        format!("{:#}\n{events}\n{}", self.task(order), lines.join("\n"))
    }

    /// Waits for a condition's status and reason, and gives the task.
    pub(super) fn wait(&self, order: Order<'_>, kind: &str, status: &str, reason: &str) -> Value {
        let begin = Instant::now();
        eventually(
            &format!("{} has {kind}={status}/{reason}", order.name),
            LIMIT,
            || {
                let task = self.task(order);
                let found = condition(&task, kind);
                if begin.elapsed() + Duration::from_secs(5) > LIMIT {
                    panic!("never {kind}={status}/{reason}: {}", self.story(order));
                }
                (found["status"] == status && found["reason"] == reason).then_some(task)
            },
        )
    }

    pub(super) fn solar_render(&self, arguments: &[&str]) -> String {
        let mut command = self.node.command(&self.renderer);
        command.args(arguments).current_dir(ROOT);
        run(command
            .env("REGISTRY_USERNAME", USERNAME)
            .env("REGISTRY_PASSWORD", PASSWORD))
    }
}

impl<'a> Order<'a> {
    pub(super) fn release(name: &'a str, bed: &'a Bed, repository: &'a str) -> Self {
        Self {
            name,
            config: "testdata/release.yaml",
            registry: bed.registry.host(),
            repository,
            namespace: None,
            secret: "push",
            label: "kind=sound",
            sign_key: None,
            expected_digest: None,
        }
    }
}

pub(super) fn condition<'a>(task: &'a Value, kind: &str) -> &'a Value {
    let conditions = task["status"]["conditions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}
