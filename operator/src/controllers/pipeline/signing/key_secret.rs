//! The Secret of a key pair: created once, and mounted by Jobs. The operator only reads its metadata, which also has
//! the public key: after a crash between creating the Secret and writing the Target's status, it is found there.
//!
//! The form is cosign's own (`cosign generate-key-pair k8s://…`), with a random password.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Serialize, Serializer};
use serde_json::json;
use solar_render::signing_key::{KeyError, SigningKey, UnattendedPair, VerifyingKey};

use crate::api::pipeline::{KeyPair, ObjectKey, ObjectReference};
use crate::controllers::pipeline::canonical;
use crate::controllers::pipeline::task_owner::labels;
use crate::controllers::rendertask::{SIGN_KEY, SIGN_KEY_PASSWORD};

/// The annotation with the public key.
pub const PUBLIC_KEY_ANNOTATION: &str = "solar.opendefense.cloud/public-key";
/// The annotation with the hash of the Target's namespace and name.
pub const TARGET_ANNOTATION: &str = "solar.opendefense.cloud/signing-target";
/// The public key in the Secret.
const PUBLIC_KEY: &str = "cosign.pub";

/// A Secret with a new key pair. Its Debug output is only its name, and it is written once.
pub struct KeySecret(Secret);

/// Why a Secret can't be used as a pair of a Target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForeignSecret {
    /// It was not made for it.
    #[error("it was not made for this Target")]
    OtherOwner,
    /// Its annotation has no public key.
    #[error("its annotation {PUBLIC_KEY_ANNOTATION} is not a public key: {0}")]
    NoKey(KeyError),
    /// Somebody has exchanged it.
    #[error("its public key is not the one in the Target's status")]
    OtherKey,
    /// It is going.
    #[error("it is being deleted")]
    Deleting,
}

impl KeySecret {
    /// Generates a pair for a Target, with this name for its Secret. It takes 32 MiB and some hundredths of a second.
    pub fn generate(target: &ObjectKey, uid: &str, secret: &ObjectKey) -> Result<Self, KeyError> {
        let UnattendedPair { pair, password } = SigningKey::generate_unattended()?;
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        let data = BTreeMap::from([
            (SIGN_KEY.to_owned(), bytes(pair.private.expose())),
            (SIGN_KEY_PASSWORD.to_owned(), bytes(password.expose())),
            (PUBLIC_KEY.to_owned(), bytes(&pair.public)),
        ]);
        let annotations = BTreeMap::from([
            (PUBLIC_KEY_ANNOTATION.to_owned(), pair.public),
            (TARGET_ANNOTATION.to_owned(), target_hash(target)),
        ]);
        Ok(Self(Secret {
            metadata: ObjectMeta {
                namespace: Some(secret.namespace.clone()),
                name: Some(secret.name.clone()),
                labels: Some(labels(target, uid)),
                annotations: Some(annotations),
                ..ObjectMeta::default()
            },
            // Anyone who replaced the key would replace the key that clusters trust.
            immutable: Some(true),
            data: Some(data),
            ..Secret::default()
        }))
    }
}

/// The pair with this number, from the metadata of its Secret. One that an earlier Target of the same name has left is
/// adopted: its clusters have the key.
pub fn pair_of(metadata: &ObjectMeta, target: &ObjectKey, number: u32) -> Result<KeyPair, ForeignSecret> {
    let annotation = |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key));
    if annotation(TARGET_ANNOTATION) != Some(&target_hash(target)) {
        return Err(ForeignSecret::OtherOwner);
    }
    if metadata.deletion_timestamp.is_some() {
        return Err(ForeignSecret::Deleting);
    }
    let public_key = annotation(PUBLIC_KEY_ANNOTATION).cloned().unwrap_or_default();
    VerifyingKey::load(public_key.as_bytes()).map_err(ForeignSecret::NoKey)?;
    Ok(KeyPair {
        number,
        secret_ref: ObjectReference {
            name: metadata.name.clone().unwrap_or_default(),
            namespace: metadata.namespace.clone().unwrap_or_default(),
        },
        public_key,
    })
}

/// Whether the Secret with this metadata holds a pair of a Target.
pub fn check(metadata: &ObjectMeta, target: &ObjectKey, pair: &KeyPair) -> Result<(), ForeignSecret> {
    let found = pair_of(metadata, target, pair.number)?;
    if found.public_key == pair.public_key {
        Ok(())
    } else {
        Err(ForeignSecret::OtherKey)
    }
}

