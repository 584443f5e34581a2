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

use std::collections::BTreeMap;

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
    /// The number of the pair that is to be made, for Jobs in this namespace. `rotation` is the value of
    /// [`ROTATE_ANNOTATION`].
    pub fn missing(&self, namespace: &str, rotation: Option<&str>) -> Option<u32> {
        let Some(current) = &self.current else {
            return Some(1);
        };
        let is_elsewhere = current.secret_ref.namespace != namespace;
        let is_asked = rotation.is_some() && rotation != self.rotation.as_deref();
        // Another rotation waits for the end of this one: a cluster knows a key of the chart before, not of two before.
        let is_handed_over = self.previous.is_none() || self.handed_over.is_some();
        let is_due = is_elsewhere || is_asked && is_handed_over;
        is_due.then(|| current.number.saturating_add(1))
    }

    /// Takes a pair that was made, or found, in answer to a value of [`ROTATE_ANNOTATION`]. The first pair answers
    /// whatever was asked for before it. `is_left`: the pair before still is where Jobs can mount it, so that it can
    /// sign the chart that hands over.
    pub fn add(&mut self, pair: KeyPair, rotation: Option<&str>, is_left: bool) {
        self.retired.extend(self.previous.take());
        let before = self.current.replace(pair);
        if is_left {
            self.previous = before;
        } else {
            self.retired.extend(before);
        }
        self.rotation = rotation.map(str::to_owned);
        self.handed_over = None;
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
        if self.previous.is_some() && self.handed_over.is_none() {
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
        self.current.iter().chain(&self.previous).chain(&self.retired)
    }

    /// The public keys that the bootstrap chart of a Target brings along.
    pub fn verification_keys(&self, target: &ObjectKey) -> VerificationKeysDocument {
        let trusted = self.current.iter().chain(&self.previous);
        let keys: BTreeMap<String, String> = trusted
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
pub(crate) mod tests {
    use super::*;
    use crate::api::pipeline::ObjectReference;
    use crate::names::is_name;

    pub(crate) fn public_key(number: u32) -> String {
        format!("-----BEGIN PUBLIC KEY-----\nMFkw{number:04}\n-----END PUBLIC KEY-----\n")
    }

    /// A pair whose Secret is in the Registry's namespace.
    pub(crate) fn pair(number: u32) -> KeyPair {
        KeyPair {
            number,
            secret_ref: ObjectReference {
                namespace: "solar-system".into(),
                name: format!("edge-cosign-{number}"),
            },
            public_key: public_key(number),
        }
    }

    pub(crate) fn first() -> SigningKeys {
        let mut keys = SigningKeys::default();
        keys.add(pair(1), None, true);
        keys
    }

    fn missing(keys: &SigningKeys, rotation: Option<&str>) -> Option<u32> {
        keys.missing("solar-system", rotation)
    }

    fn numbers<'a>(pairs: impl IntoIterator<Item = &'a KeyPair>) -> Vec<u32> {
        pairs.into_iter().map(|pair| pair.number).collect()
    }

    /// Who signs charts of Releases, and the bootstrap chart of a content; and which public keys that brings.
    fn signers(keys: &mut SigningKeys, content: &str) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
        keys.retire(content);
        let trusted = keys.current.iter().chain(&keys.previous);
        let trusted = numbers(trusted);
        let brought = keys.verification_keys(&ObjectKey::new("tenant", "edge")).keys;
        assert_eq!(brought.len(), trusted.len());
        (
            numbers(keys.of_releases("solar-system")),
            numbers(keys.of_bootstrap()),
            trusted,
        )
    }

    #[test]
    fn the_first_pair_answers_the_rotation_that_was_asked_for_before_it() {
        let mut keys = SigningKeys::default();
        assert_eq!(missing(&keys, Some("x")), Some(1));
        keys.add(pair(1), Some("x"), false);
        assert_eq!(missing(&keys, Some("x")), None);
        assert_eq!(signers(&mut keys, "a"), (vec![1], vec![1], vec![1]));
        assert_eq!(keys.retired, []);
    }

    /// From a cluster's view: each bootstrap chart is signed by a key that the previous chart contained.
    #[test]
    fn a_rotation_hands_over_by_a_chart_that_the_old_key_signs() {
        let mut keys = first();
        assert_eq!(signers(&mut keys, "a"), (vec![1], vec![1], vec![1]));
        keys.pushed("a");
        assert_eq!(keys, first(), "nothing to be written");

        assert_eq!(missing(&keys, Some("1")), Some(2));
        keys.add(pair(2), Some("1"), true);
        let both = || (vec![2], vec![1], vec![2, 1]);
        assert_eq!(signers(&mut keys, "b"), both());
        // A second rotation waits until the chart with both keys was pushed.
        assert_eq!(missing(&keys, Some("2")), None);
        // Content changes before: the next chart hands over.
        assert_eq!(signers(&mut keys, "b2"), both());
        keys.pushed("b2");
        assert_eq!(keys.handed_over.as_deref(), Some("b2"));
        assert_eq!(signers(&mut keys, "b2"), both());
        keys.pushed("b2");
        let handed_over = keys.clone();

        assert_eq!(signers(&mut keys, "c"), (vec![2], vec![2], vec![2]));
        assert_eq!(
            (numbers(&keys.retired), keys.handed_over.clone()),
            (vec![1], None)
        );
        keys.pushed("c");
        assert_eq!(missing(&keys, Some("1")), None);
        assert_eq!(missing(&keys, None), None, "the annotation may go");

        // Or the second rotation comes: its chart is signed by a key that the one before has brought.
        let mut keys = handed_over;
        assert_eq!(missing(&keys, Some("2")), Some(3));
        keys.add(pair(3), Some("2"), true);
        assert_eq!(signers(&mut keys, "d"), (vec![3], vec![2], vec![3, 2]));
        assert_eq!(numbers(&keys.retired), [1]);
    }

    #[test]
    fn a_registry_of_another_namespace_takes_another_pair_and_hands_nothing_over() {
        let mut keys = first();
        keys.add(pair(2), Some("1"), true);
        assert_eq!(keys.missing("elsewhere", Some("1")), Some(3));
        assert_eq!(keys.of_releases("elsewhere"), None);
        let mut third = pair(3);
        third.secret_ref.namespace = "elsewhere".into();
        keys.add(third, Some("1"), false);
        assert_eq!(numbers(keys.of_releases("elsewhere")), [3]);
        assert_eq!(numbers(keys.of_bootstrap()), [3]);
        assert_eq!(numbers(&keys.retired), [1, 2]);
        assert_eq!(numbers(keys.all()), [3, 1, 2]);
    }

    #[test]
    fn the_names_of_secrets_are_of_one_target_and_one_pair() {
        let (own, other) = (ObjectKey::new("system", "edge"), ObjectKey::new("tenant", "edge"));
        assert_eq!(KeyPair::secret_name(&own, "system", 1), "edge-cosign");
        assert_eq!(KeyPair::secret_name(&own, "system", 12), "edge-cosign-12");
        let hashed = KeyPair::secret_name(&other, "system", 1);
        assert!(hashed.starts_with("edge-") && hashed.ends_with("-cosign") && hashed != "edge-cosign");
        let third = ObjectKey::new("tenant-2", "edge");
        assert_ne!(hashed, KeyPair::secret_name(&third, "system", 1));
        let long = ObjectKey::new("tenant", &"a.b-".repeat(63));
        for name in [
            KeyPair::secret_name(&long, "system", u32::MAX),
            public_secret_name(&long),
        ] {
            assert!(is_name(&name) && name.len() <= 253, "{name}");
        }
    }

    #[test]
    fn a_bootstrap_brings_the_keys_that_its_releases_are_verified_with() {
        let mut keys = first();
        keys.add(pair(2), Some("1"), true);
        let target = ObjectKey::new("tenant", "edge");
        let brought = keys.verification_keys(&target);
        assert_eq!(brought.secret_name, verify(&target).secret_ref.name);
        assert_eq!(brought.secret_name, "edge-cosign-pub");
        let expected = [1, 2].map(|number| (format!("cosign-{number}.pub"), public_key(number)));
        assert_eq!(brought.keys, BTreeMap::from(expected));
        assert_ne!(pair(1).identity(), pair(2).identity());
    }
}
