//! A tag that several clients write concurrently, each adding an entry: the list of referrers, and cosign's list of
//! simple signatures.
//!
//! Registries have no compare-and-swap. If two clients read the tag before either has written, the second one
//! overwrites the entry of the first without noticing. So each reads again once every client that read before it must
//! have written, and adds its entry again if it is missing: no entry is lost unless one client's request takes several
//! times as long as the others'.

use std::time::Duration;

use tokio::time::Instant;

use crate::oci::client::Client;
use crate::oci::client::referrers::digest_of;
use crate::oci::error::ClientError;
use crate::reference::{At, Tag};

/// The maximum number of writes when other clients overwrite the change.
const MAX_TURNS: u32 = 20;
/// The assumed minimum time for reading and writing: on a busy machine another client may be paused for longer than a
/// nearby registry takes.
const LEAST: Duration = Duration::from_millis(100);
/// The maximum delay between writing and reading again.
const MAX_WAIT: Duration = Duration::from_secs(2);

impl Client<'_> {
    /// Changes the manifest of a tag until the change persists. `change` returns the new manifest for the current one,
    /// or `None` if that needs no change.
    pub(in crate::oci) async fn change_tag(
        &self,
        tag: &Tag,
        media_type: &'static str,
        change: impl AsyncFn(Option<Vec<u8>>) -> Result<Option<Vec<u8>>, ClientError>,
    ) -> Result<(), ClientError> {
        let at = At::Tag(tag.clone());
        for turn in 0..MAX_TURNS {
            let start = Instant::now();
            let Some(bytes) = change(self.find_manifest(&at).await?).await? else {
                return Ok(());
            };
            self.put(&at, media_type, &bytes, &digest_of(&bytes)).await?;
            tokio::time::sleep(wait(start.elapsed(), turn, self.world.entropy())).await;
        }
        Err(ClientError::Protocol {
            action: format!("PUT {tag}"),
            message: format!("other clients overwrote the added entry {MAX_TURNS} times"),
        })
    }
}

/// Twice the time that reading and writing took, with jitter, so that many clients don't stay in step.
fn wait(took: Duration, turn: u32, entropy: u64) -> Duration {
    let took = took.clamp(LEAST, MAX_WAIT);
    let spread = took.saturating_mul(2 << turn.min(4));
    let chance = spread.mul_f64((entropy % 1024) as f64 / 1024.0);
    (took.saturating_mul(2) + chance).min(MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_grows_with_jitter_and_is_bounded() {
        let took = LEAST + Duration::from_millis(10);
        assert_eq!(wait(Duration::ZERO, 0, 0), LEAST * 2);
        assert_eq!(wait(took, 0, 0), Duration::from_millis(220));
        assert_eq!(wait(took, 0, 512), Duration::from_millis(330));
        assert_eq!(wait(took, 3, 512), Duration::from_millis(1100));
        assert_eq!(wait(took, 4, 512), Duration::from_millis(1980));
        assert_eq!(wait(took, 99, 512), Duration::from_millis(1980));
        assert_eq!(wait(Duration::MAX, 3, 1023), MAX_WAIT);
    }
}
