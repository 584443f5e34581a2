//! Objects are sent in their order.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use tokio::time::{Instant, sleep};

use crate::crd::{is_established, served_by};
use crate::{ApiServer, CRD, ObjectKey, PreparedObject};

/// How many objects of one kind are sent at a time.
pub const CONCURRENCY: usize = 8;
/// How long CRDs may take to be established.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);
/// The delay between two requests for that.
const POLL: Duration = Duration::from_millis(300);

/// Applies objects in their order: those of one kind together, CRDs until they are established. `done` gets what became
/// of each; what follows one that has failed is applied nevertheless.
///
/// # Errors
/// The cluster has stopped answering: what `done` did not get was not tried.
pub async fn apply<S: ApiServer>(
    server: &mut S,
    objects: &[PreparedObject],
    mut done: impl FnMut(&PreparedObject, Result<S::Applied, S::Error>),
) -> Result<(), S::Error> {
    for same in objects.chunk_by(|a, b| a.key.kind == b.key.kind && a.key.group == b.key.group) {
        let sent: &S = server;
        let mut requests = Vec::new();
        for one in same {
            requests.push(send(sent, one).boxed());
        }
        let mut results = stream::iter(requests).buffered(CONCURRENCY);
        let mut crds = BTreeSet::new();
        while let Some((one, result)) = results.next().await {
            match result {
                Err(error) if S::is_unreachable(&error) => return Err(error),
                result => {
                    if result.is_ok() && one.key.kind == CRD {
                        crds.insert(one.key.clone());
                    }
                    done(one, result);
                }
            }
        }
        drop(results);
        if !crds.is_empty() {
            establish(server, same, &crds).await?;
        }
    }
    Ok(())
}

async fn send<'o, S: ApiServer>(
    server: &S,
    one: &'o PreparedObject,
) -> (&'o PreparedObject, Result<S::Applied, S::Error>) {
    (one, server.apply(one).await)
}

