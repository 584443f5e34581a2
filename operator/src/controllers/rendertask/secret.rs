//! The config Secret: created, found again after a crash, and deleted. Only its metadata is ever read.

use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;

use super::Context;
use super::config_secret::config_secret;
use super::refusal::Blocked;
use super::subject::Subject;
use super::validate::name_conflict;
use crate::api::{CONFIG_SHA256_ANNOTATION, OwnedReference, TaskStatus};
use crate::runtime::owned::is_owned_by;
use crate::runtime::{Error, owned};

/// How an existing Secret with the name relates to the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It has another owner.
    Foreign,
    /// The task's, being deleted.
    Going,
    /// The task's, created from another spec, or by an operator that serialised the same spec differently.
    Outdated,
    /// The task's.
    Own,
}

fn standing(secret: &ObjectMeta, subject: &Subject<'_>) -> Result<Standing, serde_json::Error> {
    let annotations = secret.annotations.as_ref();
    let made = annotations.and_then(|all| all.get(CONFIG_SHA256_ANNOTATION));
    Ok(if !is_owned_by(secret, subject.uid) {
        Standing::Foreign
    } else if secret.deletion_timestamp.is_some() {
        Standing::Going
    } else if made != Some(&subject.task.spec.config_sha256()?) {
        Standing::Outdated
    } else {
        Standing::Own
    })
}

/// Creates the Secret, or finds the one that was created before a crash.
pub(super) async fn make_secret(
    context: &Context,
    subject: &Subject<'_>,
) -> Result<Result<OwnedReference, Blocked>, Error> {
    let secret = config_secret(subject)?;
    match owned::create(&context.cx, subject.namespace, &secret).await {
        Ok(made) => Ok(Ok(secret_reference(subject, made.uid))),
        Err(kube::Error::Api(status)) if status.is_already_exists() => there(context, subject).await,
        Err(error) => match Blocked::from_refusal(&error, subject.namespace) {
            Some(blocked) => Ok(Err(blocked)),
            None => Err(Error::api("creating the config Secret")(error)),
        },
    }
}

async fn there(context: &Context, subject: &Subject<'_>) -> Result<Result<OwnedReference, Blocked>, Error> {
    // It was deleted meanwhile: the next reconcile creates it.
    let secret = metadata(context, subject).await?.ok_or(Error::Changed)?;
    match standing(&secret, subject)? {
        Standing::Foreign => Ok(Err(name_conflict(subject, "Secret"))),
        Standing::Going => Ok(Err(Blocked::going(&format!(
            "the config Secret {}",
            subject.job_name()
        )))),
        Standing::Outdated => {
            delete_one_secret(context, subject, &secret_reference(subject, secret.uid)).await?;
            Err(Error::Changed)
        }
        Standing::Own => Ok(Ok(secret_reference(subject, secret.uid))),
    }
}

/// The config Secret, if it exists and is the task's.
pub(super) async fn own_secret(
    context: &Context,
    subject: &Subject<'_>,
) -> Result<Option<OwnedReference>, Error> {
    let secret = metadata(context, subject).await?;
    let own = |secret: &ObjectMeta| is_owned_by(secret, subject.uid) && secret.deletion_timestamp.is_none();
    Ok(secret
        .filter(own)
        .map(|secret| secret_reference(subject, secret.uid)))
}

async fn metadata(context: &Context, subject: &Subject<'_>) -> Result<Option<ObjectMeta>, Error> {
    let secret = owned::metadata::<Secret>(&context.cx, subject.namespace, &subject.job_name()).await;
    secret.map_err(Error::api("reading the config Secret's metadata"))
}

pub(super) async fn delete_secret(
    context: &Context,
    subject: &Subject<'_>,
    status: &TaskStatus,
) -> Result<(), Error> {
    let secret = match &status.config_secret_ref {
        Some(secret) => Some(secret.clone()),
        None => own_secret(context, subject).await?,
    };
    let Some(secret) = secret else {
        return Ok(());
    };
    if delete_one_secret(context, subject, &secret).await? {
        return Ok(());
    }
    // The status may have a deleted Secret, if a newer one was created and could not be recorded.
    match own_secret(context, subject).await? {
        Some(younger) => delete_one_secret(context, subject, &younger).await.map(|_| ()),
        None => Ok(()),
    }
}

/// Returns whether it existed.
async fn delete_one_secret(
    context: &Context,
    subject: &Subject<'_>,
    secret: &OwnedReference,
) -> Result<bool, Error> {
    let deleted = owned::delete::<Secret>(&context.cx, subject.namespace, &secret.name, &secret.uid).await;
    deleted.map_err(Error::api("deleting the config Secret"))
}

fn secret_reference(subject: &Subject<'_>, uid: Option<String>) -> OwnedReference {
    OwnedReference {
        namespace: subject.namespace.to_owned(),
        name: subject.job_name(),
        uid: uid.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Scope;
    use crate::tests::{settings, task};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    /// The task's own Secret was once reported as a foreign one while it was being deleted, and a Secret of an older
    /// spec was used.
    #[test]
    fn a_secret_of_the_name_is_classified_by_owner_deletion_and_config() {
        let (settings, task) = (settings(), task());
        let subject = Subject::new(Scope::Namespaced, &task, &settings).expect("a subject");
        let own = config_secret(&subject).expect("a Secret").metadata;
        let foreign = ObjectMeta {
            owner_references: None,
            ..own.clone()
        };
        let going = ObjectMeta {
            deletion_timestamp: Some(Time(jiff::Timestamp::UNIX_EPOCH)),
            ..own.clone()
        };
        let outdated = ObjectMeta {
            annotations: Some([(CONFIG_SHA256_ANNOTATION.to_owned(), "7".to_owned())].into()),
            ..own.clone()
        };
        let table = [
            (own, Standing::Own),
            (foreign, Standing::Foreign),
            (going, Standing::Going),
            (outdated, Standing::Outdated),
        ];
        for (secret, expected) in table {
            assert_eq!(standing(&secret, &subject).expect("JSON"), expected, "{secret:?}");
        }
    }
}
