//! An operator with a namespace of its own on the cluster that all tests share, and what a kubelet
//! would do. Everything waits by watching, and gives up after [`LIMIT`].

use std::fs::{File, read_to_string};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Pod, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Request;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::wait::await_condition;
use kube::runtime::watcher::{Config, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use solar_operator::api::{Scope, Task, TaskStatus};
use solar_operator::runtime::conditions::find;
use testbed::{Cluster, ClusterSetup};

/// How long anything may take: the machine may be busy.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
pub(crate) const OPERATOR: &str = env!("CARGO_BIN_EXE_solar-operator");
pub(crate) const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

pub(crate) static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
    let crds = Command::new(OPERATOR).arg("crds").output().expect("the CRDs");
    let crds = String::from_utf8(crds.stdout).expect("UTF-8");
    Cluster::start(&ClusterSetup {
        crds: &crds,
        ..Default::default()
    })
});

/// A namespace, and operators that watch nothing else.
pub(crate) struct Bench {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    operators: Vec<Child>,
    folder: tempfile::TempDir,
}

/// Runs a test's future.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test);
}

/// Waits for something that should come.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LIMIT, future).await {
        Ok(done) => done,
        Err(_) => panic!("{what}: not within {LIMIT:?}"),
    }
}

impl Bench {
    /// A namespace and one operator with these flags.
    pub(crate) async fn start(namespace: &str, flags: &[&str]) -> Self {
        let mut bench = Self::new(namespace).await;
        bench.operate(flags);
        bench
    }

    /// A namespace.
    pub(crate) async fn new(namespace: &str) -> Self {
        let kubeconfig = Kubeconfig::read_from(CLUSTER.kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
        let client = Client::try_from(config.await.unwrap()).unwrap();
        let bench = Self {
            client,
            namespace: namespace.to_owned(),
            operators: Vec::new(),
            folder: tempfile::tempdir().unwrap(),
        };
        bench.make_namespace(namespace).await;
        bench
    }

    pub(crate) async fn make_namespace(&self, name: &str) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap();
    }

    /// Starts another operator; its number is for [`Bench::log`] and [`Bench::end`].
    pub(crate) fn operate(&mut self, flags: &[&str]) -> usize {
        self.operate_as(CLUSTER.kubeconfig(), flags)
    }

