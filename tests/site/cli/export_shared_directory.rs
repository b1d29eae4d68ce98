//! `export -o` in a directory that other users can write to, such as `/tmp`.

use std::{
    fs::{self, File, Permissions},
    io::Read,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink},
    path::Path,
    process::Command,
};

use super::{TestCli, stderr, stdout, without_server};

/// `nobody`, on every system that the tests run on.
const NOBODY: u32 = 65534;
const O_NONBLOCK: i32 = 0o4000;

/// A list of three, and a directory `shared` beside it with this mode.
fn with_directory(mode: u32) -> TestCli {
    let cli = without_server().with_three_people();
    let shared = cli.file("shared");
    fs::create_dir(&shared).expect("writable");
    fs::set_permissions(&shared, Permissions::from_mode(mode)).expect("ours");
    cli
}

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
}

/// Gives a file to another user. Only root can: without it, says so by `false`, and the caller checks
/// that its own file is followed instead.
fn chown_to_nobody(path: &Path) -> bool {
    let given = lchown(path, Some(NOBODY), Some(NOBODY));
    let uid = fs::symlink_metadata(path).expect("it is there").uid();
    assert_eq!(given.is_ok(), uid == NOBODY);
    given.is_ok()
}

fn assert_refused(cli: &TestCli, file: &str, what: &str) {
    let done = cli.run(&["export", "-o", file]).code(1);
    let stderr = stderr(&done);
    assert!(
        stderr.contains(what) && stderr.contains("65534"),
        "{stderr}"
    );
    assert!(stderr.contains("another directory"), "{stderr}");
    assert_eq!(stdout(&done), "");
}

#[test]
fn rejects_a_symlink_of_another_user() {
    for mode in [0o1777, 0o1775] {
        let cli = with_directory(mode);
        cli.write("precious", "precious");
        let link = cli.file("shared/list.csv");
        symlink("../precious", &link).expect("writable");
        if !chown_to_nobody(&link) {
            cli.run(&["export", "-o", "shared/list.csv"]).success();
            continue;
        }
        assert_refused(&cli, "shared/list.csv", "shared/list.csv is a link");
        assert_eq!(cli.read("precious"), "precious");

        // A link to nothing, too.
        fs::remove_file(cli.file("precious")).expect("it is there");
        assert_refused(&cli, "shared/list.csv", "shared/list.csv is a link");
        assert!(!cli.file("precious").exists());
    }
}

#[test]
fn rejects_another_users_symlink_anywhere_in_the_path() {
    let cli = with_directory(0o1777);
    fs::create_dir(cli.file("target")).expect("writable");
    let way = cli.file("shared/way");
    symlink(cli.file("target"), &way).expect("writable");
    symlink("shared/way/list.csv", cli.file("first")).expect("writable");
    symlink(cli.file("first"), cli.file("second.csv")).expect("writable");
    let is_chowned = chown_to_nobody(&way);
    for file in [
        "shared/way/list.csv",
        "shared/../shared/way/list.csv",
        "second.csv",
    ] {
        if is_chowned {
            assert_refused(&cli, file, "shared/way is a link");
            assert!(!cli.file("target/list.csv").exists());
        } else {
            cli.run(&["export", "-o", file]).success();
            fs::remove_file(cli.file("target/list.csv")).expect("it was written");
        }
    }
}

#[test]
fn rejects_a_pipe_of_another_user() {
    let cli = with_directory(0o1777);
    let pipe = cli.file("shared/pipe");
    make_pipe(&pipe);
    let mut options = File::options();
    let reader = options.read(true).custom_flags(O_NONBLOCK).open(&pipe);
    let mut reader = reader.expect("it opens");
    let mut read = String::new();
    if chown_to_nobody(&pipe) {
        assert_refused(&cli, "shared/pipe", "shared/pipe is a pipe");
        assert_eq!(reader.read_to_string(&mut read).expect("readable"), 0);
    } else {
        cli.run(&["export", "-o", "shared/pipe"]).success();
        reader.read_to_string(&mut read).expect("readable");
        assert!(read.contains("ann@example.com"));
    }
}

