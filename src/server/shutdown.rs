//! The shutdown of the server, as connections and requests see it.

use tokio::{sync::watch, time::sleep};

use super::limits::SHUTDOWN_READ_TIMEOUT;

/// Whether the server is shutting down.
#[derive(Default)]
pub(super) struct Shutdown(watch::Sender<bool>);

impl Shutdown {
    pub(super) fn start(&self) {
        self.0.send_replace(true);
    }

    /// Resolves when the shutdown has started.
    pub(super) async fn started(&self) {
        // The sender is `self`, so this never fails.
        let _ = self
            .0
            .subscribe()
            .wait_for(|has_started| *has_started)
            .await;
    }

    /// Resolves when a request that is still arriving has no more time.
    pub(super) async fn read_deadline(&self) {
        self.started().await;
        sleep(SHUTDOWN_READ_TIMEOUT).await;
    }
}
