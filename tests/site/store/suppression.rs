//! Suppressed addresses: people who have left. No import adds them again. Every store passes these tests.

use std::sync::Arc;

use landing::waitlist::{
    Erasure, JoinOutcome, ListKey, Source, Suppressions, Waitlist, WaitlistEntry,
};
use tokio::task::JoinSet;

use super::{StoreFixture, addresses, email, entries, entry, erase, join, many_items::ManyItems};

conformance_tests! {
    new_list_has_no_suppressions,
    suppressed_people_are_erased_and_no_import_adds_them,
    joining_lifts_the_suppression,
    suppresses_many,
    people_who_left_elsewhere_are_suppressed_unless_listed,
    lifting_needs_nobody_on_the_list,
    key_never_changes,
    departures_have_the_source_of_the_sign_up,
}

async fn suppress(list: &dyn Waitlist, typed: &[&str]) -> Vec<bool> {
    let emails: Vec<_> = typed.iter().map(|typed| email(typed)).collect();
    let erased = list.erase(&emails, Erasure::Suppress).await;
    erased.expect("a response")
}

/// Imports one person.
async fn import(list: &dyn Waitlist, typed: &str) -> JoinOutcome {
    let joined = list.join_all(vec![entry(typed, 7)]).await;
    joined.expect("a response")[0]
}

async fn is_suppressed(list: &dyn Waitlist, typed: &str) -> bool {
    let is_suppressed = list.is_suppressed(&email(typed)).await;
    let suppressions = list.suppressions().await.expect("a response");
    assert_eq!(is_suppressed, Ok(suppressions.contains(&email(typed))));
    suppressions.contains(&email(typed))
}

#[test]
fn hashes_depend_on_the_key_and_not_on_the_spelling() {
    let key = |byte| ListKey::from_slice(&[byte; 32]).expect("32 bytes");
    let hash = |byte, typed: &str| key(byte).hash(email(typed).key());
    assert_eq!(hash(1, "Ann@EXAMPLE.com"), hash(1, "ann@example.com"));
    assert_ne!(hash(1, "ann@example.com"), hash(2, "ann@example.com"));
    assert_ne!(hash(1, "ann@example.com"), hash(1, "bob@example.com"));
    // `printf ann@example.com | openssl dgst -sha256 -mac HMAC -macopt hexkey:01…01 | head -c 32`
    let expected = 0x4028_8d83_57fd_f0ec_2f4c_b5db_1c3b_82c5_u128.to_be_bytes();
    assert_eq!(hash(1, "ann@example.com").as_bytes(), expected);
    assert_ne!(ListKey::generate(), ListKey::generate());
    assert_eq!(ListKey::from_slice(&[1; 31]), None);
}

#[test]
fn debug_output_shows_neither_keys_nor_hashes() {
    let key = ListKey::from_slice(&[65; 32]).expect("32 bytes");
    let hash = key.hash("ann@example.com");
    let mut suppressions = Suppressions::new(key);
    suppressions.suppress(hash);
    assert_eq!(
        format!("{key:?} {hash:?} {suppressions:?}"),
        "ListKey(…) AddressHash(…) Suppressions(1)"
    );
}

async fn new_list_has_no_suppressions(fixture: impl StoreFixture) {
    let list = fixture.open();
    let none = Suppressions::new(list.list_key().await.expect("a key"));
    assert_eq!(list.suppressions().await, Ok(none.clone()));
    join(&*list, "ann@example.com").await;
    assert!(erase(&*list, "ann@example.com").await);
    assert_eq!(list.suppressions().await, Ok(none));
    assert_eq!(import(&*list, "ann@example.com").await, JoinOutcome::New);
}

