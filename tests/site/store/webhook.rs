//! Sending the events of a list to an endpoint that works, fails, or objects.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use landing::{
    server::{WebhookSender, WebhookTimes, run_webhook},
    waitlist::{Fact, JoinOutcome, Waitlist, WaitlistEntry},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::json;
use tokio_util::task::AbortOnDropHandle;

use super::{
    MemoryFixture, StoreFixture, add_fact, email, erase, eventually, join,
    webhook_endpoint::{Endpoint, Received, Reply, SECRET},
};
use crate::{fixtures::parse_config, security::overload::CapturedLog};

conformance_tests! {
    events_are_signed_and_say_what_is_documented,
    events_of_a_person_arrive_in_order_despite_failures,
    failing_endpoint_gets_one_event_after_each_pause_and_then_all,
    event_that_fails_stops_only_its_person,
    endpoint_that_is_gone_ends_the_webhook,
    redirects_and_slow_and_endless_responses_are_failures,
    old_events_are_given_up,
    instances_send_each_event_once,
}

const QUICK: WebhookTimes = WebhookTimes {
    response: Duration::from_secs(2),
    poll_interval: Duration::from_millis(10),
    shortest_pause: Duration::from_millis(20),
    longest_pause_for_all: Duration::from_millis(200),
    longest_pause: Duration::from_millis(400),
    max_age: Duration::from_secs(600),
};

/// Sends the events of a list, which records them from now on.
async fn send(list: &Arc<dyn Waitlist>, url: &str, times: WebhookTimes) -> AbortOnDropHandle<()> {
    let options = [
        &*format!("--webhook={url}"),
        &*format!("--webhook-secret={SECRET}"),
    ];
    let config = parse_config(&options).expect("options");
    let settings = config.webhook.settings().expect("valid").expect("set");
    let mut sender = WebhookSender::new(settings).expect("a sender");
    sender.times = times;
    list.record_events(true).await.expect("recorded");
    let list = Arc::clone(list);
    AbortOnDropHandle::new(tokio::spawn(
        async move { run_webhook(&sender, &*list).await },
    ))
}

async fn wait_until(what: &str, holds: impl AsyncFn() -> bool) {
    assert!(eventually(holds).await, "timed out: {what}");
}

/// Waits until this number of events waits.
async fn wait_for_pending(list: &dyn Waitlist, expected: u64) {
    wait_until("the events are sent", async || {
        let pending = list.pending_events().await.expect("readable");
        pending.map(|it| it.count) == Some(expected)
    })
    .await;
}

fn switch() -> (Arc<AtomicBool>, impl Fn() -> bool) {
    let switch = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&switch);
    (switch, move || other.load(Ordering::SeqCst))
}

async fn events_are_signed_and_say_what_is_documented(fixture: impl StoreFixture) {
    // The endpoint verifies the signatures.
    let (endpoint, list) = (Endpoint::start(), fixture.open());
    join(&*list, "earlier@example.com").await;
    let _sending = send(&list, &endpoint.url(), QUICK).await;
    let ann = WaitlistEntry {
        source: Some("hn".parse().expect("a source")),
        ..WaitlistEntry::new(email("Ann@example.com"), SystemTime::now())
    };
    assert_eq!(list.join(ann).await, Ok(JoinOutcome::New));
    let confirmed = Fact::ConfirmedAt(SystemTime::now());
    let confirmed = add_fact(&*list, "ann@example.com", confirmed).await;
    assert_eq!(confirmed, Ok(true));
    assert!(erase(&*list, "earlier@example.com").await);
    wait_for_pending(&*list, 0).await;
    let received = endpoint.received();
    let what: Vec<_> = received.iter().map(Received::what).collect();
    assert_eq!(
        what,
        [
            "person.joined Ann@example.com",
            "person.confirmed Ann@example.com",
            "person.left earlier@example.com"
        ]
    );
    let time = received[0].body["timestamp"].as_str().expect("a time");
    let at: jiff::Timestamp = time.parse().expect("RFC 3339");
    assert!(SystemTime::from(at).elapsed().expect("past") < Duration::from_secs(60));
    let data = json!({ "email": "Ann@example.com", "source": "hn" });
    let expected = json!({ "type": "person.joined", "timestamp": time, "data": data });
    assert_eq!(received[0].body, expected);
    assert_eq!(received[2].body["data"]["source"], json!(null));
    let head = &received[0].head;
    assert!(
        head.contains("content-type: application/json\r\n"),
        "{head}"
    );
    let ids: HashSet<_> = received.iter().map(|it| &it.id).collect();
    assert_eq!(ids.len(), 3);
}

