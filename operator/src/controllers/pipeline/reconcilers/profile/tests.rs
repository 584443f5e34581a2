//! What a Profile's reconcile reads, and what wakes it: by counts, which don't depend on the machine.

use serde_json::{Value, json};

use super::super::Grants;
use super::*;
use crate::api::GROUP;
use crate::runtime::views::{Object, View};
use crate::runtime::{Controllers, Health, Identity, Metrics, Watched};
use crate::tests::{api, refusal, run};

/// How many objects there are of each sort that a Profile has nothing to do with.
const OTHERS: usize = 300;

/// The stores with their indexes, and a Profile `catalog/all` of what has the label `env: prod`, in its own namespace and
/// in `tenant`.
fn cx() -> Cx {
    let client = api(|_, _, _| Some(refusal(500, "InternalError")));
    let cx = Cx::new(client, Identity::default(), Metrics::default(), Health::default());
    drop(stored::add_grants(wakes::add(Controllers::new(&cx))));
    profile(&cx, "all", "prod");
    grant(&cx, "tenant", "g", "Profile", "catalog");
    cx
}

fn put<W: Watched>(cx: &Cx, namespace: &str, name: &str, labels: &Value, spec: &Value) -> Object<W::View> {
    let object: Object<W::View> = serde_json::from_value(json!({
        "metadata": {"namespace": namespace, "name": name, "uid": name, "labels": labels},
        "spec": spec,
    }))
    .expect("an object");
    keep::<W>(cx, object.clone());
    object
}

fn keep<W: Watched>(cx: &Cx, object: Object<W::View>) {
    cx.store::<W>().put_for_test(object);
}

fn profile(cx: &Cx, name: &str, env: &str) {
    let spec = json!({"releaseRef": {"name": "shop"}, "targetSelector": {"matchLabels": {"env": env}}});
    put::<Profiles>(cx, "catalog", name, &json!({}), &spec);
}

fn grant(cx: &Cx, namespace: &str, name: &str, kind: &str, from: &str) {
    let spec = json!({"from": [{"group": GROUP, "kind": kind, "namespace": from}],
        "to": [{"group": GROUP, "kind": "Target"}]});
    put::<Grants>(cx, namespace, name, &json!({}), &spec);
}

fn target(cx: &Cx, namespace: &str, name: &str, env: &str) -> Object<impl View> {
    let spec = json!({"renderRegistryRef": {"name": "charts"}});
    put::<Targets>(cx, namespace, name, &json!({"env": env}), &spec)
}

fn all(cx: &Cx) -> Profile {
    stored::get(cx, &ObjectKey::new("catalog", "all")).expect("the Profile")
}

/// What the Profile creates, as the watch would show it.
fn bind(cx: &Cx) {
    for (name, spec) in decide(cx, &all(cx)).0.create {
        let spec = serde_json::to_value(spec).expect("JSON");
        let mut binding = put::<ReleaseBindings>(cx, "catalog", &name, &json!({}), &spec);
        let owner = owned::owner_reference(&Profiles::ID.key(ObjectName::new("catalog", "all")), "all");
        binding.metadata.owner_references = Some(vec![owner]);
        keep::<ReleaseBindings>(cx, binding);
    }
}

/// How many objects were read from the stores meanwhile.
fn reads<T>(cx: &Cx, work: impl FnOnce() -> T) -> (T, usize) {
    let count = || {
        let (targets, bindings) = (cx.store::<Targets>(), cx.store::<ReleaseBindings>());
        let (profiles, grants) = (cx.store::<Profiles>(), cx.store::<Grants>());
        targets.reads() + bindings.reads() + profiles.reads() + grants.reads()
    };
    let before = count();
    let done = work();
    (done, count() - before)
}

/// Targets, bindings, grants and Profiles that the Profile has nothing to do with.
fn add_others(cx: &Cx) {
    for other in 0..OTHERS {
        let name = format!("other-{other}");
        target(cx, "catalog", &name, "test");
        target(cx, "tenant", &name, "test");
        // Of the right label, but nothing lets the Profile bind them.
        target(cx, "strangers", &name, "prod");
        grant(cx, "strangers", &name, "Profile", "elsewhere");
        grant(cx, &name, "g", "Release", "catalog");
        let spec = json!({"targetRef": {"name": name}, "releaseRef": {"name": "shop"}});
        put::<ReleaseBindings>(cx, "catalog", &name, &json!({}), &spec);
        profile(cx, &name, "other");
    }
}

