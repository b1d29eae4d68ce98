//! Count rows that somebody has changed by hand or deleted.

use std::{
    process::{Command, Output},
    sync::Arc,
};

use landing::waitlist::{JoinOutcome, OwnerList};
use tokio::task::JoinSet;

use super::{SharedDatabase, open_url};
use crate::store::{entries, erase, join};

/// Runs `landing check`.
fn check(url: &str, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().env("DATABASE_URL", url).arg("check");
    command.args(options).output().expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn check_repair_corrects_the_count_and_prints_the_difference() {
    let database = SharedDatabase::create();
    let list = database.open();
    for person in 0..5 {
        join(&list, &format!("{person}@example.com")).await;
    }
    for (change, correction) in [
        ("DELETE FROM waitlist_count", "+5"),
        (
            "UPDATE waitlist_count SET entries = entries + 10 WHERE slot = 7",
            "-10",
        ),
        (
            "DELETE FROM waitlist_entries WHERE email = '3@example.com'",
            "-1",
        ),
    ] {
        database.sql(change);
        let found = check(&database.url, &[]);
        assert_eq!(found.status.code(), Some(1), "{change}");
        let repaired = check(&database.url, &["--repair"]);
        let report = stdout(&repaired);
        assert!(
            report.contains(&format!("corrected by {correction}")),
            "{change}: {report}"
        );
        assert_eq!(repaired.status.code(), Some(0), "{report}");
        assert_eq!(check(&database.url, &[]).status.code(), Some(0));
    }
    let report = stdout(&check(&database.url, &["--repair"]));
    assert!(report.contains("nothing was changed"), "{report}");
    let json = stdout(&check(&database.url, &["--repair", "--json"]));
    assert!(json.contains(r#""count_corrected_by":0"#), "{json}");
    // The running instance continues to count in its row.
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
    assert_eq!(database.sql(SUM_OF_COUNTS), "5");
}

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