    /// Starts another one, with the rights of a user.
    pub(crate) fn operate_as(&mut self, kubeconfig: &Path, flags: &[&str]) -> usize {
        let number = self.operators.len();
        let log = File::create(self.folder.path().join(format!("{number}.log"))).unwrap();
        let watches = format!("--watch-namespaces={}", self.namespace);
        let labels = format!("--label-selector=bench={}", self.namespace);
        let mut common = vec!["--renderer-image=h.example/renderer:1", "--log-level=debug"];
        common.extend([
            "--metrics-bind-address=127.0.0.1:0",
            "--health-probe-bind-address=127.0.0.1:0",
        ]);
        if !flags.iter().any(|flag| flag.starts_with("--label-selector")) {
            common.extend([watches.as_str(), labels.as_str()]);
        }
        let child = Command::new(OPERATOR)
            .args(common)
            .args(flags)
            .env("KUBECONFIG", kubeconfig)
            .env("POD_NAMESPACE", &self.namespace)
            .env("POD_NAME", format!("operator-{number}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.operators.push(child);
        number
    }

    /// The number of the operator that was started last.
    pub(crate) fn last_operator(&self) -> usize {
        self.operators.len() - 1
    }

    /// Writes a file beside the logs.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn log(&self, number: usize) -> String {
        read_to_string(self.folder.path().join(format!("{number}.log"))).unwrap()
    }

    /// Waits until an operator's log contains `words`; returns the line.
    pub(crate) async fn logged(&self, number: usize, words: &str) -> String {
        let line = async {
            loop {
                if let Some(line) = self.log(number).lines().find(|line| line.contains(words)) {
                    return line.to_owned();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(LIMIT, line).await {
            Ok(line) => line,
            Err(_) => panic!("{words}: not within {LIMIT:?}: {}", self.log(number)),
        }
    }

    /// The kubeconfig of a user who may do everything but see pods.
    pub(crate) fn user_without_pods(&self, name: &str) -> PathBuf {
        let rule = |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": ["*"]});
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [
                rule("solar.opendefense.cloud", &["*"]), rule("batch", &["*"]), rule("coordination.k8s.io", &["*"]),
            ],
        });
        CLUSTER.apply(&role.to_string());
        let role = format!("--clusterrole={name}");
        let user = format!("--user={name}");
        CLUSTER.kubectl(&["create", "clusterrolebinding", name, &role, &user]);
        CLUSTER.user(name, None)
    }

    /// The most memory that an operator has used so far, beside the pages of its program.
    pub(crate) fn peak_memory_kib(&self, number: usize) -> u64 {
        let id = self.operators[number].id();
        let status = read_to_string(format!("/proc/{id}/status")).unwrap();
        let kib = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        kib("VmHWM:") - kib("RssFile:")
    }

    /// How an operator ends by itself.
    pub(crate) async fn wait(&mut self, number: usize) -> std::process::ExitStatus {
        let end = async {
            loop {
                if let Some(status) = self.operators[number].try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        within("its end", end).await
    }

    /// Sends SIGKILL, or SIGTERM with `gently`; returns the exit status.
    pub(crate) fn end(&mut self, number: usize, gently: bool) -> std::process::ExitStatus {
        let child = &mut self.operators[number];
        if gently {
            let id = child.id().to_string();
            assert!(Command::new("kill").arg(id).status().unwrap().success());
        } else {
            child.kill().unwrap();
        }
        child.wait().unwrap()
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn tasks(&self) -> Api<Task> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &Scope::Namespaced)
    }

    pub(crate) fn cluster_tasks(&self) -> Api<Task> {
        Api::all_with(self.client.clone(), &Scope::Cluster)
    }

    /// A task with some fields of its spec set.
    pub(crate) fn task(&self, name: &str, spec: &Value) -> Value {
        let mut task = json!({
            "apiVersion": "solar.opendefense.cloud/v1alpha1",
            "kind": "RenderTask",
            "metadata": {"name": name, "labels": {"bench": self.namespace}},
            "spec": {
                "type": "release",
                "release": {
                    "chart": {"name": "shop", "version": "1.0.0"},
                    "input": {
                        "component": {"name": "shop"},
                        "resources": {"chart": {"repository": "h.example/c/shop", "tag": "1.0.0"}},
                        "entrypoint": {"resourceName": "chart", "type": "helm"},
                    },
                    "values": {"replicas": 2},
                },
                "repository": "tenant/shop", "tag": "1.0.0", "baseURL": "h.example/charts",
                "ownerName": "shop", "ownerNamespace": self.namespace, "ownerKind": "Release",
            },
        });
        for (field, value) in spec.as_object().unwrap() {
            task["spec"][field] = value.clone();
        }
        task
    }

    /// `kubectl apply`.
    pub(crate) fn apply(&self, manifests: &str) {
        CLUSTER.apply(manifests);
    }

    /// Makes a RenderTask.
    pub(crate) async fn make(&self, name: &str, spec: Value) {
        let task = self.task(name, &spec).to_string();
        self.post(Scope::Namespaced, task).await.unwrap();
    }

    /// Makes a ClusterRenderTask.
    pub(crate) async fn make_cluster_task(&self, name: &str, spec: Value) {
        let mut task = self.task(name, &spec);
        task["kind"] = "ClusterRenderTask".into();
        self.post(Scope::Cluster, task.to_string()).await.unwrap();
    }

    /// Makes a task from JSON, which may be deeper or other than this process's own types.
    pub(crate) async fn post(&self, scope: Scope, task: String) -> Result<(), kube::Error> {
        let namespace = match scope {
            Scope::Namespaced => Some(self.namespace.as_str()),
            Scope::Cluster => None,
        };
        let path = <Task as kube::Resource>::url_path(&scope, namespace);
        let request = Request::new(path).create(&PostParams::default(), task.into_bytes());
        self.client.request_text(request.unwrap()).await.map(|_| ())
    }

    /// Makes any object of this namespace.
    pub(crate) async fn make_object<K>(&self, object: Value) -> K
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
        K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
    {
        let object = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap()
    }

    /// Asks a task to run again, or just wakes it.
    pub(crate) async fn ask(&self, name: &str, value: &str) {
        let patch = json!({"metadata": {"annotations": {"solar.opendefense.cloud/retry": value}}});
        let params = PatchParams::default();
        self.tasks()
            .patch(name, &params, &Patch::Merge(&patch))
            .await
            .unwrap();
    }

    /// Waits until the status of a RenderTask is as expected.
    pub(crate) async fn until(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&TaskStatus) -> bool,
    ) -> TaskStatus {
        self.until_in(&self.tasks(), name, what, wanted).await
    }

    pub(crate) async fn until_in(
        &self,
        api: &Api<Task>,
        name: &str,
        what: &str,
        wanted: impl Fn(&TaskStatus) -> bool,
    ) -> TaskStatus {
        let met = |task: Option<&Task>| task.is_some_and(|task| wanted(&task.known()));
        let waiting = await_condition(api.clone(), name, met);
        match tokio::time::timeout(LIMIT, waiting).await {
            Ok(task) => task.unwrap().unwrap().known(),
            Err(_) => {
                let task = api.get(name).await.unwrap();
                let logs: Vec<_> = (0..self.operators.len()).map(|number| self.log(number)).collect();
                panic!(
                    "{name} never {what}: {:#?}\n{}",
                    task.status,
                    logs.join("\n---\n")
                );
            }
        }
    }

    /// Until the column shows a word.
    pub(crate) async fn until_state(&self, name: &str, state: &str) -> TaskStatus {
        self.until(name, state, |status| status.state.as_deref() == Some(state))
            .await
    }

    /// Until a condition has a reason.
    pub(crate) async fn until_reason(&self, name: &str, kind: &str, reason: &str) -> TaskStatus {
        let what = format!("{kind}/{reason}");
        self.until(name, &what, |status| reason_of(status, kind) == Some(reason))
            .await
    }

    /// Waits until a Job of this name exists with a UID other than the given one.
    pub(crate) async fn until_job(&self, name: &str, not: Option<&str>) -> Job {
        let met = |job: Option<&Job>| job.is_some_and(|job| job.uid().as_deref() != not);
        within("a Job", await_condition(self.api::<Job>(), name, met))
            .await
            .unwrap()
            .unwrap()
    }

    /// Waits until no object of this name exists.
    pub(crate) async fn until_gone<K>(&self, name: &str)
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
        K: Clone + std::fmt::Debug + Send + serde::de::DeserializeOwned + 'static,
    {
        let met = |object: Option<&K>| object.is_none();
        within(
            &format!("{name} gone"),
            await_condition(self.api::<K>(), name, met),
        )
        .await
        .unwrap();
    }

    /// Until there is no task of this name.
    pub(crate) async fn until_gone_task(&self, name: &str) {
        let met = |task: Option<&Task>| task.is_none();
        within(&format!("{name} gone"), await_condition(self.tasks(), name, met))
            .await
            .unwrap();
    }

    /// Waits for the Job's next unfinished pod.
    pub(crate) async fn pod(&self, job: &str) -> Pod {
        let config = Config::default().labels(&format!("batch.kubernetes.io/job-name={job}"));
        let mut pods = std::pin::pin!(watcher(self.api::<Pod>(), config).applied_objects());
        let fresh = async {
            while let Some(pod) = pods.next().await.transpose().unwrap() {
                let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
                if phase == Some("Pending") && pod.metadata.deletion_timestamp.is_none() {
                    return pod;
                }
            }
            panic!("the watch has ended");
        };
        within("a pod", fresh).await
    }

    /// Ends the Job's next pod as a kubelet would.
    pub(crate) async fn finish(&self, job: &str, exit_code: i32, message: &str) -> Pod {
        let pod = self.pod(job).await;
        let reason = if exit_code == 0 { "Completed" } else { "Error" };
        let status = terminated(exit_code, reason, message);
        self.write_pod(&pod.name_any(), &status).await;
        pod
    }

    /// Ends the Job's next pod with this status.
    pub(crate) async fn finish_as(&self, job: &str, status: &Value) -> Pod {
        let pod = self.pod(job).await;
        self.write_pod(&pod.name_any(), status).await;
        pod
    }

    pub(crate) async fn write_pod(&self, name: &str, status: &Value) {
        let params = PatchParams::default();
        let pods = self.api::<Pod>();
        pods.patch_status(name, &params, &Patch::Merge(status))
            .await
            .unwrap();
    }

    pub(crate) async fn delete_job(&self, name: &str) {
        let jobs = self.api::<Job>();
        jobs.delete(name, &DeleteParams::background()).await.unwrap();
    }

    pub(crate) async fn secret(&self, name: &str) -> Option<Secret> {
        self.api::<Secret>().get_opt(name).await.unwrap()
    }

    /// Waits for an event with this reason about this object.
    pub(crate) async fn until_event(&self, namespace: &str, about: &str, reason: &str) -> Event {
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let mut events = std::pin::pin!(watcher(events, Config::default()).applied_objects());
        let found = async {
            while let Some(event) = events.try_next().await.unwrap() {
                let regards = event.regarding.as_ref().and_then(|object| object.name.as_deref());
                if regards == Some(about) && event.reason.as_deref() == Some(reason) {
                    return event;
                }
            }
            panic!("the watch has ended");
        };
        within(reason, found).await
    }

    /// How many Jobs there are.
    pub(crate) async fn count_jobs(&self) -> usize {
        self.api::<Job>()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for operator in &mut self.operators {
            // One that was ended before is not there any more.
            let _ = operator.kill();
            let _ = operator.wait();
        }
    }
}

pub(crate) fn reason_of<'a>(status: &'a TaskStatus, kind: &str) -> Option<&'a str> {
    find(&status.conditions, kind).map(|condition| condition.reason.as_str())
}