async fn suppressed_people_are_erased_and_no_import_adds_them(fixture: impl StoreFixture) {
    let list = fixture.open();
    join(&*list, "Ann@example.com").await;
    join(&*list, "cyd@example.com").await;
    // Also a person who is not on the list.
    let erased = suppress(&*list, &["ann@EXAMPLE.com", "bob@example.com"]).await;
    assert_eq!(erased, [true, false]);
    for _ in 0..2 {
        assert_eq!(
            (list.count(), &addresses(&*list)[..]),
            (1, &["cyd@example.com".into()][..])
        );
        for typed in ["ann@example.com", "BOB@example.com"] {
            assert_eq!(import(&*list, typed).await, JoinOutcome::Suppressed);
            assert!(is_suppressed(&*list, typed).await);
        }
        assert!(!is_suppressed(&*list, "cyd@example.com").await);
        // Again: nothing changes.
        let erased = suppress(&*list, &["ann@example.com", "bob@example.com"]).await;
        assert_eq!(erased, [false, false]);
        let suppressions = list.suppressions().await.expect("a response");
        assert_eq!(suppressions.len(), 2);
    }
    drop(list);
    let list = fixture.open();
    assert_eq!(list.count(), 1);
    assert_eq!(
        import(&*list, "ann@example.com").await,
        JoinOutcome::Suppressed
    );
    assert_eq!(
        import(&*list, "bob@example.com").await,
        JoinOutcome::Suppressed
    );
    assert_eq!(import(&*list, "eve@example.com").await, JoinOutcome::New);
}

async fn joining_lifts_the_suppression(fixture: impl StoreFixture) {
    let list = fixture.open();
    suppress(&*list, &["ann@example.com", "bob@example.com"]).await;
    assert_eq!(join(&*list, "Ann@example.com").await, JoinOutcome::New);
    assert!(!is_suppressed(&*list, "ann@example.com").await);
    assert_eq!(
        import(&*list, "ann@example.com").await,
        JoinOutcome::AlreadyListed
    );
    drop(list);
    let list = fixture.open();
    assert!(!is_suppressed(&*list, "ann@example.com").await);
    assert!(is_suppressed(&*list, "bob@example.com").await);
    assert_eq!(addresses(&*list), ["Ann@example.com"]);
    assert!(erase(&*list, "ann@example.com").await);
    assert_eq!(import(&*list, "ann@example.com").await, JoinOutcome::New);
    // The person leaves again.
    assert_eq!(suppress(&*list, &["ann@example.com"]).await, [true]);
    assert_eq!(
        import(&*list, "ann@example.com").await,
        JoinOutcome::Suppressed
    );
}

async fn lifting_needs_nobody_on_the_list(fixture: impl StoreFixture) {
    let list = fixture.open();
    join(&*list, "cyd@example.com").await;
    let emails = ["ANN@example.com", "bob@example.com"];
    suppress(
        &*list,
        &["ann@example.com", "bob@example.com", "dan@example.com"],
    )
    .await;
    let lifted = list.lift(&emails.map(email)).await;
    assert_eq!(lifted, Ok(vec![false, false]));
    assert_eq!(list.lift(&[email("cyd@example.com")]).await, Ok(vec![true]));
    drop(list);
    let list = fixture.open();
    assert_eq!(import(&*list, "ann@example.com").await, JoinOutcome::New);
    assert!(!is_suppressed(&*list, "bob@example.com").await);
    assert!(is_suppressed(&*list, "dan@example.com").await);
}

async fn suppresses_many(fixture: impl StoreFixture) {
    let list = fixture.open();
    let person = |number: u64| entry(&format!("{number}@example.com"), number);
    list.join_many((0..1000).map(person).collect())
        .await
        .expect("a response");
    let gone: Vec<_> = (500..5000).map(|it| person(it).email).collect();
    let erased = list.erase_many(&gone, Erasure::Suppress).await;
    let expected = (500..5000).map(|number| number < 1000);
    assert_eq!(erased, Ok(expected.collect()));
    drop(list);
    let list: Arc<dyn Waitlist> = fixture.open().into();
    assert_eq!((list.count(), entries(&*list).len()), (500, 500));
    let suppressions = list.suppressions().await.expect("a response");
    assert_eq!(suppressions.len(), 4500);
    assert!(gone.iter().all(|email| suppressions.contains(email)));
    // They all come back.
    for chunk in gone.chunks(500) {
        let mut joins = JoinSet::new();
        for email in chunk {
            let list = Arc::clone(&list);
            let email = email.clone();
            joins.spawn(async move { join(&*list, email.as_typed()).await });
        }
        let joined = joins.join_all().await;
        assert!(joined.iter().all(|it| *it == JoinOutcome::New));
    }
    assert_eq!(list.suppressions().await.map(|it| it.len()), Ok(0));
    drop(list);
    let list = fixture.open();
    assert_eq!(list.suppressions().await.map(|it| it.len()), Ok(0));
    assert_eq!(list.count(), 5000);
}

