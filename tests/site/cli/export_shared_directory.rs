//! `export -o` in a directory that other users can write to, such as `/tmp`.

use std::{
    fs::{self, File, Permissions},
    io::Read,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink},
    path::Path,
    process::Command,
};

use super::{Owner, alone, printed, told};

/// `nobody`, on every system that the tests run on.
const NOBODY: u32 = 65534;
const O_NONBLOCK: i32 = 0o4000;

/// A list of three, and a directory `shared` beside it with this mode.
fn with_directory(mode: u32) -> Owner {
    let owner = alone().with_three();
    let shared = owner.file("shared");
    fs::create_dir(&shared).expect("writable");
    fs::set_permissions(&shared, Permissions::from_mode(mode)).expect("ours");
    owner
}

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
}

/// Gives a file to another user. Only root can: without it, says so by `false`, and the caller checks
/// that its own file is followed instead.
fn give_away(path: &Path) -> bool {
    let given = lchown(path, Some(NOBODY), Some(NOBODY));
    let owner = fs::symlink_metadata(path).expect("it is there").uid();
    assert_eq!(given.is_ok(), owner == NOBODY);
    given.is_ok()
}

fn assert_refused(owner: &Owner, file: &str, what: &str) {
    let done = owner.run(&["export", "-o", file]).code(1);
    let told = told(&done);
    assert!(told.contains(what) && told.contains("65534"), "{told}");
    assert!(told.contains("another directory"), "{told}");
    assert_eq!(printed(&done), "");
}

#[test]
fn refuses_a_link_of_another_user() {
    for mode in [0o1777, 0o1775] {
        let owner = with_directory(mode);
        owner.write("precious", "precious");
        let link = owner.file("shared/list.csv");
        symlink("../precious", &link).expect("writable");
        if !give_away(&link) {
            owner.run(&["export", "-o", "shared/list.csv"]).success();
            continue;
        }
        assert_refused(&owner, "shared/list.csv", "shared/list.csv is a link");
        assert_eq!(owner.read("precious"), "precious");

        // A link to nothing, too.
        fs::remove_file(owner.file("precious")).expect("it is there");
        assert_refused(&owner, "shared/list.csv", "shared/list.csv is a link");
        assert!(!owner.file("precious").exists());
    }
}

#[test]
fn refuses_a_link_of_another_user_in_the_middle_of_the_path_and_behind_other_links() {
    let owner = with_directory(0o1777);
    fs::create_dir(owner.file("target")).expect("writable");
    let way = owner.file("shared/way");
    symlink(owner.file("target"), &way).expect("writable");
    symlink("shared/way/list.csv", owner.file("first")).expect("writable");
    symlink(owner.file("first"), owner.file("second.csv")).expect("writable");
    let is_given = give_away(&way);
    for file in [
        "shared/way/list.csv",
        "shared/../shared/way/list.csv",
        "second.csv",
    ] {
        if is_given {
            assert_refused(&owner, file, "shared/way is a link");
            assert!(!owner.file("target/list.csv").exists());
        } else {
            owner.run(&["export", "-o", file]).success();
            fs::remove_file(owner.file("target/list.csv")).expect("it was written");
        }
    }
}

#[test]
fn refuses_a_pipe_of_another_user() {
    let owner = with_directory(0o1777);
    let pipe = owner.file("shared/pipe");
    make_pipe(&pipe);
    let mut options = File::options();
    let reader = options.read(true).custom_flags(O_NONBLOCK).open(&pipe);
    let mut reader = reader.expect("it opens");
    let mut read = String::new();
    if give_away(&pipe) {
        assert_refused(&owner, "shared/pipe", "shared/pipe is a pipe");
        assert_eq!(reader.read_to_string(&mut read).expect("readable"), 0);
    } else {
        owner.run(&["export", "-o", "shared/pipe"]).success();
        reader.read_to_string(&mut read).expect("readable");
        assert!(read.contains("ann@example.com"));
    }
}

