//! What the unit tests of several modules start from.

use serde_json::json;

use crate::api::Task;
use crate::build::JobSettings;

/// A release task named `shop` in the namespace `tenant`.
pub(crate) fn task() -> Task {
    serde_json::from_value(json!({
        "metadata": {"name": "shop", "namespace": "tenant", "uid": "uid-1", "generation": 1},
        "spec": {
            "type": "release",
            "release": {
                "chart": {"name": "shop", "version": "1.0.0"},
                "input": {
                    "component": {"name": "shop"},
                    "resources": {"chart": {"repository": "h.example/c/shop", "tag": "1.0.0"}},
                    "entrypoint": {"resourceName": "chart", "type": "helm"},
                },
            },
            "repository": "tenant/shop",
            "tag": "1.0.0",
            "baseURL": "h.example/charts",
            "ownerName": "shop",
            "ownerNamespace": "tenant",
            "ownerKind": "Release",
        },
    }))
    .expect("a task")
}

/// Settings with a recognisable value in each field that a Job shows.
pub(crate) fn settings() -> JobSettings {
    JobSettings {
        image: "h.example/renderer:1".into(),
        command: Vec::new(),
        args: Vec::new(),
        ca_configmap: None,
        image_pull_secrets: Vec::new(),
        deadline_seconds: 900,
        permanent_exit_codes: [1, 2, 3, 4].into(),
        requests: [("cpu".into(), "50m".into())].into(),
        limits: [("memory".into(), "256Mi".into())].into(),
        job_namespace: "solar-system".into(),
    }
}
