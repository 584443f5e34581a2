//! The Secrets of a Target's key pairs: made, checked by their metadata alone, deleted. None that isn't the Target's is
//! used or deleted.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::api::pipeline::{KeyPair, ObjectKey, SigningKeys, Target};
use crate::controllers::pipeline::signing::key_secret::{KeySecret, check, pair_of};
use crate::controllers::pipeline::signing::{
    NUMBER_ANNOTATION, ROTATE_ANNOTATION, SigningProblem, TargetSigning,
};
use crate::controllers::pipeline::target_plan::{TargetPlan, TargetSources};
use crate::runtime::{Cx, Error, api_message, owned};

/// Makes key pairs, one at a time: each takes 32 MiB.
#[derive(Debug, Default)]
pub(super) struct Generator {
    turn: Mutex<()>,
}

/// A Secret that the API server does not let be deleted.
pub(super) struct Undeleted {
    /// The Secret.
    pub(super) secret: ObjectKey,
    /// Why.
    pub(super) message: String,
}

/// What became of a request about a Secret.
enum Answer<T> {
    Done(T),
    Refused(String),
}

/// The key pairs of a Target whose charts are signed, with the one that is to be there next. `None`: they aren't signed.
pub(super) async fn ensure(
    cx: &Cx,
    generator: &Generator,
    sources: &TargetSources,
) -> Result<Option<TargetSigning>, Error> {
    let (target, Ok(registry)) = (&sources.target, &sources.registry) else {
        return Ok(None);
    };
    if !is_enabled(target) {
        return Ok(None);
    }
    let mut signing = TargetSigning {
        keys: known(target),
        problem: None,
    };
    match next(cx, generator, target, registry.namespace(), &mut signing.keys).await? {
        Ok(()) => {}
        Err(problem) => signing.problem = Some(problem),
    }
    Ok(Some(signing))
}

/// Adds the pair that is asked for, if it is to be there now.
async fn next(
    cx: &Cx,
    generator: &Generator,
    target: &Target,
    namespace: &str,
    keys: &mut SigningKeys,
) -> Result<Result<(), SigningProblem>, Error> {
    let rotation = rotation(target);
    if !keys.is_requested(namespace, rotation) {
        return Ok(Ok(()));
    }
    let left = match left(cx, &target.key(), namespace, keys).await? {
        Ok(left) => left,
        Err(problem) => return Ok(Err(problem)),
    };
    let Some(number) = keys.missing(namespace, rotation, first_number(target), &left) else {
        return Ok(Ok(()));
    };
    let pair = find_or_make(cx, generator, target, namespace, number).await?;
    Ok(pair.map(|pair| keys.add(pair, rotation, &left)))
}

/// The numbers of the pairs that Jobs in a namespace can mount. One that can't be read is not known to be lost.
async fn left(
    cx: &Cx,
    target: &ObjectKey,
    namespace: &str,
    keys: &SigningKeys,
) -> Result<Result<BTreeSet<u32>, SigningProblem>, Error> {
    let mut left = BTreeSet::new();
    for pair in keys
        .in_use()
        .filter(|pair| pair.secret_ref.namespace == namespace)
    {
        match problem_with(cx, target, pair).await? {
            None => {
                left.insert(pair.number);
            }
            Some(problem @ SigningProblem::Rejected { .. }) => return Ok(Err(problem)),
            Some(SigningProblem::NotFound { .. } | SigningProblem::NameConflict { .. }) => {}
        }
    }
    Ok(Ok(left))
}

/// The number of the first pair here: after a move, that of the pair that clusters trust.
fn first_number(target: &Target) -> u32 {
    let annotations = target.metadata.annotations.as_ref();
    let number = annotations.and_then(|annotations| annotations.get(NUMBER_ANNOTATION));
    let number = number.and_then(|number| number.parse().ok());
    number.filter(|number| *number > 0).unwrap_or(1)
}

/// Whether a Target's charts are to be signed.
fn is_enabled(target: &Target) -> bool {
    target
        .spec
        .signing
        .as_ref()
        .is_some_and(|signing| signing.enabled)
}

/// The value of the annotation that asks for another pair.
pub(super) fn rotation(target: &Target) -> Option<&str> {
    let annotations = target.metadata.annotations.as_ref()?;
    annotations.get(ROTATE_ANNOTATION).map(String::as_str)
}

