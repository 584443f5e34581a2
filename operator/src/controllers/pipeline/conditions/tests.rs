//! Tables of states and the expected conditions.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::*;
use crate::controllers::pipeline::signing::tests::{left, pair};
use crate::controllers::pipeline::target_status::tests::{bound, pushed, task};
use crate::runtime::conditions::{find, merge};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("a", name)
}

fn resolved() -> Reference {
    Reference::Resolved(key("charts"))
}

/// Type, status and reason of each, in order.
fn short(findings: &[Finding<Reason>]) -> Vec<String> {
    let findings = findings.iter();
    findings
        .map(|one| format!("{}={}/{}", one.kind, one.status, one.reason.name()))
        .collect()
}

fn message<'a>(findings: &'a [Finding<Reason>], kind: &str) -> &'a str {
    let found = findings.iter().find(|one| one.kind == kind);
    found.map_or("", |one| one.message.as_str())
}

fn pending() -> TaskState {
    TaskState::Pending {
        message: "JobScheduled: 1 active".into(),
    }
}

fn failed(reason: &str) -> TaskState {
    TaskState::Failed {
        reason: reason.into(),
        message: "m".into(),
    }
}

fn unbound() -> Progress {
    Progress::Refused(PlanError::MissingRegistryBinding {
        host: "h.example".into(),
        resource: "chart".into(),
    })
}

fn missing() -> Progress {
    Progress::Missing {
        message: "ComponentVersion a/x doesn't exist".into(),
    }
}

fn filtered() -> Progress {
    Progress::Filtered {
        message: "why".into(),
    }
}

fn releases(progress: Vec<Progress>) -> Vec<BoundRelease> {
    let progress = progress.into_iter().enumerate();
    progress
        .map(|(index, one)| bound(&format!("r{index}"), one))
        .collect()
}

fn of_target(
    registry: Reference,
    releases: &[BoundRelease],
    bootstrap: Option<TaskState>,
) -> Vec<Finding<Reason>> {
    let bootstrap = bootstrap.map(|state| {
        Ok(Bootstrap {
            task: key("render-tgt-edge-1"),
            state,
        })
    });
    target(&TargetState {
        registry,
        releases,
        signing: None,
        bootstrap,
    })
}

#[test]
fn a_registry_that_cannot_be_used_is_named_with_its_reason() {
    let table = [
        (
            Reference::NotFound {
                kind: "Registry",
                key: key("charts"),
            },
            "NotFound",
        ),
        (
            Reference::NotGranted {
                missing: "no grant".into(),
            },
            "NotGranted",
        ),
        (
            Reference::MissingSolarSecretRef(key("charts")),
            "MissingSolarSecretRef",
        ),
    ];
    for (registry, reason) in table {
        let findings = of_target(registry, &releases(vec![task("a", pushed())]), None);
        assert_eq!(
            short(&findings),
            [
                format!("RegistryResolved=False/{reason}"),
                "ReleasesResolved=True/NoConflicts".into(),
                format!("Ready=False/{reason}"),
            ]
        );
    }
}

/// The progress for a name in the table.
fn progress(name: &str) -> Progress {
    match name {
        "rendered" => task("a", pushed()),
        "pending" => task("a", pending()),
        "failed" => task("a", failed("AuthFailed")),
        "conflict" => task("a", failed("Conflict")),
        "missing" => missing(),
        "unbound" => unbound(),
        "filtered" => filtered(),
        other => panic!("{other}"),
    }
}

