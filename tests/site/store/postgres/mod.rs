//! What only the store in a database does: several copies, a database that breaks off, what is refused.

mod connection_loss;
mod count_drift;
mod delayed_statements;
mod fault_proxy;
mod instances;
mod multiple_hosts;
mod opening;
mod outage;
mod pgbouncer;
mod reading;
mod row_errors;
mod schemas;
mod standby;
mod tls;
mod urls;

use std::sync::LazyLock;

use landing::waitlist::{DatabaseUrl, PostgresWaitlist, StoreError};
use tokio::{runtime::Runtime, time::timeout};

use crate::process::TEST_TIMEOUT;

/// What the lists work on, while a test waits.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// A copy's list.
pub(super) fn open(url: &DatabaseUrl) -> PostgresWaitlist {
    PostgresWaitlist::open_or_create(url, RUNTIME.handle()).expect("the list opens")
}

/// What is told while the database cannot be used, whether it answers or not.
pub(super) fn is_outage(error: &StoreError) -> bool {
    matches!(error, StoreError::Unreachable | StoreError::Database(_))
}

/// What is told instead of opening.
pub(super) fn open_error(url: &str) -> String {
    let message = match url.parse::<DatabaseUrl>() {
        Ok(url) => PostgresWaitlist::open_or_create(&url, RUNTIME.handle())
            .expect_err("it must be refused")
            .to_string(),
        Err(why) => why,
    };
    assert!(!message.contains("secret"), "{message}");
    message
}

pub(super) fn can_open(url: &str) -> bool {
    PostgresWaitlist::open_or_create(&url.parse().expect("a URL"), RUNTIME.handle()).is_ok()
}

/// What is waited for, which must come within [`TEST_TIMEOUT`].
pub(super) async fn within_timeout<T, E: std::fmt::Debug>(
    coming: impl Future<Output = Result<T, E>>,
) -> T {
    let come = timeout(TEST_TIMEOUT, coming).await;
    come.expect("it comes in time").expect("the list is there")
}
