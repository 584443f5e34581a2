//! From `kubectl apply` to a chart in a registry, on a node whose pods really run: the images, the
//! chart and the binaries as they are shipped.
//!
//! The images' files are those that `renderer/build-static` and `operator/build-static` laid out,
//! where SOLAR_RENDER_IMAGE and SOLAR_OPERATOR_IMAGE name the folders; else the binaries that the
//! tests were built with, and the libraries they load.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests stop at once when something isn't as it should be, and ask which images to take"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::{
    Auth, ClusterSetup, Image, Node, Registry, Setup, SourceController, Tool, eventually, run,
    workspace_program,
};

mod flux;
mod pipeline;
mod signatures;
mod signed_targets;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const NAMESPACE: &str = "solar-system";
const RENDERER: &str = "localhost/solar-render:test";
const OPERATOR: &str = "localhost/solar-operator:test";
/// As in both Containerfiles.
const USER: &str = "65532:65532";
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
const USERNAME: &str = "pusher";
const PASSWORD: &str = "p:w\"o'r$d";
const LIMIT: Duration = Duration::from_secs(180);
/// How long the registry is away.
const OUTAGE: Duration = Duration::from_secs(30);

/// A node with a registry and the chart, which is in it twice: as it is, and for the tasks with the
/// label `broken`, with a renderer that there is no image of.
struct Bed {
    node: Node,
    registry: Registry,
    renderer: PathBuf,
    flux: OnceLock<SourceController>,
}

/// A task to be made from a file.
#[derive(Clone, Copy)]
struct Order<'a> {
    name: &'a str,
    config: &'a str,
    registry: &'a str,
    repository: &'a str,
    /// The namespace of a `RenderTask`.
    namespace: Option<&'a str>,
    secret: &'a str,
    label: &'a str,
    sign_key: Option<&'a str>,
    expected_digest: Option<&'a str>,
}

fn bed() -> &'static Bed {
    static BED: LazyLock<Bed> = LazyLock::new(Bed::start);
    &BED
}

