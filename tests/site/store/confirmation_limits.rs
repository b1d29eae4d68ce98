//! The limits of the messages that ask people to confirm their address, over every store: for a person, for a mailbox, and
//! for a day. `confirmation_fairness` has those for a client, and `http/confirmation.txt` that of wrong codes.

use std::time::{Duration, SystemTime};

use landing::{
    mail::confirmation_code,
    waitlist::{DeliveryState, Erasure, Fact, MessageId, WaitlistEntry},
};

use super::{
    StoreFixture, add_fact,
    confirmation_fixtures::{
        DAY, add_accepted, add_deliveries, add_deliveries_of, all_recipients, code, confirm,
        deliveries_to, is_confirmed, join_asked, join_confirmed, join_from, site, wait_for,
        wait_for_state, wait_until_asked,
    },
    email,
};
use crate::mail::smtp_server::SmtpServer;

conformance_tests! {
    code_confirms_nobody_who_was_not_asked,
    joining_again_asks_again_after_an_hour,
    mailbox_gets_five_messages_in_a_day,
    cap_of_a_mailbox_recovers,
    cap_of_a_mailbox_survives_a_restart,
    people_who_leave_and_join_again_are_asked_again,
    somebody_who_has_left_gets_two_messages,
    imported_people_are_not_asked,
    daily_budget_is_known_after_a_restart,
    each_attempt_uses_the_budget,
    people_who_have_left_get_no_message,
}

fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * 60 * 60)
}

async fn code_confirms_nobody_who_was_not_asked(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let imported = WaitlistEntry::new(email("ann@example.com"), SystemTime::now());
    let joined_at = imported.joined_at;
    list.join(imported).await.expect("a response");
    let site = site(&list, &server, &[]).await;
    let key = list.list_key().await.expect("a key");
    let code = confirmation_code(&key, &email("ann@example.com"), joined_at);
    assert_eq!(confirm(&site, "ann@example.com", &code).await, 400);
    assert!(!is_confirmed(&*list, "ann@example.com"));
}

async fn joining_again_asks_again_after_an_hour(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let people = [
        ("ann@example.com", minutes(62)),
        ("bob@example.com", minutes(58)),
        ("cyd@example.com", minutes(62)),
    ];
    for (typed, age) in people {
        join_asked(&*list, typed, age).await;
    }
    let confirmed = Fact::ConfirmedAt(SystemTime::now());
    let confirmed = add_fact(&*list, "cyd@example.com", confirmed).await;
    assert_eq!(confirmed, Ok(true));
    let sent = people.map(|(typed, age)| (typed, age - minutes(1)));
    add_accepted(&*list, &sent).await;
    let site = site(&list, &server, &[]).await;
    // The next message lets a person try again who has entered too many wrong codes.
    for status in [400, 400, 400, 400, 423] {
        assert_eq!(confirm(&site, "ann@example.com", "000000").await, status);
    }
    for (typed, _) in people {
        assert_eq!(site.join(typed).await.status(), 409);
    }
    let message = wait_for(&server, 1).await;
    assert_eq!(message.recipient, "ann@example.com");
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients, ["ann@example.com"]);
    assert_eq!(
        confirm(&site, "ann@example.com", &code(&message)).await,
        200
    );
}

