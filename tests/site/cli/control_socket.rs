//! The control socket, through which commands reach a running server, and its permissions.

use std::{
    fs::{self, File, Permissions},
    io::{Read, Write},
    os::unix::{
        fs::{FileTypeExt, PermissionsExt, chown},
        net::UnixStream,
        process::CommandExt,
    },
    path::Path,
    process::{Command, Output},
    thread,
    time::Duration,
};

use super::{TestCli, stderr, stdout, with_server, without_server};
use crate::process::{Sandbox, ServerProcess};

#[test]
fn socket_is_private_and_removed_at_shutdown() {
    let mut cli = with_server();
    drop(cli.server.take());
    fs::set_permissions(cli.file("data"), Permissions::from_mode(0o777)).expect("permitted");
    let mut server = cli.sandbox.serve();
    let socket = fs::metadata(cli.file("data/control")).expect("the file exists");
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    assert!(!cli.file("data/control").exists());
}

/// Runs a command as the user `nobody`, which only root can do.
fn run_as_nobody(cli: &TestCli, args: &[&str]) -> Output {
    // `nobody` may have no access to the directory of the build.
    let program = cli.file("program");
    if !program.exists() {
        // `cp` copies in another process. A program cannot run while any process has it open for writing.
        let mut copy = Command::new("cp");
        let copied = copy.args([Path::new(env!("CARGO_BIN_EXE_landing")), &program]);
        assert!(copied.status().expect("cp runs").success());
    }
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .current_dir(cli.sandbox.path());
    command
        .uid(65_534)
        .gid(65_534)
        .output()
        .expect("the program runs")
}

#[test]
fn rejects_another_user() {
    for cli in [without_server(), with_server()].map(TestCli::with_three_people) {
        fs::set_permissions(cli.sandbox.path(), Permissions::from_mode(0o777)).expect("permitted");
        for mode in [0o700, 0o777] {
            fs::set_permissions(cli.file("data"), Permissions::from_mode(mode)).expect("permitted");
            for args in [&["count"][..], &["export"], &["erase", "ann@example.com"]] {
                if !rustix::process::geteuid().is_root() {
                    // `socket_is_private_and_removed_at_shutdown` checks the permissions for every user.
                    return;
                }
                let output = run_as_nobody(&cli, args);
                let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(1), "{stderr}");
                assert!(output.stdout.is_empty());
                let why = if mode == 0o700 || cli.server.is_some() {
                    "Permission denied (os error 13); run the command as the user that the server runs as"
                } else {
                    "belongs to user 0; run the command as that user\n"
                };
                assert!(stderr.contains(why), "{stderr}");
            }
        }
        assert_eq!(cli.stdout(&["count"]), "3\n");
    }
}

#[test]
fn works_with_a_long_path() {
    let sandbox = Sandbox::new();
    let data = "a-directory-with-a-name-of-some-length/".repeat(6);
    fs::create_dir_all(sandbox.path().join(&data)).expect("writable");
    let mut command = sandbox.command();
    command.args(["--data", &data]);
    let server = ServerProcess::start(command);
    server.join("ann@example.com");
    let cli = TestCli {
        sandbox,
        server: Some(server),
        database: None,
    };
    assert_eq!(cli.stdout(&["count", "--data", &data]), "1\n");
    assert!(cli.file(&data).join("control").exists());
}

#[test]
fn stale_socket_of_a_killed_server_is_ignored() {
    let mut cli = with_server().with_three_people();
    let server = cli.server.take().expect("the program runs");
    server.signal("-KILL");
    drop(server);
    assert!(cli.file("data/control").exists());
    assert_eq!(cli.stdout(&["count"]), "3\n");
    let server = cli.sandbox.serve();
    assert_eq!(server.count(), 3);
    assert_eq!(cli.stdout(&["count"]), "3\n");
}

/// Locks the list until the returned file is dropped.
fn lock_list(cli: &TestCli) -> File {
    let lock = File::open(cli.file("data/lock")).expect("a list");
    lock.lock().expect("an unlocked list");
    lock
}

/// Longer than the store itself waits for the lock: 2 seconds.
const LOCKED: Duration = Duration::from_millis(2_500);

#[test]
fn command_waits_for_a_server_that_starts_or_stops() {
    let cli = without_server().with_three_people();
    let holder = cli.read("data/lock").trim().to_owned();
    let lock = lock_list(&cli);
    thread::scope(|scope| {
        let count = scope.spawn(|| cli.run(&["count"]));
        let import = scope.spawn(|| cli.run_with_input(&["import"], "email\ndee@example.com\n"));
        thread::sleep(LOCKED);
        assert!(!count.is_finished() && !import.is_finished());
        drop(lock);
        let counted = count.join().expect("no panic").success();
        assert!(["3\n", "4\n"].contains(&&*stdout(&counted)));
        let waiting = format!(
            "landing: waiting up to 15 s for process {holder} to release {}\n",
            cli.file("data").display()
        );
        assert_eq!(stderr(&counted), waiting);
        import.join().expect("no panic").success();
    });
}