fn registry_setup(node: &Node) -> Setup<'static> {
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
    fn flux(&self) {
        self.flux
            .get_or_init(|| SourceController::start(self.node.cluster()));
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        self.node.cluster().kubectl(arguments)
    }

    fn make_secret(&self, namespace: &str, name: &str, password: &str) {
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
    fn order(&self, order: Order<'_>) {
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

    fn task(&self, order: Order<'_>) -> Value {
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
    fn story(&self, order: Order<'_>) -> String {
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
    fn wait(&self, order: Order<'_>, kind: &str, status: &str, reason: &str) -> Value {
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

    fn solar_render(&self, arguments: &[&str]) -> String {
        let mut command = self.node.command(&self.renderer);
        command.args(arguments).current_dir(ROOT);
        run(command
            .env("REGISTRY_USERNAME", USERNAME)
            .env("REGISTRY_PASSWORD", PASSWORD))
    }
}

impl<'a> Order<'a> {
    fn release(name: &'a str, bed: &'a Bed, repository: &'a str) -> Self {
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

fn condition<'a>(task: &'a Value, kind: &str) -> &'a Value {
    let conditions = task["status"]["conditions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_cluster_task_becomes_the_chart_that_a_laptop_would_push() {
    let bed = bed();
    let order = Order::release("frontend", bed, "first/shop-frontend");
    bed.order(order);
    let task = bed.wait(order, "Ready", "True", "JobSucceeded");
    let digest = bed.solar_render(&["digest", "testdata/release.yaml"]);
    assert_eq!(task["status"]["digest"], digest.trim());
    assert_eq!(task["status"]["outcome"], "created");
    let reference = format!("oci://{}/charts/first/shop-frontend:1.4.2", bed.registry.host());
    assert_eq!(task["status"]["chartURL"], reference.as_str());

    let pushed = bed.solar_render(&["template", "app", &reference, "--plain-http"]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    bed.solar_render(&["testdata/release.yaml", "--skip-push", "--output-dir", out]);
    let chart = fs::read_dir(folder.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let chart = if chart.is_dir() && chart.join("Chart.yaml").is_file() {
        chart
    } else {
        folder.path().to_owned()
    };
    assert_eq!(
        pushed,
        bed.solar_render(&["template", "app", chart.to_str().unwrap()])
    );
    assert!(pushed.contains("kind: HelmRelease"));

    for kind in ["jobs", "secrets"] {
        let name = "crender-frontend";
        eventually(&format!("no {kind} of the task"), LIMIT, || {
            let names = bed.kubectl(&["-n", NAMESPACE, "get", kind, "-o", "name"]);
            (!names.lines().any(|line| line.ends_with(name))).then_some(())
        });
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tenants_task_runs_in_its_namespace_with_docker_credentials() {
    let bed = bed();
    let host = bed.registry.host();
    let text = serde_json::json!({"auths": {host: {"username": USERNAME, "password": PASSWORD}}}).to_string();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let from = format!("--from-file=.dockerconfigjson={}", file.path().display());
    let kind = "--type=kubernetes.io/dockerconfigjson";
    bed.kubectl(&[
        "-n", "tenant", "create", "secret", "generic", "docker", kind, &from,
    ]);
    let order = Order {
        namespace: Some("tenant"),
        secret: "docker",
        ..Order::release("frontend", bed, "tenant/shop-frontend")
    };
    bed.order(order);
    let task = bed.wait(order, "Ready", "True", "JobSucceeded");
    let digest = bed.solar_render(&["digest", "testdata/release.yaml"]);
    assert_eq!(task["status"]["digest"], digest.trim());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_wrong_password_has_its_reason_and_a_retry_with_the_right_one_succeeds() {
    let bed = bed();
    let order = Order {
        secret: "wrong",
        ..Order::release("wrong-password", bed, "auth/shop-frontend")
    };
    bed.order(order);
    let task = bed.wait(order, "JobFailed", "True", "AuthFailed");
    assert_eq!(condition(&task, "Stalled")["status"], "True");
    assert_eq!(condition(&task, "Ready")["reason"], "AuthFailed");
    // No second pod tried the same password.
    assert_eq!(task["status"]["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(task["status"]["attempts"][0]["exitCode"], 4);
    assert!(!task.to_string().contains("guess"));

    bed.make_secret(NAMESPACE, "wrong", PASSWORD);
    let again = "solar.opendefense.cloud/retry=1";
    bed.kubectl(&["annotate", "clusterrendertask", order.name, again]);
    let task = bed.wait(order, "Ready", "True", "JobSucceeded");
    assert_ne!(condition(&task, "JobFailed")["status"], "True");
    let attempts = task["status"]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "{}", bed.story(order));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn another_chart_at_the_tag_is_a_conflict_and_stays() {
    let bed = bed();
    let order = Order::release("conflict", bed, "conflict/shop-frontend");
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.yaml");
    let text = fs::read_to_string(Path::new(ROOT).join(order.config)).unwrap();
    fs::write(&other, text.replace("replicas: 3", "replicas: 4")).unwrap();
    let reference = format!(
        "oci://{}/charts/conflict/shop-frontend:1.4.2",
        bed.registry.host()
    );
    let other = other.to_str().unwrap();
    bed.solar_render(&[other, "--url", &reference, "--plain-http"]);

    bed.order(order);
    let task = bed.wait(order, "JobFailed", "True", "Conflict");
    assert_eq!(task["status"]["attempts"][0]["exitCode"], 3);
    let there = bed.solar_render(&["template", "app", &reference, "--plain-http"]);
    assert!(there.contains("replicas: 4"));
}

/// A Secret with a key pair that cosign made, and the public key's file.
fn make_key(bed: &Bed, folder: &Path, name: &str) -> PathBuf {
    const PASSWORD: &str = "p@ss $(word)";
    run(Tool::Cosign
        .command(folder)
        .arg("generate-key-pair")
        .env("COSIGN_PASSWORD", PASSWORD));
    let password = folder.join("cosign.password");
    fs::write(&password, PASSWORD).unwrap();
    let files = ["cosign.key", "cosign.pub", "cosign.password"].map(|file| {
        let path = folder.join(file);
        format!("--from-file={file}={}", path.display())
    });
    let make = ["-n", NAMESPACE, "create", "secret", "generic", name];
    bed.kubectl(&[&make[..], &files.each_ref().map(String::as_str)].concat());
    folder.join("cosign.pub")
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_is_signed_by_its_job_for_us_and_for_cosign() {
    let bed = bed();
    let folder = tempfile::tempdir().unwrap();
    let public = make_key(bed, folder.path(), "edge-cosign");
    let digest = bed.solar_render(&["digest", "testdata/release.yaml"]);
    let order = Order {
        sign_key: Some("edge-cosign"),
        expected_digest: Some(digest.trim()),
        ..Order::release("signed", bed, "signed/shop-frontend")
    };
    bed.order(order);
    let task = bed.wait(order, "Ready", "True", "JobSucceeded");
    let message = condition(&task, "Ready")["message"].as_str().unwrap();
    assert_eq!(message, format!("created, signed: {}", digest.trim()));
    let reference = format!("{}/charts/signed/shop-frontend:1.4.2", bed.registry.host());
    let key = public.to_str().unwrap();
    bed.solar_render(&[
        "verify",
        &format!("oci://{reference}"),
        "--plain-http",
        "--key",
        key,
    ]);
    let mut verify = bed.node.command(&Tool::Cosign.path());
    verify.env("HOME", folder.path());
    verify.args([
        "verify",
        "--allow-http-registry",
        "--insecure-ignore-tlog",
        "--key",
        key,
    ]);
    verify.args(["--registry-username", USERNAME, "--registry-password", PASSWORD]);
    let verified = run(verify.arg(&reference));
    assert!(verified.contains(digest.trim()), "{verified}");
    assert!(
        !bed.story(order).contains("BEGIN"),
        "no key in status, events or log"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_with_another_digest_than_expected_is_refused_and_not_pushed() {
    let bed = bed();
    let other = format!("sha256:{}", "0".repeat(64));
    let order = Order {
        expected_digest: Some(&other),
        ..Order::release("unexpected", bed, "unexpected/shop-frontend")
    };
    bed.order(order);
    let task = bed.wait(order, "JobFailed", "True", "Conflict");
    assert_eq!(task["status"]["attempts"][0]["class"], "digest");
    let mut tags = bed.node.command(&bed.renderer);
    let repository = format!("oci://{}/charts/unexpected/shop-frontend", bed.registry.host());
    tags.args(["tags", &repository, "--plain-http"]);
    tags.env("REGISTRY_USERNAME", USERNAME)
        .env("REGISTRY_PASSWORD", PASSWORD);
    let output = tags.output().unwrap();
    assert!(output.stdout.is_empty() && !output.status.success(), "{output:?}");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_registry_that_is_away_for_a_while_is_waited_for() {
    let bed = bed();
    let mut registry = Registry::with(&registry_setup(&bed.node));
    let host = registry.host().to_owned();
    let order = Order {
        registry: &host,
        ..Order::release("outage", bed, "outage/shop-frontend")
    };
    registry.stop();
    bed.order(order);
    bed.wait(order, "JobScheduled", "True", "JobScheduled");
    thread::sleep(OUTAGE);
    let task = bed.task(order);
    assert_ne!(
        condition(&task, "JobFailed")["status"],
        "True",
        "{}",
        bed.story(order)
    );
    registry.start_again();
    let task = bed.wait(order, "Ready", "True", "JobSucceeded");
    assert_eq!(task["status"]["outcome"], "created");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_image_that_there_is_none_of_is_named_while_the_task_waits() {
    let bed = bed();
    let order = Order {
        label: "broken=",
        ..Order::release("no-image", bed, "no-image/shop-frontend")
    };
    bed.make_secret("broken-system", "push", PASSWORD);
    bed.order(order);
    eventually("the pod's trouble in the condition", LIMIT, || {
        let task = bed.task(order);
        let scheduled = condition(&task, "JobScheduled");
        let message = scheduled["message"].as_str().unwrap_or("");
        let named = ["ErrImagePull", "ImagePullBackOff"]
            .iter()
            .any(|reason| message.contains(reason));
        (scheduled["status"] == "True" && named).then_some(())
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tenant_can_read_neither_the_platforms_secrets_nor_its_jobs() {
    let bed = bed();
    let cluster = bed.node.cluster();
    let account = cluster.service_account("tenant", "developer");
    let role = ["--clusterrole=edit", "--serviceaccount=tenant:developer"];
    bed.kubectl(&[&["-n", "tenant", "create", "rolebinding", "developer"], &role[..]].concat());
    for (arguments, allowed) in [
        (["-n", NAMESPACE, "get", "secret", "push"], false),
        (["-n", NAMESPACE, "get", "secrets", "-o=name"], false),
        (["-n", NAMESPACE, "get", "jobs", "-o=name"], false),
        (["-n", NAMESPACE, "get", "pods", "-o=name"], false),
        (
            ["get", "clusterrendertasks", "-o", "name", "--ignore-not-found"],
            false,
        ),
        (["-n", "tenant", "get", "rendertasks", "-o=name"], true),
    ] {
        let mut command = cluster.kubectl_command(&arguments);
        let output = command.env("KUBECONFIG", &account).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), allowed, "{arguments:?}: {stderr}");
        assert!(allowed || stderr.contains("Forbidden"), "{arguments:?}: {stderr}");
    }
}
