//! The sled store: its directory, the databases that it rejects, and its queue.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    task::{Context, Poll, Waker},
    thread::{self, sleep},
    time::Duration,
};

use landing::waitlist::{JoinOutcome, SledOpenError, SledWaitlist, StoreError, Waitlist};
use tempfile::TempDir;
use tokio::task::block_in_place;

use super::{addresses, copy_directory, directory_contents, email, entry, erase, join};

fn open(data: &Path) -> SledWaitlist {
    SledWaitlist::open(data).expect("the list opens")
}

/// Returns the message of the error that opening a list ends with.
fn open_error(data: &Path) -> String {
    let error = SledWaitlist::open(data).expect_err("the list must not open");
    error.to_string()
}

/// Opens the database in a data directory with sled. Retries, because the lock of the previous owner may linger.
fn database(data: &Path) -> ::sled::Db {
    let open = || ::sled::open(data.join("waitlist"));
    let opened = (0..100).find_map(|_| open().inspect_err(|_| sleep(RETRY_INTERVAL)).ok());
    opened.expect("sled opens")
}

const RETRY_INTERVAL: Duration = Duration::from_millis(20);

fn mode(path: &Path) -> u32 {
    let metadata = fs::metadata(path).expect("the path exists");
    metadata.permissions().mode() & 0o777
}

#[tokio::test]
async fn creates_private_parent_directories() {
    let directory = TempDir::new().expect("a directory");
    let data = directory.path().join("made/on/the/way");
    drop(open(&data));
    for created in [
        "made",
        "made/on",
        "made/on/the/way",
        "made/on/the/way/waitlist",
    ] {
        assert_eq!(mode(&directory.path().join(created)), 0o700, "{created}");
    }
}

#[tokio::test]
async fn list_is_private_in_a_public_directory() {
    let directory = TempDir::new().expect("a directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("permitted");
    drop(open(directory.path()));
    assert_eq!(mode(&directory.path().join("waitlist")), 0o700);
    assert_eq!(
        mode(directory.path()),
        0o755,
        "the mode of the public directory stays"
    );
}

#[tokio::test]
async fn second_open_reports_the_lock_holder() {
    let directory = TempDir::new().expect("a directory");
    let _held = open(directory.path());
    let Err(SledOpenError::InUse { holder, .. }) = SledWaitlist::open(directory.path()) else {
        panic!("the list must not open twice");
    };
    assert_eq!(holder, Some(std::process::id()));
}

#[tokio::test]
async fn recovers_from_an_interrupted_creation() {
    let directory = TempDir::new().expect("a directory");
    let incomplete = directory.path().join("waitlist.new");
    fs::create_dir(&incomplete).expect("writable");
    fs::write(incomplete.join("db"), "half a database").expect("writable");
    let list = open(directory.path());
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
}

#[tokio::test]
async fn rejects_an_unrelated_directory_and_keeps_it() {
    let directory = TempDir::new().expect("a directory");
    let store = directory.path().join("waitlist");
    fs::create_dir(&store).expect("writable");
    fs::write(store.join("notes.txt"), "mine").expect("writable");
    let before = directory_contents(&store);
    let message = open_error(directory.path());
    assert!(message.contains("holds no database"), "{message}");
    assert_eq!(directory_contents(&store), before);
}

#[tokio::test]
async fn rejects_an_unrelated_lock_file_and_keeps_it() {
    let directory = TempDir::new().expect("a directory");
    fs::write(directory.path().join("lock"), "of my bicycle\n").expect("writable");
    let before = directory_contents(directory.path());
    let message = open_error(directory.path());
    assert!(
        message.contains("lock") && message.contains("--store"),
        "{message}"
    );
    assert_eq!(directory_contents(directory.path()), before);
}

#[tokio::test]
async fn rejects_an_unrelated_sled_database() {
    let directory = TempDir::new().expect("a directory");
    fs::create_dir(directory.path().join("waitlist")).expect("writable");
    let other = database(directory.path());
    other.insert("key", "value").expect("writable");
    drop(other);
    let message = open_error(directory.path());
    assert!(message.contains("it is not a waitlist"), "{message}");
    let value = database(directory.path()).get("key").expect("readable");
    assert_eq!(value.expect("the value is kept"), "value");
}

#[tokio::test]
async fn rejects_another_format_by_its_number() {
    let directory = TempDir::new().expect("a directory");
    drop(open(directory.path()));
    for (found, named) in [
        (&3u64.to_be_bytes()[..], "it has format 3"),
        (b"1", "it has an unknown format"),
    ] {
        let database = database(directory.path());
        database.insert("format", found).expect("writable");
        drop(database);
        let message = open_error(directory.path());
        assert!(
            message.contains(named) && message.contains("reads format 2"),
            "{message}"
        );
    }
}

/// Changes the records of a closed list, and returns the error of opening it.
async fn open_error_after(change: impl FnOnce(&::sled::Tree)) -> String {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    for number in 0..100 {
        join(&list, &format!("person{number}@example.com")).await;
    }
    drop(list);
    let database = database(directory.path());
    change(&database.open_tree("entries").expect("the tree opens"));
    drop(database);
    open_error(directory.path())
}

#[tokio::test]
async fn reports_missing_entries_by_number() {
    let message = open_error_after(|records| {
        let second = records
            .iter()
            .keys()
            .nth(1)
            .expect("a second record")
            .expect("readable");
        records.remove(second).expect("writable");
    });
    let message = message.await;
    assert!(message.contains("the entries from number 3"), "{message}");
    assert!(message.contains("are missing"), "{message}");
}

#[tokio::test]
async fn reports_damaged_entries_by_number() {
    let message = open_error_after(|records| {
        let (first, value) = records.first().expect("readable").expect("a record");
        records
            .insert(first, &value[..value.len() - 1])
            .expect("writable");
    });
    let message = message.await;
    assert!(
        message.contains("the entries from number 0 on are damaged"),
        "{message}"
    );
}

#[tokio::test]
async fn reports_an_unknown_key_as_damage() {
    let message = open_error_after(|records| {
        records.insert("other", "value").expect("writable");
    });
    let message = message.await;
    assert!(message.contains("damaged"), "{message}");
}

/// Sends more sign-ups than the queue holds.
#[tokio::test]
async fn full_queue_returns_busy_and_loses_no_sign_up() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    let people: Vec<_> = (0..400_000)
        .map(|number| entry(&format!("{number}@example.com"), number))
        .collect();
    let mut context = Context::from_waker(Waker::noop());
    let (mut pending, mut done) = (Vec::new(), 0);
    let rejected = people.into_iter().find_map(|person| {
        let mut joining = list.join(person);
        match joining.as_mut().poll(&mut context) {
            Poll::Ready(Err(error)) => return Some(error),
            // The committer was faster than this thread.
            Poll::Ready(Ok(joined)) => {
                assert_eq!(joined, JoinOutcome::New);
                done += 1;
            }
            Poll::Pending => pending.push(joining),
        }
        None
    });
    assert_eq!(rejected, Some(StoreError::Busy));
    let accepted = done + pending.len() as u64;
    for joining in pending {
        assert_eq!(joining.await, Ok(JoinOutcome::New));
    }
    assert_eq!(
        (list.count(), super::entries(&list).len() as u64),
        (accepted, accepted)
    );
}