/// Every kind of failure, by chance.
async fn events_of_a_person_arrive_in_order_despite_failures(fixture: impl StoreFixture) {
    let random = std::sync::Mutex::new(StdRng::seed_from_u64(1));
    let endpoint =
        Endpoint::scripted(
            move |_| match random.lock().expect("no panic").random_range(0..12) {
                0 => Reply::Status(500),
                1 => Reply::Status(503),
                2 => Reply::Status(422),
                3 => Reply::Cut,
                4 => Reply::Raw("HTTP/1.1 200".to_owned() + &"x".repeat(100)),
                _ => Reply::Status(200),
            },
        );
    let list = fixture.open();
    let _sending = send(&list, &endpoint.url(), QUICK).await;
    for _ in 0..2 {
        for number in 0..15 {
            let typed = format!("{number}@example.com");
            join(&*list, &typed).await;
            erase(&*list, &typed).await;
        }
    }
    wait_for_pending(&*list, 0).await;
    let mut by_person = BTreeMap::<_, Vec<_>>::new();
    for it in endpoint.received() {
        let person = it.body["data"]["email"].to_string();
        let kind = it.body["type"].as_str().expect("a type").to_owned();
        by_person
            .entry(person)
            .or_default()
            .push((it.id.clone(), kind, it.is_accepted()));
    }
    assert_eq!(by_person.len(), 15);
    for (person, attempts) in by_person {
        // No attempt of an event comes before the last one of the event before it.
        let events: Vec<_> = attempts.chunk_by(|a, b| a.0 == b.0).collect();
        let kinds: Vec<_> = events.iter().map(|it| &*it[0].1).collect();
        let (joined, left) = ("person.joined", "person.left");
        assert_eq!(kinds, [joined, left, joined, left], "{person}");
        assert!(events.iter().all(|it| it.last().is_some_and(|last| last.2)));
    }
}

async fn failing_endpoint_gets_one_event_after_each_pause_and_then_all(fixture: impl StoreFixture) {
    let (works, is_working) = switch();
    let endpoint = Endpoint::scripted(move |_| match is_working() {
        true => Reply::Status(200),
        false => Reply::Status(500),
    });
    let list = fixture.open();
    let _sending = send(&list, &endpoint.url(), QUICK).await;
    for number in 0..20 {
        join(&*list, &format!("{number}@example.com")).await;
    }
    wait_until("it was tried", async || endpoint.received().len() > 8).await;
    let received = endpoint.received();
    for pair in received.windows(2) {
        // The sender knows of its first failure at the latest when the second request arrives.
        let before = pair[0].at.saturating_duration_since(received[1].at);
        let gap = pair[1].at - pair[0].at;
        let expected = (before / 2).clamp(QUICK.shortest_pause, QUICK.longest_pause_for_all);
        assert!(gap >= expected, "{gap:?} after {before:?}");
    }
    works.store(true, Ordering::SeqCst);
    wait_for_pending(&*list, 0).await;
    let accepted: BTreeSet<_> = endpoint.accepted().into_iter().collect();
    assert_eq!((accepted.len(), endpoint.accepted().len()), (20, 20));
}

