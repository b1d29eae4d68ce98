//! The shutdown of the server, as connections and requests see it.

use std::time::Duration;

use tokio::{sync::watch, time::sleep};

use super::limits::SHUTDOWN_READ_TIMEOUT;

/// Whether the server is shutting down.
pub(super) struct Shutdown {
    has_started: watch::Sender<bool>,
    /// How long requests and messages may still take.
    pub(super) grace: Duration,
}

impl Shutdown {
    pub(super) fn new(grace: Duration) -> Self {
        Self {
            has_started: watch::Sender::new(false),
            grace,
        }
    }

    pub(super) fn start(&self) {
        self.has_started.send_replace(true);
    }

    /// Resolves when the shutdown has started.
    pub(super) async fn started(&self) {
        // The sender is `self`, so this never fails.
        let _ = self
            .has_started
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
