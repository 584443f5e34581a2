//! Compares values with a test's snapshots, one after the other.

use super::assertion::Pattern;
use super::check::{compared, message};
use super::outcome::{Failure, SnapshotState, SnapshotUse};
use super::snapshot::Snapshots;

/// The snapshots of the tests with one name.
pub(super) struct SnapshotChecker<'s> {
    stored: &'s Snapshots,
    test: &'s str,
    next: u32,
    updates: bool,
    uses: Vec<SnapshotUse>,
}

impl<'s> SnapshotChecker<'s> {
    /// Begins after `used` snapshots of other tests with the same name. With `updates`, what has changed holds.
    pub(super) fn new(stored: &'s Snapshots, test: &'s str, used: usize, updates: bool) -> Self {
        Self {
            stored,
            test,
            next: u32::try_from(used).unwrap_or(u32::MAX).saturating_add(1),
            updates,
            uses: Vec::new(),
        }
    }

    pub(super) fn into_uses(self) -> Vec<SnapshotUse> {
        self.uses
    }

    /// Compares the next value.
    pub(super) fn check(
        &mut self,
        content: &str,
        negative: bool,
        matches: Option<&Pattern>,
        matches_not: Option<&Pattern>,
    ) -> Option<Failure> {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        let stored = self.stored.get(self.test, number);
        let has_patterns = matches.is_some() || matches_not.is_some();
        let state = match stored {
            None => SnapshotState::New,
            // Patterns take the place of the comparison, and what is stored stays.
            Some(stored) if stored == content || has_patterns => SnapshotState::Same,
            Some(_) => SnapshotState::Changed,
        };
        let kept = stored.filter(|_| state == SnapshotState::Same).unwrap_or(content);
        self.uses.push(SnapshotUse {
            number,
            content: kept.to_owned(),
            state,
        });
        let unmatched = match of_patterns(content, matches, matches_not) {
            Ok(unmatched) => unmatched,
            Err(why) => return Some(message(why)),
        };
        let holds = self.updates || unmatched.is_none() && state != SnapshotState::Changed;
        if holds != negative {
            return None;
        }
        let what = match (negative, has_patterns) {
            (false, true) => return unmatched,
            (true, true) => "expected the snapshot not to match its patterns".to_owned(),
            (true, false) => format!("expected not to match snapshot {number}"),
            (false, false) => format!("expected to match snapshot {number}"),
        };
        Some(compared(
            &what,
            stored.unwrap_or(content).to_owned(),
            content.to_owned(),
        ))
    }
}

/// Why a snapshot does not match its patterns.
///
/// # Errors
/// A pattern is no expression.
fn of_patterns(
    content: &str,
    matches: Option<&Pattern>,
    matches_not: Option<&Pattern>,
) -> Result<Option<Failure>, String> {
    for (pattern, wanted) in [(matches, true), (matches_not, false)] {
        let Some(pattern) = pattern else { continue };
        let regex = pattern.compiled.as_ref().map_err(Clone::clone)?;
        if regex.is_match(content) != wanted {
            let what = match wanted {
                true => "expected the snapshot to match",
                false => "expected the snapshot not to match",
            };
            return Ok(Some(compared(what, pattern.text.clone(), content.to_owned())));
        }
    }
    Ok(None)
}
