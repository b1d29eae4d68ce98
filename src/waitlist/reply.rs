//! The reply of a committer.

use tokio::sync::oneshot;

use super::error::StoreError;

/// Carries the reply of a committer.
pub(super) type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;
