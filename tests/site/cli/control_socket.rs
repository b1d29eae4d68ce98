//! The control socket, through which commands reach a running server, and its permissions.

use std::{
    fs::{self, File, Permissions},
    io::{BufRead, BufReader, Read, Write},
    os::unix::{
        fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink},
        net::{UnixListener, UnixStream},
        process::CommandExt,
    },
    path::Path,
    process::{Command, Output},
    thread,
    time::Duration,
};

use rustix::process::geteuid;

use super::{TestCli, assert_contains, stderr, stdout, with_server, without_server};
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

/// Checks that every command fails with this message, and prints nothing.
fn assert_rejected(why: &str, run: impl Fn(&[&str]) -> Output) {
    for args in [&["count"][..], &["export"], &["erase", "ann@example.com"]] {
        let output = run(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(output.stdout.is_empty());
        assert_contains(&stderr, why);
    }
}

/// Root runs the commands as another user. Other users cannot, and take away their own access.
#[test]
fn rejects_another_user() {
    let denied =
        "Permission denied (os error 13); run the command as the user that the server runs as";
    for cli in [without_server(), with_server()].map(TestCli::with_three_people) {
        let set_mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("permitted");
        };
        let (data, socket) = (cli.file("data"), cli.file("data/control"));
        if geteuid().is_root() {
            set_mode(cli.sandbox.path(), 0o777);
            let as_nobody = |args: &[&str]| run_as_nobody(&cli, args);
            set_mode(&data, 0o700);
            assert_rejected(denied, as_nobody);
            set_mode(&data, 0o777);
            let why = match cli.server {
                Some(_) => denied,
                None => "belongs to user 0; run the command as that user",
            };
            assert_rejected(why, as_nobody);
        } else {
            let as_self = |args: &[&str]| {
                let output = cli.landing().args(args).output();
                output.expect("the program runs")
            };
            set_mode(&data, 0o000);
            assert_rejected(denied, as_self);
            set_mode(&data, 0o700);
            if cli.server.is_some() {
                set_mode(&socket, 0o000);
                assert_rejected(denied, as_self);
                set_mode(&socket, 0o600);
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
        let import = scope.spawn(|| cli.run_with_input(&["import"], "dee@example.com\n"));
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
        let server = server.join().expect("no panic");
        assert_eq!(server.count(), 3);
        let log = server.startup_log.join("\n");
        assert_eq!(log.matches("waiting up to 15 s for").count(), 1, "{log}");
    });
}

/// Root gives a directory away. Other users cannot, but the root of the file system belongs to somebody else.
#[test]
fn creates_no_list_in_another_users_directory() {
    let cli = without_server();
    let data = cli.file("data");
    if geteuid().is_root() {
        fs::create_dir(&data).expect("writable");
        chown(&data, Some(65_534), Some(65_534)).expect("permitted to root");
    } else {
        symlink("/", &data).expect("writable");
    }
    let owner = fs::metadata(&data).expect("the directory exists").uid();
    assert_ne!(owner, geteuid().as_raw());
    let names = || {
        let entries = fs::read_dir(&data).expect("readable");
        let mut names: Vec<_> = entries.flatten().map(|it| it.file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let import = cli.run_with_input(&["import"], "ann@example.com\n");
    let stderr = stderr(&import.code(1));
    let why = format!("data belongs to user {owner}; run the command as that user");
    assert_contains(&stderr, &why);
    assert_eq!(names(), before);
}

#[test]
fn rejects_requests_of_another_version() {
    let cli = with_server();
    for request in [
        "{\"protocol\":1,\"call\":{\"Method\":{\"list_key\":[]}}}\n",
        "{\"protocol\":16,\"call\":{\"Method\":{\"list_key\":[]}}}\n",
        "{\"protocol\":15,\"call\":{\"Method\":{\"fly\":[]}}}\n",
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
        assert_eq!(reply, "{\"Err\":\"OtherVersion\"}\n");
    }
    assert_eq!(cli.stdout(&["count"]), "0\n");
}

/// A server of another version responds with something that this one does not know.
#[test]
fn reply_of_another_version_asks_to_restart_the_server() {
    let cli = without_server();
    fs::create_dir(cli.file("data")).expect("writable");
    for (reply, advice) in [
        (
            "{\"Err\":\"OtherVersion\"}\n",
            "different versions; restart the server",
        ),
        (
            "{\"Err\":\"some other text\"}\n",
            "different versions; restart the server",
        ),
        ("{\"Ok\":7", "does not respond"),
    ] {
        let _ = fs::remove_file(cli.file("data/control"));
        let listener = UnixListener::bind(cli.file("data/control")).expect("a socket");
        let server = thread::spawn(move || {
            // The first connection only finds out whether there is a server.
            listener.accept().expect("a connection");
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = String::new();
            BufReader::new(&stream)
                .read_line(&mut request)
                .expect("a request");
            stream
                .write_all(reply.as_bytes())
                .expect("the command reads");
        });
        cli.assert_fails(&["count"], advice);
        server.join().expect("no panic");
    }
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
        .run_with_input(&["import"], "ann@example.com,\nno mail\n")
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
