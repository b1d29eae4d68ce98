//! What only the store on this machine does: its directory, and what it refuses to open.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    task::{Context, Poll, Waker},
    thread::sleep,
    time::Duration,
};

use landing::waitlist::{Joined, OpenError, SledWaitlist, StoreError, Waitlist};
use tempfile::TempDir;

use super::{contents, entry, erase, join};

fn open(data: &Path) -> SledWaitlist {
    SledWaitlist::open(data).expect("the list opens")
}

/// What the program says instead of opening.
fn refusal(data: &Path) -> String {
    let refused = SledWaitlist::open(data).expect_err("it must be refused");
    refused.to_string()
}

/// The database in a data directory, as sled sees it. The lock of one who just let go can linger.
fn database(data: &Path) -> ::sled::Db {
    let open = || ::sled::open(data.join("waitlist"));
    let opened = (0..100).find_map(|_| open().inspect_err(|_| sleep(MOMENT)).ok());
    opened.expect("sled opens")
}

const MOMENT: Duration = Duration::from_millis(20);

fn mode(path: &Path) -> u32 {
    let metadata = fs::metadata(path).expect("it is there");
    metadata.permissions().mode() & 0o777
}

#[tokio::test]
async fn the_directories_are_made_on_the_way_and_private() {
    let directory = TempDir::new().expect("a directory");
    let data = directory.path().join("made/on/the/way");
    drop(open(&data));
    for made in [
        "made",
        "made/on",
        "made/on/the/way",
        "made/on/the/way/waitlist",
    ] {
        assert_eq!(mode(&directory.path().join(made)), 0o700, "{made}");
    }
}

#[tokio::test]
async fn the_list_is_private_also_in_a_directory_that_was_open_to_others() {
    let directory = TempDir::new().expect("a directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    drop(open(directory.path()));
    assert_eq!(mode(&directory.path().join("waitlist")), 0o700);
    assert_eq!(mode(directory.path()), 0o755, "it is not ours to change");
}

#[tokio::test]
async fn a_second_process_is_told_who_holds_the_directory() {
    let directory = TempDir::new().expect("a directory");
    let _held = open(directory.path());
    let Err(OpenError::Held(_, holder)) = SledWaitlist::open(directory.path()) else {
        panic!("the second one must not open");
    };
    assert_eq!(holder, Some(std::process::id()));
}

#[tokio::test]
async fn a_start_that_was_cut_off_before_the_store_had_its_name_starts_again() {
    let directory = TempDir::new().expect("a directory");
    let half = directory.path().join("waitlist.new");
    fs::create_dir(&half).expect("writable");
    fs::write(half.join("db"), "half a database").expect("writable");
    let list = open(directory.path());
    assert_eq!(join(&list, "ann@example.com").await, Joined::New);
}

#[tokio::test]
async fn a_directory_that_is_no_waitlist_is_refused_and_left_alone() {
    let directory = TempDir::new().expect("a directory");
    let store = directory.path().join("waitlist");
    fs::create_dir(&store).expect("writable");
    fs::write(store.join("notes.txt"), "mine").expect("writable");
    let before = contents(&store);
    let told = refusal(directory.path());
    assert!(told.contains("holds no database"), "{told}");
    assert_eq!(contents(&store), before);
}

#[tokio::test]
async fn a_lock_file_of_somebody_else_is_refused_and_left_alone() {
    let directory = TempDir::new().expect("a directory");
    fs::write(directory.path().join("lock"), "of my bicycle\n").expect("writable");
    let before = contents(directory.path());
    let told = refusal(directory.path());
    assert!(told.contains("lock") && told.contains("--store"), "{told}");
    assert_eq!(contents(directory.path()), before);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused() {
    let directory = TempDir::new().expect("a directory");
    fs::create_dir(directory.path().join("waitlist")).expect("writable");
    let other = database(directory.path());
    other.insert("their", "value").expect("writable");
    drop(other);
    let told = refusal(directory.path());
    assert!(told.contains("it is not a waitlist"), "{told}");
    let value = database(directory.path()).get("their").expect("readable");
    assert_eq!(value.expect("it is there"), "value");
}

#[tokio::test]
async fn a_list_of_another_format_is_refused_by_its_number() {
    let directory = TempDir::new().expect("a directory");
    drop(open(directory.path()));
    for (found, named) in [
        (&3u64.to_be_bytes()[..], "it has format 3"),
        (b"1", "it has an unknown format"),
    ] {
        let database = database(directory.path());
        database.insert("format", found).expect("writable");
        drop(database);
        let told = refusal(directory.path());
        assert!(
            told.contains(named) && told.contains("reads format 2"),
            "{told}"
        );
    }
}

/// Changes the records of a list behind its back, and returns the refusal.
async fn refusal_of(change: impl FnOnce(&::sled::Tree)) -> String {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    for number in 0..100 {
        join(&list, &format!("person{number}@example.com")).await;
    }
    drop(list);
    let database = database(directory.path());
    change(&database.open_tree("entries").expect("it is there"));
    drop(database);
    refusal(directory.path())
}

#[tokio::test]
async fn missing_entries_are_told_by_their_numbers() {
    let told = refusal_of(|records| {
        let second = records
            .iter()
            .keys()
            .nth(1)
            .expect("it is there")
            .expect("readable");
        records.remove(second).expect("writable");
    });
    let told = told.await;
    assert!(told.contains("the entries from number 3"), "{told}");
    assert!(told.contains("are missing"), "{told}");
}

#[tokio::test]
async fn damaged_entries_are_told_by_their_number() {
    let told = refusal_of(|records| {
        let (first, value) = records.first().expect("readable").expect("it is there");
        records
            .insert(first, &value[..value.len() - 1])
            .expect("writable");
    });
    let told = told.await;
    assert!(
        told.contains("the entries from number 0 on are damaged"),
        "{told}"
    );
}

#[tokio::test]
async fn a_key_that_is_none_of_ours_is_damage_too() {
    let told = refusal_of(|records| {
        records.insert("other", "value").expect("writable");
    });
    let told = told.await;
    assert!(told.contains("damaged"), "{told}");
}

/// More than can wait at once.
#[tokio::test]
async fn when_too_many_wait_the_next_one_is_turned_away_at_once_and_nobody_is_lost() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    let people: Vec<_> = (0..400_000)
        .map(|number| entry(&format!("{number}@example.com"), number))
        .collect();
    let mut look = Context::from_waker(Waker::noop());
    let (mut waiting, mut answered) = (Vec::new(), 0);
    let refused = people.into_iter().find_map(|person| {
        let mut answer = list.join(person);
        match answer.as_mut().poll(&mut look) {
            Poll::Ready(Err(error)) => return Some(error),
            // The committer was quicker than this thread.
            Poll::Ready(Ok(joined)) => {
                assert_eq!(joined, Joined::New);
                answered += 1;
            }
            Poll::Pending => waiting.push(answer),
        }
        None
    });
    assert_eq!(refused, Some(StoreError::Busy));
    let accepted = answered + waiting.len() as u64;
    for answer in waiting {
        assert_eq!(answer.await, Ok(Joined::New));
    }
    assert_eq!(
        (list.count(), super::entries(&list).len() as u64),
        (accepted, accepted)
    );
}

#[tokio::test]
async fn who_goes_away_while_waiting_may_be_listed_or_not_and_asking_again_tells() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    for number in 0..500 {
        drop(list.join(entry(&format!("{number}@example.com"), number)));
    }
    let mut listed = 0;
    for number in 0..500 {
        let again = join(&list, &format!("{number}@example.com")).await;
        listed += u64::from(again == Joined::AlreadyListed);
    }
    assert!(listed < 500, "nothing is written for who is gone already");
    assert_eq!((list.count(), super::entries(&list).len()), (500, 500));
}

