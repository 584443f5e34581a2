//! Writes pods' ends into their status, with what a registry would have said.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::{StreamExt as _, future};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::{client, digest_of, renderer};

/// How many pods are ended at the same time.
const PARALLEL: usize = 64;
/// How long a pod that is held waits before it looks again.
const HELD: Duration = Duration::from_millis(50);

/// Ends every pod of the operator's Jobs, as soon as it exists or a little later: with success, unless the test
/// requests a failure or another chart is at the tag.
pub struct Kubelet {
    registry: Arc<Mutex<FakeRegistry>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Kubelet {
    /// Begins, in a thread of its own. `spread`: pods take up to so long, each its own time.
    pub fn start(kubeconfig: &Path, spread: Duration) -> Self {
        let registry = Arc::new(Mutex::new(FakeRegistry::default()));
        let (stop, stopped) = oneshot::channel();
        let (kubeconfig, asked) = (kubeconfig.to_owned(), Arc::clone(&registry));
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let work = async { end_pods(&kubeconfig, spread, &asked).await };
            runtime.block_on(future::select(pin!(work), stopped));
        });
        Self {
            registry,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The number of pods that have ended, by the URL that they pushed to.
    pub fn pushed(&self) -> BTreeMap<String, usize> {
        self.registry.lock().unwrap().pushed.clone()
    }

    /// Pods that push to a URL with this part end with `refused`, or never end, until [`Kubelet::accept`].
    pub fn refuse(&self, part: &str, refusal: Refusal) {
        let mut registry = self.registry.lock().unwrap();
        registry.refusals.insert(part.to_owned(), refusal);
    }

    /// The charts that are there.
    pub fn charts(&self) -> BTreeSet<String> {
        self.registry.lock().unwrap().charts.keys().cloned().collect()
    }

    /// The URLs that more than one content was pushed to, or tried to be.
    pub fn pushed_twice_with_other_content(&self) -> Vec<String> {
        let registry = self.registry.lock().unwrap();
        let contents = registry.contents.iter();
        let several = contents.filter(|(_, contents)| contents.len() > 1);
        several.map(|(url, _)| url.clone()).collect()
    }

    /// There is another chart at a place.
    pub fn occupy(&self, url: &str) {
        let mut registry = self.registry.lock().unwrap();
        registry.charts.insert(url.to_owned(), "another".to_owned());
    }

    /// Whether a chart is at a URL.
    pub fn holds(&self, url: &str) -> bool {
        self.registry.lock().unwrap().charts.contains_key(url)
    }

    /// Such pods succeed again.
    pub fn accept(&self, part: &str) {
        self.registry.lock().unwrap().refusals.remove(part);
    }
}

/// The registry that the pods see.
#[derive(Default)]
struct FakeRegistry {
    /// The number of pods that have succeeded, by URL.
    pushed: BTreeMap<String, usize>,
    /// The config that the chart was rendered from, by URL.
    charts: BTreeMap<String, String>,
    /// Of each URL all configs that a chart was to be pushed there from, whether it was or not.
    contents: BTreeMap<String, BTreeSet<String>>,
    /// Parts of URLs.
    refusals: BTreeMap<String, Refusal>,
}

/// What happens to a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The registry refuses the credentials: no other pod is tried.
    Credentials,
    /// It is away, as long as the renderer tries.
    Unavailable,
    /// It takes its time.
    Hold,
    /// It has the chart, and the pod never ends.
    Linger,
    /// It has the chart, and is away before it has confirmed that.
    LostAfterPush,
}

/// How a pod ends.
enum End {
    Pushed,
    Deleted,
    Failed { exit_code: i32, class: &'static str },
    Running,
    Never,
}

impl End {
    /// Of a pod whose renderer has tried often enough.
    const UNAVAILABLE: Self = Self::Failed {
        exit_code: 5,
        class: "registry",
    };
}

impl FakeRegistry {
    fn delete(&mut self, url: &str) -> End {
        if self.refusal(url) == Some(Refusal::Unavailable) {
            return End::UNAVAILABLE;
        }
        self.charts.remove(url);
        End::Deleted
    }

    fn refusal(&self, url: &str) -> Option<Refusal> {
        let mut refusals = self.refusals.iter();
        let found = refusals.find(|(part, _)| url.contains(*part));
        found.map(|(_, refusal)| *refusal)
    }