#[test]
fn server_waits_for_a_command() {
    let cli = without_server().with_three_people();
    let lock = lock_list(&cli);
    thread::scope(|scope| {
        let server = scope.spawn(|| cli.sandbox.serve());
        thread::sleep(LOCKED);
        assert!(!server.is_finished());
        drop(lock);
        assert_eq!(server.join().expect("no panic").count(), 3);
    });
}

#[test]
fn server_that_waits_for_the_list_does_not_claim_to_open_it() {
    let cli = without_server().with_three_people();
    let lock = lock_list(&cli);
    thread::scope(|scope| {
        let server = scope.spawn(|| cli.sandbox.serve());
        // The server reports a slow start every 5 seconds.
        thread::sleep(Duration::from_secs(6));
        drop(lock);
        let log = server.join().expect("no panic").startup_log.join("\n");
        assert_eq!(log.matches("waiting up to 15 s for").count(), 1, "{log}");
        assert!(!log.contains("opening the waitlist"), "{log}");
    });
}

#[test]
fn creates_no_list_in_another_users_directory() {
    let cli = without_server();
    if !rustix::process::geteuid().is_root() {
        // Other users cannot write to such a directory.
        return;
    }
    fs::create_dir(cli.file("data")).expect("writable");
    chown(cli.file("data"), Some(65_534), Some(65_534)).expect("permitted to root");
    let stderr = stderr(
        &cli.run_with_input(&["import"], "email\nann@example.com\n")
            .code(1),
    );
    assert!(
        stderr.contains("data belongs to user 65534; run the command as that user")
            && stderr.contains("systemd-run")
            && stderr.contains("docs/owner.md"),
        "{stderr}"
    );
    assert_eq!(fs::read_dir(cli.file("data")).expect("readable").count(), 0);
}

#[test]
fn version_mismatch_asks_to_restart_the_server() {
    let cli = with_server();
    for request in [
        "{\"protocol\":1,\"ask\":\"Count\"}\n",
        "{\"protocol\":6,\"ask\":\"Count\"}\n",
        "{\"protocol\":5,\"ask\":\"Fly\"}\n",
        "\n",
        "",
    ] {
        let mut stream = UnixStream::connect(cli.file("data/control")).expect("the server listens");
        stream
            .write_all(request.as_bytes())
            .expect("the server reads");
        stream
            .shutdown(std::net::Shutdown::Write)
            .expect("an open connection");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        assert!(
            reply.contains("different versions; restart the server"),
            "{reply}"
        );
    }
    assert_eq!(cli.stdout(&["count"]), "0\n");
}

#[test]
fn rejects_invalid_addresses_on_the_socket() {
    let cli = with_server();
    let mut stream = UnixStream::connect(cli.file("data/control")).expect("the server listens");
    let request = "{\"protocol\":5,\"ask\":{\"Join\":[[0,\"ann@example.com\",null,null,null],[0,\"no\\nmail\",null,null,null]]}}\n";
    stream
        .write_all(request.as_bytes())
        .expect("the server reads");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("a reply");
    assert_eq!(reply, "{\"Err\":\"an address needs an @\"}\n");
    assert_eq!(cli.stdout(&["count"]), "0\n");
}

#[test]
fn serves_without_a_control_socket() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve();
    server.signal("-TERM");
    server.wait_for_exit();
    fs::create_dir(sandbox.path().join("data/control")).expect("writable");
    let mut server = sandbox.serve();
    assert_eq!(server.join("ann@example.com"), "201");
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    assert!(
        server
            .startup_log
            .iter()
            .any(|line| line.contains("cannot create the control socket"))
    );
}

#[test]
fn server_log_contains_no_addresses() {
    let mut cli = with_server().with_three_people();
    cli.run(&["list"]).success();
    cli.run(&["erase", "ann@example.com"]).success();
    let failed = cli
        .run_with_input(&["import"], "email\nann@example.com,\nno mail\n")
        .code(1);
    assert!(!stderr(&failed).contains('@'));
    let mut server = cli.server.take().expect("the program runs");
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log();
    assert!(
        !log.iter()
            .any(|line| line.contains('@') || line.contains("example.com")),
        "{log:?}"
    );
}
