//! Signed charts: the key pairs of a Target, which charts each of them signs, and which public keys its clusters trust.
//!
//! A pair is a Secret in the Registry's namespace, which the operator creates ([`key_secret`]) and never reads: Jobs
//! mount it, and its metadata also has the public key. Release charts are verified with the keys in the bootstrap
//! chart; the bootstrap chart itself with a key that its cluster has from the previous chart, or from whoever installed
//! the first.
//!
//! So a rotation hands over: the chart with the new key among its public keys is still signed by the old one, and stays
//! the newest until there is other content, or another rotation. Only then the new key signs it. The old pair is retired:
//! its Secret is deleted when the next bootstrap chart was pushed. What is decided here are pure functions of what the
//! Target's status knows ([`SigningKeys`]).

pub mod key_secret;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use solar_render::config::schema::{
    SecretReference, VerificationKeysDocument, VerifyDocument, VerifyProvider,
};

use super::canonical;
use super::task_owner::bounded;
use crate::api::LocalReference;
use crate::api::pipeline::{KeyPair, ObjectKey, SigningKeys};

/// The annotation of a Target that requests a new key pair: each new value requests one.
pub const ROTATE_ANNOTATION: &str = "solar.opendefense.cloud/rotate-signing-key";

/// The annotation of a Target with the number of its first key pair here: `export` writes it, so that in another cluster
/// the pair goes on signing that clusters trust.
pub const NUMBER_ANNOTATION: &str = "solar.opendefense.cloud/signing-key-number";

/// Where a Target that signs stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetSigning {
    /// Its key pairs.
    pub keys: SigningKeys,
    /// What is in the way.
    pub problem: Option<SigningProblem>,
}

/// Why a key pair can't be made or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SigningProblem {
    /// The Secret was not made for the Target, or has another key than the Target's status.
    #[error("the Secret {secret} can't be used, and is not deleted: {reason}")]
    NameConflict {
        /// The Secret.
        secret: ObjectKey,
        /// What it is.
        reason: String,
    },
    /// The Secret was deleted by somebody.
    #[error(
        "the Secret {secret} with key pair {number} doesn't exist: restore it, or ask for another pair by the annotation {ROTATE_ANNOTATION}"
    )]
    NotFound {
        /// The Secret.
        secret: ObjectKey,
        /// The pair's number.
        number: u32,
    },
    /// The API server refuses the Secret.
    #[error("the Secret {secret} for a key pair can't be created or read: {message}")]
    Rejected {
        /// The Secret.
        secret: ObjectKey,
        /// Why.
        message: String,
    },
}

impl SigningKeys {
    /// Whether another pair is asked for, by Jobs in this namespace or by the value of [`ROTATE_ANNOTATION`].
    pub fn is_requested(&self, namespace: &str, rotation: Option<&str>) -> bool {
        let is_asked = rotation.is_some() && rotation != self.rotation.as_deref();
        is_asked || self.is_elsewhere(namespace)
    }

    /// Whether the pair that is asked for is made now, unless one of these is lost. Another rotation waits for the end
    /// of this one: a cluster knows a key of the chart before, not of two before.
    pub fn is_due(&self, namespace: &str, rotation: Option<&str>) -> bool {
        self.is_elsewhere(namespace) || self.is_requested(namespace, rotation) && !self.is_handing_over()
    }

    /// The number of the pair that is to be made: `first`, if there is none. `left`: the numbers of the pairs that Jobs
    /// can mount. A rotation of which one is lost never ends, and is ended by the next.
    pub fn missing(
        &self,
        namespace: &str,
        rotation: Option<&str>,
        first: u32,
        left: &BTreeSet<u32>,
    ) -> Option<u32> {
        let Some(current) = &self.current else {
            return Some(first);
        };
        let is_lost = self.in_use().any(|pair| !left.contains(&pair.number));
        let is_due = self.is_due(namespace, rotation) || self.is_requested(namespace, rotation) && is_lost;
        is_due.then(|| current.number.saturating_add(1))
    }

    /// Takes a pair that was made, or found, in answer to a value of [`ROTATE_ANNOTATION`]. The first pair answers
    /// whatever was asked for before it. `left`: the numbers of the pairs that Jobs can mount, and that can sign the
    /// chart that hands over.
    pub fn add(&mut self, pair: KeyPair, rotation: Option<&str>, left: &BTreeSet<u32>) {
        let is_handing_over = self.is_handing_over();
        let (previous, current) = (self.previous.take(), self.current.replace(pair));
        let (known, other) = if is_handing_over {
            // Clusters have had no chart with the current one's key.
            (previous, current)
        } else {
            (current, previous)
        };
        self.retired.extend(other);
        match known {
            Some(known) if left.contains(&known.number) => self.previous = Some(known),
            lost => self.retired.extend(lost),
        }
        self.rotation = rotation.map(str::to_owned);
        self.handed_over = None;
    }

