//! Whether a Job may be made for a task, and why not. Pure.

use serde_json::value::RawValue;
use solar_render::config::MAX_CONFIG_DEPTH;

use super::Settings;
use super::dereference::{Found, PushSecret};
use super::refusal::Blocked;
use super::subject::Subject;
use crate::api::{Scope, TaskSpec};

use crate::jobs::conditions::Reason;
use crate::jobs::registry_access::{CA_KEY, host_mismatch};

/// The maximum size of a config, in bytes: the limit of Secrets.
pub(super) const MAX_CONFIG_SECRET: usize = 1024 * 1024;

/// Why no Job may be created, if so.
pub(super) fn validate(subject: &Subject<'_>, found: &Found, settings: &Settings) -> Option<Blocked> {
    if found.foreign_job {
        return Some(name_conflict(subject, "Job"));
    }
    config(&subject.task.spec)
        .or_else(|| allowed_host(subject, settings))
        .or_else(|| push_secret(subject, found, settings))
        .or_else(|| sign_key(subject, found))
        .or_else(|| ca_configmap(subject, found, settings))
}

/// A config that no Job could render: every pod would refuse it, or it doesn't fit into a Secret.
fn config(spec: &TaskSpec) -> Option<Blocked> {
    let blocks = [&spec.release, &spec.bootstrap].map(|block| block.as_deref().map_or("", RawValue::get));
    let size: usize = blocks.map(str::len).iter().sum();
    let depth = 1 + blocks.map(depth).into_iter().max().unwrap_or(0);
    let message = if size > MAX_CONFIG_SECRET {
        format!("the config has {size} bytes, and a Secret holds at most {MAX_CONFIG_SECRET}")
    } else if depth > MAX_CONFIG_DEPTH {
        format!("the config is nested {depth} deep, and the renderer takes at most {MAX_CONFIG_DEPTH} levels")
    } else {
        return None;
    };
    Some(Blocked::terminal(Reason::ConfigInvalid, message))
}

/// The nesting depth of valid JSON. Not recursive, since a tenant chooses the depth.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The cause: an object of this name has another owner.
pub(super) fn name_conflict(subject: &Subject<'_>, kind: &str) -> Blocked {
    let message = format!(
        "the {kind} {} in namespace {} is not this task's: it is neither used nor deleted",
        subject.job_name(),
        subject.namespace
    );
    Blocked::new(Reason::NameConflict, message)
}

fn allowed_host(subject: &Subject<'_>, settings: &Settings) -> Option<Blocked> {
    let host = subject.task.spec.host();
    let refusal = settings.job.allowed_hosts.refusal(subject.namespace, &host)?;
    Some(Blocked::new(Reason::RegistryHostNotAllowed, refusal))
}

fn push_secret(subject: &Subject<'_>, found: &Found, settings: &Settings) -> Option<Blocked> {
    let spec = &subject.task.spec;
    let name = &spec.push_secret_ref.as_ref()?.name;
    let host = match &found.push_secret {
        PushSecret::NotRead => return None,
        PushSecret::Missing => {
            let message = format!("there is no Secret {name} in namespace {}", subject.namespace);
            return Some(Blocked::new(Reason::PushSecretNotFound, message));
        }
        PushSecret::Present { host, .. } => host.as_deref(),
    };
    let message = match host {
        Some(_) => host_mismatch(name, host, &spec.host())?,
        None if settings.require_registry_host && subject.scope == Scope::Cluster => {
            format!(
                "the Secret {name} has no annotation with the registry that it is for: annotate it with {}",
                crate::api::REGISTRY_HOST_ANNOTATION
            )
        }
        None => return None,
    };
    Some(Blocked::new(Reason::RegistryHostMismatch, message))
}

