use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinitionCondition, CustomResourceDefinitionStatus,
};

use super::*;
use crate::tests::{api, refusal as refusal_of, run};

const AFTER: Expected = Expected {
    pipeline: true,
    artifacts: true,
    cluster_addons: true,
    before_install: false,
};
const BEFORE: Expected = Expected {
    before_install: true,
    ..AFTER
};

fn installed(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let established = CustomResourceDefinitionCondition {
        type_: "Established".into(),
        status: "True".into(),
        ..Default::default()
    };
    crd.status = Some(CustomResourceDefinitionStatus {
        conditions: Some(vec![established]),
        stored_versions: Some(vec![VERSION.to_owned()]),
        ..Default::default()
    });
    crd
}

/// A cluster that is ready.
fn ready() -> ClusterState {
    let crds = api::crds(api::OptionalKinds::ALL).expect("CRDs").into_iter();
    ClusterState {
        version: Ok(("1".into(), "31+".into(), "v1.31.2".into())),
        api_service: Ok(None),
        crds: crds
            .map(|expected| CrdState {
                installed: Ok(Some(installed(expected.clone()))),
                expected,
            })
            .collect(),
    }
}

fn failures(state: &ClusterState, expected: Expected) -> Vec<Check> {
    let mut checks = checks(state, expected);
    checks.retain(|check| !check.passed);
    checks
}

#[test]
fn a_ready_cluster_passes_each_check() {
    for expected in [AFTER, BEFORE] {
        let checks = checks(&ready(), expected);
        let names: Vec<_> = checks.iter().map(|check| (check.name, check.passed)).collect();
        assert_eq!(names, [(KUBERNETES, true), (API_GROUP, true), (CRDS, true)]);
        assert_eq!(document(&checks)["passed"], true);
    }
}

#[test]
fn an_old_kubernetes_is_refused() {
    for (major, minor, passes) in [
        ("1", "31", true),
        ("1", "31+", true),
        ("2", "0", true),
        ("1", "40", true),
        ("1", "30", false),
        ("1", "9", false),
        ("1", "", false),
        ("x", "31", false),
    ] {
        let mut state = ready();
        state.version = Ok((major.into(), minor.into(), format!("v{major}.{minor}")));
        assert_eq!(failures(&state, AFTER).is_empty(), passes, "{major}.{minor}");
    }
}

#[test]
fn an_aggregated_api_is_refused_with_what_to_do_and_a_local_one_is_not() {
    let service = |spec: Value| -> APIService {
        serde_json::from_value(json!({"metadata": {"name": api_service_name()}, "spec": spec}))
            .expect("an APIService")
    };
    let base =
        json!({"group": GROUP, "version": VERSION, "groupPriorityMinimum": 1000, "versionPriority": 100});
    let mut state = ready();
    state.api_service = Ok(Some(service(base.clone())));
    assert_eq!(failures(&state, BEFORE), [], "CRDs have one without a Service");
    let mut aggregated = base;
    aggregated["service"] = json!({"namespace": "solar", "name": "solar-apiserver"});
    state.api_service = Ok(Some(service(aggregated)));
    for expected in [BEFORE, AFTER] {
        let failures = failures(&state, expected);
        assert_eq!(failures.len(), 1);
        assert!(
            failures[0].message.contains("solar/solar-apiserver"),
            "{failures:?}"
        );
        let hint = failures[0].hint.as_deref().expect("a hint");
        assert!(hint.contains("solar-operator export > solar.yaml"), "{hint}");
    }
}

#[test]
fn missing_and_old_crds_are_found_but_for_before_they_are_installed() {
    type Change = fn(&mut CrdState);
    let changes: [(&str, Change, bool); 5] = [
        ("is not installed", |one| one.installed = Ok(None), false),
        (
            "is of another version",
            |one| change(one, |crd| crd.spec.versions[0].schema = None),
            false,
        ),
        (
            "is not established",
            |one| {
                change(one, |crd| {
                    crd.status.as_mut().expect("a status").conditions = None
                });
            },
            false,
        ),
        (
            "has the scope Elsewhere",
            |one| change(one, |crd| crd.spec.scope = "Elsewhere".into()),
            true,
        ),
        (
            "objects stored as v0",
            |one| {
                change(one, |crd| {
                    let stored = vec!["v0".to_owned(), VERSION.to_owned()];
                    crd.status.as_mut().expect("a status").stored_versions = Some(stored);
                });
            },
            true,
        ),
    ];
    for (message, change, is_always_wrong) in changes {
        let mut state = ready();
        change(&mut state.crds[1]);
        let found = failures(&state, AFTER);
        assert_eq!(found.len(), 1, "{message}: {found:?}");
        assert!(
            found[0]
                .message
                .contains("clusterrendertasks.solar.opendefense.cloud")
        );
        assert!(found[0].message.contains(message), "{found:?}");
        assert_eq!(!failures(&state, BEFORE).is_empty(), is_always_wrong, "{message}");
    }
}

fn change(state: &mut CrdState, change: impl FnOnce(&mut CustomResourceDefinition)) {
    if let Ok(Some(crd)) = &mut state.installed {
        change(crd);
    }
}

#[test]
fn what_cannot_be_read_does_not_pass() {
    let mut state = ready();
    let forbidden = || Refusal {
        code: 403,
        message: "forbidden (403)".to_owned(),
    };
    state.version = Err(forbidden());
    state.api_service = Err(forbidden());
    state.crds[0].installed = Err(forbidden());
    let failures = failures(&state, BEFORE);
    assert_eq!(failures.len(), 3, "{failures:?}");
    assert!(
        failures
            .iter()
            .all(|one| one.message.contains("403") && one.hint.is_some())
    );
}

/// Each check once repeated the same error, with a hint on rights.
#[test]
fn a_server_that_does_not_answer_as_an_api_server_is_one_error() {
    for (code, answer) in [
        (200, json!("<html>")),
        (502, json!("<html>")),
        (403, json!("<html>")),
        refusal_of(401, "Unauthorized"),
    ] {
        let observed = run(async {
            let client = api(move |_, _, _| Some((code, answer.clone())));
            observe(&client, AFTER).await
        });
        let error = observed.expect_err("no state");
        assert!(
            matches!(&error, ObserveError::Connection(text) if !text.contains("html")),
            "{error:?}"
        );
    }
}

#[test]
fn a_hint_on_rights_is_only_given_when_they_are_missing() {
    for (code, has_hint) in [(403, true), (500, false)] {
        let observed = run(async {
            let client = api(move |_, _, _| Some(refusal_of(code, "Refused")));
            observe(&client, AFTER).await
        });
        let failures = failures(&observed.expect("a state"), AFTER);
        assert!(failures.len() > 2, "{failures:?}");
        assert!(
            failures.iter().all(|one| one.hint.is_some() == has_hint),
            "{failures:?}"
        );
    }
}
