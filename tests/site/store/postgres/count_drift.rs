//! Count rows that somebody has changed by hand or deleted. `database.txt` of the commands has `check --repair`.

use std::sync::Arc;

use landing::waitlist::{JoinOutcome, OwnerList};
use tokio::task::JoinSet;

use super::{SharedDatabase, open_url};
use crate::store::{entries, erase, join};

const SUM_OF_COUNTS: &str = "SELECT sum(entries) FROM waitlist_count";

/// Two tasks recount while people join and are erased.
#[tokio::test(flavor = "multi_thread")]
async fn recount_is_exact_during_changes() {
    let database = SharedDatabase::create();
    let list = Arc::new(database.open());
    database.sql("UPDATE waitlist_count SET entries = entries + 7 WHERE slot < 3");
    let mut tasks = JoinSet::new();
    for client in 0..8 {
        let list = Arc::clone(&list);
        tasks.spawn(async move {
            for number in 0..60 {
                let address = format!("{number}@client{client}.example");
                join(&*list, &address).await;
                if number % 10 == 0 {
                    erase(&*list, &address).await;
                }
            }
        });
    }
    for _ in 0..2 {
        let list = Arc::clone(&list);
        tasks.spawn(async move {
            for _ in 0..20 {
                // A concurrent erasure may make it fail.
                let _ = list.recount().await;
            }
        });
    }
    tasks.join_all().await;
    list.recount().await.expect("no concurrent change");
    assert_eq!(list.recount().await, Ok(0));
    assert_eq!(entries(&*list).len(), 8 * 54);
    assert_eq!(database.sql(SUM_OF_COUNTS), "432");
}

/// With only the privileges that the documentation grants to an instance.
#[tokio::test(flavor = "multi_thread")]
async fn counts_in_an_existing_row_without_insert_rights() {
    let database = SharedDatabase::create();
    drop(database.open());
    let (url, name) = (database.create_user(), &database.name);
    database.sql(&format!(
        "GRANT SELECT ON waitlist_migrations, waitlist_key TO {name};
             GRANT SELECT, INSERT, DELETE ON waitlist_entries TO {name};
             GRANT SELECT, DELETE ON waitlist_suppressed TO {name};
             GRANT SELECT, UPDATE ON waitlist_count TO {name};
             DELETE FROM waitlist_count WHERE slot % 2 = 0"
    ));
    for number in 0..4 {
        let list = open_url(&url);
        let address = format!("{number}@example.com");
        assert_eq!(join(&list, &address).await, JoinOutcome::New);
    }
    assert_eq!(database.sql(SUM_OF_COUNTS), "4");
}
