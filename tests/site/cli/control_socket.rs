//! The socket by which the commands reach a server, and who may use it.

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

use super::{TestCli, stderr, with_server, without_server};
use crate::process::{Sandbox, ServerProcess};

#[test]
fn socket_is_private_and_removed_at_shutdown() {
    let mut cli = with_server();
    // Also where the data directory is open to others.
    drop(cli.server.take());
    fs::set_permissions(cli.file("data"), Permissions::from_mode(0o777)).expect("ours");
    let mut server = cli.sandbox.serve();
    let socket = fs::metadata(cli.file("data/control")).expect("it is there");
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    assert!(!cli.file("data/control").exists());
}

/// Runs a command as nobody, which only root can.
fn as_nobody(cli: &TestCli, args: &[&str]) -> Output {
    // The checkout may be in a home that nobody can look into.
    let program = cli.file("program");
    if !program.exists() {
        // By a process of its own: a file that is open for writing anywhere can't be run.
        let mut copy = Command::new("cp");
        let copied = copy.args([Path::new(env!("CARGO_BIN_EXE_landing")), &program]);
        assert!(copied.status().expect("cp").success());
    }
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .current_dir(cli.sandbox.path());
    command.uid(65_534).gid(65_534).output().expect("it runs")
}

#[test]
fn rejects_another_user() {
    for cli in [without_server(), with_server()].map(TestCli::with_three_people) {
        fs::set_permissions(cli.sandbox.path(), Permissions::from_mode(0o777)).expect("ours");
        for mode in [0o700, 0o777] {
            fs::set_permissions(cli.file("data"), Permissions::from_mode(mode)).expect("ours");
            for args in [&["count"][..], &["export"], &["erase", "ann@example.com"]] {
                if !rustix::process::geteuid().is_root() {
                    // Whose file it is, the test above has seen.
                    return;
                }
                let output = as_nobody(&cli, args);
                let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(1), "{stderr}");
                assert!(output.stdout.is_empty());
                let why = if mode == 0o700 || cli.server.is_some() {
                    "Permission denied (os error 13); run this as the user that the server runs as"
                } else {
                    "belongs to user 0: run this as that user"
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
    let server = cli.server.take().expect("it runs");
    server.signal("-KILL");
    drop(server);
    assert!(cli.file("data/control").exists());
    assert_eq!(cli.stdout(&["count"]), "3\n");
    let server = cli.sandbox.serve();
    assert_eq!(server.count(), "{\"count\":3}");
    assert_eq!(cli.stdout(&["count"]), "3\n");
}

/// Somebody has the list, for as long as this is there.
fn lock_list(cli: &TestCli) -> File {
    let lock = File::open(cli.file("data/lock")).expect("there is a list");
    lock.lock().expect("nobody has it");
    lock
}

#[test]
fn command_waits_for_a_server_that_starts_or_stops() {
    let cli = without_server().with_three_people();
    let lock = lock_list(&cli);
    thread::scope(|scope| {
        let count = scope.spawn(|| cli.stdout(&["count"]));
        let import = scope.spawn(|| cli.run_with_input(&["import"], "email\ndee@example.com\n"));
        // Longer than the store itself would wait.
        thread::sleep(Duration::from_secs(4));
        assert!(!count.is_finished() && !import.is_finished());
        drop(lock);
        let counted = count.join().expect("no panic");
        assert!(["3\n", "4\n"].contains(&&*counted), "{counted}");
        import.join().expect("no panic").success();
    });
}

#[test]
fn server_waits_for_a_command() {
    let cli = without_server().with_three_people();
    let lock = lock_list(&cli);
    thread::scope(|scope| {
        let server = scope.spawn(|| cli.sandbox.serve());
        thread::sleep(Duration::from_secs(4));
        assert!(!server.is_finished());
        drop(lock);
        assert_eq!(server.join().expect("it serves").count(), "{\"count\":3}");
    });
}

#[test]
fn creates_no_list_in_another_users_directory() {
    let cli = without_server();
    if !rustix::process::geteuid().is_root() {
        // Who is not could not write there.
        return;
    }
    fs::create_dir(cli.file("data")).expect("writable");
    chown(cli.file("data"), Some(65_534), Some(65_534)).expect("root may");
    let stderr = stderr(
        &cli.run_with_input(&["import"], "email\nann@example.com\n")
            .code(1),
    );
    assert!(
        stderr.contains("data belongs to user 65534: run this as that user"),
        "{stderr}"
    );
    assert_eq!(fs::read_dir(cli.file("data")).expect("readable").count(), 0);
}

#[test]
fn second_server_reports_the_process_that_holds_the_list() {
    let cli = with_server();
    let mut command = cli.sandbox.command();
    let output = command.output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("in use by process"), "{stderr}");
    assert_eq!(cli.stdout(&["count"]), "0\n", "the first is still asked");
}

#[test]
fn version_mismatch_asks_to_restart_the_server() {
    let cli = with_server();
    for request in [
        "{\"protocol\":2,\"ask\":\"Count\"}\n",
        "{\"protocol\":1,\"ask\":\"Fly\"}\n",
        "\n",
        "",
    ] {
        let mut stream = UnixStream::connect(cli.file("data/control")).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        stream
            .shutdown(std::net::Shutdown::Write)
            .expect("it is open");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(
            answer.contains("of another version than this command: restart it"),
            "{answer}"
        );
    }
    assert_eq!(cli.stdout(&["count"]), "0\n");
}

#[test]
fn rejects_invalid_addresses_on_the_socket() {
    let cli = with_server();
    let mut stream = UnixStream::connect(cli.file("data/control")).expect("it listens");
    let request =
        "{\"protocol\":1,\"ask\":{\"Join\":[[0,\"ann@example.com\"],[0,\"no\\nmail\"]]}}\n";
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "{\"Err\":\"an address needs an @\"}\n");
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
            .any(|line| line.contains("the owner's commands can't be answered"))
    );
}

#[test]
fn server_log_contains_no_addresses() {
    let mut cli = with_server().with_three_people();
    cli.run(&["list"]).success();
    cli.run(&["erase", "ann@example.com"]).success();
    let bad = cli
        .run_with_input(&["import"], "email\nann@example.com,\nno mail\n")
        .code(1);
    assert!(!stderr(&bad).contains('@'));
    let mut server = cli.server.take().expect("it runs");
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log();
    assert!(
        !log.iter()
            .any(|line| line.contains('@') || line.contains("example.com")),
        "{log:?}"
    );
}