/// What stands in a directory of another user is theirs to change.
#[test]
fn refuses_links_and_pipes_in_a_directory_that_another_user_made_in_a_shared_one() {
    let owner = with_directory(0o1777);
    let theirs = owner.file("shared/theirs");
    fs::create_dir(&theirs).expect("writable");
    owner.write("precious", "precious");
    symlink("../../precious", theirs.join("link")).expect("writable");
    make_pipe(&theirs.join("pipe"));
    let given = ["pipe", "link"].map(|name| give_away(&theirs.join(name)));
    if given == [true; 2] && give_away(&theirs) {
        assert_refused(&owner, "shared/theirs/link", "shared/theirs/link is a link");
        assert_refused(&owner, "shared/theirs/pipe", "shared/theirs/pipe is a pipe");
        assert_eq!(owner.read("precious"), "precious");
    }
    // A new file is the caller's alone wherever it is.
    owner
        .run(&["export", "-o", "shared/theirs/new.csv"])
        .success();
}

#[test]
fn refuses_them_also_when_the_command_runs_inside_such_a_directory() {
    let owner = with_directory(0o1777);
    let inner = owner.file("shared/inner");
    fs::create_dir_all(inner.join("sub")).expect("writable");
    make_pipe(&inner.join("list.csv"));
    owner.write("precious", "precious");
    symlink("../../precious", inner.join("link.csv")).expect("writable");
    let others = ["list.csv", "link.csv", "sub", "."].map(|name| give_away(&inner.join(name)));
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
        let store = owner.file("data");
        let command = command.args(["export", "-o", file, "--store"]).arg(store);
        let done = command
            .env_clear()
            .current_dir(owner.file(directory))
            .output();
        let done = done.expect("it runs");
        assert_eq!(done.status.code(), Some(1), "{directory} {file}");
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(told.contains("65534"), "{told}");
    }
    assert_eq!(owner.read("precious"), "precious");
}

#[test]
fn follows_links_and_pipes_of_the_caller_and_of_the_directorys_owner() {
    let owner = with_directory(0o1777);
    symlink("../mine.csv", owner.file("shared/mine.csv")).expect("writable");
    owner.run(&["export", "-o", "shared/mine.csv"]).success();
    assert!(owner.read("mine.csv").contains("ann@example.com"));

    let theirs = owner.file("shared/theirs.csv");
    symlink("../theirs.csv", &theirs).expect("writable");
    if give_away(&theirs) {
        let shared = owner.file("shared");
        lchown(&shared, Some(NOBODY), None).expect("root may");
        fs::set_permissions(shared, Permissions::from_mode(0o1777)).expect("root may");
    }
    owner.run(&["export", "-o", "shared/theirs.csv"]).success();
    assert!(owner.read("theirs.csv").contains("ann@example.com"));

    let pipe = owner.file("shared/pipe");
    make_pipe(&pipe);
    let mut options = File::options();
    let reader = options.read(true).custom_flags(O_NONBLOCK).open(&pipe);
    owner.run(&["export", "-o", "shared/pipe"]).success();
    let mut read = String::new();
    let mut reader = reader.expect("it opens");
    reader.read_to_string(&mut read).expect("readable");
    assert!(read.contains("ann@example.com"));
}

#[test]
fn a_leftover_that_another_user_has_made_is_left_alone() {
    let owner = with_directory(0o1777);
    let left = owner.file("shared/.list.csv.left.partial");
    fs::write(&left, "left").expect("writable");
    // A pipe of that name must not stop the export either.
    make_pipe(&owner.file("shared/.list.csv.pipe.partial"));
    let is_given = give_away(&left);
    owner.run(&["export", "-o", "shared/list.csv"]).success();
    assert_eq!(left.exists(), is_given);
}

#[test]
fn writes_through_the_links_that_the_system_makes_for_open_files() {
    let owner = with_directory(0o1777);
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
        let output = owner.calling("bash").args(["-c", &script]).output();
        let output = output.expect("a shell");
        assert!(output.status.success(), "{script}: {output:?}");
        assert!(owner.read(file).contains("ann@example.com"), "{script}");
    }
}
