//! Conditions of any kind: how findings are merged into the existing conditions.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Whether the object is reconciled, for `kubectl wait` and kstatus.
pub const READY: &str = "Ready";
/// Whether progress has stopped, for kstatus: Ready=False alone means in progress to it.
pub const STALLED: &str = "Stalled";
/// The type and the reason of the condition of an object that is left as it is, because its spec says so.
pub const SUSPENDED: &str = "Suspended";
/// The reason of Ready and Stalled after too many consecutive errors.
pub const RECONCILE_FAILED: &str = "ReconcileFailed";

/// The maximum length of a message, in bytes.
pub const MAX_MESSAGE: usize = 1024;

/// A condition without its timestamps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding<R> {
    /// The condition's type.
    pub kind: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// The reason.
    pub reason: R,
    /// The human-readable message.
    pub message: String,
}

/// The reasons of one family of kinds.
pub trait ConditionReason: Copy {
    /// The maximum length of a message with such a reason, in bytes.
    const MAX_MESSAGE: usize;

    /// The reason as written in a condition: CamelCase.
    fn name(self) -> &'static str;
}

impl ConditionReason for &'static str {
    const MAX_MESSAGE: usize = MAX_MESSAGE;

    fn name(self) -> &'static str {
        self
    }
}

/// The findings as conditions. Existing conditions keep their `lastTransitionTime` unless their status changes;
/// conditions without a finding are removed.
pub fn merge<R: ConditionReason>(
    previous: &[Condition],
    findings: &[Finding<R>],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let merged = findings.iter().map(|finding| {
        let Finding {
            kind,
            status,
            reason,
            message,
        } = finding;
        let since = find(previous, kind)
            .filter(|old| old.status == *status)
            .map_or(now, |old| old.last_transition_time.0);
        Condition {
            type_: (*kind).to_owned(),
            status: (*status).to_owned(),
            reason: reason.name().to_owned(),
            message: cut(message, R::MAX_MESSAGE),
            last_transition_time: Time(since),
            observed_generation: generation,
        }
    });
    merged.collect()
}

/// The conditions with these findings replacing those of their types; other types are kept.
pub fn update<R: ConditionReason>(
    previous: &[Condition],
    findings: &[Finding<R>],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let new = merge(previous, findings, generation, now);
    let mut all: Vec<Condition> = previous.to_vec();
    all.retain(|old| find(&new, &old.type_).is_none());
    all.extend(new);
    all
}

/// The conditions Ready and Stalled of an object that can't be reconciled.
pub fn not_ready(reason: &'static str, message: &str) -> [Finding<&'static str>; 2] {
    [(READY, "False"), (STALLED, "True")].map(|(kind, status)| Finding {
        kind,
        status,
        reason,
        message: message.to_owned(),
    })
}

/// The conditions of an object that is suspended: what was found before, and that.
pub fn suspended(previous: &[Condition], generation: Option<i64>, now: Timestamp) -> Vec<Condition> {
    let finding = Finding {
        kind: SUSPENDED,
        status: "True",
        reason: SUSPENDED,
        message: "spec.suspend is true".to_owned(),
    };
    update(previous, &[finding], generation, now)
}

/// The condition of a type.
pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// Whether the condition of a type has this status.
pub fn is(conditions: &[Condition], kind: &str, status: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition.status == status)
}

/// Truncates to at most `limit` bytes, at a character boundary, with an ellipsis.
pub fn cut(text: &str, limit: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit.saturating_sub(MARK.len()));
    format!("{}{MARK}", text.get(..end).unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_replace_conditions_of_their_types_and_keep_the_others() {
        let finding = |kind, status| Finding {
            kind,
            status,
            reason: "Because",
            message: String::new(),
        };
        let at = |second| Timestamp::from_second(second).expect("a time");
        let before = merge(
            &[],
            &[finding("Other", "True"), finding(READY, "True")],
            Some(1),
            at(1),
        );
        let after = update(&before, &not_ready(RECONCILE_FAILED, "no answer"), Some(2), at(2));
        let kinds: Vec<&str> = after.iter().map(|one| one.type_.as_str()).collect();
        assert_eq!(kinds, ["Other", READY, STALLED]);
        assert!(is(&after, READY, "False") && is(&after, STALLED, "True") && is(&after, "Other", "True"));
        assert_eq!(find(&after, "Other").expect("it").observed_generation, Some(1));
    }

    #[test]
    fn a_long_message_is_cut_at_a_character_boundary() {
        let text = cut(&"é".repeat(2000), MAX_MESSAGE);
        assert!(text.len() <= MAX_MESSAGE && text.ends_with('…'));
        assert_eq!(cut("short", MAX_MESSAGE), "short");
    }
}
