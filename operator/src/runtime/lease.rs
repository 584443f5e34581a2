//! Leader election as a pure step function: what to do with the Lease that was read.
//!
//! As in client-go, the clocks of two machines are never compared: a candidate takes over when the record hasn't
//! changed for the record's own duration, by the candidate's clock.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// What a candidate does next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// This process holds the lease, or it is free or has expired: write this Lease.
    Write(Box<Lease>),
    /// Another process holds it.
    Wait,
}

/// The candidate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) identity: &'a str,
    pub(super) duration: Duration,
}

/// The holder's identity, if the lease has one.
pub(super) fn holder(lease: &Lease) -> Option<&str> {
    let spec = lease.spec.as_ref()?;
    spec.holder_identity
        .as_deref()
        .filter(|holder| !holder.is_empty())
}

/// What changes whenever the holder renews.
pub(super) fn record(lease: &Lease) -> Option<(Option<&str>, Option<Timestamp>)> {
    let spec = lease.spec.as_ref()?;
    Some((holder(lease), spec.renew_time.as_ref().map(|time| time.0)))
}

/// Decides what to do with a lease that hasn't changed for `unchanged`.
pub(super) fn step(lease: &Lease, asker: Candidate<'_>, unchanged: Duration, now: Timestamp) -> Step {
    let spec = lease.spec.as_ref();
    let mine = holder(lease) == Some(asker.identity);
    let kept_for = spec.and_then(|spec| spec.lease_duration_seconds).unwrap_or(0);
    let kept_for = Duration::from_secs(u64::try_from(kept_for).unwrap_or(0));
    if holder(lease).is_some() && !mine && unchanged < kept_for {
        return Step::Wait;
    }
    let transitions = spec.and_then(|spec| spec.lease_transitions).unwrap_or(0);
    let acquired = spec.and_then(|spec| spec.acquire_time.clone()).filter(|_| mine);
    let mut next = lease.clone();
    next.spec = Some(LeaseSpec {
        holder_identity: Some(asker.identity.to_owned()),
        lease_duration_seconds: Some(seconds(asker.duration)),
        acquire_time: acquired.or(Some(MicroTime(now))),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(if mine {
            transitions
        } else {
            transitions.saturating_add(1)
        }),
        ..LeaseSpec::default()
    });
    Step::Write(Box::new(next))
}

/// The lease without a holder, so that any candidate can acquire it; `None` if `identity` doesn't hold it.
pub(super) fn released(lease: &Lease, identity: &str, now: Timestamp) -> Option<Lease> {
    let spec = lease.spec.as_ref()?;
    if holder(lease) != Some(identity) {
        return None;
    }
    let mut next = lease.clone();
    next.spec = Some(LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        acquire_time: Some(MicroTime(now)),
        renew_time: Some(MicroTime(now)),
        lease_transitions: spec.lease_transitions,
        ..LeaseSpec::default()
    });
    Some(next)
}

fn seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_secs().max(1)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: Duration = Duration::from_secs(15);

    fn asker(identity: &str) -> Candidate<'_> {
        Candidate {
            identity,
            duration: TERM,
        }
    }

    fn written(step: Step) -> Lease {
        match step {
            Step::Write(lease) => *lease,
            Step::Wait => panic!("waits"),
        }
    }

    fn held_by(identity: &str) -> Lease {
        written(step(
            &Lease::default(),
            asker(identity),
            Duration::ZERO,
            Timestamp::UNIX_EPOCH,
        ))
    }

    #[test]
    fn a_free_lease_is_taken_and_a_kept_one_is_not() {
        let lease = held_by("a");
        assert_eq!(holder(&lease), Some("a"));
        let soon = TERM - Duration::from_millis(1);
        assert_eq!(step(&lease, asker("b"), soon, Timestamp::UNIX_EPOCH), Step::Wait);
        let taken = written(step(&lease, asker("b"), TERM, Timestamp::UNIX_EPOCH));
        assert_eq!(holder(&taken), Some("b"));
        assert_eq!(taken.spec.expect("a spec").lease_transitions, Some(2));
    }

    #[test]
    fn the_holder_renews_without_a_transition() {
        let later = Timestamp::from_second(5).expect("a time");
        let renewed = written(step(&held_by("a"), asker("a"), Duration::ZERO, later));
        let spec = renewed.spec.expect("a spec");
        assert_eq!(spec.lease_transitions, Some(1));
        assert_eq!(spec.acquire_time.map(|time| time.0), Some(Timestamp::UNIX_EPOCH));
        assert_eq!(spec.renew_time.map(|time| time.0), Some(later));
    }

    #[test]
    fn a_released_lease_is_free_at_once_and_another_holders_is_not_touched() {
        let lease = held_by("a");
        assert_eq!(released(&lease, "b", Timestamp::UNIX_EPOCH), None);
        let free = released(&lease, "a", Timestamp::UNIX_EPOCH).expect("a lease");
        assert!(matches!(
            step(&free, asker("b"), Duration::ZERO, Timestamp::UNIX_EPOCH),
            Step::Write(_)
        ));
    }
}
