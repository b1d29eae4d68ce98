//! How long a request may wait for the store.

use tokio::time::timeout;

use super::limits::STORE_TIMEOUT;
use crate::waitlist::StoreError;

/// Makes all calls of the store that a request needs, within [`STORE_TIMEOUT`]. Each has a limit of its own, and several
/// would add up to more than a proxy waits.
///
/// # Errors
/// Those of the calls, and [`StoreError::TimedOut`].
pub(super) async fn within_deadline<T, E: From<StoreError>>(
    calls: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let result = timeout(STORE_TIMEOUT, calls).await;
    result.unwrap_or(Err(StoreError::TimedOut.into()))
}