fn target_hash(target: &ObjectKey) -> String {
    canonical::sha256(&json!([target.namespace, target.name]))
}

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySecret({:?})", self.0.metadata.name)
    }
}

impl Serialize for KeySecret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Resource for KeySecret {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(dynamic: &()) -> std::borrow::Cow<'_, str> {
        Secret::kind(dynamic)
    }

    fn group(dynamic: &()) -> std::borrow::Cow<'_, str> {
        Secret::group(dynamic)
    }

    fn version(dynamic: &()) -> std::borrow::Cow<'_, str> {
        Secret::version(dynamic)
    }

    fn plural(dynamic: &()) -> std::borrow::Cow<'_, str> {
        Secret::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0.metadata
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::runtime::views::PartialMetadata;
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use testbed::{Tool, run};

    fn target() -> ObjectKey {
        ObjectKey::new("tenant", "edge-".repeat(50).trim_end_matches('-'))
    }

    fn secret() -> KeySecret {
        let key = ObjectKey::new("solar-system", "edge-cosign");
        KeySecret::generate(&target(), "uid-1", &key).expect("a pair")
    }

    /// As the operator reads it: only metadata, without long values.
    fn read_back(secret: &KeySecret) -> ObjectMeta {
        let json = json!({"metadata": secret.meta()}).to_string();
        serde_json::from_str::<PartialMetadata>(&json)
            .expect("metadata")
            .metadata
    }

    #[test]
    fn the_public_key_is_found_in_the_metadata_and_nothing_else_is_shown() {
        let secret = secret();
        let pair = pair_of(&read_back(&secret), &target(), 3).expect("a pair");
        assert_eq!(pair.number, 3);
        assert!(pair.public_key.starts_with("-----BEGIN PUBLIC KEY-----\n"));
        let shown = format!("{secret:?} {:?}", secret.meta());
        assert!(!shown.contains("PRIVATE"), "{shown}");
        let json = serde_json::to_value(&secret).expect("JSON");
        assert_eq!(
            (&json["kind"], &json["immutable"]),
            (&json!("Secret"), &json!(true))
        );
    }

    #[test]
    fn a_secret_of_another_owner_is_not_adopted() {
        let mut metadata = read_back(&secret());
        let other = ObjectKey::new("tenant", "edge");
        assert_eq!(pair_of(&metadata, &other, 1), Err(ForeignSecret::OtherOwner));
        let pair = pair_of(&metadata, &target(), 1).expect("a pair");
        assert_eq!(pair.secret_ref.name, "edge-cosign");
        assert_eq!(check(&metadata, &target(), &pair), Ok(()));
        let exchanged = read_back(&secret());
        assert_eq!(check(&exchanged, &target(), &pair), Err(ForeignSecret::OtherKey));
        let going = ObjectMeta {
            deletion_timestamp: Some(Time(Timestamp::UNIX_EPOCH)),
            ..metadata.clone()
        };
        assert_eq!(check(&going, &target(), &pair), Err(ForeignSecret::Deleting));
        let annotations = metadata.annotations.as_mut().expect("annotations");
        annotations.insert(PUBLIC_KEY_ANNOTATION.into(), "x".into());
        let error = pair_of(&metadata, &target(), 1).expect_err("no key");
        assert!(error.to_string().contains("is not a public key"), "{error}");
        metadata.annotations = None;
        pair_of(&metadata, &target(), 1).expect_err("nobody's");
    }

    #[test]
    #[ignore = "needs servers or peers: .ci/test runs it"]
    fn cosign_reads_the_pair() {
        let secret = secret();
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| {
            let path = folder.path().join(name);
            let data = secret.0.data.as_ref().expect("data");
            fs::write(&path, &data[name].0).expect("written");
            path
        };
        let password = fs::read_to_string(file(SIGN_KEY_PASSWORD)).expect("UTF-8");
        let mut cosign = Tool::Cosign.command(folder.path());
        cosign
            .env("COSIGN_PASSWORD", password)
            .args(["public-key", "--key"]);
        let public = run(cosign.arg(file(SIGN_KEY)));
        let pub_file = fs::read_to_string(file(PUBLIC_KEY)).expect("UTF-8");
        assert_eq!(public.trim(), pub_file.trim());
        let annotations = secret.meta().annotations.as_ref().expect("annotations");
        assert_eq!(annotations[PUBLIC_KEY_ANNOTATION], pub_file);
    }
}
