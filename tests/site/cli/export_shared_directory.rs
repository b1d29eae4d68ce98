//! `export -o` in a directory that other users can write to, such as `/tmp`.

use std::{
    fs::{self, File, Permissions},
    io::Read,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink},
    path::Path,
};

use super::{TestCli, stderr, stdout, without_server};
use crate::process::landing;

/// The ID of the user `nobody` on Debian, Fedora and Alpine.
const NOBODY: u32 = 65534;
const O_NONBLOCK: i32 = 0o4000;

/// Returns a list of three people, with a directory `shared` of this mode beside it.
fn with_directory(mode: u32) -> TestCli {
    let cli = without_server().with_three_people();
    let shared = cli.file("shared");
    fs::create_dir(&shared).expect("writable");
    fs::set_permissions(&shared, Permissions::from_mode(mode)).expect("permitted");
    cli
}

/// Gives a file to another user, which only root can do. Returns whether it worked. If not, the caller checks
/// instead that the export follows its own link.
fn chown_to_nobody(path: &Path) -> bool {
    let is_chowned = lchown(path, Some(NOBODY), Some(NOBODY)).is_ok();
    let uid = fs::symlink_metadata(path).expect("the file exists").uid();
    assert_eq!(is_chowned, uid == NOBODY);
    is_chowned
}

/// Checks that an export to `file` is rejected with this message and writes nothing to standard output.
fn assert_rejected(cli: &TestCli, file: &str, message: &str) {
    let result = cli.run(&["export", "-o", file]).code(1);
    let stderr = stderr(&result);
    assert!(
        stderr.contains(message) && stderr.contains("65534"),
        "{stderr}"
    );
    assert!(stderr.contains("another directory"), "{stderr}");
    assert_eq!(stdout(&result), "");
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
        assert_rejected(&cli, "shared/list.csv", "shared/list.csv: it is a link");
        assert_eq!(cli.read("precious"), "precious");

        // The same with a dangling link.
        fs::remove_file(cli.file("precious")).expect("the file exists");
        assert_rejected(&cli, "shared/list.csv", "shared/list.csv: it is a link");
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
            assert_rejected(&cli, file, "shared/way: it is a link");
            assert!(!cli.file("target/list.csv").exists());
        } else {
            cli.run(&["export", "-o", file]).success();
            fs::remove_file(cli.file("target/list.csv")).expect("the file exists");
        }
    }
}

#[test]
fn rejects_a_pipe_of_another_user() {
    let cli = with_directory(0o1777);
    let pipe = cli.make_pipe("shared/pipe");
    let mut options = File::options();
    let reader = options.read(true).custom_flags(O_NONBLOCK).open(&pipe);
    let mut reader = reader.expect("the pipe opens");
    let mut read = String::new();
    if chown_to_nobody(&pipe) {
        assert_rejected(&cli, "shared/pipe", "shared/pipe: it is a pipe");
        assert_eq!(reader.read_to_string(&mut read).expect("readable"), 0);
    } else {
        cli.run(&["export", "-o", "shared/pipe"]).success();
        reader.read_to_string(&mut read).expect("readable");
        assert!(read.contains("ann@example.com"));
    }
}

/// The owner of a directory can replace its files at any time.
#[test]
fn rejects_links_and_pipes_in_another_users_directory() {
    let cli = with_directory(0o1777);
    let theirs = cli.file("shared/theirs");
    fs::create_dir(&theirs).expect("writable");
    cli.write("precious", "precious");
    symlink("../../precious", theirs.join("link")).expect("writable");
    cli.make_pipe("shared/theirs/pipe");
    let are_chowned = ["pipe", "link"].map(|name| chown_to_nobody(&theirs.join(name)));
    if are_chowned == [true; 2] && chown_to_nobody(&theirs) {
        assert_rejected(
            &cli,
            "shared/theirs/link",
            "shared/theirs/link: it is a link",
        );
        assert_rejected(
            &cli,
            "shared/theirs/pipe",
            "shared/theirs/pipe: it is a pipe",
        );
        assert_eq!(cli.read("precious"), "precious");
    }
    // A new file is safe, because it belongs to the caller.
    cli.run(&["export", "-o", "shared/theirs/new.csv"])
        .success();
}

#[test]
fn rejects_links_and_pipes_when_run_in_that_directory() {
    let cli = with_directory(0o1777);
    let inner = cli.file("shared/inner");
    fs::create_dir_all(inner.join("sub")).expect("writable");
    cli.make_pipe("shared/inner/list.csv");
    cli.write("precious", "precious");
    symlink("../../precious", inner.join("link.csv")).expect("writable");
    let mut options = File::options();
    let options = options.read(true).custom_flags(O_NONBLOCK);
    let pipe = options.open(inner.join("list.csv"));
    let mut pipe = pipe.expect("the pipe opens");
    let are_chowned =
        ["list.csv", "link.csv", "sub", "."].map(|name| chown_to_nobody(&inner.join(name)));
    for (directory, file) in [
        ("shared/inner", "list.csv"),
        ("shared/inner", "link.csv"),
        ("shared/inner/sub", "../list.csv"),
        ("shared", "inner/link.csv"),
    ] {
        let output = landing(&cli.file(directory))
            .args(["export", "-o", file, "--store"])
            .arg(cli.file("data"))
            .output()
            .expect("the program runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let mut piped = String::new();
        pipe.read_to_string(&mut piped).expect("readable");
        let linked = cli.read("precious");
        if are_chowned == [true; 4] {
            assert_eq!(output.status.code(), Some(1), "{directory} {file}");
            assert!(stderr.contains("65534"), "{stderr}");
            assert_eq!((&*piped, &*linked), ("", "precious"));
        } else {
            assert_eq!(output.status.code(), Some(0), "{file}: {stderr}");
            assert!((piped + &linked).contains("ann@example.com"), "{file}");
            cli.write("precious", "precious");
        }
    }
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
        lchown(&shared, Some(NOBODY), None).expect("permitted to root");
        fs::set_permissions(shared, Permissions::from_mode(0o1777)).expect("permitted to root");
    }
    cli.run(&["export", "-o", "shared/theirs.csv"]).success();
    assert!(cli.read("theirs.csv").contains("ann@example.com"));

    let pipe = cli.make_pipe("shared/pipe");
    let mut options = File::options();
    let reader = options.read(true).custom_flags(O_NONBLOCK).open(&pipe);
    cli.run(&["export", "-o", "shared/pipe"]).success();
    let mut read = String::new();
    let mut reader = reader.expect("the pipe opens");
    reader.read_to_string(&mut read).expect("readable");
    assert!(read.contains("ann@example.com"));
}

#[test]
fn keeps_another_users_partial_file() {
    let cli = with_directory(0o1777);
    let partial = cli.file("shared/.list.csv.left.partial");
    fs::write(&partial, "left").expect("writable");
    // A pipe with such a name must not block the export.
    cli.make_pipe("shared/.list.csv.pipe.partial");
    let is_chowned = chown_to_nobody(&partial);
    cli.run(&["export", "-o", "shared/list.csv"]).success();
    assert_eq!(partial.exists(), is_chowned);
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