/// What stands in a directory of another user is theirs to change.
#[test]
fn rejects_links_and_pipes_in_another_users_directory() {
    let cli = with_directory(0o1777);
    let theirs = cli.file("shared/theirs");
    fs::create_dir(&theirs).expect("writable");
    cli.write("precious", "precious");
    symlink("../../precious", theirs.join("link")).expect("writable");
    make_pipe(&theirs.join("pipe"));
    let given = ["pipe", "link"].map(|name| chown_to_nobody(&theirs.join(name)));
    if given == [true; 2] && chown_to_nobody(&theirs) {
        assert_refused(&cli, "shared/theirs/link", "shared/theirs/link is a link");
        assert_refused(&cli, "shared/theirs/pipe", "shared/theirs/pipe is a pipe");
        assert_eq!(cli.read("precious"), "precious");
    }
    // A new file is the caller's alone wherever it is.
    cli.run(&["export", "-o", "shared/theirs/new.csv"])
        .success();
}

#[test]
fn rejects_links_and_pipes_when_run_in_that_directory() {
    let cli = with_directory(0o1777);
    let inner = cli.file("shared/inner");
    fs::create_dir_all(inner.join("sub")).expect("writable");
    make_pipe(&inner.join("list.csv"));
    cli.write("precious", "precious");
    symlink("../../precious", inner.join("link.csv")).expect("writable");
    let others =
        ["list.csv", "link.csv", "sub", "."].map(|name| chown_to_nobody(&inner.join(name)));
    if others != [true; 4] {
        return;
    }
    for (directory, file) in [
        ("shared/inner", "list.csv"),
        ("shared/inner", "link.csv"),
        ("shared/inner/sub", "../list.csv"),
        ("shared", "inner/link.csv"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
        let store = cli.file("data");
        let command = command.args(["export", "-o", file, "--store"]).arg(store);
        let done = command
            .env_clear()
            .current_dir(cli.file(directory))
            .output();
        let done = done.expect("it runs");
        assert_eq!(done.status.code(), Some(1), "{directory} {file}");
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert!(stderr.contains("65534"), "{stderr}");
    }
    assert_eq!(cli.read("precious"), "precious");
}

#[test]
fn follows_links_of_the_caller_and_the_directory_owner() {
    let cli = with_directory(0o1777);
    symlink("../mine.csv", cli.file("shared/mine.csv")).expect("writable");
    cli.run(&["export", "-o", "shared/mine.csv"]).success();
    assert!(cli.read("mine.csv").contains("ann@example.com"));

    let theirs = cli.file("shared/theirs.csv");
    symlink("../theirs.csv", &theirs).expect("writable");
    if chown_to_nobody(&theirs) {
        let shared = cli.file("shared");
        lchown(&shared, Some(NOBODY), None).expect("root may");
        fs::set_permissions(shared, Permissions::from_mode(0o1777)).expect("root may");
    }
    cli.run(&["export", "-o", "shared/theirs.csv"]).success();
    assert!(cli.read("theirs.csv").contains("ann@example.com"));

    let pipe = cli.file("shared/pipe");
    make_pipe(&pipe);
    let mut options = File::options();
    let reader = options.read(true).custom_flags(O_NONBLOCK).open(&pipe);
    cli.run(&["export", "-o", "shared/pipe"]).success();
    let mut read = String::new();
    let mut reader = reader.expect("it opens");
    reader.read_to_string(&mut read).expect("readable");
    assert!(read.contains("ann@example.com"));
}

#[test]
fn keeps_another_users_partial_file() {
    let cli = with_directory(0o1777);
    let left = cli.file("shared/.list.csv.left.partial");
    fs::write(&left, "left").expect("writable");
    // A pipe of that name must not stop the export either.
    make_pipe(&cli.file("shared/.list.csv.pipe.partial"));
    let is_chowned = chown_to_nobody(&left);
    cli.run(&["export", "-o", "shared/list.csv"]).success();
    assert_eq!(left.exists(), is_chowned);
}

#[test]
fn writes_through_proc_and_dev_stdout_links() {
    let cli = with_directory(0o1777);
    let program = env!("CARGO_BIN_EXE_landing");
    for (script, file) in [
        (
            format!("'{program}' export -o /dev/stdout > a.csv"),
            "a.csv",
        ),
        (
            format!("'{program}' export -o /dev/stdout | cat > b.csv"),
            "b.csv",
        ),
        (
            format!("'{program}' export -o >(cat > c.csv); wait $!"),
            "c.csv",
        ),
        (
            format!("'{program}' export -o /proc/self/cwd/d.csv"),
            "d.csv",
        ),
    ] {
        let output = cli.command_for("bash").args(["-c", &script]).output();
        let output = output.expect("a shell");
        assert!(output.status.success(), "{script}: {output:?}");
        assert!(cli.read(file).contains("ann@example.com"), "{script}");
    }
}
