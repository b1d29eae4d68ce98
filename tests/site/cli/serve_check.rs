//! `landing serve --check`.

use std::{
    net::TcpListener,
    process::{Command, Output},
};

use super::{TestCli, assert_contains, with_database, with_server, without_server};
use crate::postgres_server::{SHARED_SERVER, free_port};

/// Returns `serve --check` with an address.
fn check(cli: &TestCli, addr: &str) -> Command {
    let mut command = cli.landing();
    command.args(["serve", "--check", "--addr", addr]);
    command.args(["--origin", "https://bob.example"]);
    command
}

/// Runs a check that must succeed without a warning, and returns its output.
fn success(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
    String::from_utf8(output.stdout).expect("text")
}

/// Runs a check that must fail, and returns its message.
fn failure(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let Output { stdout, stderr, .. } = &output;
    let stderr = String::from_utf8_lossy(stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stdout.is_empty(), "{}", String::from_utf8_lossy(stdout));
    stderr
}

fn free_addr() -> String {
    format!("127.0.0.1:{}", free_port())
}

#[test]
fn running_server_is_no_error() {
    let cli = with_server();
    let addr = cli.server.as_ref().expect("a server").addr.clone();
    let printed = success(&mut check(&cli, &addr));
    assert_contains(&printed, "/data, in use by a running server\n");
    let in_use =
        format!("address: {addr}, in use; stop the running server before the new one starts\n");
    assert_contains(&printed, &in_use);
    assert_eq!(cli.server.as_ref().expect("a server").count(), 0);

    let cli = with_database();
    let addr = cli.server.as_ref().expect("a server").addr.clone();
    let printed = success(&mut check(&cli, &addr));
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
        let mut command = check(&cli, &free_addr());
        let printed = success(command.env("DATABASE_URL", &database));
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
    let error = |url: &str| {
        let mut command = check(&cli, &free_addr());
        failure(command.env("DATABASE_URL", url))
    };
    sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    let message = error(&user);
    assert_contains(&message, "or create them");
    assert!(!message.contains("secret"), "{message}");
    cli.run_with_input(&["import", "--store", &owner], "ann@example.com\n")
        .success();
    let all = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public";
    sql(&format!("GRANT {all} TO {name}"));
    success(check(&cli, &free_addr()).env("DATABASE_URL", &user));
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

#[test]
fn reports_an_occupied_address() {
    let cli = without_server();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let in_use = listener.local_addr().expect("a bound socket").to_string();
    let error = failure(&mut check(&cli, &in_use));
    assert_contains(&error, "Address already in use");
    assert_contains(&error, "--addr 127.0.0.1:0");
    assert!(cli.file_names().is_empty());
}