/// The receiver cannot handle some people, who are before all others.
async fn event_that_fails_stops_only_its_person(fixture: impl StoreFixture) {
    let (works, is_working) = switch();
    let endpoint = Endpoint::scripted(move |what| match what.contains("poison") {
        true if !is_working() => Reply::Status(422),
        _ => Reply::Status(200),
    });
    let list = fixture.open();
    let _sending = send(&list, &endpoint.url(), QUICK).await;
    let poison: Vec<_> = (0..10)
        .map(|it| format!("poison{it}@example.com"))
        .collect();
    for typed in &poison {
        join(&*list, typed).await;
        erase(&*list, typed).await;
    }
    // They have failed for longer than the longest pause.
    wait_until("each was tried", async || endpoint.received().len() > 20).await;
    for number in 0..200 {
        join(&*list, &format!("{number}@example.com")).await;
    }
    wait_for_pending(&*list, 20).await;
    let expected = (0..200).map(|it| format!("person.joined {it}@example.com"));
    assert!(endpoint.accepted().into_iter().eq(expected));
    let is_left = |it: &Received| it.what().starts_with("person.left");
    assert!(!endpoint.received().iter().any(is_left));
    works.store(true, Ordering::SeqCst);
    wait_for_pending(&*list, 0).await;
    for typed in poison {
        let accepted = endpoint
            .accepted()
            .into_iter()
            .filter(|it| it.ends_with(&typed));
        let expected = ["joined", "left"].map(|kind| format!("person.{kind} {typed}"));
        assert_eq!(accepted.collect::<Vec<_>>(), expected);
    }
}

/// An event that was rejected, and others that were accepted since, do not hide that nothing is accepted any more.
#[tokio::test]
async fn outage_is_reported_soon_after_another_failure() {
    let (captured, _log) = CapturedLog::start();
    let (is_down, down) = switch();
    let endpoint = Endpoint::scripted(move |what| match what.contains("poison") || down() {
        true => Reply::Status(503),
        false => Reply::Status(200),
    });
    let list = MemoryFixture::default().open();
    let times = WebhookTimes {
        longest_pause: Duration::from_secs(600),
        ..QUICK
    };
    let _sending = send(&list, &endpoint.url(), times).await;
    let reports = |line| captured.text().matches(line).count();
    join(&*list, "poison@example.com").await;
    wait_until("it is reported", async || reports("the webhook fails") == 1).await;
    join(&*list, "ann@example.com").await;
    wait_until("it works", async || reports("works again") == 1).await;
    is_down.store(true, Ordering::SeqCst);
    join(&*list, "bob@example.com").await;
    wait_until("it is reported", async || reports("the webhook fails") == 2).await;
}

async fn endpoint_that_is_gone_ends_the_webhook(fixture: impl StoreFixture) {
    let endpoint = Endpoint::scripted(|_| Reply::Status(410));
    let list = fixture.open();
    let sending = send(&list, &endpoint.url(), QUICK).await;
    for number in 0..3 {
        join(&*list, &format!("{number}@example.com")).await;
    }
    wait_until("it ends", async || list.pending_events().await == Ok(None)).await;
    join(&*list, "ann@example.com").await;
    assert_eq!(list.pending_events().await, Ok(None));
    assert_eq!(endpoint.received().len(), 1);
    drop(sending);
    // The next start.
    let endpoint = Endpoint::start();
    let _sending = send(&list, &endpoint.url(), QUICK).await;
    join(&*list, "bob@example.com").await;
    wait_for_pending(&*list, 0).await;
    assert_eq!(endpoint.accepted(), ["person.joined bob@example.com"]);
}