#[tokio::test]
async fn abandoned_sign_up_can_be_repeated() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    for number in 0..500 {
        drop(list.join(entry(&format!("{number}@example.com"), number)));
    }
    let mut listed = 0;
    for number in 0..500 {
        let again = join(&list, &format!("{number}@example.com")).await;
        listed += u64::from(again == JoinOutcome::AlreadyListed);
    }
    assert!(
        listed < 500,
        "the store skips abandoned sign-ups that it has not started"
    );
    assert_eq!((list.count(), super::entries(&list).len()), (500, 500));
}

/// An erasure searches the whole list, which takes some time.
#[tokio::test(flavor = "multi_thread")]
async fn sign_ups_do_not_wait_while_an_erasure_searches_the_list() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    let people = (0..30_000).map(|number| entry(&format!("{number}@example.com"), number));
    let joined = list.join_all(people.collect()).await;
    joined.expect("a response");
    // If joins waited, none would finish before the erasure.
    let mut join_was_first = false;
    for number in 0..20 {
        let mut context = Context::from_waker(Waker::noop());
        let mut erasing = list.erase(&[entry(&format!("{number}@example.com"), 0).email]);
        assert!(erasing.as_mut().poll(&mut context).is_pending());
        let new = format!("new{number}@example.com");
        assert_eq!(join(&list, &new).await, JoinOutcome::New);
        let poll = erasing.as_mut().poll(&mut context);
        join_was_first |= poll.is_pending();
        if poll.is_pending() {
            assert_eq!(erasing.await, Ok(vec![true]));
        }
        // The new person joined during or after the search.
        assert!(erase(&list, &new.to_uppercase()).await);
    }
    assert!(join_was_first);
    assert_eq!(list.count(), 29_980);
}

/// sled writes values above 128 KiB to separate files (blobs), and never syncs those.
#[tokio::test(flavor = "multi_thread")]
async fn writes_no_blob_files() {
    let directory = TempDir::new().expect("a directory");
    let list = std::sync::Arc::new(open(directory.path()));
    let longest = format!("@{0}.{0}.{1}", "y".repeat(63), "z".repeat(61));
    let mut joins = tokio::task::JoinSet::new();
    for number in 0..2_000 {
        let (list, address) = (list.clone(), format!("{number:064}{longest}"));
        joins.spawn(async move { join(&*list, &address).await });
    }
    joins.join_all().await;
    let blobs = fs::read_dir(directory.path().join("waitlist/blobs")).expect("readable");
    assert_eq!((list.count(), blobs.count()), (2_000, 0));
}

