//! `landing serve --check` with a database. `http/starts.txt` has a directory.

use super::{TestCli, assert_contains, stderr, stdout, with_database, without_server};
use crate::postgres_server::{SHARED_SERVER, free_port};

/// Returns the arguments of a check with an address.
fn check<'a>(addr: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["serve", "--check", "--addr", addr];
    [&fixed[..], &["--origin", "https://bob.example"], more].concat()
}

/// Runs a check that must fail and print nothing, and returns its error.
fn failure(cli: &TestCli, addr: &str, more: &[&str]) -> String {
    let result = cli.run(&check(addr, more)).code(1);
    assert_eq!(stdout(&result), "");
    stderr(&result)
}

fn free_addr() -> String {
    format!("127.0.0.1:{}", free_port())
}

#[test]
fn running_server_is_no_error() {
    let cli = with_database();
    let addr = cli.server.as_ref().expect("a server").addr.clone();
    let printed = cli.stdout(&check(&addr, &[]));
    assert!(
        printed.contains(", found\n") && printed.contains(", in use; "),
        "{printed}"
    );
}

#[test]
fn empty_database_stays_empty() {
    let cli = without_server();
    let database = SHARED_SERVER.create_database();
    for _ in 0..2 {
        let printed = cli.stdout(&check(&free_addr(), &["--store", &database]));
        assert_contains(&printed, "no list yet; `landing serve` creates it");
    }
}

#[test]
fn reports_missing_privileges_in_a_database() {
    let cli = without_server();
    let owner = SHARED_SERVER.create_database();
    let (_, name) = owner.rsplit_once('/').expect("a name");
    let sql = |statement: &str| SHARED_SERVER.sql(name, statement);
    sql(&format!("CREATE USER {name} PASSWORD 'secret'"));
    let user = owner.replace("owner:secret-of-the-tests", &format!("{name}:secret"));
    let error = |url: &str| failure(&cli, &free_addr(), &["--store", url]);
    sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    let message = error(&user);
    assert_contains(&message, "or create them");
    assert!(!message.contains("secret"), "{message}");
    cli.run_with_input(&["import", "--store", &owner], "ann@example.com\n")
        .success();
    let all = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public";
    sql(&format!("GRANT {all} TO {name}"));
    cli.stdout(&check(&free_addr(), &["--store", &user]));
    for privilege in ["SELECT", "INSERT", "UPDATE", "DELETE"] {
        sql(&format!(
            "REVOKE {privilege} ON waitlist_suppressed FROM {name}"
        ));
        let message = error(&user);
        assert_contains(&message, "grant SELECT, INSERT");
        sql(&format!(
            "GRANT {privilege} ON waitlist_suppressed TO {name}"
        ));
    }
}
