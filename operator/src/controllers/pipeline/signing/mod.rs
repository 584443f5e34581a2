//! Signed charts: the key pairs of a Target, which of them signs what, and which public keys its clusters trust.
//!
//! A pair is a Secret in the Registry's namespace, which the operator makes ([`key_secret`]) and never reads: Jobs mount
//! it, and the public half is in its metadata too. Release charts are verified by what the bootstrap chart brings along;
//! the bootstrap chart itself by a key that its cluster has from the chart before, or from whoever installed the first.
//!
//! So a rotation hands over: the chart with the new key among its public keys is still signed by the old one, and stays
//! the newest until there is other content. Only then the new key signs it, and the old one goes. What is decided here is
//! a pure function ([`plan`]); what it knows is in the Target's status.

pub mod key_secret;

use std::collections::BTreeMap;

use serde_json::json;
use solar_render::config::schema::{
    SecretReference, VerificationKeysDocument, VerifyDocument, VerifyProvider,
};

use super::canonical;
use super::task_owner::bounded;
use crate::api::pipeline::ObjectKey;

/// The annotation of a Target that asks for another key pair: each new value is one.
pub const ROTATE_ANNOTATION: &str = "solar.opendefense.cloud/rotate-signing-key";

/// A key pair that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPair {
    /// Its number: 1, and one more for each rotation.
    pub number: u32,
    /// Its public key, in PEM.
    pub public_key: String,
}

/// What is known of a Target's key pairs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownPairs {
    /// The newest pair.
    pub current: Option<KeyPair>,
    /// During a rotation, the pair before.
    pub previous: Option<KeyPair>,
    /// The value of [`ROTATE_ANNOTATION`] that the newest pair is the answer to.
    pub rotation: Option<String>,
    /// The content of the bootstrap chart that brought both keys, once it was ready.
    pub handed_over: Option<String>,
}

/// What a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct SigningSources<'a> {
    /// Whether the Target's charts are to be signed.
    pub is_enabled: bool,
    /// The value of [`ROTATE_ANNOTATION`].
    pub rotation: Option<&'a str>,
    /// What is known.
    pub known: &'a KnownPairs,
    /// The hash of what the bootstrap chart is made from, its keys apart; `None` while Releases are not rendered.
    pub content: Option<&'a str>,
    /// The same of the last bootstrap chart that is ready.
    pub ready: Option<&'a str>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SigningPlan {
    /// Charts are not signed.
    Off,
    /// The pair with this number is missing: once it is there, [`KnownPairs::add`] has what follows.
    MakePair(u32),
    /// Charts are signed.
    Sign(Signers),
}

/// Who signs what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signers {
    /// What is known from now on.
    pub known: KnownPairs,
    /// Signs the charts of Releases.
    pub releases: KeyPair,
    /// Signs the bootstrap chart.
    pub bootstrap: KeyPair,
    /// What the bootstrap chart brings along: the newest first.
    pub trusted: Vec<KeyPair>,
}

/// Decides.
pub fn plan(sources: &SigningSources<'_>) -> SigningPlan {
    let SigningSources {
        is_enabled,
        rotation,
        known,
        content,
        ready,
    } = *sources;
    if !is_enabled {
        return SigningPlan::Off;
    }
    let Some(current) = &known.current else {
        return SigningPlan::MakePair(1);
    };
    let mut known = known.clone();
    if known.previous.is_some() {
        match (&known.handed_over, content) {
            (None, Some(content)) if ready == Some(content) => known.handed_over = Some(content.to_owned()),
            (Some(handed_over), Some(content)) if handed_over != content => {
                known.previous = None;
                known.handed_over = None;
            }
            _ => {}
        }
    }
    // Another rotation waits for the end of this one: a cluster knows a key of the chart before, not of two before.
    let is_asked = rotation.is_some() && rotation != known.rotation.as_deref();
    if is_asked && known.previous.is_none() {
        return SigningPlan::MakePair(current.number.saturating_add(1));
    }
    let releases = current.clone();
    let bootstrap = known.previous.clone().unwrap_or_else(|| releases.clone());
    let trusted = [known.current.clone(), known.previous.clone()];
    SigningPlan::Sign(Signers {
        releases,
        bootstrap,
        trusted: trusted.into_iter().flatten().collect(),
        known,
    })
}

impl KnownPairs {
    /// With a pair that was made, or found, in answer to a value of [`ROTATE_ANNOTATION`]. The first pair answers
    /// whatever was asked for before it.
    pub fn add(&mut self, pair: KeyPair, rotation: Option<&str>) {
        self.previous = self.current.replace(pair);
        self.rotation = rotation.map(str::to_owned);
        self.handed_over = None;
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

    /// What stands for it in the hash of what a chart is made from: a chart that another key signs has another tag.
    pub fn identity(&self) -> String {
        canonical::short(&json!(self.public_key))
    }

    /// Its public key's name in a Secret.
    fn file(&self) -> String {
        format!("cosign-{}.pub", self.number)
    }
}

impl Signers {
    /// What the OCIRepositories of release charts say.
    pub fn verify(&self, target: &ObjectKey) -> VerifyDocument {
        VerifyDocument {
            provider: VerifyProvider::Cosign,
            secret_ref: SecretReference {
                name: public_secret_name(target),
            },
        }
    }