/// Returns whether a file of the store contains these bytes.
fn is_on_disk(data: &Path, bytes: &[u8]) -> bool {
    let files = directory_contents(data);
    let mut windows = files.iter().flat_map(|(_, file)| file.windows(bytes.len()));
    windows.any(|window| window == bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_removes_erased_and_corrected_addresses_from_the_disk() {
    let directory = TempDir::new().expect("a temporary directory");
    let list = open(directory.path());
    for typed in ["ann@example.com", "bob@exmaple.com", "cyd@example.com"] {
        join(&list, typed).await;
    }
    erase(&list, "ann@example.com").await;
    let corrected = list.correct(&email("bob@exmaple.com"), &email("bob@example.com"));
    corrected.await.expect("a response");
    for gone in ["ann@example.com", "bob@exmaple.com"] {
        assert!(is_on_disk(directory.path(), gone.as_bytes()), "{gone}");
    }
    let mut copied = Vec::new();
    let compaction = block_in_place(|| list.compact(&mut |entries| copied.push(entries)));
    let compaction = compaction.expect("compacted");
    assert!(
        compaction.bytes_after > 0 && compaction.bytes_before > 0,
        "{compaction:?}"
    );
    assert!(!copied.is_empty());
    for gone in ["ann@example.com", "bob@exmaple.com"] {
        assert!(!is_on_disk(directory.path(), gone.as_bytes()), "{gone}");
    }
    join(&list, "dan@example.com").await;
    drop(list);
    assert!(!directory.path().join("waitlist.compact").exists());
    let listed = addresses(&open(directory.path()));
    assert_eq!(
        listed,
        ["bob@example.com", "cyd@example.com", "dan@example.com"]
    );
}

/// A copy that an interrupted compaction left may have addresses that were erased since.
#[tokio::test(flavor = "multi_thread")]
async fn start_removes_the_copy_of_an_interrupted_compaction() {
    let directory = TempDir::new().expect("a temporary directory");
    let list = open(directory.path());
    join(&list, "ann@example.com").await;
    drop(list);
    let copy = directory.path().join("waitlist.compact");
    fs::create_dir(&copy).expect("writable");
    copy_directory(&directory.path().join("waitlist"), &copy);
    assert_eq!(addresses(&open(directory.path())), ["ann@example.com"]);
    assert!(!copy.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_rejects_a_store_behind_a_link_and_keeps_it() {
    let directory = TempDir::new().expect("a temporary directory");
    let list = open(directory.path());
    join(&list, "ann@example.com").await;
    drop(list);
    let (store, elsewhere) = (
        directory.path().join("waitlist"),
        directory.path().join("elsewhere"),
    );
    std::fs::rename(&store, &elsewhere).expect("renamed");
    std::os::unix::fs::symlink(&elsewhere, &store).expect("linked");
    let list = open(directory.path());
    let error = block_in_place(|| list.compact(&mut |_| {})).expect_err("a link");
    assert!(error.to_string().contains("is a link"), "{error}");
    join(&list, "bob@example.com").await;
    drop(list);
    let listed = addresses(&open(directory.path()));
    assert_eq!(listed, ["ann@example.com", "bob@example.com"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_removes_addresses_that_are_erased_while_it_runs() {
    let directory = TempDir::new().expect("a temporary directory");
    let list = open(directory.path());
    let people = (0..500).map(|number| entry(&format!("{number}@example.com"), number));
    list.join_all(people.collect()).await.expect("a response");
    let runtime = tokio::runtime::Handle::current();
    let mut is_erased = false;
    let compaction = block_in_place(|| {
        list.compact(&mut |_| {
            // After the first record was copied, and before the copy is used.
            let erase = list.erase(&[email("7@example.com"), email("499@example.com")]);
            let erase = async { erase.await.expect("a response") };
            if !std::mem::replace(&mut is_erased, true) {
                thread::scope(|scope| {
                    scope
                        .spawn(|| runtime.block_on(erase))
                        .join()
                        .expect("no panic")
                });
            }
        })
    });
    compaction.expect("compacted");
    assert!(is_erased);
    assert!(!is_on_disk(directory.path(), b"499@example.com"));
    assert!(is_on_disk(directory.path(), b"498@example.com"));
    assert_eq!(list.count(), 498);
}

/// A file of somebody else is neither removed nor in the way of the list.
#[tokio::test(flavor = "multi_thread")]
async fn compaction_keeps_a_foreign_file_of_its_name() {
    for is_directory in [false, true] {
        let directory = TempDir::new().expect("a temporary directory");
        let foreign = directory.path().join("waitlist.compact");
        if is_directory {
            fs::create_dir(&foreign).expect("writable");
            fs::write(foreign.join("letter.txt"), "dear").expect("writable");
        } else {
            fs::write(&foreign, "dear").expect("writable");
        }
        let list = open(directory.path());
        join(&list, "ann@example.com").await;
        let error = block_in_place(|| list.compact(&mut |_| {})).expect_err("not our file");
        assert!(error.to_string().contains("waitlist.compact"), "{error}");
        drop(list);
        assert_eq!(addresses(&open(directory.path())), ["ann@example.com"]);
        let kept = if is_directory {
            foreign.join("letter.txt")
        } else {
            foreign
        };
        assert_eq!(fs::read_to_string(kept).expect("readable"), "dear");
    }
}
