//! A rate limit for log lines.

use std::time::Duration;

use tokio::time::Instant;

/// The minimum time between two lines.
const INTERVAL: Duration = Duration::from_secs(60);

/// When the last line was written, and how many were suppressed since.
#[derive(Debug, Default)]
pub(super) struct LogRate {
    last: Option<Instant>,
    suppressed: u64,
}

impl LogRate {
    /// Whether a line may be written now; if so, how many were suppressed since the last one.
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

    /// An unreachable API server once caused 120 lines a minute.
    #[test]
    fn one_line_a_minute_is_written_and_counts_the_suppressed_ones() {
        let (mut rate, start) = (LogRate::default(), Instant::now());
        let lines = (0..=120).map(|second| rate.admit(start + Duration::from_secs(second)));
        let lines: Vec<u64> = lines.flatten().collect();
        assert_eq!(lines, [0, 59, 59]);
    }
}
