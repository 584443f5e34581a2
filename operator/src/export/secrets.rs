//! The Secrets that exported objects refer to, by name: nothing is read of them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::pipeline::ObjectKey;
use crate::yaml::is_special;

/// Where a kind names a Secret: the kind, the field and where the Secret is.
const REFERENCES: [(&str, &str, Location); 6] = [
    ("Registry", "/spec/solarSecretRef/name", Location::SameNamespace),
    ("Registry", "/spec/targetPullSecretName", Location::Targets),
    ("RenderTask", "/spec/pushSecretRef/name", Location::SameNamespace),
    (
        "RenderTask",
        "/spec/signKeySecretRef/name",
        Location::SameNamespace,
    ),
    ("ClusterRenderTask", "/spec/pushSecretRef/name", Location::Jobs),
    ("ClusterRenderTask", "/spec/signKeySecretRef/name", Location::Jobs),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Location {
    SameNamespace,
    Targets,
    Jobs,
}

/// The names, each with the object that names it first and how many others do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SecretNames {
    names: BTreeMap<String, (String, usize)>,
}

impl SecretNames {
    /// Those that an object refers to, and those of its key pairs.
    pub(super) fn add(&mut self, kind: &str, object: &Value, key_pairs: &[ObjectKey]) {
        let text = |path: &str| {
            object
                .pointer(path)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let namespace = text("/metadata/namespace").unwrap_or("");
        let user = match text("/metadata/name").unwrap_or("") {
            user if namespace.is_empty() => format!("{kind} {user}"),
            user => format!("{kind} {namespace}/{user}"),
        };
        for pair in key_pairs {
            self.insert(format!("{pair} with a key pair that clusters trust"), &user);
        }
        for (_, path, location) in REFERENCES.iter().filter(|(of, ..)| *of == kind) {
            let Some(name) = text(path) else { continue };
            let secret = match location {
                Location::SameNamespace => format!("{namespace}/{name}"),
                Location::Targets => format!("{name}, on the targets"),
                Location::Jobs => format!("{name}, in the namespace of ClusterRenderTasks' Jobs"),
            };
            self.insert(secret, &user);
        }
    }

    fn insert(&mut self, secret: String, user: &str) {
        let uses = self.names.entry(secret).or_insert_with(|| (user.to_owned(), 0));
        uses.1 += 1;
    }

    /// A line for each.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.names.iter().map(|(secret, (user, uses))| {
            let others = match uses {
                1 => String::new(),
                uses => format!(" and {} more", uses - 1),
            };
            format!("Secret {secret}: not exported; {user}{others} refers to it")
        })
    }

    /// All lines as comments of a document of their own, so that they are of no object.
    pub(super) fn comment(&self) -> String {
        let mut text = String::new();
        for line in self.lines() {
            if text.is_empty() {
                text.push_str("---\n");
            }
            // A name that no API server has checked must not end the comment.
            let line: String = line.chars().filter(|one| !is_special(*one)).collect();
            text.push_str(&format!("# {line}\n"));
        }
        text
    }
}
