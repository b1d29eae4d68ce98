//! A list of an earlier format is rewritten at its first start.

use std::{fs, os::unix::fs::symlink, path::Path};

use landing::waitlist::{Erasure, JoinOutcome, SledWaitlist, Source, Waitlist, WaitlistEntry};
use tempfile::TempDir;

use super::{directory_contents, email, entries, entry, join};
use crate::old_format::{write_items, write_old_list};

fn people(count: u64) -> Vec<Option<(String, u64)>> {
    let person = |number: u64| {
        (
            format!("Person{number}@example.com"),
            1_700_000_000_000 + number,
        )
    };
    (0..count)
        .map(|number| (number % 5 != 2).then(|| person(number)))
        .collect()
}

fn expected(people: &[Option<(String, u64)>]) -> Vec<WaitlistEntry> {
    let people = people.iter().flatten();
    people
        .map(|(address, millis)| entry(address, *millis))
        .collect()
}

fn open(data: &Path) -> SledWaitlist {
    SledWaitlist::open(data).expect("the list opens")
}

#[tokio::test]
async fn keeps_every_entry_and_no_erased_one() {
    for count in [0, 1, 40, 5_000] {
        let directory = TempDir::new().expect("a directory");
        let people = people(count);
        write_old_list(directory.path(), &people);
        let list = open(directory.path());
        let expected = expected(&people);
        assert_eq!(list.count(), expected.len() as u64);
        assert_eq!(entries(&list), expected);
        let erased = list.erased_count().await.expect("a response");
        assert_eq!(erased, count - expected.len() as u64);
        assert_eq!(join(&list, "new@example.com").await, JoinOutcome::New);
        let again = join(&list, "PERSON0@example.com").await;
        assert_eq!(again == JoinOutcome::AlreadyListed, count > 0);
        drop(list);
        let added = 1 + usize::from(count == 0);
        assert_eq!(
            entries(&open(directory.path())).len(),
            expected.len() + added
        );
        let names = fs::read_dir(directory.path()).expect("readable");
        let mut names: Vec<_> = names.map(|it| it.expect("readable").file_name()).collect();
        names.sort();
        assert_eq!(names, ["lock", "waitlist"], "the old list is gone");
    }
}

#[tokio::test]
async fn damaged_list_is_rejected_and_unchanged() {
    let directory = TempDir::new().expect("a directory");
    write_old_list(directory.path(), &people(500));
    let store = directory.path().join("waitlist");
    // As if the log had lost its end.
    let mark = [900u64, !900, 0, !0].map(u64::to_be_bytes);
    fs::write(store.join("mark"), mark.as_flattened()).expect("writable");
    let before = directory_contents(&store);
    let error = SledWaitlist::open(directory.path()).expect_err("it is damaged");
    let error = error.to_string();
    assert!(
        error.contains("the items 500 to 899 of its log are missing"),
        "{error}"
    );
    assert!(error.contains("nothing was changed"), "{error}");
    assert_eq!(directory_contents(&store), before);
}

/// Two directories can be exchanged, but not a link.
#[tokio::test]
async fn list_behind_a_link_is_kept() {
    let directory = TempDir::new().expect("a directory");
    let elsewhere = TempDir::new().expect("a directory");
    write_old_list(elsewhere.path(), &people(40));
    let (store, link) = (
        elsewhere.path().join("waitlist"),
        directory.path().join("waitlist"),
    );
    symlink(&store, &link).expect("writable");
    let before = directory_contents(&store);
    let error = SledWaitlist::open(directory.path()).expect_err("it is behind a link");
    let error = error.to_string();
    assert!(error.contains("put the directory in its place"), "{error}");
    assert_eq!(directory_contents(&store), before);
    fs::remove_file(&link).expect("permitted");
    fs::rename(&store, &link).expect("permitted");
    assert_eq!(entries(&open(directory.path())), expected(&people(40)));
}

#[tokio::test]
async fn corrections_and_erasures_work_on_a_migrated_list() {
    let directory = TempDir::new().expect("a directory");
    write_old_list(directory.path(), &people(300));
    let list = open(directory.path());
    let erased = list
        .erase(&[email("person3@example.com")], Erasure::Complete)
        .await;
    assert_eq!(erased, Ok(vec![true]));
    drop(list);
    let mut expected = expected(&people(300));
    expected.retain(|entry| entry.email.as_typed() != "Person3@example.com");
    assert_eq!(entries(&open(directory.path())), expected);
}

/// The items of a list of format 3: people with a source, every second of them confirmed, every tenth erased.
fn items_of_format_3(people: u64) -> Vec<Vec<u8>> {
    let mut items = Vec::new();
    for number in 0..people {
        let at = items.len() as u64;
        if number % 10 == 3 {
            items.extend([vec![0], vec![255, 0]]);
            continue;
        }
        let address = format!("Person{number}@example.com");
        let lengths = [address.len() as u8, 2];
        let parts = [
            &lengths[..],
            &number.to_be_bytes(),
            address.as_bytes(),
            b"hn",
        ];
        items.push(parts.concat());
        if number % 2 == 0 {
            let time = number + 5;
            items.push([&[255, 1][..], &at.to_be_bytes(), &time.to_be_bytes()].concat());
        }
    }
    items
}

#[tokio::test]
async fn format_3_keeps_sources_facts_and_erasures() {
    for people in [1, 30, 3_000] {
        let directory = TempDir::new().expect("a directory");
        let erased = (0..people).filter(|number| number % 10 == 3).count() as u64;
        write_items(directory.path(), 3, &items_of_format_3(people), 2 * erased);
        let mut expected = Vec::new();
        for number in (0..people).filter(|number| number % 10 != 3) {
            let person = entry(&format!("Person{number}@example.com"), number);
            expected.push(WaitlistEntry {
                source: Source::parse("hn").ok(),
                confirmed_at: (number % 2 == 0).then(|| entry("a@b.co", number + 5).joined_at),
                ..person
            });
        }
        let list = open(directory.path());
        assert_eq!(entries(&list), expected);
        assert_eq!(list.erased_count().await, Ok(erased));
        let gone = [email("person0@example.com")];
        assert_eq!(list.erase(&gone, Erasure::Suppress).await, Ok(vec![true]));
        drop(list);
        let list = open(directory.path());
        assert_eq!(entries(&list), expected[1..]);
        assert_eq!(list.is_suppressed(&gone[0]).await, Ok(true));
    }
}

#[tokio::test]
async fn format_3_has_no_suppressions() {
    let directory = TempDir::new().expect("a directory");
    let items = [vec![0], [&[255, 3][..], &[7; 16]].concat()];
    write_items(directory.path(), 3, &items, 1);
    let error = SledWaitlist::open(directory.path()).expect_err("it is damaged");
    let error = error.to_string();
    assert!(error.contains("from number 0 on are damaged"), "{error}");
}
