//! Targets with `spec.suspend`.

use serde_json::json;

use super::{SYSTEM, Space, condition_of, message};

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_suspended_target_is_left_as_it_is_but_for_its_deletion() {
    let space = Space::new("suspended");
    let suspend = |is_suspended: bool| {
        let patch = json!({"spec": {"suspend": is_suspended}}).to_string();
        space.kubectl(&["patch", "tgt", "edge", "--type=merge", "-p", &patch]);
    };
    space.release(&space.own, "shop", &json!({}));
    space.target(&json!({}), &json!({}));
    let first = space.until_ready(1);
    suspend(true);
    let target = space.until_reason("Suspended", "Suspended");
    assert_eq!(condition_of(&target, "Ready"), condition_of(&first, "Ready"));
    space.release(&space.own, "shop", &json!({"values": {"replicas": 2}}));
    // Another Target, which the same change wakes at the same time, has rendered it.
    let spec = json!({"renderRegistryRef": {"name": "charts", "namespace": SYSTEM}});
    let binding = json!({"targetRef": {"name": "witness"}, "releaseRef": {"name": "shop"}});
    space.apply("Target", "witness", &spec);
    space.apply("ReleaseBinding", "witness", &binding);
    space.kubectl(&["wait", "tgt/witness", "--for=condition=Ready", "--timeout=120s"]);
    assert_eq!(space.get()["status"], target["status"]);

    suspend(false);
    let target = space.until_ready(2);
    assert_eq!(message(&target, "Suspended"), "");
    suspend(true);
    space.until_reason("Suspended", "Suspended");
    space.kubectl(&["delete", "tgt", "edge", "witness", "--timeout=120s"]);
    assert_eq!(space.until_tasks(0), Vec::<String>::new());
}