/// It once went over all Targets, the bindings of its namespace, and all grants.
#[test]
fn a_reconcile_reads_what_it_matches_and_nothing_of_what_else_is_there() {
    run(async {
        let work = |others: bool| {
            let cx = cx();
            for (namespace, name) in [("catalog", "a"), ("catalog", "b"), ("tenant", "c")] {
                target(&cx, namespace, name, "prod");
            }
            bind(&cx);
            target(&cx, "tenant", "d", "prod");
            if others {
                add_others(&cx);
            }
            let ((changes, existing), reads) = reads(&cx, || decide(&cx, &all(&cx)));
            let counts = (changes.matched, changes.create.len(), existing.len());
            assert_eq!((counts, changes.delete.len()), ((4, 1, 3), 0));
            reads
        };
        let alone = work(false);
        assert_eq!(work(true), alone);
        assert!(alone <= 12, "{alone} reads");
    });
}

#[test]
fn a_changed_target_wakes_the_profiles_that_have_to_do_something_about_it() {
    run(async {
        let work = |others: bool| {
            let cx = cx();
            if others {
                add_others(&cx);
            }
            let mut all_reads = 0;
            let mut expect = |target: &Object<_>, woken: &[&str], why: &str| {
                let (names, reads) = reads(&cx, || wakes::of_target(target, cx.stores()));
                let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                assert_eq!(names, woken, "{why}");
                all_reads += reads;
            };
            let target = |namespace: &str, name: &str, env: &str| {
                let spec = json!({"renderRegistryRef": {"name": "charts"}});
                put::<Targets>(&cx, namespace, name, &json!({"env": env}), &spec)
            };
            let near = target("catalog", "near", "prod");
            expect(&near, &["catalog/all"], "it is new");
            expect(&target("tenant", "far", "prod"), &["catalog/all"], "it is new");
            expect(&target("catalog", "x", "test"), &[], "the selector leaves it out");
            expect(&target("strange", "x", "prod"), &[], "nothing grants it");
            bind(&cx);
            expect(&near, &[], "it is bound");
            target("catalog", "near", "test");
            expect(&near, &["catalog/all"], "its label went");
            cx.store::<Targets>().remove_for_test(&near.name());
            expect(&near, &["catalog/all"], "it is gone");
            all_reads
        };
        assert_eq!(work(true), work(false));
    });
}

#[test]
fn a_binding_wakes_its_profile_only_when_it_is_not_as_it_should_be() {
    run(async {
        let cx = cx();
        target(&cx, "catalog", "near", "prod");
        bind(&cx);
        let bindings = cx.store::<ReleaseBindings>();
        let binding = bindings.all().remove(0);
        let woken = || wakes::of_binding(&binding, cx.stores()).len();
        assert_eq!(woken(), 0);
        let mut changed = (*binding).clone();
        if let Ok(view) = &mut changed.view {
            view.spec.release_ref.name = "evil".into();
        }
        keep::<ReleaseBindings>(&cx, changed);
        assert_eq!(woken(), 1, "somebody changed it");
        bindings.remove_for_test(&binding.name());
        assert_eq!(woken(), 1, "somebody deleted it");
        keep::<ReleaseBindings>(&cx, (*binding).clone());
        target(&cx, "catalog", "near", "test");
        assert_eq!(woken(), 1, "its Target is no longer matched");
    });
}

/// A grant of one tenant once woke all bindings of the namespace that it names.
#[test]
fn whether_a_reference_is_granted_is_read_from_its_own_grants() {
    run(async {
        let cx = cx();
        for other in 0..OTHERS {
            grant(
                &cx,
                "tenant",
                &format!("other-{other}"),
                "Profile",
                &format!("n{other}"),
            );
        }
        let reference = CrossReference::ProfileToTarget;
        let granted = |from: &'static str| reads(&cx, || stored::is_granted(&cx, reference, from, "tenant"));
        assert_eq!(granted("catalog"), (true, 1));
        assert_eq!(granted("nobody"), (false, 0));
    });
}
