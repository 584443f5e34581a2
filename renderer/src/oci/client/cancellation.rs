//! Cancellation from another thread.

use tokio::sync::watch;

/// Sent once; every waiter gets it, even if it begins to wait later.
#[derive(Debug)]
pub struct Cancellation(watch::Sender<bool>);

impl Default for Cancellation {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Cancellation {
    /// Cancels.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Waits for the cancellation.
    pub(in crate::oci) async fn cancelled(&self) {
        // The sender exists, so this can't fail.
        let _ = self.0.subscribe().wait_for(|said| *said).await;
    }
}
