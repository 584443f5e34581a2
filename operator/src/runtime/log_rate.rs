//! One line of a log in a while, however often there is a reason for it.

use std::time::Duration;

use tokio::time::Instant;

/// How long after a line the next one is written.
const INTERVAL: Duration = Duration::from_secs(60);

/// When the last line was written, and how many were not since.
#[derive(Debug, Default)]
pub(super) struct LogRate {
    last: Option<Instant>,
    suppressed: u64,
}

impl LogRate {
    /// Whether a line may be written now: then how many were left out since the last one.
    pub(super) fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            self.suppressed += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An API server that was away once cost 120 lines a minute.
    #[test]
    fn one_line_a_minute_counts_the_rest() {
        let (mut rate, start) = (LogRate::default(), Instant::now());
        let lines = (0..=120).map(|second| rate.admit(start + Duration::from_secs(second)));
        let lines: Vec<u64> = lines.flatten().collect();
        assert_eq!(lines, [0, 59, 59]);
    }
}
