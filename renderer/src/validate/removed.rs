//! API versions that Kubernetes served once and whose types it no longer has at all: client-go's table of deprecations,
//! which `lint` has, knows nothing of them.
//!
//! From Kubernetes' [deprecated API migration
//! guide](https://kubernetes.io/docs/reference/using-api/deprecation-guide/) and the release notes before it.

/// An API version and a kind, the version that removed it, and what to use.
type Removed = (&'static str, &'static str, (u64, u64), &'static str);

const REMOVED: &[Removed] = &[
    (
        "apiextensions.k8s.io/v1beta1",
        "CustomResourceDefinition",
        (1, 22),
        "apiextensions.k8s.io/v1 CustomResourceDefinition",
    ),
    (
        "apiregistration.k8s.io/v1beta1",
        "APIService",
        (1, 22),
        "apiregistration.k8s.io/v1 APIService",
    ),
    (
        "auditregistration.k8s.io/v1alpha1",
        "AuditSink",
        (1, 19),
        "webhooks of the API server's audit policy",
    ),
    (
        "autoscaling/v2beta1",
        "HorizontalPodAutoscaler",
        (1, 25),
        "autoscaling/v2 HorizontalPodAutoscaler",
    ),
    (
        "autoscaling/v2beta2",
        "HorizontalPodAutoscaler",
        (1, 26),
        "autoscaling/v2 HorizontalPodAutoscaler",
    ),
    ("batch/v2alpha1", "CronJob", (1, 21), "batch/v1 CronJob"),
    (
        "extensions/v1beta1",
        "PodSecurityPolicy",
        (1, 16),
        "Pod Security Admission: labels of the namespace",
    ),
    (
        "policy/v1beta1",
        "PodSecurityPolicy",
        (1, 25),
        "Pod Security Admission: labels of the namespace",
    ),
    (
        "settings.k8s.io/v1alpha1",
        "PodPreset",
        (1, 20),
        "a mutating admission webhook",
    ),
];

/// The version that removed a kind, and what replaces it.
pub(super) fn find(api_version: &str, kind: &str) -> Option<((u64, u64), &'static str)> {
    let found = REMOVED
        .iter()
        .find(|(api, known, ..)| *api == api_version && *known == kind)?;
    Some((found.2, found.3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::deprecation;
    use crate::validate::kubernetes::{KnownKind, VersionChoice, kubernetes};

    #[test]
    fn what_is_listed_is_known_from_nowhere_else() {
        for (api, kind, ..) in REMOVED {
            assert!(deprecation(api, kind).is_none(), "{api} {kind}");
            let found = kubernetes().kind(api, kind, VersionChoice::newest());
            assert!(!matches!(found, KnownKind::Served(_)), "{api} {kind}");
        }
    }
}
