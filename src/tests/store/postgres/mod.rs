//! What only the store in a database does: several copies, a database that breaks off, what is refused.

mod copies;
mod cut;
mod open;
mod outage;
mod reading;
mod wire;

use std::sync::LazyLock;

use landing::waitlist::{DatabaseUrl, PostgresWaitlist};
use tokio::runtime::Runtime;

/// What the lists work on, while a test waits.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// A copy's list.
pub(super) fn open(url: &DatabaseUrl) -> PostgresWaitlist {
    PostgresWaitlist::open_or_make(url, RUNTIME.handle()).expect("the list opens")
}