fn known(target: &Target) -> SigningKeys {
    let status = target.status.as_ref();
    status
        .and_then(|status| status.signing.clone())
        .unwrap_or_default()
}

/// The pair with a number: made, or found when the status that was to name it was never written.
async fn find_or_make(
    cx: &Cx,
    generator: &Generator,
    target: &Target,
    namespace: &str,
    number: u32,
) -> Result<Result<KeyPair, SigningProblem>, Error> {
    let name = KeyPair::secret_name(&target.key(), namespace, number);
    let secret = ObjectKey::new(namespace, &name);
    let rejected = |message| SigningProblem::Rejected {
        secret: secret.clone(),
        message,
    };
    let found = match metadata(cx, &secret).await? {
        Answer::Done(found) => found,
        Answer::Refused(message) => return Ok(Err(rejected(message))),
    };
    let found = match found {
        Some(found) => found,
        None => match make(cx, generator, target, &secret).await? {
            Answer::Done(made) => {
                tracing::info!(%secret, number, "created a key pair");
                made
            }
            Answer::Refused(message) => return Ok(Err(rejected(message))),
        },
    };
    Ok(
        pair_of(&found, &target.key(), number).map_err(|foreign| SigningProblem::NameConflict {
            secret,
            reason: foreign.to_string(),
        }),
    )
}

async fn make(
    cx: &Cx,
    generator: &Generator,
    target: &Target,
    secret: &ObjectKey,
) -> Result<Answer<ObjectMeta>, Error> {
    let uid = target.metadata.uid.clone().unwrap_or_default();
    let (owner, key) = (target.key(), secret.clone());
    let turn = generator.turn.lock().await;
    let made = spawn_blocking(move || KeySecret::generate(&owner, &uid, &key)).await;
    drop(turn);
    let made = match made.map_err(|error| Error::Panic(error.to_string()))? {
        Ok(made) => made,
        Err(error) => return Ok(Answer::Refused(error.to_string())),
    };
    match owned::create(cx, &secret.namespace, &made).await {
        // Another leader, or the same before its store knew.
        Err(kube::Error::Api(status)) if status.is_already_exists() => Err(Error::Changed),
        created => answer(created, "creating the Secret of a key pair"),
    }
}

/// What the API server refuses is somebody's to mend, and is reported; other errors are requeued.
fn answer<T>(result: Result<T, kube::Error>, doing: &'static str) -> Result<Answer<T>, Error> {
    match result {
        Ok(found) => Ok(Answer::Done(found)),
        Err(error) if super::apply::is_refusal(&error) => Ok(Answer::Refused(api_message(&error))),
        Err(error) => Err(Error::api(doing)(error)),
    }
}

async fn metadata(cx: &Cx, secret: &ObjectKey) -> Result<Answer<Option<ObjectMeta>>, Error> {
    let found = owned::metadata::<Secret>(cx, &secret.namespace, &secret.name).await;
    answer(found, "reading the metadata of a key pair's Secret")
}

/// Before RenderTasks are made: the Secrets that their Jobs mount have to be the Target's pairs.
pub(super) async fn check_before_tasks(
    cx: &Cx,
    target: &ObjectKey,
    plan: &mut TargetPlan,
) -> Result<(), Error> {
    let Some(signing) = plan.signing.as_ref().filter(|_| !plan.create.is_empty()) else {
        return Ok(());
    };
    let names: Vec<&str> = plan
        .create
        .iter()
        .filter_map(|task| Some(task.spec.sign_key_secret_ref.as_ref()?.name.as_str()))
        .collect();
    let used: Vec<KeyPair> = signing
        .keys
        .in_use()
        .filter(|pair| names.contains(&pair.secret_ref.name.as_str()))
        .cloned()
        .collect();
    for pair in &used {
        if let Some(problem) = problem_with(cx, target, pair).await? {
            plan.hold(problem);
            return Ok(());
        }
    }
    Ok(())
}

/// Why the Secret of a pair can't be mounted; `None`: it can.
async fn problem_with(cx: &Cx, target: &ObjectKey, pair: &KeyPair) -> Result<Option<SigningProblem>, Error> {
    let secret = pair.secret();
    Ok(match metadata(cx, &secret).await? {
        Answer::Refused(message) => Some(SigningProblem::Rejected { secret, message }),
        Answer::Done(None) => Some(SigningProblem::NotFound {
            secret,
            number: pair.number,
        }),
        Answer::Done(Some(found)) => {
            check(&found, target, pair)
                .err()
                .map(|foreign| SigningProblem::NameConflict {
                    secret,
                    reason: foreign.to_string(),
                })
        }
    })
}

