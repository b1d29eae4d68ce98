//! `landing serve --check`.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    net::TcpListener,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use rustix::process::geteuid;

use super::{TestCli, with_database, with_server, without_server};
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

/// Returns the content of every file below a directory. Sockets have none.
fn snapshot(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.insert(path.clone(), Vec::new());
            files.extend(snapshot(&path));
        } else {
            let content = fs::read(&path).unwrap_or_default();
            files.insert(path, content);
        }
    }
    files
}

#[test]
fn prints_what_it_used_and_changes_nothing() {
    let cli = without_server();
    let here = cli.sandbox.path().display().to_string();
    let addr = free_addr();
    let output = |list: &str| {
        format!(
            "waitlist: {here}/data, {list}\naddress: {addr}, free\n\
             origin: https://bob.example\nthe server can start; nothing was changed\n"
        )
    };
    let printed = success(&mut check(&cli, &addr));
    assert_eq!(printed, output("no list yet; `landing serve` creates it"));
    assert!(cli.file_names().is_empty());

    let cli_with_list = cli.with_three_people();
    let before = snapshot(cli_with_list.sandbox.path());
    let printed = success(&mut check(&cli_with_list, &addr));
    assert_eq!(printed, output("found"));
    assert_eq!(snapshot(cli_with_list.sandbox.path()), before);
}

#[test]
fn reads_a_list_in_a_directory() {
    let cli = without_server().with_three_people();
    let log = cli.file("data/waitlist/db");
    let mut bytes = fs::read(&log).expect("readable");
    for at in 0..bytes.len() - 3 {
        if &bytes[at..at + 3] == b"ann" {
            bytes[at] = b'e';
        }
    }
    fs::write(&log, bytes).expect("writable");
    let before = snapshot(cli.sandbox.path());
    let error = failure(&mut check(&cli, &free_addr()));
    assert!(error.contains("cannot open the waitlist in"), "{error}");
    assert_eq!(snapshot(cli.sandbox.path()), before);
}

#[test]
fn running_server_is_no_error() {
    let cli = with_server();
    let addr = cli.server.as_ref().expect("a server").addr.clone();
    let printed = success(&mut check(&cli, &addr));
    assert!(
        printed.contains("/data, in use by a running server\n"),
        "{printed}"
    );
    let in_use =
        format!("address: {addr}, in use; stop the running server before the new one starts\n");
    assert!(printed.contains(&in_use), "{printed}");
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
        assert!(
            printed.contains("no list yet; `landing serve` creates it"),
            "{printed}"
        );
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
    assert!(message.contains("or create them"), "{message}");
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
        assert!(message.contains("grant SELECT, INSERT"), "{message}");
        sql(&format!(
            "GRANT {privilege} ON waitlist_suppressed TO {name}"
        ));
    }
}

#[test]
fn reports_missing_files_an_occupied_address_and_a_file_as_directory() {
    let cli = without_server();
    cli.write("notes", "");
    let before = snapshot(cli.sandbox.path());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let in_use = listener.local_addr().expect("a bound socket").to_string();
    let error = failure(&mut check(&cli, &in_use));
    assert!(error.contains("Address already in use"), "{error}");
    assert!(error.contains("--addr 127.0.0.1:0"), "{error}");
    for store in ["notes", "notes/data"] {
        let error = failure(check(&cli, &free_addr()).args(["--store", store]));
        let notes = cli.file("notes").display().to_string();
        let named = format!("{notes} is a file, not a directory");
        assert!(error.contains(&named), "{store}: {error}");
    }
    assert_eq!(snapshot(cli.sandbox.path()), before);
}

/// Root runs the check as another user. Other users cannot, and take away their own rights.
#[test]
fn reports_missing_rights() {
    let cli = without_server().with_three_people();
    let set_mode = |name: &str, mode| {
        fs::set_permissions(cli.file(name), Permissions::from_mode(mode)).expect("permitted");
    };
    let program = cli.file("program");
    let copied = Command::new("cp")
        .args([Path::new(env!("CARGO_BIN_EXE_landing")), &program])
        .status();
    assert!(copied.expect("cp runs").success());
    let is_root = geteuid().is_root();
    let run_check = |store: &str| {
        let mut command = Command::new(&program);
        command.args(["serve", "--check", "--store", store]);
        command.args(["--origin", "https://bob.example", "--addr", "127.0.0.1:0"]);
        command.env_clear().current_dir(cli.sandbox.path());
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        command
    };
    // The modes of the sandbox and of the list in it.
    let cases = match is_root {
        true => [
            (0o755, 0o700, "data"),
            (0o755, 0o755, "data"),
            (0o755, 0o700, "new"),
        ],
        false => [
            (0o755, 0o000, "data"),
            (0o755, 0o555, "data"),
            (0o555, 0o700, "new"),
        ],
    };
    for (sandbox_mode, mode, store) in cases {
        set_mode("data", mode);
        set_mode("", sandbox_mode);
        let error = failure(&mut run_check(store));
        assert!(
            error.contains("Permission denied"),
            "{mode:o} {store}: {error}"
        );
        assert!(error.contains("run the check as the user"), "{error}");
    }
    // So that the directory can be removed.
    set_mode("", 0o755);
}

#[test]
fn warns_like_a_start() {
    let cli = without_server();
    let mut command = cli.landing();
    command.args(["serve", "--check"]);
    let output = command.args(["--addr", &free_addr()]).output();
    let output = output.expect("the program runs");
    assert_eq!(output.status.code(), Some(0));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("--origin is not set"), "{stderr}");
}
