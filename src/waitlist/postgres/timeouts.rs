//! How long the store waits at most, and for what.

use std::time::Duration;

/// Until the response to a statement. Then its connection is abandoned for a new one, perhaps to another host. It is short,
/// because more than one attempt must fit into the time that a visitor waits (`REPLY_TIMEOUT` in `queue`).
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The run time of a statement in the database. It is shorter than [`RESPONSE_TIMEOUT`], so that PostgreSQL reports the reason.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_millis(2500);

/// The wait of a statement for a lock, except those of sign-ups. Some statements lock rows that all instances need, and
/// while such a statement waits, all instances wait for it. So it waits briefly and is repeated.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_millis(500);

/// A few statements over a slow network, where each takes a while.
pub(super) const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);

/// A statement over the whole list: to count it, sort it, read its suppressions, change its tables or restore them.
pub(super) const WHOLE_LIST_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The pause of a caller who reads the list. During the pause, the database keeps everything that is erased or updated.
pub(super) const CALLER_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause of the owner's backup while it is restored, during which the list is locked.
pub(super) const BACKUP_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A transaction that waits for its instance. If the instance is lost, the database ends it then. It is longer than
/// [`CALLER_TIMEOUT`].
pub(super) const IDLE_IN_TRANSACTION_TIMEOUT: Duration = Duration::from_secs(60);

/// The same for a change, which is sent as a whole.
pub(super) const IDLE_CHANGE_TIMEOUT: Duration = Duration::from_secs(3);

/// The same for the transaction of a restore. It is longer than [`BACKUP_TIMEOUT`].
pub(super) const IDLE_RESTORE_TIMEOUT: Duration = Duration::from_secs(11 * 60);