/// Waits until CRDs are established and the cluster says that it serves their kinds.
async fn establish<S: ApiServer>(
    server: &mut S,
    objects: &[PreparedObject],
    crds: &BTreeSet<ObjectKey>,
) -> Result<(), S::Error> {
    let end = Instant::now() + ESTABLISHED_WITHIN;
    for crd in objects.iter().filter(|one| crds.contains(&one.key)) {
        loop {
            match server.get(crd).await {
                Ok(Some(live)) if is_established(&live) => break,
                Err(error) if S::is_unreachable(&error) => return Err(error),
                // What needs it fails, and says why.
                _ if Instant::now() > end => break,
                _ => sleep(POLL).await,
            }
        }
    }
    loop {
        server.discover().await?;
        let is_served = objects.iter().filter(|one| crds.contains(&one.key)).all(|one| {
            let kinds = served_by(&one.object);
            kinds.iter().all(|kind| server.is_namespaced(kind).is_ok())
        });
        if is_served || Instant::now() > end {
            return Ok(());
        }
        sleep(POLL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::{Value, json};

    use super::*;
    use crate::Scopes;

    /// A cluster that records what it is asked.
    #[derive(Default)]
    struct Recorded {
        log: Mutex<Vec<String>>,
        /// How often a CRD is asked for before it is established.
        slow: Mutex<usize>,
        /// The names of objects that it refuses, and from which on it doesn't answer.
        refused: &'static str,
        dead: &'static str,
    }

    impl Recorded {
        fn note(&self, line: String) {
            self.log.lock().unwrap().push(line);
        }
    }

    impl ApiServer for Recorded {
        type Applied = ();
        type Error = &'static str;

        async fn apply(&self, one: &PreparedObject) -> Result<(), &'static str> {
            self.note(format!("apply {}", one.key));
            match one.key.name.as_str() {
                name if name == self.refused => Err("refused"),
                name if name == self.dead => Err("unreachable"),
                _ => Ok(()),
            }
        }

        async fn get(&self, one: &PreparedObject) -> Result<Option<Value>, &'static str> {
            self.note(format!("get {}", one.key));
            let mut slow = self.slow.lock().unwrap();
            let status = if *slow == 0 { "True" } else { "False" };
            *slow = slow.saturating_sub(1);
            let conditions = json!([{"type": "Established", "status": status}]);
            Ok(Some(json!({"status": {"conditions": conditions}})))
        }

        async fn discover(&mut self) -> Result<(), &'static str> {
            self.note("discover".to_owned());
            Ok(())
        }

        fn is_namespaced(&self, object: &Value) -> Result<bool, &'static str> {
            match object["kind"].as_str() {
                Some("Unknown") => Err("no such kind"),
                kind => Ok(kind != Some("Namespace") && kind != Some(CRD)),
            }
        }

        fn is_unreachable(error: &&'static str) -> bool {
            *error == "unreachable"
        }
    }

    fn object(kind: &str, name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})
    }

    fn run(server: &mut Recorded, objects: &[Value]) -> (Vec<String>, Result<(), &'static str>) {
        let scopes = Scopes::new(server, objects);
        let prepared: Vec<_> = objects
            .iter()
            .map(|one| scopes.prepare(one, "shop").unwrap())
            .collect();
        let mut outcomes = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let ended = runtime.block_on(apply(server, &prepared, |one, result| {
            outcomes.push(format!("{}: {result:?}", one.key));
        }));
        (outcomes, ended)
    }

    #[test]
    fn crds_are_waited_for_before_what_follows_them() {
        let mut server = Recorded {
            slow: Mutex::new(2),
            ..Recorded::default()
        };
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": CRD, "metadata": {"name": "w"},
            "spec": {"group": "example.com", "names": {"kind": "Widget"},
                "versions": [{"name": "v1", "served": true}]}});
        let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
        let (_, ended) = run(&mut server, &[crd, widget]);
        assert_eq!(ended, Ok(()));
        let crd = "CustomResourceDefinition.apiextensions.k8s.io w";
        let get = format!("get {crd}");
        let expected = [
            &format!("apply {crd}"),
            &get,
            &get,
            &get,
            "discover",
            "apply Widget.example.com shop/a",
        ];
        assert_eq!(*server.log.lock().unwrap(), expected);
    }

    /// A CRD that never becomes established once held up an apply for ever.
    #[test]
    fn a_crd_that_is_never_established_ends_the_wait() {
        let mut server = Recorded {
            slow: Mutex::new(usize::MAX),
            ..Recorded::default()
        };
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": CRD, "metadata": {"name": "w"}});
        let (outcomes, ended) = run(&mut server, &[crd, object("ConfigMap", "a")]);
        assert_eq!((outcomes.len(), ended), (2, Ok(())));
    }

    #[test]
    fn what_follows_a_refused_object_is_applied_and_nothing_once_the_server_is_gone() {
        let all = [
            object("Secret", "a"),
            object("ConfigMap", "b"),
            object("Service", "c"),
        ];
        let mut server = Recorded {
            refused: "a",
            ..Recorded::default()
        };
        let (outcomes, ended) = run(&mut server, &all);
        assert_eq!(
            outcomes,
            [
                "Secret shop/a: Err(\"refused\")",
                "ConfigMap shop/b: Ok(())",
                "Service shop/c: Ok(())"
            ]
        );
        assert_eq!(ended, Ok(()));
        let mut server = Recorded {
            dead: "b",
            ..Recorded::default()
        };
        let (outcomes, ended) = run(&mut server, &all);
        assert_eq!((outcomes.len(), ended), (1, Err("unreachable")));
        let asked = server.log.lock().unwrap().len();
        assert_eq!(asked, 2, "nothing after the one without an answer");
    }

    #[test]
    fn an_unknown_kind_is_an_error() {
        let server = Recorded::default();
        let scopes = Scopes::new(&server, []);
        assert_eq!(
            scopes.prepare(&object("Unknown", "a"), "shop"),
            Err("no such kind")
        );
    }
}
