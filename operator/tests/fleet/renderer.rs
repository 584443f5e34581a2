//! The renderer itself in a pod's place, for a registry that is there: the pod's arguments, and the config of its Secret.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;
use testbed::workspace_program;

/// Cargo is asked where it is, once.
static RENDERER: LazyLock<PathBuf> = LazyLock::new(|| workspace_program("solar-render", "solar-render"));
/// Where the pod has its config.
const CONFIG: &str = "/etc/renderer/config.json";

/// Whether there is a registry behind a URL.
pub fn is_there(url: &str) -> bool {
    url.starts_with("oci://127.0.0.1:")
}

/// The exit code of a pod's renderer, and its result.
pub async fn run(client: &Client, pod: &Pod) -> (i32, Value) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.json");
    let result = folder.path().join("result.json");
    if let Some(content) = config_of(client, pod).await {
        fs::write(&config, content).unwrap();
    }
    let container = &pod.spec.as_ref().unwrap().containers[0];
    let arguments = container.args.as_deref().unwrap_or_default();
    let arguments = arguments
        .iter()
        .map(|argument| argument.replace(CONFIG, config.to_str().unwrap()));
    let mut renderer = Command::new(&*RENDERER);
    renderer
        .env_clear()
        .args(arguments)
        .arg("--result-file")
        .arg(&result);
    renderer.stdout(Stdio::null()).stderr(Stdio::null());
    let status = renderer.status().unwrap();
    let result = fs::read_to_string(&result).unwrap_or_default();
    let result = serde_json::from_str(&result).unwrap_or(Value::Null);
    (status.code().unwrap(), result)
}

/// The content of the Secret with the renderer's config; a Job that deletes a tag has none.
async fn config_of(client: &Client, pod: &Pod) -> Option<Vec<u8>> {
    let volumes = pod.spec.as_ref()?.volumes.as_ref()?;
    let volume = volumes.iter().find(|volume| volume.name == "config")?;
    let name = volume.secret.as_ref()?.secret_name.as_ref()?;
    let secrets = Api::<Secret>::namespaced(client.clone(), &pod.namespace()?);
    let secret = secrets.get(name).await.ok()?;
    Some(secret.data?.get("config.json")?.0.clone())
}