#[test]
fn the_reasons_of_a_target_are_solars() {
    const NONE: &str = "False/NoReleaseBindings";
    const ALL_FILTERED: &str = "False/AllReleaseBindingsFiltered";
    const MISSING: &str = "False/MissingDependencies";
    const UNBOUND: &str = "False/MissingRegistryBinding";
    const FAILED: &str = "False/ReleaseFailed";
    const FREE: &str = "True/NoConflicts";
    const DONE: &str = "True/AllRendered";
    const WAITS: &str = "Unknown/Pending";
    // Releases, the bootstrap's task; ReleasesResolved, ReleasesRendered, BootstrapReady, Ready.
    let table = [
        ("", "", [NONE, NONE, "", NONE]),
        ("filtered", "", ["True/Resolved", ALL_FILTERED, "", ALL_FILTERED]),
        ("pending rendered", "", [FREE, "False/Pending", "", WAITS]),
        ("missing pending", "", [FREE, MISSING, "", MISSING]),
        ("missing unbound rendered", "", [FREE, UNBOUND, "", UNBOUND]),
        ("missing failed rendered", "", [FREE, FAILED, "", FAILED]),
        // A taken tag is a failure of a Release, since the tag is a hash of its content.
        ("conflict", "", [FREE, FAILED, "", FAILED]),
        ("rendered", "", [FREE, DONE, "", WAITS]),
        (
            "rendered filtered",
            "pending",
            ["True/Resolved", DONE, WAITS, WAITS],
        ),
        ("rendered", "failed", [FREE, DONE, "False/Failed", "False/Failed"]),
        // The number is raised.
        ("rendered", "conflict", [FREE, DONE, WAITS, WAITS]),
        ("rendered", "rendered", [FREE, DONE, "True/Ready", "True/Ready"]),
    ];
    for (named, bootstrap, expected) in table {
        let releases = releases(named.split_whitespace().map(progress).collect());
        let bootstrap = bootstrap
            .split_whitespace()
            .next()
            .map(|name| match progress(name) {
                Progress::Task { state, .. } => state,
                other => panic!("{other:?}"),
            });
        let findings = of_target(resolved(), &releases, bootstrap);
        let conditions = merge(&[], &findings, Some(3), Timestamp::UNIX_EPOCH);
        let of = |kind| {
            find(&conditions, kind).map_or(String::new(), |one| format!("{}/{}", one.status, one.reason))
        };
        let found = [
            types::RELEASES_RESOLVED,
            types::RELEASES_RENDERED,
            types::BOOTSTRAP_READY,
            kinds::READY,
        ];
        assert_eq!(found.map(of), expected, "{named}");
        assert_eq!(of(types::REGISTRY_RESOLVED), "True/Resolved");
        let is_stalled = ["False/ReleaseFailed", "False/Failed"].contains(&expected[3]);
        assert_eq!(find(&conditions, kinds::STALLED).is_some(), is_stalled, "{named}");
        assert!(conditions.iter().all(|one| one.observed_generation == Some(3)));
    }
}

/// Stalled once was True while the operator waited for its next try.
#[test]
fn a_target_is_stalled_only_when_nothing_happens_by_itself() {
    let of = |reason: &str| task("a", failed(reason));
    let refused = |is_rejected: bool| {
        let task = key("render-rel-a");
        Progress::Refused(if is_rejected {
            let message = "quota".into();
            PlanError::Rejected { task, message }
        } else {
            PlanError::NameConflict { task }
        })
    };
    // The Releases, the reason of the bootstrap chart's failure; whether it is stalled.
    let table = [
        (vec![of("RegistryUnavailable")], "", false),
        (vec![of("DeadlineExceeded"), of("Evicted")], "", false),
        (vec![of("AuthFailed")], "", true),
        (vec![of("Conflict")], "", true),
        // One of them needs somebody.
        (vec![of("RegistryUnavailable"), of("AuthFailed")], "", true),
        (
            vec![of("RegistryUnavailable"), unbound(), missing(), filtered()],
            "",
            false,
        ),
        (vec![refused(true)], "", false),
        (vec![refused(false)], "", true),
        (vec![task("a", pushed())], "RegistryUnavailable", false),
        (vec![task("a", pushed())], "ConfigInvalid", true),
    ];
    for (progress, bootstrap, is_stalled) in table {
        let releases = releases(progress);
        let bootstrap = (!bootstrap.is_empty()).then(|| failed(bootstrap));
        let findings = of_target(resolved(), &releases, bootstrap);
        let conditions = merge(&[], &findings, None, Timestamp::UNIX_EPOCH);
        let ready = find(&conditions, kinds::READY).expect("Ready");
        assert_eq!(ready.status, "False", "{releases:?}");
        let stalled = find(&conditions, kinds::STALLED);
        assert_eq!(stalled.is_some(), is_stalled, "{releases:?}");
        assert!(stalled.is_none_or(|stalled| stalled.reason == ready.reason));
    }
    for (error, is_stalled) in [
        (
            PlanError::NumbersUsedUp(crate::controllers::pipeline::bootstrap::NumbersUsedUp),
            true,
        ),
        (
            PlanError::Rejected {
                task: key("render-tgt-edge-1"),
                message: "quota".into(),
            },
            false,
        ),
    ] {
        let findings = target(&TargetState {
            registry: resolved(),
            releases: &releases(vec![task("a", pushed())]),
            signing: None,
            bootstrap: Some(Err(error)),
        });
        let has = findings.iter().any(|one| one.kind == kinds::STALLED);
        assert_eq!(has, is_stalled, "{findings:?}");
    }
}