/// A mailbox has several names: tags, dots at Gmail, more than dots at Proton, and three domains at Apple. A plus sign may
/// begin a name.
async fn mailbox_gets_five_messages_in_a_day(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    let mailboxes = [
        "victim+1@gmail.com victim+2@gmail.com v.ictim@gmail.com vi.c.tim+x@googlemail.com VICTIM@GoogleMail.com \
         victim+3@gmail.com victim+4@gmail.com",
        "v.ictim@example.com",
        "victim@example.com",
        "vera@proton.me v.era@proton.me ve-ra+x@proton.me VE_RA@protonmail.com vera@pm.me ve.ra@protonmail.ch",
        "ivan@icloud.com ivan+1@icloud.com ivan+2@icloud.com ivan@me.com ivan@mac.com ivan+3@mac.com",
        "iv.an@me.com",
        "+cat@example.com +cat+1@example.com +cat+2@example.com +cat+3@example.com +cat+4@example.com +cat+5@example.com",
    ];
    let (mut asked, mut refused) = (Vec::new(), Vec::new());
    let mut client = 0;
    for mailbox in mailboxes {
        for (number, typed) in mailbox.split_whitespace().enumerate() {
            // Another client for each: the cap is not that of a client.
            client += 1;
            join_from(&site, client, typed).await;
            wait_until_asked(&*list).await;
            if number < 5 { &mut asked } else { &mut refused }.push(typed);
        }
    }
    asked.sort_unstable();
    assert_eq!(server.recipients(), asked);
    // The others were not sent, and are not sent later: nobody replied.
    for typed in refused {
        let deliveries = deliveries_to(&*list, typed).await.into_iter();
        let statuses: Vec<_> = deliveries
            .map(|it| (it.status.state, it.status.reply))
            .collect();
        assert_eq!(statuses, [(DeliveryState::Refused, None)], "{typed}");
    }
}

async fn cap_of_a_mailbox_recovers(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    // Ann has had five in a day, and Bob one of his five before.
    for typed in ["ann@example.com", "bob@example.com"] {
        join_asked(&*list, typed, DAY * 3).await;
    }
    for (ann, bob) in [(23, 25), (20, 23), (15, 20), (10, 15), (5, 10)] {
        let sent = [
            ("ann@example.com", hours(ann)),
            ("bob@example.com", hours(bob)),
        ];
        add_accepted(&*list, &sent).await;
    }
    let site = site(&list, &server, &[]).await;
    for typed in ["ann@example.com", "bob@example.com"] {
        assert_eq!(site.join(typed).await.status(), 409);
    }
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients, ["bob@example.com"]);
    // Leaving and joining again resets nothing.
    let ann = [email("ann@example.com")];
    list.erase(&ann, Erasure::Complete)
        .await
        .expect("a response");
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients, ["bob@example.com"]);
}

/// The ledger has no addresses, but those on the list say which mailbox its hashes belong to.
async fn cap_of_a_mailbox_survives_a_restart(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let sent: Vec<_> = (0..5).map(|it| format!("ann+{it}@example.com")).collect();
    for typed in &sent {
        join_asked(&*list, typed, hours(3)).await;
        add_accepted(&*list, &[(typed, hours(2))]).await;
    }
    let site = site(&list, &server, &[]).await;
    site.join("ann+another@example.com").await;
    assert_eq!(all_recipients(&site, &*list, &server).await, [""; 0]);
    wait_for_state(&*list, "ann+another@example.com", DeliveryState::Refused).await;
}

/// Ann has left and joined again since her message, so that Bob's counts, and hers does not.
async fn people_who_leave_and_join_again_are_asked_again(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    for (typed, joined) in [("ann@example.com", 30), ("bob@example.com", 90)] {
        join_asked(&*list, typed, minutes(joined)).await;
    }
    let sent = [
        ("ann@example.com", minutes(61)),
        ("bob@example.com", minutes(61)),
    ];
    add_accepted(&*list, &sent).await;
    let site = site(&list, &server, &["--confirm-days=1"]).await;
    let message = wait_for(&server, 1).await;
    assert_eq!(message.recipient, "ann@example.com");
    assert_eq!(
        confirm(&site, "ann@example.com", &code(&message)).await,
        200
    );
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients, ["ann@example.com"]);
}

/// A stranger may enter the address of somebody who has left again and again.
async fn somebody_who_has_left_gets_two_messages(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    let (accepted, refused) = (DeliveryState::Accepted, DeliveryState::Refused);
    for (messages, state) in [(1, accepted), (2, accepted), (2, refused)] {
        site.join("ann@example.com").await;
        wait_for(&server, messages).await;
        wait_for_state(&*list, "ann@example.com", state).await;
        let left = list.erase(&[email("ann@example.com")], Erasure::Suppress);
        assert_eq!(left.await, Ok(vec![true]));
    }
    assert_eq!(server.received().len(), 2);
}