    /// What the bootstrap chart brings along.
    pub fn verification_keys(&self, target: &ObjectKey) -> VerificationKeysDocument {
        let keys: BTreeMap<String, String> = self
            .trusted
            .iter()
            .map(|pair| (pair.file(), pair.public_key.clone()))
            .collect();
        VerificationKeysDocument {
            secret_name: public_secret_name(target),
            keys,
        }
    }
}

/// The name of the Secret with public keys in the Target's cluster. Not that of a pair: both may be in one namespace.
fn public_secret_name(target: &ObjectKey) -> String {
    bounded("", &target.name, "-cosign-pub")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::is_name;

    fn pair(number: u32) -> KeyPair {
        KeyPair {
            number,
            public_key: format!("key {number}"),
        }
    }

    fn signers(known: &KnownPairs, rotation: Option<&str>, content: &str, ready: &str) -> SigningPlan {
        plan(&SigningSources {
            is_enabled: true,
            rotation,
            known,
            content: Some(content).filter(|text| !text.is_empty()),
            ready: Some(ready).filter(|text| !text.is_empty()),
        })
    }

    /// Who signs releases and bootstrap, and who is trusted.
    fn numbers(plan: &SigningPlan) -> (u32, u32, Vec<u32>) {
        let SigningPlan::Sign(signers) = plan else {
            panic!("{plan:?}");
        };
        let trusted = signers.trusted.iter().map(|pair| pair.number).collect();
        (signers.releases.number, signers.bootstrap.number, trusted)
    }

    fn known(plan: SigningPlan) -> KnownPairs {
        match plan {
            SigningPlan::Sign(signers) => signers.known,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_is_signed_unless_it_is_asked_for() {
        let with_pair = KnownPairs {
            current: Some(pair(1)),
            ..KnownPairs::default()
        };
        for known in [&KnownPairs::default(), &with_pair] {
            let sources = SigningSources {
                is_enabled: false,
                rotation: Some("1"),
                known,
                content: Some("a"),
                ready: None,
            };
            assert_eq!(plan(&sources), SigningPlan::Off);
        }
    }

    #[test]
    fn the_first_pair_answers_the_rotation_that_was_asked_for_before_it() {
        let mut pairs = KnownPairs::default();
        assert_eq!(signers(&pairs, Some("x"), "", ""), SigningPlan::MakePair(1));
        pairs.add(pair(1), Some("x"));
        assert_eq!(numbers(&signers(&pairs, Some("x"), "a", "")), (1, 1, vec![1]));
    }

    /// What a cluster sees: each bootstrap chart is signed by a key that the chart before has brought.
    #[test]
    fn a_rotation_hands_over_by_a_chart_that_the_old_key_signs() {
        let mut pairs = KnownPairs::default();
        pairs.add(pair(1), None);
        let steady = signers(&pairs, None, "a", "a");
        assert_eq!(numbers(&steady), (1, 1, vec![1]));
        assert_eq!(known(steady), pairs, "nothing to be written");

        assert_eq!(signers(&pairs, Some("1"), "a", "a"), SigningPlan::MakePair(2));
        pairs.add(pair(2), Some("1"));
        // Releases are rendered again, since another key signs them: there is no content yet, then another.
        for (content, ready) in [("", "a"), ("b", "a"), ("b", "")] {
            let plan = signers(&pairs, Some("1"), content, ready);
            assert_eq!(numbers(&plan), (2, 1, vec![2, 1]), "{content} {ready}");
            pairs = known(plan);
            assert_eq!(pairs.handed_over, None);
        }
        // Its chart is ready, and stays the newest for as long as the content does.
        for _ in 0..2 {
            let plan = signers(&pairs, Some("1"), "b", "b");
            assert_eq!(numbers(&plan), (2, 1, vec![2, 1]));
            pairs = known(plan);
            assert_eq!(pairs.handed_over.as_deref(), Some("b"));
        }
        // A second rotation waits.
        assert_eq!(numbers(&signers(&pairs, Some("2"), "b", "b")), (2, 1, vec![2, 1]));
        // While Releases are not rendered, nothing is known of the next content.
        assert_eq!(numbers(&signers(&pairs, Some("1"), "", "b")), (2, 1, vec![2, 1]));
        let plan = signers(&pairs, Some("1"), "c", "b");
        assert_eq!(numbers(&plan), (2, 2, vec![2]));
        pairs = known(plan);
        assert_eq!(numbers(&signers(&pairs, Some("1"), "c", "c")), (2, 2, vec![2]));
        assert_eq!(signers(&pairs, Some("2"), "c", "c"), SigningPlan::MakePair(3));
        assert_eq!(
            numbers(&signers(&pairs, None, "c", "c")),
            (2, 2, vec![2]),
            "the annotation may go"
        );
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
        let mut pairs = KnownPairs::default();
        pairs.add(pair(1), None);
        pairs.add(pair(2), Some("1"));
        let target = ObjectKey::new("tenant", "edge");
        let SigningPlan::Sign(signers) = signers(&pairs, Some("1"), "b", "a") else {
            panic!("signers");
        };
        let keys = signers.verification_keys(&target);
        assert_eq!(keys.secret_name, signers.verify(&target).secret_ref.name);
        assert_eq!(keys.secret_name, "edge-cosign-pub");
        let expected = [("cosign-1.pub", "key 1"), ("cosign-2.pub", "key 2")];
        let expected = expected.map(|(file, key)| (file.to_owned(), key.to_owned()));
        assert_eq!(keys.keys, BTreeMap::from(expected));
        assert_ne!(pair(1).identity(), pair(2).identity());
    }
}
