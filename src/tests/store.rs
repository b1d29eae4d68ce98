//! What every store of the list promises, run over each of them.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use landing::waitlist::{Email, Entry, Joined, OpenError, SledWaitlist, Waitlist};
use tempfile::TempDir;

fn entry(typed: &str) -> Entry {
    Entry {
        email: Email::parse(typed).expect("valid"),
        joined_at: SystemTime::now(),
    }
}

async fn join(list: &impl Waitlist, typed: &str) -> Joined {
    list.join(entry(typed)).await.expect("an answer")
}

fn open(data: &Path) -> SledWaitlist {
    SledWaitlist::open(data).expect("the list opens")
}

#[tokio::test]
async fn a_new_list_is_empty_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::new().expect("a directory");
    let data = directory.path().join("made/on/the/way");
    assert_eq!(open(&data).count(), 0);
    let mode = fs::metadata(&data)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn one_joins_and_is_there_once() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    assert_eq!(join(&list, "ann@example.com").await, Joined::New);
    assert_eq!(join(&list, "ANN@EXAMPLE.COM").await, Joined::AlreadyListed);
    assert_eq!(join(&list, "bob@example.com").await, Joined::New);
    assert_eq!(list.count(), 2);
}

#[tokio::test]
async fn the_address_is_kept_as_typed_with_the_time_of_joining() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    let joined_at = UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    let email = Email::parse("Ann@Example.com").expect("valid");
    list.join(Entry { email, joined_at })
        .await
        .expect("an answer");
    drop(list);

    let database = sled::open(directory.path().join("waitlist")).expect("sled opens");
    let value = database
        .get("ann@example.com")
        .expect("readable")
        .expect("it is there");
    assert_eq!(value[..8], 1_700_000_000_123u64.to_be_bytes());
    assert_eq!(&value[8..], b"Ann@Example.com");
}

#[tokio::test]
async fn the_list_is_private_also_in_a_directory_that_was_open_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::new().expect("a directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    drop(open(directory.path()));
    let store = fs::metadata(directory.path().join("waitlist")).expect("it is there");
    assert_eq!(store.permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn of_many_who_join_at_once_each_address_is_new_once() {
    let directory = TempDir::new().expect("a directory");
    let list = std::sync::Arc::new(open(directory.path()));
    let mut joins = tokio::task::JoinSet::new();
    for number in 0..1200 {
        let list = list.clone();
        joins.spawn(async move { join(&*list, &format!("{}@example.com", number % 300)).await });
    }
    let outcomes = joins.join_all().await;
    let new = outcomes
        .iter()
        .filter(|outcome| **outcome == Joined::New)
        .count();
    assert_eq!((new, list.count()), (300, 300));
}

#[tokio::test]
async fn everything_is_there_after_closing_and_opening() {
    let directory = TempDir::new().expect("a directory");
    for round in 0..5u64 {
        let list = open(directory.path());
        assert_eq!(list.count(), round);
        assert_eq!(
            join(&list, &format!("{round}@example.com")).await,
            Joined::New
        );
        assert_eq!(join(&list, "0@example.com").await, Joined::AlreadyListed);
    }
    assert_eq!(open(directory.path()).count(), 5);
}

#[tokio::test]
async fn a_second_process_is_told_who_holds_the_directory() {
    let directory = TempDir::new().expect("a directory");
    let _held = open(directory.path());
    let Err(OpenError::Held(_, holder)) = SledWaitlist::open(directory.path()) else {
        panic!("the second one must not open");
    };
    assert_eq!(holder, std::process::id().to_string());
}

#[tokio::test]
async fn a_start_that_was_cut_off_before_the_store_had_its_name_starts_again() {
    let directory = TempDir::new().expect("a directory");
    let half = directory.path().join("waitlist.new");
    fs::create_dir(&half).expect("writable");
    fs::write(half.join("db"), "half a database").expect("writable");
    assert_eq!(
        join(&open(directory.path()), "ann@example.com").await,
        Joined::New
    );
}

#[tokio::test]
async fn a_directory_that_is_no_waitlist_is_refused_and_left_alone() {
    let directory = TempDir::new().expect("a directory");
    let store = directory.path().join("waitlist");
    fs::create_dir(&store).expect("writable");
    fs::write(store.join("notes.txt"), "mine").expect("writable");
    let error = SledWaitlist::open(directory.path()).expect_err("it is no waitlist");
    assert!(error.to_string().contains("holds no database"), "{error}");
    let found: Vec<_> = fs::read_dir(&store).expect("readable").collect();
    assert_eq!(found.len(), 1);
}

#[tokio::test]
async fn a_list_of_a_newer_format_is_refused() {
    let directory = TempDir::new().expect("a directory");
    drop(open(directory.path()));
    let database = sled::open(directory.path().join("waitlist")).expect("sled opens");
    database.insert(b"\0format", b"2").expect("writable");
    drop(database);
    let error = SledWaitlist::open(directory.path()).expect_err("it is newer");
    assert!(error.to_string().contains("newer version"), "{error}");
}