/// One failed Release once hid the state of all others.
#[test]
fn the_message_names_each_release_and_its_reason() {
    let releases = releases(vec![
        task("a", pending()),
        missing(),
        task("c", failed("AuthFailed")),
        unbound(),
        task("e", pushed()),
        filtered(),
    ]);
    let findings = of_target(resolved(), &releases, None);
    assert_eq!(
        message(&findings, types::RELEASES_RENDERED),
        "1 of 5 rendered; Release a/r2: AuthFailed: m; Release a/r3: no RegistryBinding of the Target is for host \
         h.example, which resource chart is pulled from; Release a/r1: ComponentVersion a/x doesn't exist; Release a/r0: \
         JobScheduled: 1 active"
    );
    assert_eq!(message(&findings, types::RELEASES_RESOLVED), "filtered: why");
}

#[test]
fn two_hundred_failed_releases_fit_a_message() {
    let many = (0..200).map(|_| task("a", failed("AuthFailed"))).collect();
    let findings = of_target(resolved(), &releases(many), None);
    let conditions = merge(&[], &findings, None, Timestamp::UNIX_EPOCH);
    let rendered = find(&conditions, types::RELEASES_RENDERED).expect("it");
    assert!(rendered.message.contains("Release a/r199: AuthFailed"));
    let huge = vec![Finding {
        kind: kinds::READY,
        status: "False",
        reason: Reason::Failed,
        message: "x".repeat(40_000),
    }];
    let cut = merge(&[], &huge, None, Timestamp::UNIX_EPOCH);
    assert!(cut[0].message.len() <= MAX_MESSAGE);
}

/// Of a Target whose charts are all pushed.
fn of_signing(signing: &TargetSigning) -> Vec<Finding<Reason>> {
    target(&TargetState {
        registry: resolved(),
        releases: &releases(vec![task("a", pushed())]),
        signing: Some(signing),
        bootstrap: Some(Ok(Bootstrap {
            task: key("render-tgt-edge-1"),
            state: pushed(),
        })),
    })
}

#[test]
fn which_pairs_sign_is_reported() {
    let mut signing = TargetSigning::default();
    let none = short(&of_signing(&signing));
    assert_eq!(none.last().map(String::as_str), Some("Ready=Unknown/Pending"));
    signing.keys.add(pair(1), None, &BTreeSet::new());
    let findings = of_signing(&signing);
    assert_eq!(
        short(&findings),
        [
            "RegistryResolved=True/Resolved",
            "ReleasesResolved=True/NoConflicts",
            "SigningKeyReady=True/Ready",
            "ReleasesRendered=True/AllRendered",
            "BootstrapReady=True/Ready",
            "Ready=True/Ready"
        ]
    );
    assert_eq!(
        message(&findings, types::SIGNING_KEY_READY),
        "key pair 1 signs, Secret solar-system/edge-cosign-1"
    );
    signing.keys.add(pair(2), None, &left());
    let findings = of_signing(&signing);
    assert!(short(&findings).contains(&"SigningKeyReady=True/Rotating".to_owned()));
    assert!(message(&findings, types::SIGNING_KEY_READY).contains("solar-system/edge-cosign-1, until"));
}

#[test]
fn a_key_pair_that_cannot_be_used_is_named_with_its_reason() {
    let secret = || key("edge-cosign");
    let conflict = SigningProblem::NameConflict {
        secret: secret(),
        reason: "it was not made for this Target".into(),
    };
    let not_found = SigningProblem::NotFound {
        secret: secret(),
        number: 1,
    };
    let rejected = SigningProblem::Rejected {
        secret: secret(),
        message: "quota".into(),
    };
    for (problem, reason, is_stalled) in [
        (conflict, "NameConflict", true),
        (not_found, "SignKeySecretNotFound", true),
        (rejected, "Rejected", false),
    ] {
        let findings = of_signing(&TargetSigning {
            problem: Some(problem),
            ..TargetSigning::default()
        });
        let stalled = if is_stalled {
            format!(" Stalled=True/{reason}")
        } else {
            String::new()
        };
        let expected = format!("Ready=False/{reason}{stalled}");
        assert!(short(&findings).join(" ").ends_with(&expected), "{findings:?}");
        assert!(message(&findings, kinds::READY).contains("a/edge-cosign"));
    }
}

