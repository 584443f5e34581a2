//! A tag that several write to at once, each adding something of its own: the list of referrers, and
//! cosign's list of simple signatures.
//!
//! Registries have no compare-and-swap. Of two who read the tag before either has written, the second takes
//! back what the first has added, and does not know it. So each reads again when whoever read before it must
//! have written, and adds its own once more when that is gone: no entry is lost unless a writer needs several
//! times as long for its one request as the others do.

use std::time::Duration;

use tokio::time::Instant;

use crate::oci::client::Client;
use crate::oci::client::referrers::digest_of;
use crate::oci::error::ClientError;
use crate::reference::{At, Tag};

/// How often the tag is written when others take the change back.
const MAX_TURNS: u32 = 20;
/// What reading and writing is taken for at least: on a busy machine another writer may stand still for longer
/// than a near registry takes.
const LEAST: Duration = Duration::from_millis(100);
/// The longest wait between writing and reading again.
const MAX_WAIT: Duration = Duration::from_secs(2);

impl Client<'_> {
    /// Changes what is at a tag until the change stays. `change` makes the new manifest of what is there, or
    /// `None` when that is as it should be.
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
            message: format!("others took back what was added there, {MAX_TURNS} times"),
        })
    }
}

/// Twice as long as reading and writing took here, and, so that many don't go on in step, by chance longer.
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
    fn the_wait_grows_by_chance_and_ends() {
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
