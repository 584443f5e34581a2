//! A word from another thread that work is to end early.

use tokio::sync::watch;

/// Said once; who waits for it hears it, however late it begins to wait.
#[derive(Debug)]
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Stop {
    /// Says it.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Waits for it.
    pub(in crate::oci) async fn stopped(&self) {
        // The sender is here, so that this can't fail.
        let _ = self.0.subscribe().wait_for(|said| *said).await;
    }
}
