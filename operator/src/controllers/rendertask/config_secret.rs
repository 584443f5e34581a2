//! The Secret that carries the renderer's config into the Job.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;

use super::subject::Subject;
use crate::api::CONFIG_SHA256_ANNOTATION;

/// The key, and the file's name in the container.
pub(super) const CONFIG_KEY: &str = "config.json";

/// A Secret with the renderer's config as JSON, and nothing else: the rest of the spec is passed as arguments.
pub(super) fn config_secret(subject: &Subject<'_>) -> Result<Secret, serde_json::Error> {
    let config = subject.task.spec.config()?;
    let annotation = (
        CONFIG_SHA256_ANNOTATION.to_owned(),
        subject.task.spec.config_sha256()?,
    );
    Ok(Secret {
        metadata: ObjectMeta {
            annotations: Some([annotation].into()),
            ..subject.metadata()
        },
        type_: Some("Opaque".to_owned()),
        // Not `immutable`: kubelets cache those by name, and a task that is deleted and created again has the same
        // name. The Job has the hash of the config, and the renderer refuses any other.
        data: Some(BTreeMap::from([(CONFIG_KEY.to_owned(), ByteString(config))])),
        ..Default::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Scope;
    use crate::tests::{settings, task};

    #[test]
    fn the_secret_holds_the_config_alone() {
        let (settings, task) = (settings(), task());
        let subject = Subject::new(Scope::Namespaced, &task, &settings).expect("a subject");
        let secret = config_secret(&subject).expect("a Secret");
        let data = secret.data.expect("data");
        assert_eq!(data.keys().collect::<Vec<_>>(), [CONFIG_KEY]);
        let config: serde_json::Value = serde_json::from_slice(&data[CONFIG_KEY].0).expect("JSON");
        let keys: Vec<_> = config.as_object().expect("a map").keys().collect();
        assert_eq!(keys, ["release", "type"]);
        let source = solar_render::source::Source::new("config.json", config.to_string());
        solar_render::config::parse(&source).expect("a config that the renderer reads");
    }

    #[test]
    fn the_owner_is_the_task_by_uid() {
        let (settings, task) = (settings(), task());
        for scope in Scope::ALL {
            let subject = Subject::new(scope, &task, &settings).expect("a subject");
            let owner = subject.metadata().owner_references.expect("an owner").remove(0);
            assert_eq!((owner.kind.as_str(), owner.uid.as_str()), (scope.kind(), "uid-1"));
            assert_eq!(owner.controller, Some(true));
        }
    }
}
