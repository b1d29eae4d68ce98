//! Only the person brings an address back that has left the list, over every store.

use std::time::{Duration, SystemTime};

use landing::waitlist::{CorrectOutcome, Erasure, JoinOutcome, Waitlist, WaitlistEntry};

use super::{
    StoreFixture,
    confirmation_fixtures::{code, confirm, is_confirmed, join_asked, link, site, wait_for},
    email,
};
use crate::mail::smtp_server::SmtpServer;

conformance_tests! {
    stranger_does_not_undo_an_opt_out,
    confirmation_by_code_or_link_lifts_the_suppression,
    person_with_a_corrected_address_comes_back,
    people_who_await_a_confirmation_are_suppressed,
}

/// Ann leaves the list, and the owner's command remembers that.
async fn leave(list: &dyn Waitlist) {
    let erased = list.erase(&[email("ann@example.com")], Erasure::Suppress);
    erased.await.expect("a response");
}

async fn is_suppressed(list: &dyn Waitlist) -> bool {
    list.is_suppressed(&email("ann@example.com"))
        .await
        .expect("a response")
}

/// A stranger types the address of somebody who has left, nobody confirms, and the owner imports an old file.
async fn stranger_does_not_undo_an_opt_out(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    leave(&*list).await;
    let site = site(&list, &server, &[]).await;
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    wait_for(&server, 1).await;
    assert_eq!(site.join("Ann@example.com").await.status(), 409);
    assert!(is_suppressed(&*list).await);
    // Her time is up.
    let before = SystemTime::now() + Duration::from_secs(60);
    let ann = [email("ann@example.com")];
    let erased = list.erase(&ann, Erasure::Unconfirmed { before }).await;
    assert_eq!(erased, Ok(vec![true]));
    assert!(is_suppressed(&*list).await);
    let now = SystemTime::now();
    let old = WaitlistEntry {
        confirmed_at: Some(now),
        ..WaitlistEntry::new(email("ann@example.com"), now)
    };
    let imported = list.join_all(vec![old]).await;
    assert_eq!(imported, Ok(vec![JoinOutcome::Suppressed]));
}

async fn confirmation_by_code_or_link_lifts_the_suppression(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    for (messages, by_link) in [(1, false), (2, true)] {
        leave(&*list).await;
        site.join("ann@example.com").await;
        let message = wait_for(&server, messages).await;
        assert!(is_suppressed(&*list).await);
        let status = match by_link {
            true => site
                .post(&link(&message))
                .send()
                .await
                .expect("a response")
                .status(),
            false => confirm(&site, "ann@example.com", &code(&message)).await,
        };
        assert_eq!(status, 200);
        assert!(!is_suppressed(&*list).await);
        assert!(is_confirmed(&*list, "ann@example.com"));
    }
}

/// Ann was never asked: the owner has imported her with a typing mistake, and has corrected the address that she had left with.
async fn person_with_a_corrected_address_comes_back(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    leave(&*list).await;
    let wrong = email("anne@example.com");
    let imported = WaitlistEntry::new(wrong.clone(), SystemTime::now());
    assert_eq!(
        list.join_all(vec![imported]).await,
        Ok(vec![JoinOutcome::New])
    );
    let corrected = list.correct(&wrong, &email("ann@example.com")).await;
    assert_eq!(corrected, Ok(CorrectOutcome::Corrected));
    assert!(is_suppressed(&*list).await);
    let site = site(&list, &server, &[]).await;
    site.join("ann@example.com").await;
    let code = code(&wait_for(&server, 1).await);
    assert_eq!(confirm(&site, "ann@example.com", &code).await, 200);
    assert!(!is_suppressed(&*list).await);
}

/// An import of people who have left another list leaves members alone, but anybody can type an address into the form.
async fn people_who_await_a_confirmation_are_suppressed(fixture: impl StoreFixture) {
    let list = fixture.open();
    join_asked(&*list, "ann@example.com", Duration::ZERO).await;
    let ann = [email("ann@example.com")];
    assert_eq!(list.suppress(&ann).await, Ok(vec![true]));
    assert!(is_suppressed(&*list).await);
    // Without confirmations, the sign-up itself lifts it.
    let joined = WaitlistEntry::new(email("ann@example.com"), SystemTime::now());
    assert_eq!(list.join(joined).await, Ok(JoinOutcome::AlreadyListed));
    assert!(!is_suppressed(&*list).await);
}
