//! KitOps in the renderer's place, for models of Hugging Face: `kit import` and `kit push` as init containers. Then the
//! renderer reads the tag and reports the digest of what is there, as it does of its own pushes: nothing is taken from
//! a log.

use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec};

use super::ArtifactSettings;
use super::dereference::Found;
use super::job::{WORKSPACE, bare, target_text, token, workspace_volume};
use crate::api::IfExists;
use crate::api::artifact::{ArtifactFormat, ArtifactSpec};
use crate::jobs::JobSettings;
use crate::jobs::pod::{PodFields, literal, pod_spec};
use crate::jobs::registry_access::{add_ca_certificates, add_push_secret, connection_args, plain};

/// The variable with KitOps' folder.
const KIT_HOME: &str = "KITOPS_HOME";

/// The image that imports this Artifact, if it is not the renderer's.
pub(super) fn replaces<'s>(spec: &ArtifactSpec, settings: &'s ArtifactSettings) -> Option<&'s str> {
    let is_model = spec.format == ArtifactFormat::ModelPack && spec.source.hugging_face.is_some();
    settings.kit_image.as_deref().filter(|_| is_model)
}

/// What KitOps can't do of a spec that it would import.
pub(super) fn refusal(spec: &ArtifactSpec, settings: &ArtifactSettings) -> Option<String> {
    replaces(spec, settings)?;
    let hub = spec.source.hugging_face.as_ref()?;
    let advice = if !hub.include.is_empty() || !hub.exclude.is_empty() {
        "it imports whole repositories: remove include and exclude"
    } else if spec.target.if_exists != IfExists::Replace {
        "its push replaces what is at the tag: set target.ifExists to replace"
    } else {
        return None;
    };
    Some(format!(
        "models of Hugging Face are imported with KitOps here (artifacts.kitImage), and {advice}"
    ))
}

/// The pod: import, push, report.
pub(super) fn pod(found: &Found, settings: &JobSettings, image: &str) -> PodSpec {
    let ArtifactSpec {
        source,
        target,
        format,
        ..
    } = &found.spec;
    let target_name = target_text(target, *format);
    let mut fields = PodFields {
        writable: Some(workspace_volume(found)),
        ..PodFields::default()
    };
    if let Some(secret) = &target.credentials_secret_ref {
        add_push_secret(&secret.name, &mut fields);
        fields
            .env
            .push(plain("REGISTRY_HOST", &literal(&target.registry)));
    }
    add_ca_certificates(settings, &mut fields);
    let own = |flag: &str| literal(&format!("--{flag}=oci://{target_name}"));
    fields.args = vec!["artifact".to_owned(), own("from"), own("to")];
    fields
        .args
        .extend(["--format=raw".to_owned(), format!("--workdir={WORKSPACE}")]);
    if target.insecure {
        fields.args.push("--plain-http=true".to_owned());
    }
    fields.args.extend(connection_args(&settings.args));
    let mut pod = pod_spec(&bare(settings), fields);
    let Some(report) = pod.containers.first().cloned() else {
        return pod;
    };
    let hub = source.hugging_face.as_ref();
    let repository = hub.map_or("", |hub| hub.repository.as_str());
    let revision = hub.map_or("", |hub| hub.revision.as_str());
    let import = ["import", repository, "--ref", revision, "--tag", &target_name];
    let push = ["push", &target_name];
    let plain_http = target.insecure.then_some("--plain-http");
    let hub_token = hub.and_then(|hub| hub.token_secret_ref.as_ref()).map(token);
    pod.init_containers = Some(vec![
        kit_container(&report, image, "import", &import, hub_token),
        kit_container(
            &report,
            image,
            "push",
            &[&push[..], plain_http.as_slice()].concat(),
            None,
        ),
    ]);
    pod
}

/// As the renderer's container, with another image and other arguments.
fn kit_container(
    like: &Container,
    image: &str,
    name: &str,
    args: &[&str],
    token: Option<EnvVar>,
) -> Container {
    let mut env = like.env.clone().unwrap_or_default();
    env.push(plain(KIT_HOME, &format!("{WORKSPACE}/kitops")));
    env.extend(token);
    Container {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        command: None,
        args: Some(args.iter().map(|arg| literal(arg)).collect()),
        env: Some(env),
        ..like.clone()
    }
}
