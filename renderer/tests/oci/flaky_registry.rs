//! A thousand pushes through a registry of whose requests a fifth fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use solar_render::oci::{Batch, Cancellation, Finished, PushOptions, Ready, publish, resolve};
use solar_render::package::Packer;
use solar_render::report::Outcome;
use testbed::{Answer, Registry, Response, Setup, forward};

use crate::support::*;

/// Which requests fail, and how: a fifth of them, always the same ones for a seed.
struct Dice(std::sync::Mutex<u64>);

impl Dice {
    fn throw(&self) -> Option<u64> {
        let mut bits = self.0.lock().unwrap();
        *bits ^= *bits << 13;
        *bits ^= *bits >> 7;
        *bits ^= *bits << 17;
        (*bits >> 20).is_multiple_of(5).then_some((*bits >> 40) % 5)
    }
}

/// Publishes charts over eight connections; each must come to `expected`.
fn publish_all(count: usize, to: &str, expected: Outcome) {
    let make = |number: usize, _: &mut Packer| {
        let artifact = chart("app", &format!("1.0.{number}"), "x");
        let destination = resolve(&to.parse().unwrap(), &artifact, false)?;
        let warnings = Vec::new();
        Ok(Ready {
            artifact,
            destination,
            warnings,
        })
    };
    let batch = Batch {
        count,
        make: &make,
        threads: 1,
        connections: 8,
        options: &PushOptions::default(),
        cancellation: &Cancellation::default(),
    };
    let mut landed = 0;
    let mut finished = |number, finished: Finished| {
        let outcome = match &finished {
            Finished::Sent(_, Ok(pushed)) => Some(pushed.outcome),
            _ => None,
        };
        assert_eq!(outcome, Some(expected), "{number}: {finished:?}");
        landed += 1;
    };
    // Which request meets which fault depends on the order in which they arrive: of 10,000 requests one fails eight
    // times in a row (0.2⁸) in every fortieth run, sixteen times in none.
    let mut client = plain();
    client.retry.attempts = 16;
    publish(batch, &client, &world(&[]), &Trace::default(), &mut finished).unwrap();
    assert_eq!(landed, count);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn with_a_fifth_of_all_requests_failing_a_thousand_pushes_land_and_none_is_wrong() {
    const PUSHES: usize = 1000;
    let registry = Registry::with(&Setup {
        in_memory: true,
        ..Setup::default()
    });
    let dice = Dice(std::sync::Mutex::new(0x2545_f491_4f6c_dd1d_u64));
    let upstream = registry.host().to_owned();
    let faults = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&faults);
    let server = in_front(&registry, move |request, _| {
        let kind = dice.throw()?;
        counted.fetch_add(1, Ordering::SeqCst);
        Some(match kind {
            // Done, and the answer is lost.
            4 => {
                let _ = forward(request, &upstream);
                Answer::close()
            }
            0 => Response::status(503).into(),
            1 => Response::status(429).into(),
            2 => Answer::close(),
            _ => Answer::bytes("HTTP/1.1 20"),
        })
    });
    publish_all(PUSHES, &target(&server), Outcome::Created);
    publish_all(PUSHES, &target_at(registry.host()), Outcome::Unchanged);
    assert!(faults.load(Ordering::SeqCst) > PUSHES, "there were faults");
    // No tag exists twice, or under another name.
    let place = format!("oci://{}/charts/app", registry.host());
    let locator: solar_render::reference::Locator = place.parse().unwrap();
    let listed = solar_render::oci::tags(&locator.place, &plain(), &world(&[]), &Trace::default()).unwrap();
    assert_eq!(listed.len(), PUSHES);
}
