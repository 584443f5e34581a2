//! When a body that comes too slowly counts as cut: [`MinimumRate`]. A byte in time would keep a request alive for ever.

use std::time::Duration;

use tokio::time::Instant;

/// The fewest bytes of a body in a second, on average over the idle timeout.
pub(super) const MINIMUM_BYTES_PER_SECOND: u64 = 1024;

/// Measures a body in windows, each at least as long as the idle timeout.
pub(super) struct MinimumRate {
    window: Duration,
    begun: Instant,
    received: u64,
}

impl MinimumRate {
    pub(super) fn new(window: Duration, now: Instant) -> Self {
        Self {
            window,
            begun: now,
            received: 0,
        }
    }

    /// Adds bytes that came; `Err` has their rate in a window that is too slow, in bytes a second.
    pub(super) fn add(&mut self, bytes: usize, now: Instant) -> Result<(), u64> {
        self.received = self.received.saturating_add(bytes as u64);
        let elapsed = now.saturating_duration_since(self.begun);
        if elapsed < self.window {
            return Ok(());
        }
        let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = self.received.saturating_mul(1000) / millis;
        if rate < MINIMUM_BYTES_PER_SECOND {
            return Err(rate);
        }
        *self = Self::new(self.window, now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_must_have_the_minimum_rate_in_every_window() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        /// Bytes, and the second they come in.
        type Pieces = &'static [(usize, u64)];
        const ENOUGH: usize = 10 * MINIMUM_BYTES_PER_SECOND as usize;
        let table: [(Pieces, Result<(), u64>); 5] = [
            // A byte a second, until the window ends.
            (&[(1, 1), (1, 9)], Ok(())),
            (&[(1, 1), (1, 9), (8, 10)], Err(1)),
            (&[(1, 1), (ENOUGH - 1, 10)], Ok(())),
            (&[(ENOUGH - 1, 10)], Err(MINIMUM_BYTES_PER_SECOND - 1)),
            // What came in an earlier window doesn't count.
            (&[(1 << 30, 10), (1, 19), (1, 20)], Err(0)),
        ];
        for (pieces, expected) in table {
            let mut rate = MinimumRate::new(Duration::from_secs(10), start);
            let mut last = Ok(());
            for (bytes, second) in pieces {
                assert_eq!(last, Ok(()), "{pieces:?}");
                last = rate.add(*bytes, at(*second));
            }
            assert_eq!(last, expected, "{pieces:?}");
        }
    }
}
