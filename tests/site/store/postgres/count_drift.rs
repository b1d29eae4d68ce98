//! A count that somebody has changed by hand, and rows of it that are missing.

use std::{
    process::{Command, Output},
    sync::Arc,
};

use landing::waitlist::{JoinOutcome, Waitlist};
use tokio::task::JoinSet;

use super::open;
use crate::{
    postgres_server::SHARED_SERVER,
    store::{entries, erase, join},
};

fn check(url: &str, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().env("DATABASE_URL", url).arg("check");
    command.args(options).output().expect("it runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn check_repair_corrects_the_count_and_prints_the_difference() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    let list = open(&url.parse().expect("a URL"));
    for person in 0..5 {
        join(&list, &format!("{person}@example.com")).await;
    }
    for (change, by) in [
        ("DELETE FROM waitlist_count", "+5"),
        (
            "UPDATE waitlist_count SET entries = 10 WHERE slot = 7",
            "-10",
        ),
        (
            "DELETE FROM waitlist_entries WHERE email = '3@example.com'",
            "-1",
        ),
    ] {
        SHARED_SERVER.sql(name, change);
        let found = check(&url, &[]);
        assert_eq!(found.status.code(), Some(1), "{change}");
        let repaired = check(&url, &["--repair"]);
        let report = stdout(&repaired);
        assert!(
            report.contains(&format!("corrected by {by}")),
            "{change}: {report}"
        );
        assert_eq!(repaired.status.code(), Some(0), "{report}");
        assert_eq!(check(&url, &[]).status.code(), Some(0));
    }
    let report = stdout(&check(&url, &["--repair"]));
    assert!(report.contains("nothing was changed"), "{report}");
    let json = stdout(&check(&url, &["--repair", "--json"]));
    assert!(json.contains(r#""count_corrected_by":0"#), "{json}");
    // The instance that runs goes on in its slot.
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
    let counted = "SELECT sum(entries) FROM waitlist_count";
    assert_eq!(SHARED_SERVER.sql(name, counted), "5");
}

/// While people join and are erased, and by two at once.
#[tokio::test(flavor = "multi_thread")]
async fn recount_is_exact_during_changes() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    let list = Arc::new(open(&url.parse().expect("a URL")));
    SHARED_SERVER.sql(
        name,
        "UPDATE waitlist_count SET entries = entries + 7 WHERE slot < 3",
    );
    let mut work = JoinSet::new();
    for client in 0..8 {
        let list = Arc::clone(&list);
        work.spawn(async move {
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
        work.spawn(async move {
            for _ in 0..20 {
                // Erasures may be in its way.
                let _ = list.recount().await;
            }
        });
    }
    work.join_all().await;
    list.recount().await.expect("nobody is in its way");
    assert_eq!(list.recount().await, Ok(0));
    assert_eq!(entries(&*list).len(), 8 * 54);
    assert_eq!(
        SHARED_SERVER.sql(name, "SELECT sum(entries) FROM waitlist_count"),
        "432"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn open_creates_missing_count_rows() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    drop(open(&url.parse().expect("a URL")));
    SHARED_SERVER.sql(name, "DELETE FROM waitlist_count WHERE slot > 9");
    drop(open(&url.parse().expect("a URL")));
    assert_eq!(
        SHARED_SERVER.sql(name, "SELECT count(*) FROM waitlist_count"),
        "64"
    );
}

/// As README.md gives a user just the rights that an instance needs.
#[tokio::test(flavor = "multi_thread")]
async fn counts_in_an_existing_row_without_insert_rights() {
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name");
    drop(open(&url.parse().expect("a URL")));
    SHARED_SERVER.sql("postgres", &format!("CREATE USER {name} PASSWORD 'secret'"));
    SHARED_SERVER.sql(
        name,
        &format!(
            "GRANT SELECT ON waitlist_migrations TO {name};
             GRANT SELECT, INSERT, DELETE ON waitlist_entries TO {name};
             GRANT SELECT, UPDATE ON waitlist_count TO {name};
             DELETE FROM waitlist_count WHERE slot % 2 = 0"
        ),
    );
    let url = url.replace("owner:secret-of-the-tests", &format!("{name}:secret"));
    for number in 0..4 {
        let list = open(&url.parse().expect("a URL"));
        let address = format!("{number}@example.com");
        assert_eq!(join(&list, &address).await, JoinOutcome::New);
    }
    assert_eq!(
        SHARED_SERVER.sql(name, "SELECT sum(entries) FROM waitlist_count"),
        "4"
    );
}