/// Deletes the Secrets of retired pairs once the bootstrap chart was pushed that needs them no longer. Returns whether
/// the API server refused one of that.
pub(super) async fn delete_retired(cx: &Cx, target: &Target, plan: &mut TargetPlan) -> Result<bool, Error> {
    // Those that the status names: one that was retired just now has to be there first, or a crash would forget it.
    let noted = known(target).retired;
    if !plan.is_bootstrap_pushed() {
        return Ok(false);
    }
    let Some(signing) = &mut plan.signing else {
        return Ok(false);
    };
    let (mut left, mut is_refused) = (Vec::new(), false);
    for pair in std::mem::take(&mut signing.keys.retired) {
        let is_noted = noted.contains(&pair);
        if is_noted && delete(cx, &target.key(), &pair).await?.is_none() {
            continue;
        }
        is_refused |= is_noted;
        left.push(pair);
    }
    signing.keys.retired = left;
    Ok(is_refused)
}

/// Whether the next reconcile has something to do that no watch would start it for.
pub(super) fn has_next_step(target: &Target, plan: &TargetPlan) -> bool {
    let Some(TargetSigning { keys, problem: None }) = &plan.signing else {
        return false;
    };
    let noted = known(target).retired;
    let is_retired_now = keys.retired.iter().any(|pair| !noted.contains(pair));
    let namespace = keys
        .current
        .as_ref()
        .map_or("", |pair| &pair.secret_ref.namespace);
    keys.is_due(namespace, rotation(target)) || is_retired_now && plan.is_bootstrap_pushed()
}

/// Deletes the Secrets of all pairs of a Target that is being deleted, and of one whose Secret was made and whose status
/// was never written. Returns what the API server refused: it doesn't hold up the Target's deletion, nor that of its
/// namespace.
pub(super) async fn delete_all(cx: &Cx, target: &Target) -> Result<Vec<Undeleted>, Error> {
    let (keys, key) = (known(target), target.key());
    let mut refused = Vec::new();
    for pair in keys.all() {
        refused.extend(delete(cx, &key, pair).await?);
    }
    if target.spec.signing.is_none() {
        return Ok(refused);
    }
    let registry = target.spec.render_registry_ref.resolved(target.namespace());
    let number = keys
        .current
        .as_ref()
        .map_or_else(|| first_number(target), |pair| pair.number.saturating_add(1));
    let name = KeyPair::secret_name(&key, &registry.namespace, number);
    let secret = ObjectKey::new(&registry.namespace, &name);
    if let Answer::Done(Some(found)) = metadata(cx, &secret).await?
        && let Ok(pair) = pair_of(&found, &key, number)
    {
        refused.extend(delete(cx, &key, &pair).await?);
    }
    Ok(refused)
}

/// Deletes the Secret of a pair. One that is not the Target's is left, and no longer this Target's to delete.
async fn delete(cx: &Cx, target: &ObjectKey, pair: &KeyPair) -> Result<Option<Undeleted>, Error> {
    let secret = pair.secret();
    let refused = |secret: ObjectKey, message: String| {
        tracing::warn!(%secret, message, "the Secret of a key pair can't be deleted");
        Ok(Some(Undeleted { secret, message }))
    };
    let found = match metadata(cx, &secret).await? {
        Answer::Done(found) => found,
        Answer::Refused(message) => return refused(secret, message),
    };
    let Some(found) = found.filter(|found| check(found, target, pair).is_ok()) else {
        tracing::debug!(%secret, "there is no Secret of the key pair");
        return Ok(None);
    };
    let uid = found.uid.unwrap_or_default();
    let deleted = owned::delete::<Secret>(cx, &secret.namespace, &secret.name, &uid).await;
    match answer(deleted, "deleting the Secret of a key pair")? {
        Answer::Done(_) => {
            tracing::info!(%secret, number = pair.number, "deleted a key pair");
            Ok(None)
        }
        Answer::Refused(message) => refused(secret, message),
    }
}
