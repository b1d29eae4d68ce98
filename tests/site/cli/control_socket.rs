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

use super::{Owner, alone, served, told};
use crate::process::{Place, Running};

#[test]
fn it_is_its_owners_alone_and_goes_with_the_server() {
    let mut owner = served();
    // Also where the data directory is open to others.
    drop(owner.server.take());
    fs::set_permissions(owner.file("data"), Permissions::from_mode(0o777)).expect("ours");
    let mut server = owner.place.serve();
    let socket = fs::metadata(owner.file("data/control")).expect("it is there");
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    server.signal("-TERM");
    assert_eq!(server.ended(), Some(0));
    assert!(!owner.file("data/control").exists());
}

/// Runs a command as nobody, which only root can.
fn as_nobody(owner: &Owner, args: &[&str]) -> Output {
    // The checkout may be in a home that nobody can look into.
    let program = owner.file("program");
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
        .current_dir(owner.place.path());
    command.uid(65_534).gid(65_534).output().expect("it runs")
}

#[test]
fn another_user_is_refused() {
    for owner in [alone(), served()].map(Owner::with_three) {
        fs::set_permissions(owner.place.path(), Permissions::from_mode(0o777)).expect("ours");
        for mode in [0o700, 0o777] {
            fs::set_permissions(owner.file("data"), Permissions::from_mode(mode)).expect("ours");
            for args in [&["count"][..], &["export"], &["erase", "ann@example.com"]] {
                if !rustix::process::geteuid().is_root() {
                    // Whose file it is, the test above has seen.
                    return;
                }
                let output = as_nobody(&owner, args);
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(1), "{said}");
                assert!(output.stdout.is_empty());
                let why = if mode == 0o700 || owner.server.is_some() {
                    "Permission denied (os error 13); run this as the user that the server runs as"
                } else {
                    "belongs to user 0: run this as that user"
                };
                assert!(said.contains(why), "{said}");
            }
        }
        assert_eq!(owner.printed(&["count"]), "3\n");
    }
}

#[test]
fn a_long_path_is_no_obstacle() {
    let place = Place::new();
    let data = "a-directory-with-a-name-of-some-length/".repeat(6);
    fs::create_dir_all(place.path().join(&data)).expect("writable");
    let mut command = place.command();
    command.args(["--data", &data]);
    let server = Running::start(command);
    server.join("ann@example.com");
    let owner = Owner {
        place,
        server: Some(server),
        database: None,
    };
    assert_eq!(owner.printed(&["count", "--data", &data]), "1\n");
    assert!(owner.file(&data).join("control").exists());
}

#[test]
fn what_a_killed_server_has_left_is_in_nobodys_way() {
    let mut owner = served().with_three();
    let server = owner.server.take().expect("it runs");
    server.signal("-KILL");
    drop(server);
    assert!(owner.file("data/control").exists());
    assert_eq!(owner.printed(&["count"]), "3\n");
    let server = owner.place.serve();
    assert_eq!(server.count(), "{\"count\":3}");
    assert_eq!(owner.printed(&["count"]), "3\n");
}

/// Somebody has the list, for as long as this is there.
fn hold(owner: &Owner) -> File {
    let lock = File::open(owner.file("data/lock")).expect("there is a list");
    lock.lock().expect("nobody has it");
    lock
}

#[test]
fn a_command_waits_for_a_server_that_starts_or_stops() {
    let owner = alone().with_three();
    let lock = hold(&owner);
    thread::scope(|scope| {
        let count = scope.spawn(|| owner.printed(&["count"]));
        let import = scope.spawn(|| owner.run_with(&["import"], "email\ndee@example.com\n"));
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
fn a_server_waits_for_a_command() {
    let owner = alone().with_three();
    let lock = hold(&owner);
    thread::scope(|scope| {
        let server = scope.spawn(|| owner.place.serve());
        thread::sleep(Duration::from_secs(4));
        assert!(!server.is_finished());
        drop(lock);
        assert_eq!(server.join().expect("it serves").count(), "{\"count\":3}");
    });
}

#[test]
fn a_list_is_not_made_where_its_server_could_not_read_it() {
    let owner = alone();
    if !rustix::process::geteuid().is_root() {
        // Who is not could not write there.
        return;
    }
    fs::create_dir(owner.file("data")).expect("writable");
    chown(owner.file("data"), Some(65_534), Some(65_534)).expect("root may");
    let told = told(
        &owner
            .run_with(&["import"], "email\nann@example.com\n")
            .code(1),
    );
    assert!(
        told.contains("data belongs to user 65534: run this as that user"),
        "{told}"
    );
    assert_eq!(
        fs::read_dir(owner.file("data")).expect("readable").count(),
        0
    );
}

#[test]
fn while_two_servers_would_have_it_the_second_is_told_who_does() {
    let owner = served();
    let mut command = owner.place.command();
    let output = command.output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("in use by process"), "{said}");
    assert_eq!(owner.printed(&["count"]), "0\n", "the first is still asked");
}

#[test]
fn a_command_of_another_version_is_told_to_restart_the_server() {
    let owner = served();
    for request in [
        "{\"protocol\":2,\"ask\":\"Count\"}\n",
        "{\"protocol\":1,\"ask\":\"Fly\"}\n",
        "\n",
        "",
    ] {
        let mut stream = UnixStream::connect(owner.file("data/control")).expect("it listens");
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
    assert_eq!(owner.printed(&["count"]), "0\n");
}

#[test]
fn what_comes_by_it_is_held_to_the_rule_for_addresses() {
    let owner = served();
    let mut stream = UnixStream::connect(owner.file("data/control")).expect("it listens");
    let request =
        "{\"protocol\":1,\"ask\":{\"Join\":[[0,\"ann@example.com\"],[0,\"no\\nmail\"]]}}\n";
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "{\"Err\":\"an address needs an @\"}\n");
    assert_eq!(owner.printed(&["count"]), "0\n");
}

#[test]
fn a_server_whose_socket_can_not_be_made_serves_all_the_same() {
    let place = Place::new();
    let mut server = place.serve();
    server.signal("-TERM");
    server.ended();
    fs::create_dir(place.path().join("data/control")).expect("writable");
    let mut server = place.serve();
    assert_eq!(server.join("ann@example.com"), "201");
    server.signal("-TERM");
    assert_eq!(server.ended(), Some(0));
    assert!(
        server
            .said
            .iter()
            .any(|line| line.contains("the owner's commands can't be answered"))
    );
}

#[test]
fn nobody_is_in_the_log() {
    let mut owner = served().with_three();
    owner.run(&["list"]).success();
    owner.run(&["erase", "ann@example.com"]).success();
    let bad = owner
        .run_with(&["import"], "email\nann@example.com,\nno mail\n")
        .code(1);
    assert!(!told(&bad).contains('@'));
    let mut server = owner.server.take().expect("it runs");
    server.signal("-TERM");
    assert_eq!(server.ended(), Some(0));
    let log = server.log();
    assert!(
        !log.iter()
            .any(|line| line.contains('@') || line.contains("example.com")),
        "{log:?}"
    );
}