async fn redirects_and_slow_and_endless_responses_are_failures(fixture: impl StoreFixture) {
    let other = Endpoint::start();
    let empty = "content-length: 0\r\n\r\n";
    let failures = [
        Reply::Hang,
        Reply::Raw(format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(200_000))),
        Reply::Raw(format!(
            "HTTP/1.1 307 R\r\nlocation: {}\r\n{empty}",
            other.url()
        )),
    ];
    let tries = AtomicUsize::new(0);
    let endpoint = Endpoint::scripted(move |_| {
        let failure = failures.get(tries.fetch_add(1, Ordering::SeqCst));
        failure.cloned().unwrap_or(Reply::Endless(200))
    });
    let list = fixture.open();
    let times = WebhookTimes {
        response: Duration::from_millis(500),
        ..QUICK
    };
    let _sending = send(&list, &endpoint.url(), times).await;
    join(&*list, "ann@example.com").await;
    wait_for_pending(&*list, 0).await;
    let received = endpoint.received();
    assert_eq!(received.len(), 4, "{received:?}");
    assert!(other.received().is_empty());
}

async fn old_events_are_given_up(fixture: impl StoreFixture) {
    let (works, is_working) = switch();
    let endpoint = Endpoint::scripted(move |what| match is_working() {
        true if what.contains("poison") => Reply::Status(422),
        true => Reply::Status(200),
        false => Reply::Cut,
    });
    let list = fixture.open();
    list.record_events(true).await.expect("recorded");
    for number in 0..50 {
        join(&*list, &format!("{number}@example.com")).await;
    }
    let times = WebhookTimes {
        max_age: Duration::ZERO,
        ..QUICK
    };
    {
        let _sending = send(&list, &endpoint.url(), times).await;
        wait_for_pending(&*list, 0).await;
        let attempts = endpoint.received().len();
        // However slow the machine is.
        assert!((1..50).contains(&attempts), "{attempts} attempts");
    }
    // Events that waited because no server ran are sent.
    for name in ["poison", "ann", "bob"] {
        join(&*list, &format!("{name}@example.com")).await;
    }
    works.store(true, Ordering::SeqCst);
    // However slow the machine is.
    let times = WebhookTimes {
        longest_pause: QUICK.max_age,
        ..times
    };
    let _sending = send(&list, &endpoint.url(), times).await;
    wait_for_pending(&*list, 0).await;
    let accepted = ["ann", "bob"].map(|name| format!("person.joined {name}@example.com"));
    assert_eq!(endpoint.accepted(), accepted);
}

async fn instances_send_each_event_once(fixture: impl StoreFixture) {
    let endpoint = Endpoint::start();
    let first = fixture.open();
    // A machine that is slow for two seconds would let another instance send the same event.
    let times = WebhookTimes {
        response: Duration::from_secs(15),
        ..QUICK
    };
    let mut sending = vec![send(&first, &endpoint.url(), times).await];
    let mut lists = vec![Arc::clone(&first)];
    if fixture.is_shared() {
        for _ in 0..2 {
            let list = fixture.open();
            sending.push(send(&list, &endpoint.url(), times).await);
            lists.push(list);
        }
    }
    for number in 0..60 {
        let list = &lists[number % lists.len()];
        join(&**list, &format!("{number}@example.com")).await;
    }
    wait_for_pending(&*first, 0).await;
    let expected = (0..60).map(|it| format!("person.joined {it}@example.com"));
    assert!(endpoint.accepted().into_iter().eq(expected));
    // One that runs without a webhook ends it for all.
    lists[lists.len() - 1]
        .record_events(false)
        .await
        .expect("recorded");
    assert_eq!(first.pending_events().await, Ok(None));
    join(&*first, "nobody@example.com").await;
    // A start with one lets all go on.
    first.record_events(true).await.expect("recorded");
    join(&*first, "ann@example.com").await;
    wait_for_pending(&*first, 0).await;
    let last = endpoint.accepted().pop();
    assert_eq!(last.as_deref(), Some("person.joined ann@example.com"));
    assert_eq!(endpoint.accepted().len(), 61);
}
