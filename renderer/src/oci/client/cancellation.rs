//! A message from another thread that work is to be cancelled.

use tokio::sync::watch;

/// Sent once; whoever waits for it gets it, however late the wait begins.
#[derive(Debug)]
pub struct Cancellation(watch::Sender<bool>);

impl Default for Cancellation {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Cancellation {
    /// Sends it.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Waits for it.
    pub(in crate::oci) async fn cancelled(&self) {
        // The sender is here, so that this can't fail.
        let _ = self.0.subscribe().wait_for(|said| *said).await;
    }
}