/// Who is to be erased is looked for in the whole list, which takes a while.
#[tokio::test(flavor = "multi_thread")]
async fn sign_ups_do_not_wait_while_an_erasure_searches_the_list() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    let people = (0..30_000).map(|number| entry(&format!("{number}@example.com"), number));
    let joined = list.join_all(people.collect()).await;
    joined.expect("an answer");
    // A join that came later would always be answered later if it waited.
    let mut overtook = false;
    for number in 0..20 {
        let mut look = Context::from_waker(Waker::noop());
        let mut erased = list.erase(&[entry(&format!("{number}@example.com"), 0).email]);
        assert!(erased.as_mut().poll(&mut look).is_pending());
        let new = format!("new{number}@example.com");
        assert_eq!(join(&list, &new).await, Joined::New);
        let poll = erased.as_mut().poll(&mut look);
        overtook |= poll.is_pending();
        if poll.is_pending() {
            assert_eq!(erased.await, Ok(vec![true]));
        }
        // Joined during the search, or after it.
        assert!(erase(&list, &new.to_uppercase()).await);
    }
    assert!(overtook);
    assert_eq!(list.count(), 29_980);
}

/// Larger pieces sled would write to files of their own, and never sync them.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_ever_written_beside_the_log() {
    let directory = TempDir::new().expect("a directory");
    let list = std::sync::Arc::new(open(directory.path()));
    let longest = format!("@{0}.{0}.{1}", "y".repeat(63), "z".repeat(61));
    let mut joins = tokio::task::JoinSet::new();
    for number in 0..2_000 {
        let (list, address) = (list.clone(), format!("{number:064}{longest}"));
        joins.spawn(async move { join(&*list, &address).await });
    }
    joins.join_all().await;
    let blobs = fs::read_dir(directory.path().join("waitlist/blobs")).expect("sled makes it");
    assert_eq!((list.count(), blobs.count()), (2_000, 0));
}
