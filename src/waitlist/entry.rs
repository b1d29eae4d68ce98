//! An entry of the list.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::email::Email;

/// One person on the list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WaitlistEntry {
    /// The address.
    pub email: Email,
    /// When the sign-up reached the server. Stores keep it to the millisecond.
    pub joined_at: SystemTime,
}

/// Converts a time to milliseconds since 1970. An earlier time becomes 0.
pub fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Converts milliseconds since 1970 to a time. Milliseconds beyond the range of [`SystemTime`] become 1970.
pub fn from_unix_millis(millis: u64) -> SystemTime {
    let since = Duration::from_millis(millis);
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
