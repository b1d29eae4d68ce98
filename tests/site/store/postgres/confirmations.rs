//! Confirmations that the database does not record.

use std::{sync::Arc, time::SystemTime};

use landing::{
    server::count_recent,
    waitlist::{Delivery, ListKey, Waitlist},
};

use super::SharedDatabase;
use crate::{
    mail::smtp_server::SmtpServer,
    store::confirmation_fixtures::{code, confirm, is_confirmed, site, wait_for},
};

/// A person has five tries. A right code that could not be recorded does not count as one.
#[tokio::test(flavor = "multi_thread")]
async fn code_that_could_not_be_recorded_stays_valid() {
    let database = SharedDatabase::create();
    let (list, server) = (
        Arc::new(database.open()) as Arc<dyn Waitlist>,
        SmtpServer::start(),
    );
    let site = site(&list, &server, &[]).await;
    site.join("ann@example.com").await;
    let code = code(&wait_for(&server, 1).await);
    database.sql("ALTER TABLE waitlist_entries ADD CONSTRAINT none CHECK (confirmed_at IS NULL)");
    for _ in 0..6 {
        assert_eq!(confirm(&site, "ann@example.com", &code).await, 503);
    }
    database.sql("ALTER TABLE waitlist_entries DROP CONSTRAINT none");
    assert_eq!(confirm(&site, "ann@example.com", &code).await, 200);
    assert!(is_confirmed(&*list, "ann@example.com"));
    // A confirmation that others can read may not be durable yet, so the next one is a change too.
    database.sql("ALTER TABLE waitlist_count ADD CONSTRAINT none CHECK (false) NOT VALID");
    assert_eq!(confirm(&site, "ann@example.com", &code).await, 503);
}

/// An instance that reads the ledger between the two must not add a delivery to the same person.
#[test]
fn added_delivery_counts_before_it_begins() {
    let recipient = ListKey::generate().hash("ann@example.com");
    let added = Delivery::waiting(recipient);
    assert_eq!(count_recent(&[added], SystemTime::now()), 1);
}
