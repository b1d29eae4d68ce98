//! `-o` in a directory that other users can write to, such as `/tmp`: nothing that has the name is opened or followed.

use std::{
    fs::{self, File, Permissions},
    io::Read,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink},
    path::Path,
};

use super::{TestCli, assert_contains, stderr, stdout, without_server};

/// The ID of the user `nobody` on Debian, Fedora and Alpine.
const NOBODY: u32 = 65534;
const O_NONBLOCK: i32 = 0o4000;

/// Returns a list of three people, with a directory `shared` that everybody can write to.
fn with_shared_directory() -> TestCli {
    let cli = without_server().with_three_people();
    let shared = cli.file("shared");
    fs::create_dir(&shared).expect("writable");
    fs::set_permissions(&shared, Permissions::from_mode(0o1777)).expect("permitted");
    cli
}

/// Gives a file to another user, which only root can do. The rule is the same for files of the caller.
fn give_away(path: &Path) {
    let _ = lchown(path, Some(NOBODY), Some(NOBODY));
}

/// Checks that nothing is written to `file`.
fn assert_rejected(cli: &TestCli, command: &str, file: &str) {
    let result = cli.run(&[command, "-o", file]).code(1);
    let error = stderr(&result);
    let expected = format!(
        "cannot write {file}: it is a link, a pipe or a device; name another file, or redirect standard output"
    );
    assert_contains(&error, &expected);
    assert_eq!(stdout(&result), "");
}

#[test]
fn rejects_links() {
    let cli = with_shared_directory();
    cli.write("precious", "precious");
    let link = cli.file("shared/list");
    symlink("../precious", &link).expect("writable");
    give_away(&link);
    for command in ["export", "backup", "report"] {
        assert_rejected(&cli, command, "shared/list");
    }
    assert_eq!(cli.read("precious"), "precious");
    // The same with a dangling link.
    fs::remove_file(cli.file("precious")).expect("the file exists");
    assert_rejected(&cli, "export", "shared/list");
    assert!(!cli.file("precious").exists());
}

#[test]
fn rejects_pipes_and_devices() {
    let cli = with_shared_directory();
    let pipe = cli.make_pipe("shared/pipe");
    let mut options = File::options();
    let reader = options.read(true).custom_flags(O_NONBLOCK).open(&pipe);
    let mut reader = reader.expect("the pipe opens");
    give_away(&pipe);
    for command in ["export", "backup", "report"] {
        assert_rejected(&cli, command, "shared/pipe");
        assert_rejected(&cli, command, "/dev/null");
    }
    let mut read = String::new();
    assert_eq!(reader.read_to_string(&mut read).expect("readable"), 0);
}

/// The owner of a directory can replace its files at any time, but not read them.
#[test]
fn file_in_another_users_directory_belongs_to_the_caller() {
    let cli = with_shared_directory();
    let theirs = cli.file("shared/theirs");
    fs::create_dir(&theirs).expect("writable");
    give_away(&theirs);
    for file in ["shared/theirs/a.csv", "shared/../shared/theirs/b.csv"] {
        cli.run(&["export", "-o", file]).success();
        let found = fs::metadata(cli.file(file)).expect("the file exists");
        let own = fs::metadata(cli.file("data")).expect("the directory exists");
        assert_eq!((found.uid(), found.mode() & 0o777), (own.uid(), 0o600));
    }
}

#[test]
fn writes_through_the_names_of_standard_output() {
    let cli = with_shared_directory();
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