    /// What a push of a chart to a place comes to, by the chart's config.
    fn push(&mut self, url: &str, config: &str) -> End {
        match self.refusal(url) {
            Some(Refusal::Hold) => return End::Running,
            Some(Refusal::Linger) => {
                self.charts.insert(url.to_owned(), config.to_owned());
                return End::Never;
            }
            Some(Refusal::LostAfterPush) => {
                self.contents
                    .entry(url.to_owned())
                    .or_default()
                    .insert(config.to_owned());
                let chart = self.charts.entry(url.to_owned());
                chart.or_insert_with(|| config.to_owned());
                return End::UNAVAILABLE;
            }
            Some(Refusal::Credentials) => {
                return End::Failed {
                    exit_code: 4,
                    class: "auth",
                };
            }
            Some(Refusal::Unavailable) => return End::UNAVAILABLE,
            None => {}
        }
        let contents = self.contents.entry(url.to_owned()).or_default();
        contents.insert(config.to_owned());
        let there = self
            .charts
            .entry(url.to_owned())
            .or_insert_with(|| config.to_owned());
        if there == config {
            End::Pushed
        } else {
            End::Failed {
                exit_code: 3,
                class: "conflict",
            }
        }
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn end_pods(kubeconfig: &Path, spread: Duration, registry: &Mutex<FakeRegistry>) {
    let client = client(kubeconfig).await;
    let managed = watcher::Config::default().labels("app.kubernetes.io/managed-by=solar-operator");
    let pods = watcher(Api::<Pod>::all(client.clone()), managed)
        .default_backoff()
        .applied_objects();
    let waiting = pods.filter_map(|pod| future::ready(pod.ok().filter(is_waiting)));
    let end = |pod: Pod| {
        let client = client.clone();
        let api = Api::<Pod>::namespaced(client.clone(), &pod.namespace().unwrap());
        async move {
            let url = place(&pod);
            // Some of the digest for a number that is the same in each run.
            let part = u32::from_str_radix(&digest_of(&url)[7..11], 16).unwrap();
            tokio::time::sleep(spread * part / 0x1_0000).await;
            let (status, is_pushed) = if renderer::is_there(&url) {
                rendered(&client, &pod, &url, registry).await
            } else {
                match faked(&pod, &url, registry).await {
                    End::Never => return,
                    end => ended(&url, &end),
                }
            };
            let patched = api
                .patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Merge(status))
                .await;
            // A pod whose Job was deleted meanwhile no longer exists.
            if patched.is_ok() && is_pushed {
                *registry.lock().unwrap().pushed.entry(url).or_default() += 1;
            }
        }
    };
    waiting
        .map(end)
        .buffer_unordered(PARALLEL)
        .for_each(future::ready)
        .await;
}

/// How a pod ends according to the fake registry.
async fn faked(pod: &Pod, url: &str, registry: &Mutex<FakeRegistry>) -> End {
    let config = environment(pod, "SOLAR_CONFIG_SHA256");
    loop {
        let answer = |mut registry: MutexGuard<'_, FakeRegistry>| match deletes(pod) {
            true => registry.delete(url),
            false => registry.push(url, &config),
        };
        match answer(registry.lock().unwrap()) {
            End::Running => {}
            end => return end,
        }
        tokio::time::sleep(HELD).await;
    }
}

/// The status of a pod whose renderer has run, and whether it has pushed.
async fn rendered(client: &Client, pod: &Pod, url: &str, registry: &Mutex<FakeRegistry>) -> (Value, bool) {
    let (exit_code, message) = renderer::run(client, pod).await;
    let is_pushed = exit_code == 0 && !deletes(pod);
    let refusal = registry.lock().unwrap().refusal(url);
    if is_pushed && refusal == Some(Refusal::LostAfterPush) {
        return ended(url, &End::UNAVAILABLE);
    }
    (terminated(exit_code, &message), is_pushed)
}

/// The status of a pod that has ended so, and whether it has pushed.
fn ended(url: &str, end: &End) -> (Value, bool) {
    let (exit_code, message) = match end {
        End::Failed { exit_code, class } => {
            let error = json!({"class": class, "transient": *class == "registry", "message": format!("the registry says {class}")});
            (*exit_code, json!({"schema": 1, "error": error}))
        }
        End::Deleted => (0, json!({"schema": 1, "outcome": "deleted", "reference": url})),
        _ => (
            0,
            json!({"schema": 1, "outcome": "created", "reference": url, "digest": digest_of(url), "size": 512}),
        ),
    };
    (terminated(exit_code, &message), matches!(end, End::Pushed))
}

/// The status of a pod that has ended with an exit code and this result.
fn terminated(exit_code: i32, message: &Value) -> Value {
    json!({"status": {
        "phase": if exit_code == 0 { "Succeeded" } else { "Failed" },
        "containerStatuses": [{
            "name": "renderer", "image": "x", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": exit_code, "message": message.to_string()}},
        }],
    }})
}

/// Whether the pod has just been made: it isn't being deleted, and each is seen so but once.
fn is_waiting(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && matches!(phase, None | Some("Pending"))
}

/// Whether a pod's renderer deletes a tag.
fn deletes(pod: &Pod) -> bool {
    arguments(pod).first().is_some_and(|first| first == "delete")
}

/// The URL that a pod's renderer pushes to, or deletes.
fn place(pod: &Pod) -> String {
    let arguments = arguments(pod);
    if deletes(pod) {
        // The digest that is expected there.
        let url = arguments[1].split('@').next();
        return url.unwrap().to_owned();
    }
    let url = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("--url="));
    url.unwrap().to_owned()
}

fn arguments(pod: &Pod) -> &[String] {
    let container = &pod.spec.as_ref().unwrap().containers[0];
    container.args.as_deref().unwrap_or_default()
}

/// The value of a variable in the renderer's environment.
fn environment(pod: &Pod, name: &str) -> String {
    let container = &pod.spec.as_ref().unwrap().containers[0];
    let mut variables = container.env.iter().flatten();
    let found = variables.find(|variable| variable.name == name);
    found
        .and_then(|variable| variable.value.clone())
        .unwrap_or_default()
}