pub(crate) fn message_of<'a>(status: &'a TaskStatus, kind: &str) -> &'a str {
    find(&status.conditions, kind).map_or("", |condition| condition.message.as_str())
}

pub(crate) fn status_of<'a>(status: &'a TaskStatus, kind: &str) -> Option<&'a str> {
    find(&status.conditions, kind).map(|condition| condition.status.as_str())
}

/// The status of a pod whose container has ended.
pub(crate) fn terminated(exit_code: i32, reason: &str, message: &str) -> Value {
    terminated_at(&jiff::Timestamp::now().to_string(), exit_code, reason, message)
}

/// The same by a node's own clock.
pub(crate) fn terminated_at(now: &str, exit_code: i32, reason: &str, message: &str) -> Value {
    let phase = if exit_code == 0 { "Succeeded" } else { "Failed" };
    json!({"status": {"phase": phase, "containerStatuses": [{
        "name": "renderer", "image": "x", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"terminated": {
            "exitCode": exit_code, "message": message, "reason": reason, "startedAt": now, "finishedAt": now,
        }},
    }]}})
}

/// The renderer's result of a success.
pub(crate) fn success() -> String {
    format!(
        r#"{{"schema":1,"outcome":"created","reference":"h.example/charts/tenant/shop:1.0.0","digest":"{DIGEST}","size":1}}"#
    )
}

/// The renderer's result of a failure.
pub(crate) fn failure(class: &str) -> String {
    format!(r#"{{"schema":1,"error":{{"class":"{class}","transient":false,"message":"what {class} said"}}}}"#)
}