    /// The pairs that sign.
    pub fn in_use(&self) -> impl Iterator<Item = &KeyPair> {
        self.current.iter().chain(&self.previous)
    }

    fn is_elsewhere(&self, namespace: &str) -> bool {
        let current = self.current.as_ref();
        current.is_none_or(|current| current.secret_ref.namespace != namespace)
    }

    /// Whether the bootstrap chart that brings the new key is still to be pushed.
    fn is_handing_over(&self) -> bool {
        self.previous.is_some() && self.handed_over.is_none()
    }

    /// Retires the pair before once a bootstrap chart has brought both keys and there is other content. `content` is the
    /// hash of what the bootstrap chart is made from, its keys apart.
    pub fn retire(&mut self, content: &str) {
        let handed_over = self.handed_over.as_deref();
        if handed_over.is_some_and(|before| before != content) {
            self.retired.extend(self.previous.take());
            self.handed_over = None;
        }
    }

    /// The bootstrap chart of a content was pushed: during a rotation, the one that hands over.
    pub fn pushed(&mut self, content: &str) {
        if self.is_handing_over() {
            self.handed_over = Some(content.to_owned());
        }
    }

    /// The pair that signs the charts of Releases, where Jobs in this namespace can mount it.
    pub fn of_releases(&self, namespace: &str) -> Option<&KeyPair> {
        let current = self.current.as_ref();
        current.filter(|pair| pair.secret_ref.namespace == namespace)
    }

    /// The pair that signs the bootstrap chart.
    pub fn of_bootstrap(&self) -> Option<&KeyPair> {
        self.previous.as_ref().or(self.current.as_ref())
    }

    /// All pairs whose Secrets may be left.
    pub fn all(&self) -> impl Iterator<Item = &KeyPair> {
        self.in_use().chain(&self.retired)
    }

    /// The public keys that the bootstrap chart of a Target brings along.
    pub fn verification_keys(&self, target: &ObjectKey) -> VerificationKeysDocument {
        let keys: BTreeMap<String, String> = self
            .in_use()
            .map(|pair| (pair.file(), pair.public_key.clone()))
            .collect();
        VerificationKeysDocument {
            secret_name: public_secret_name(target),
            keys,
        }
    }
}

/// How Flux verifies the charts of a Target's Releases.
pub fn verify(target: &ObjectKey) -> VerifyDocument {
    VerifyDocument {
        provider: VerifyProvider::Cosign,
        secret_ref: SecretReference {
            name: public_secret_name(target),
        },
    }
}

impl KeyPair {
    /// The name of its Secret in the Registry's namespace: `<target>-cosign`, with the number from the second pair on;
    /// for a Target of another namespace with a hash, since Targets of several namespaces may share name and Registry.
    pub fn secret_name(target: &ObjectKey, registry_namespace: &str, number: u32) -> String {
        let number = if number > 1 {
            format!("-{number}")
        } else {
            String::new()
        };
        if target.namespace == registry_namespace {
            return bounded("", &target.name, &format!("-cosign{number}"));
        }
        let hash = canonical::short(&json!([target.namespace, target.name]));
        bounded("", &target.name, &format!("-{hash}-cosign{number}"))
    }

    /// Its Secret.
    pub fn secret(&self) -> ObjectKey {
        ObjectKey::new(&self.secret_ref.namespace, &self.secret_ref.name)
    }

    /// Its Secret, as RenderTasks in the same namespace name it.
    pub fn local_reference(&self) -> LocalReference {
        LocalReference {
            name: self.secret_ref.name.clone(),
        }
    }

    /// What stands for it in the hash of what a chart is made from: a chart that another key signs has another tag.
    pub fn identity(&self) -> String {
        canonical::short(&json!(self.public_key))
    }

    /// Its public key's name in a Secret.
    fn file(&self) -> String {
        format!("cosign-{}.pub", self.number)
    }
}

/// The name of the Secret with public keys in the Target's cluster. Not that of a pair: both may be in one namespace.
fn public_secret_name(target: &ObjectKey) -> String {
    bounded("", &target.name, "-cosign-pub")
}

#[cfg(test)]
pub(crate) mod tests;
