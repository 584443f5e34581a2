//! Conditions of any kind: how findings are merged into those that were there.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// For `kubectl wait` and kstatus.
pub const READY: &str = "Ready";
/// For kstatus, which reads Ready=False alone as in progress.
pub const STALLED: &str = "Stalled";
/// The reason of both after too many errors in a row.
pub const RECONCILE_FAILED: &str = "ReconcileFailed";

/// The longest message, in bytes.
pub const MAX_MESSAGE: usize = 1024;

/// One condition without its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding<R> {
    /// The condition's type.
    pub kind: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// Why.
    pub reason: R,
    /// For people.
    pub message: String,
}

/// The reasons of one family of kinds.
pub trait ConditionReason: Copy {
    /// The longest message beside such a reason, in bytes.
    const MAX_MESSAGE: usize;

    /// As in a condition: CamelCase.
    fn name(self) -> &'static str;
}

impl ConditionReason for &'static str {
    const MAX_MESSAGE: usize = MAX_MESSAGE;

    fn name(self) -> &'static str {
        self
    }
}

/// The findings as conditions. Those of a type that was there keep their time of transition
/// unless their status changes; types without a finding go.
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

/// The conditions with these findings in place of those of their types; the rest stays.
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

/// Ready and Stalled of an object that can't be reconciled.
pub fn not_ready(reason: &'static str, message: &str) -> [Finding<&'static str>; 2] {
    [(READY, "False"), (STALLED, "True")].map(|(kind, status)| Finding {
        kind,
        status,
        reason,
        message: message.to_owned(),
    })
}

/// The condition of a type.
pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// Whether the condition of a type has a status.
pub fn is(conditions: &[Condition], kind: &str, status: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition.status == status)
}

/// At most `limit` bytes, cut at a character and marked.
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
    fn findings_replace_those_of_their_types_and_the_rest_stays() {
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
    fn a_long_message_is_cut_at_a_character() {
        let text = cut(&"é".repeat(2000), MAX_MESSAGE);
        assert!(text.len() <= MAX_MESSAGE && text.ends_with('…'));
        assert_eq!(cut("short", MAX_MESSAGE), "short");
    }
}