fn sign_key(subject: &Subject<'_>, found: &Found) -> Option<Blocked> {
    let reference = subject.task.spec.sign_key_secret_ref.as_ref()?;
    let message = format!(
        "there is no Secret {} in namespace {} with the signing key",
        reference.name, subject.namespace
    );
    (!found.sign_key).then(|| Blocked::new(Reason::SignKeySecretNotFound, message))
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
    use crate::jobs::slots::JobLimits;
    use crate::runtime::ObjectName;
    use crate::tests::{settings, task};

    fn found(push_secret: PushSecret) -> Found {
        let mut task: Task = task();
        task.spec.push_secret_ref = Some(LocalReference { name: "push".into() });
        Found {
            key: Scope::Namespaced.id().key(ObjectName::new("tenant", "shop")),
            task,
            job: None,
            foreign_job: false,
            pods: Vec::new(),
            push_secret,
            sign_key: true,
            ca_configmap: true,
        }
    }

    fn check(found: &Found, scope: Scope, require_registry_host: bool) -> Option<Reason> {
        let mut job = settings();
        job.ca_configmap = Some("roots".into());
        let settings = Settings {
            job,
            require_registry_host,
            job_limits: JobLimits { all: 1, group: None },
        };
        let subject = Subject::new(scope, &found.task, &settings.job).expect("a subject");
        validate(&subject, found, &settings).map(|blocked| blocked.reason)
    }

    #[test]
    fn a_host_that_the_platform_does_not_allow_is_refused_where_the_job_would_run() {
        let found = found(PushSecret::NotRead);
        let reason = |scope: Scope, namespace: &str| {
            let mut job = settings();
            job.allowed_hosts.add(namespace, "other.example");
            let settings = Settings {
                job,
                require_registry_host: false,
                job_limits: JobLimits { all: 1, group: None },
            };
            let subject = Subject::new(scope, &found.task, &settings.job).expect("a subject");
            validate(&subject, &found, &settings).map(|blocked| blocked.reason)
        };
        let refused = Some(Reason::RegistryHostNotAllowed);
        assert_eq!(reason(Scope::Namespaced, "tenant"), refused);
        assert_eq!(reason(Scope::Namespaced, "solar-system"), None);
        assert_eq!(reason(Scope::Cluster, "solar-system"), refused);
        assert_eq!(reason(Scope::Cluster, "tenant"), None);
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
        let mut without = Found {
            sign_key: false,
            ..found(secret(None))
        };
        assert_eq!(
            check(&without, Scope::Namespaced, false),
            None,
            "none is asked for"
        );
        without.task.spec.sign_key_secret_ref = Some(LocalReference { name: "key".into() });
        assert_eq!(
            check(&without, Scope::Namespaced, false),
            Some(Reason::SignKeySecretNotFound)
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

    fn spec_with_values(values: &str) -> TaskSpec {
        let task = serde_json::to_string(&task()).expect("JSON");
        let values = format!(r#""release":{{"values":{values},"#);
        let text = task.replacen(r#""release":{"#, &values, 1);
        serde_json::from_str::<Task>(&text).expect("a task").spec
    }

    /// Exactly the configs that the renderer refuses are refused here.
    #[test]
    fn depth_is_measured_as_the_renderer_does() {
        // The config itself, the block and the values.
        for (lists, fits) in [(MAX_CONFIG_DEPTH - 3, true), (MAX_CONFIG_DEPTH - 2, false)] {
            let values = format!(r#"{{"a]\"[":{}1{}}}"#, "[".repeat(lists), "]".repeat(lists));
            let spec = spec_with_values(&values);
            assert_eq!(config(&spec).is_none(), fits, "{lists}");
            let text = String::from_utf8(spec.config().expect("JSON")).expect("UTF-8");
            let parsed = solar_render::config::parse(&solar_render::source::Source::new("c", text));
            assert_eq!(parsed.is_ok(), fits, "{lists}: {parsed:?}");
        }
        let blocked = config(&spec_with_values(&format!(
            r#"{{"a":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        )));
        assert_eq!(blocked.expect("refused").reason, Reason::ConfigInvalid);
    }

    /// The API server's refusal once counted as temporary, and the task was requeued every half minute.
    #[test]
    fn a_config_too_large_for_a_secret_fails_permanently() {
        let text = |size: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(size));
        assert_eq!(config(&spec_with_values(&text(MAX_CONFIG_SECRET - 2000))), None);
        let blocked = config(&spec_with_values(&text(MAX_CONFIG_SECRET))).expect("refused");
        assert_eq!((blocked.reason, blocked.requeue), (Reason::ConfigInvalid, None));
    }
}