async fn imported_people_are_not_asked(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    let entry = WaitlistEntry::new(email("ann@example.com"), SystemTime::now());
    list.join_all(vec![entry]).await.expect("a response");
    // The second one was asked, then erased and imported by the owner before the message could be sent.
    let imported = WaitlistEntry::new(email("cyd@example.com"), SystemTime::now() - DAY);
    list.join_all(vec![imported]).await.expect("a response");
    add_deliveries(&*list, &[("cyd@example.com", DeliveryState::Waiting, None)]).await;
    let site = site(&list, &server, &["--confirm-days=1"]).await;
    site.join("bob@example.com").await;
    assert_eq!(site.join("ann@example.com").await.status(), 409);
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients, ["bob@example.com"]);
}

/// Each site has room for one message more than the one before it. If one sent more, the next would see it.
async fn daily_budget_is_known_after_a_restart(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    for typed in ["old@example.com", "today@example.com"] {
        join_asked(&*list, typed, DAY * 2).await;
    }
    let sent = [
        ("old@example.com", DAY + Duration::from_secs(60)),
        ("today@example.com", DAY - Duration::from_secs(60)),
    ];
    add_accepted(&*list, &sent).await;
    for number in 0..5 {
        join_asked(
            &*list,
            &format!("{number}@example.com"),
            Duration::from_secs(60),
        )
        .await;
    }
    let mut sites = Vec::new();
    for (per_day, sent) in [(2, 1), (3, 2), (4, 3)] {
        let budget = format!("--confirm-per-day={per_day}");
        sites.push(site(&list, &server, &[&budget]).await);
        // The client is new, so it gets the only message that is left.
        join_from(
            &sites[sent - 1],
            per_day,
            &format!("new-{per_day}@example.com"),
        )
        .await;
        wait_for(&server, sent).await;
    }
    let deliveries = list.deliveries(&MessageId::confirmation(), 0).await;
    assert_eq!(deliveries.expect("deliveries").len(), 2 + 3);
}

/// Three messages count: a code that was deferred, because providers count what is offered to them, one whose time is ahead
/// since the clock was set back, and a welcome.
async fn each_attempt_uses_the_budget(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    for typed in ["deferred@example.com", "ahead@example.com"] {
        join_asked(&*list, typed, DAY).await;
    }
    join_confirmed(&*list, "welcome@example.com", DAY).await;
    let now = SystemTime::now();
    let lately = Some(now - Duration::from_secs(30));
    let codes = [
        ("deferred@example.com", DeliveryState::Deferred, lately),
        (
            "ahead@example.com",
            DeliveryState::Accepted,
            Some(now + hours(2)),
        ),
    ];
    add_deliveries(&*list, &codes).await;
    let welcome = ("welcome@example.com", DeliveryState::Accepted, lately);
    add_deliveries_of(&*list, MessageId::welcome(), &[welcome]).await;
    let full = site(&list, &server, &["--confirm-per-day=3"]).await;
    join_from(&full, 1, "bob@example.com").await;
    // The other site has room for one more.
    let other = "other@steward.test";
    let bounces = format!("--bounce-address={other}");
    let site = site(&list, &server, &["--confirm-per-day=4", &bounces]).await;
    join_from(&site, 2, "cyd@example.com").await;
    assert_eq!(wait_for(&server, 1).await.sender, other);
    let mut deliveries = 0;
    for id in [MessageId::confirmation(), MessageId::welcome()] {
        deliveries += list.deliveries(&id, 0).await.expect("deliveries").len();
    }
    assert_eq!(deliveries, 4);
}

async fn people_who_have_left_get_no_message(fixture: impl StoreFixture) {
    let (list, server) = (fixture.open(), SmtpServer::start());
    join_asked(&*list, "ann@example.com", DAY).await;
    add_deliveries(&*list, &[("ann@example.com", DeliveryState::Waiting, None)]).await;
    let ann = [email("ann@example.com")];
    list.erase(&ann, Erasure::Complete)
        .await
        .expect("a response");
    let site = site(&list, &server, &[]).await;
    site.join("cyd@example.com").await;
    let recipients = all_recipients(&site, &*list, &server).await;
    assert_eq!(recipients, ["cyd@example.com"]);
}
