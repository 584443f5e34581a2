//! What is decided about key pairs, in tables.

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
    keys.add(pair(1), None, &left());
    keys
}

fn missing(keys: &SigningKeys, rotation: Option<&str>) -> Option<u32> {
    keys.missing("solar-system", rotation, 1, &left())
}

/// Nothing is lost.
pub(crate) fn left() -> BTreeSet<u32> {
    (1..10).collect()
}

fn numbers<'a>(pairs: impl IntoIterator<Item = &'a KeyPair>) -> Vec<u32> {
    pairs.into_iter().map(|pair| pair.number).collect()
}

/// Who signs charts of Releases, and the bootstrap chart of a content; and which public keys that brings.
fn signers(keys: &mut SigningKeys, content: &str) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    keys.retire(content);
    let trusted = numbers(keys.in_use());
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
    keys.add(pair(1), Some("x"), &BTreeSet::new());
    assert_eq!(missing(&keys, Some("x")), None);
    assert_eq!(signers(&mut keys, "a"), (vec![1], vec![1], vec![1]));
    assert_eq!(keys.retired, []);
}

#[test]
fn the_first_pair_has_the_number_that_it_had_in_another_cluster() {
    let keys = SigningKeys::default();
    assert_eq!(keys.missing("solar-system", None, 3, &BTreeSet::new()), Some(3));
}

/// A rotation of which a Secret was deleted once never ended, and no other was begun.
#[test]
fn the_next_rotation_ends_one_that_has_lost_a_pair() {
    // The pairs that are left, who signs the next bootstrap chart, the keys that it brings, and the retired pairs.
    let table = [
        (&[1, 2][..], None),
        (&[1], Some((vec![1], vec![3, 1], vec![2]))),
        // Clusters know the first key alone: nothing can hand over to them.
        (&[2], Some((vec![3], vec![3], vec![2, 1]))),
        (&[], Some((vec![3], vec![3], vec![2, 1]))),
    ];
    for (left, expected) in table {
        let left: BTreeSet<u32> = left.iter().copied().collect();
        let mut keys = first();
        keys.add(pair(2), Some("1"), &self::left());
        assert_eq!(keys.missing("solar-system", Some("1"), 1, &left), None);
        let number = keys.missing("solar-system", Some("2"), 1, &left);
        assert_eq!(number, expected.as_ref().map(|_| 3), "{left:?}");
        let Some((signer, brought, retired)) = expected else {
            continue;
        };
        keys.add(pair(3), Some("2"), &left);
        assert_eq!(numbers(keys.of_bootstrap()), signer, "{left:?}");
        assert_eq!(numbers(keys.in_use()), brought, "{left:?}");
        assert_eq!(numbers(&keys.retired), retired, "{left:?}");
        assert!(!keys.is_requested("solar-system", Some("2")), "{left:?}");
    }
}

/// From a cluster's view: each bootstrap chart is signed by a key that the previous chart contained.
#[test]
fn a_rotation_hands_over_by_a_chart_that_the_old_key_signs() {
    let mut keys = first();
    assert_eq!(signers(&mut keys, "a"), (vec![1], vec![1], vec![1]));
    keys.pushed("a");
    assert_eq!(keys, first(), "nothing to be written");

    assert_eq!(missing(&keys, Some("1")), Some(2));
    keys.add(pair(2), Some("1"), &left());
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
    keys.add(pair(3), Some("2"), &left());
    assert_eq!(signers(&mut keys, "d"), (vec![3], vec![2], vec![3, 2]));
    assert_eq!(numbers(&keys.retired), [1]);
}

#[test]
fn a_registry_of_another_namespace_takes_another_pair_and_hands_nothing_over() {
    let mut keys = first();
    keys.add(pair(2), Some("1"), &left());
    assert_eq!(keys.missing("elsewhere", Some("1"), 1, &BTreeSet::new()), Some(3));
    assert_eq!(keys.of_releases("elsewhere"), None);
    let mut third = pair(3);
    third.secret_ref.namespace = "elsewhere".into();
    keys.add(third, Some("1"), &BTreeSet::new());
    assert_eq!(numbers(keys.of_releases("elsewhere")), [3]);
    assert_eq!(numbers(keys.of_bootstrap()), [3]);
    assert_eq!(numbers(&keys.retired), [2, 1]);
    assert_eq!(numbers(keys.all()), [3, 2, 1]);
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
    keys.add(pair(2), Some("1"), &left());
    let target = ObjectKey::new("tenant", "edge");
    let brought = keys.verification_keys(&target);
    assert_eq!(brought.secret_name, verify(&target).secret_ref.name);
    assert_eq!(brought.secret_name, "edge-cosign-pub");
    let expected = [1, 2].map(|number| (format!("cosign-{number}.pub"), public_key(number)));
    assert_eq!(brought.keys, BTreeMap::from(expected));
    assert_ne!(pair(1).identity(), pair(2).identity());
}
