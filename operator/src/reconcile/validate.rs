//! Whether a Job may be made for a task, and why not. Pure.

use super::Settings;
use super::dereference::{Found, PushSecret};
use super::refusal::Blocked;
use crate::api::Scope;
use crate::build::{CA_KEY, Subject};
use crate::conditions::Reason;

/// What stands in the way of a Job, if anything does.
pub(super) fn validate(subject: &Subject<'_>, found: &Found, settings: &Settings) -> Option<Blocked> {
    if found.foreign_job {
        return Some(name_conflict(subject, "Job"));
    }
    push_secret(subject, found, settings).or_else(|| ca_configmap(subject, found, settings))
}

/// A namesake that is somebody else's.
pub(super) fn name_conflict(subject: &Subject<'_>, kind: &str) -> Blocked {
    let message = format!(
        "the {kind} {} in namespace {} is not this task's: it is neither used nor deleted",
        subject.job_name(),
        subject.namespace
    );
    Blocked::new(Reason::NameConflict, message)
}

fn push_secret(subject: &Subject<'_>, found: &Found, settings: &Settings) -> Option<Blocked> {
    let spec = &subject.task.spec;
    let name = &spec.push_secret_ref.as_ref()?.name;
    let host = match &found.push_secret {
        PushSecret::NotLookedAt => return None,
        PushSecret::Missing => {
            let message = format!("there is no Secret {name} in namespace {}", subject.namespace);
            return Some(Blocked::new(Reason::PushSecretNotFound, message));
        }
        PushSecret::Present { host, .. } => host.as_deref(),
    };
    let message = match host {
        Some(host) if host.trim().eq_ignore_ascii_case(&spec.host()) => return None,
        Some(host) => format!(
            "the Secret {name} may only be used for {host}, and baseURL names {}",
            spec.host()
        ),
        None if settings.require_registry_host && subject.scope == Scope::Cluster => {
            format!(
                "the Secret {name} does not say what registry it is for: annotate it with {}",
                crate::api::REGISTRY_HOST_ANNOTATION
            )
        }
        None => return None,
    };
    Some(Blocked::new(Reason::RegistryHostMismatch, message))
}

fn ca_configmap(subject: &Subject<'_>, found: &Found, settings: &Settings) -> Option<Blocked> {
    let name = settings
        .job
        .ca_configmap
        .as_ref()
        .filter(|_| !found.ca_configmap)?;
    let message = format!(
        "there is no ConfigMap {name} with the key {CA_KEY} in namespace {}",
        subject.namespace
    );
    Some(Blocked::new(Reason::ConfigMapNotFound, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{LocalReference, Task};
    use crate::key::TaskKey;
    use crate::tests::{settings, task};

    fn found(push_secret: PushSecret) -> Found {
        let mut task: Task = task();
        task.spec.push_secret_ref = Some(LocalReference { name: "push".into() });
        Found {
            key: TaskKey {
                scope: Scope::Namespaced,
                namespace: "tenant".into(),
                name: "shop".into(),
            },
            task,
            job: None,
            foreign_job: false,
            pods: Vec::new(),
            push_secret,
            ca_configmap: true,
        }
    }

    fn check(found: &Found, scope: Scope, require_registry_host: bool) -> Option<Reason> {
        let mut job = settings();
        job.ca_configmap = Some("roots".into());
        let settings = Settings {
            job,
            require_registry_host,
            max_concurrent_jobs: 1,
            instance: String::new(),
        };
        let subject = Subject::new(scope, &found.task, &settings.job).expect("a subject");
        validate(&subject, found, &settings).map(|blocked| blocked.reason)
    }

    fn secret(host: Option<&str>) -> PushSecret {
        PushSecret::Present {
            version: "1".into(),
            host: host.map(str::to_owned),
        }
    }

    #[test]
    fn a_push_secret_is_used_for_its_host_only() {
        let mismatch = Some(Reason::RegistryHostMismatch);
        // Annotation, baseURL, required, scope, expected.
        let table = [
            (None, "h.example/charts", false, Scope::Cluster, None),
            (None, "h.example/charts", true, Scope::Namespaced, None),
            (None, "h.example/charts", true, Scope::Cluster, mismatch),
            (
                Some("h.example"),
                "oci://h.example/charts/",
                true,
                Scope::Cluster,
                None,
            ),
            (Some("H.example"), "h.EXAMPLE", false, Scope::Namespaced, None),
            (
                Some("h.example"),
                "h.example:5000/charts",
                false,
                Scope::Namespaced,
                mismatch,
            ),
            (
                Some("h.example"),
                "evil.example/h.example",
                false,
                Scope::Cluster,
                mismatch,
            ),
            (
                Some("h.example"),
                "h.example@evil.example/x",
                false,
                Scope::Cluster,
                mismatch,
            ),
            (
                Some("h.example"),
                "h.example.evil.example",
                false,
                Scope::Cluster,
                mismatch,
            ),
            (Some("h.example"), "/h.example", false, Scope::Cluster, mismatch),
            (
                Some("h.example"),
                "https://h.example",
                false,
                Scope::Cluster,
                mismatch,
            ),
        ];
        for (host, base_url, required, scope, expected) in table {
            let mut found = found(secret(host));
            found.task.spec.base_url = base_url.into();
            assert_eq!(check(&found, scope, required), expected, "{host:?} {base_url}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            check(&found(PushSecret::Missing), Scope::Namespaced, false),
            Some(Reason::PushSecretNotFound)
        );
        let without = Found {
            ca_configmap: false,
            ..found(secret(None))
        };
        assert_eq!(
            check(&without, Scope::Namespaced, false),
            Some(Reason::ConfigMapNotFound)
        );
        let foreign = Found {
            foreign_job: true,
            ..found(PushSecret::Missing)
        };
        assert_eq!(
            check(&foreign, Scope::Cluster, false),
            Some(Reason::NameConflict),
            "before all else"
        );
    }
}
