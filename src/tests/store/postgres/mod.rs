//! What only the store in a database does: several copies, a database that breaks off, what is refused.

mod copies;
mod cut;
mod open;
mod wire;

use landing::waitlist::{DatabaseUrl, PostgresWaitlist};

/// A copy's list.
fn open(url: &DatabaseUrl) -> PostgresWaitlist {
    PostgresWaitlist::open_or_make(url).expect("the list opens")
}