async fn people_who_left_elsewhere_are_suppressed_unless_listed(fixture: impl StoreFixture) {
    let list = fixture.open();
    join(&*list, "ann@example.com").await;
    let emails = ["Ann@example.com", "bob@example.com", "BOB@example.com"].map(email);
    for _ in 0..2 {
        let suppressed = list.suppress(&emails).await;
        assert_eq!(suppressed, Ok(vec![false, true, true]));
    }
    assert_eq!(list.suppress(&[]).await, Ok(vec![]));
    // Ann has joined by herself, and nobody has left this list.
    assert_eq!((list.count(), addresses(&*list).len()), (1, 1));
    assert_eq!(departures(&*list).await, []);
    drop(list);
    let list = fixture.open();
    assert!(!is_suppressed(&*list, "ann@example.com").await);
    assert_eq!(
        import(&*list, "bob@example.com").await,
        JoinOutcome::Suppressed
    );
    assert_eq!(join(&*list, "bob@example.com").await, JoinOutcome::New);
    assert_eq!(list.suppressions().await.map(|it| it.len()), Ok(0));
    let many: Vec<_> = (0..100)
        .map(|it| email(&format!("{it}@example.com")))
        .collect();
    assert_eq!(list.suppress(&many).await, Ok(vec![true; 100]));
    assert_eq!(list.suppressions().await.map(|it| it.len()), Ok(100));
}

async fn key_never_changes(fixture: impl StoreFixture) {
    let list = Arc::<dyn Waitlist>::from(fixture.open());
    let key = list.list_key().await.expect("a key");
    join(&*list, "ann@example.com").await;
    suppress(&*list, &["ann@example.com"]).await;
    super::compact(&*list).await;
    assert_eq!(list.list_key().await, Ok(key));
    drop(list);
    let list = fixture.open();
    assert_eq!(list.list_key().await, Ok(key));
    let suppressions = list.suppressions().await.expect("a response");
    let hash = key.hash(email("ann@example.com").key());
    assert!(suppressions.hashes().eq([hash]));
    assert_eq!(suppressions.list_key(), key);
}

fn source(text: &str) -> Source {
    text.parse().expect("a source")
}

/// Returns the sources of the people who have left, sorted.
async fn departures(list: &dyn Waitlist) -> Vec<Option<Source>> {
    let suppressions = list.suppressions().await.expect("a response");
    let mut sources: Vec<_> = suppressions.departures().map(|it| it.source).collect();
    sources.sort();
    sources
}

async fn departures_have_the_source_of_the_sign_up(fixture: impl StoreFixture) {
    let list = fixture.open();
    for (typed, text) in [("ann", "hn"), ("bob", "hn"), ("cyd", "ads"), ("dan", "ads")] {
        let joined = list.join(WaitlistEntry {
            source: Some(source(text)),
            ..entry(&format!("{typed}@example.com"), 7)
        });
        assert_eq!(joined.await, Ok(JoinOutcome::New));
    }
    join(&*list, "eve@example.com").await;
    assert!(erase(&*list, "dan@example.com").await);
    assert_eq!(departures(&*list).await, []);
    // Fay was not on the list.
    suppress(
        &*list,
        &["ANN@example.com", "eve@example.com", "fay@example.com"],
    )
    .await;
    suppress(&*list, &["ann@example.com", "cyd@example.com"]).await;
    let expected = [None, Some(source("ads")), Some(source("hn"))];
    assert_eq!(departures(&*list).await, expected);
    // Ann has left all the same.
    join(&*list, "ann@example.com").await;
    drop(list);
    let list = fixture.open();
    assert_eq!(departures(&*list).await, expected);
    suppress(&*list, &["ann@example.com"]).await;
    assert_eq!(departures(&*list).await[..2], [None, None]);
}
