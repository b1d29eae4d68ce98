//! `landing check`.

use std::time::{Duration, SystemTime};

use landing::{
    mail::confirmation_code,
    waitlist::{DeliveryState, DeliveryStatus, Email, Fact, ListKey, MessageId, SledWaitlist},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{
    TestCli, assert_contains, people_csv, stderr, stdout, with_raw_record, with_server,
    without_server,
};
use crate::{
    mail::smtp_server::{Action, SmtpServer, Step},
    process::{Sandbox, ServerProcess, wait_until},
    store::{
        add_fact,
        confirmation_fixtures::{
            add_attempts, add_deliveries, add_deliveries_of, begin_welcome, join_asked,
            join_confirmed,
        },
    },
};

#[test]
fn finds_no_fault_during_sign_ups() {
    let cli = with_server();
    let server = cli.server.as_ref().expect("the program runs");
    std::thread::scope(|scope| {
        let joining = scope.spawn(|| {
            for number in 0..300 {
                assert_eq!(server.join(&format!("{number}@example.com")), "201");
            }
        });
        while !joining.is_finished() {
            cli.stdout(&["check"]);
        }
    });
    assert_eq!(cli.stdout(&["check"]), "300 on the list, no faults\n");
}

#[test]
fn finds_no_fault_during_erasures() {
    let cli = with_server();
    cli.run_with_input(&["import"], people_csv(8_000)).success();
    std::thread::scope(|scope| {
        let erasing = scope.spawn(|| {
            for number in (0..300).step_by(20) {
                let people = number..number + 20;
                let people = people.map(|number| format!("person{number}@example.com"));
                let args: Vec<_> = ["erase".to_owned()].into_iter().chain(people).collect();
                cli.run(&args.iter().map(String::as_str).collect::<Vec<_>>())
                    .success();
            }
        });
        while !erasing.is_finished() {
            let checked = cli.json(&["check"]);
            assert_eq!(checked["faults"], json!([]), "{checked}");
        }
    });
    assert_eq!(cli.stdout(&["check"]), "7700 on the list, no faults\n");
}

/// Returns a record with three faulty entries: an invalid address, and impossible times.
fn corrupted_record() -> Vec<u8> {
    let [past, future] = [1u64, 1 << 42].map(u64::to_be_bytes);
    let entries = [
        &[7, 0][..],
        &past[..],
        b"no mail",
        &[15, 0],
        &future,
        b"bob@example.com",
        &[15, 0],
        &future,
        b"EVE@example.com",
    ];
    entries.concat()
}

#[test]
fn reports_invalid_addresses_and_impossible_times() {
    for is_served in [false, true] {
        let cli = with_raw_record(&corrupted_record(), is_served);
        let result = cli.run(&["check"]).code(1);
        let at = |number: u8| {
            let line = number + 1;
            format!("entry {number}, in order of sign-up (line {line} of `landing export`)")
        };
        let exported = cli.stdout(&["export"]);
        assert_eq!(
            exported
                .lines()
                .position(|line| line.starts_with("no mail,")),
            Some(1)
        );
        assert_eq!(
            exported.lines().position(|line| line.starts_with("EVE@")),
            Some(3)
        );
        assert_eq!(
            stdout(&result),
            format!(
                "{}: an address needs an @\n{}: joined_at: its time is before e-mail existed\n\
                 {}: joined_at: its time is in the future, perhaps because the clock was wrong\n{}: joined_at: its time is in the future, perhaps because the clock was wrong\n",
                at(1),
                at(1),
                at(2),
                at(3)
            )
        );
        let stderr = stderr(&result);
        assert_contains(&stderr, "faults in 3 entries");
        assert!(
            !stderr.contains("bob"),
            "addresses are not printed: {stderr}"
        );
        let faults = cli.json(&["check"])["faults"].as_array().map(Vec::len);
        assert_eq!(faults, Some(4));
        // `erase` removes invalid addresses too.
        cli.run(&["erase", "no mail", "bob@example.com", "eve@example.com"])
            .success();
        assert_eq!(cli.stdout(&["check"]), "0 on the list, no faults\n");
    }
}

/// Starts a server that asks people to confirm their address.
fn asking_server(smtp: &str) -> TestCli {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.args([
        "--confirm-signups",
        "--mail-from=hello@steward.test",
        "--origin=https://steward.test",
        &format!("--smtp={smtp}"),
    ]);
    TestCli {
        server: Some(ServerProcess::start(command)),
        sandbox,
        database: None,
    }
}

#[test]
fn counts_the_people_who_wait_for_a_confirmation_message() {
    let mail = SmtpServer::acting(Step::Recipient, "", Action::Reply("450 4.2.1 later"));
    let cli = asking_server(&mail.url());
    let server = cli.server.as_ref().expect("the program runs");
    for typed in ["ann@example.com", "bob@example.com", "cyd@example.com"] {
        assert_eq!(server.join(typed), "201");
    }
    let waiting = || cli.json(&["check"])["confirmations"]["waiting"].clone();
    wait_until("three people wait", || waiting() == json!(3));
    cli.run(&["erase", "ann@example.com"]).success();
    assert_eq!(waiting(), json!(2));
    // Bob confirms by the code of a message that has arrived all the same.
    let backup = cli.stdout(&["backup"]);
    let header: Value = serde_json::from_str(backup.lines().next().expect("a line")).expect("JSON");
    let key: ListKey = serde_json::from_value(header["backup"]["key"].clone()).expect("a key");
    let bob = Email::parse("bob@example.com").expect("an address");
    let joined_at = cli.json(&["show", "bob@example.com"])["joined_at"].clone();
    let joined_at: jiff::Timestamp = joined_at.as_str().expect("a time").parse().expect("a time");
    let code = confirmation_code(&key, &bob, joined_at.into());
    let body = format!(r#"{{"email":"bob@example.com","code":"{code}"}}"#);
    server.request("POST", "/api/waitlist/confirm", &body);
    assert_eq!(waiting(), json!(1));
}

/// Nobody was asked yet, because the mail server cannot be reached.
#[test]
fn people_wait_for_a_mail_server_that_cannot_be_reached() {
    let cli = asking_server("smtp://127.0.0.1:1");
    let server = cli.server.as_ref().expect("the program runs");
    assert_eq!(server.join("ann@example.com"), "201");
    let confirmations = || cli.json(&["check"])["confirmations"].clone();
    let expected = json!({ "last_24_hours": 0, "waiting": 1, "given_up": 0 });
    wait_until("one person waits", || confirmations() == expected);
}

/// Ann's message was tried as often as any is. Bob's has one attempt left, and Cyd has confirmed by an old message. Of the
/// welcomes, nobody knows whether Cyd's was sent, and Dee waits for hers.
#[test]
fn counts_the_people_whose_message_was_given_up() {
    let cli = without_server();
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let list = SledWaitlist::open(&cli.sandbox.path().join("data")).expect("a new list");
        for typed in ["ann@example.com", "bob@example.com", "cyd@example.com"] {
            join_asked(&list, typed, Duration::from_secs(60)).await;
        }
        let people = ["ann@example.com", "bob@example.com", "cyd@example.com"];
        add_deliveries(&list, &people.map(|it| (it, DeliveryState::Waiting, None))).await;
        let deferred = DeliveryStatus {
            since: Some(SystemTime::now()),
            ..DeliveryStatus::new(DeliveryState::Deferred)
        };
        for (number, attempts) in [(0, 20), (1, 19), (2, 20)] {
            add_attempts(&list, number, attempts, &deferred).await;
        }
        let confirmed = Fact::ConfirmedAt(SystemTime::now());
        let confirmed = add_fact(&list, "cyd@example.com", confirmed).await;
        assert_eq!(confirmed, Ok(true));
        begin_welcome(&list).await;
        let cyd = ("cyd@example.com", DeliveryState::Unknown, deferred.since);
        add_deliveries_of(&list, MessageId::welcome(), &[cyd]).await;
        join_confirmed(&list, "dee@example.com", Duration::from_secs(60)).await;
    });
    assert_eq!(
        cli.stdout(&["check"]),
        "4 on the list, no faults\n\
         12 messages to confirm an address in the last 24 hours, 1 person waits for one\n\
         1 person may have got none: `landing messages confirmation` says why\n\
         1 message of welcome in the last 24 hours, 1 person waits for one\n\
         1 person may have got none: `landing messages confirmation-welcome` says why\n"
    );
    let confirmations = &cli.json(&["check"])["confirmations"];
    let expected = json!({ "last_24_hours": 12, "waiting": 1, "given_up": 1 });
    assert_eq!(confirmations, &expected);
}