#[test]
fn a_ready_bootstrap_reports_its_chart() {
    let findings = of_target(resolved(), &releases(vec![task("a", pushed())]), Some(pushed()));
    assert_eq!(message(&findings, types::BOOTSTRAP_READY), "oci://h/x:1@sha256:1");
    let findings = target(&TargetState {
        registry: resolved(),
        releases: &releases(vec![task("a", pushed())]),
        signing: None,
        bootstrap: Some(Err(PlanError::InvalidData {
            field: "userdata",
            message: "m".into(),
        })),
    });
    assert_eq!(message(&findings, kinds::READY), "userdata can't be read: m");
}

#[test]
fn releases_and_bindings_report_what_they_refer_to() {
    let not_found = || Reference::NotFound {
        kind: "ComponentVersion",
        key: key("x"),
    };
    let not_granted = || Reference::NotGranted { missing: "g".into() };
    let table = [
        (
            release(&resolved(), &[]),
            vec!["ComponentVersionResolved=True/Resolved", "Ready=True/Ready"],
        ),
        (
            release(&not_found(), &[]),
            vec!["ComponentVersionResolved=False/NotFound", "Ready=False/NotFound"],
        ),
        (
            release(&not_granted(), &[]),
            vec![
                "ComponentVersionResolved=False/NotGranted",
                "Ready=False/NotGranted",
            ],
        ),
        (binding(&[resolved(), resolved()]), vec!["Ready=True/Ready"]),
        (binding(&[resolved(), not_found()]), vec!["Ready=False/NotFound"]),
        (
            binding(&[not_granted(), resolved()]),
            vec!["Ready=False/NotGranted"],
        ),
        (referenced(&[]), vec!["Ready=True/Ready"]),
    ];
    for (findings, expected) in table {
        assert_eq!(short(&findings), expected);
    }
}

#[test]
fn an_object_that_is_kept_names_the_objects_that_keep_it() {
    let holders = [Holder {
        kind: "Target",
        key: key("edge"),
    }];
    for findings in [referenced(&holders), release(&resolved(), &holders)] {
        assert!(
            short(&findings).contains(&"Ready=False/InUse".to_owned()),
            "{findings:?}"
        );
        assert!(message(&findings, kinds::READY).contains("Target a/edge refers"));
    }
    let many: Vec<Holder> = (0..=MAX_HOLDERS)
        .map(|number| Holder {
            kind: "Target",
            key: key(&format!("t{number}")),
        })
        .collect();
    let findings = referenced(&many);
    let text = message(&findings, kinds::READY);
    assert!(text.ends_with("Target a/t9 and 1 more refer to it"), "{text}");
}

/// A binding that could not be deleted once kept a Profile without any message.
#[test]
fn a_profile_names_the_bindings_that_are_stuck() {
    let stuck = BTreeMap::from([("all-1".to_owned(), vec!["example.com/f".to_owned()])]);
    let none = BTreeMap::new();
    let taken = ["all-2".to_owned()];
    let state = |release, stuck, taken| ProfileState {
        release,
        matched: 3,
        stuck,
        taken,
    };
    let ready = profile(&state(resolved(), &none, &[]));
    assert_eq!(short(&ready), ["Ready=True/Ready"]);
    assert_eq!(message(&ready, kinds::READY), "3 Targets match");
    let problems = profile(&state(resolved(), &stuck, &taken));
    assert_eq!(short(&problems), ["Ready=False/BindingStuck"]);
    assert_eq!(
        message(&problems, kinds::READY),
        "ReleaseBinding all-1 is kept by example.com/f; ReleaseBinding all-2 is not this Profile's"
    );
    let gone = Reference::NotFound {
        kind: "Release",
        key: key("shop"),
    };
    assert_eq!(
        short(&profile(&state(gone, &none, &[]))),
        ["Ready=False/NotFound"]
    );
}

#[test]
fn an_artifact_reports_its_clean_up() {
    let failed = |reason| ArtifactState::CleanupFailed {
        reason,
        message: "401".into(),
    };
    let table = [
        (ArtifactState::Used, vec!["Ready=True/Ready"]),
        (
            ArtifactState::Held { by: vec!["b".into()] },
            vec!["Ready=False/InUse"],
        ),
        (ArtifactState::Cleaning, vec!["Ready=Unknown/Pending"]),
        (
            failed(Reason::AuthFailed),
            vec!["OCICleanup=False/AuthFailed", "Ready=False/AuthFailed"],
        ),
        (
            failed(Reason::DeleteFailed),
            vec!["OCICleanup=False/DeleteFailed", "Ready=False/DeleteFailed"],
        ),
    ];
    for (state, expected) in table {
        assert_eq!(short(&artifact(&state)), expected, "{state:?}");
    }
}
