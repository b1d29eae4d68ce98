//! The files of `landing backup`, as the program writes them.

use landing::waitlist::{AddressHash, ListKey};
use serde::Serialize;

use super::sha256;

/// The key of the list in [`everything`].
fn key() -> ListKey {
    ListKey::from_slice(&[7; 32]).expect("32 bytes")
}

/// Returns the hash of an address under [`key`], as a backup has it.
pub(crate) fn hash(address: &str) -> String {
    to_json(&key().hash(address))
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("JSON")
}

/// Returns a time of day on 21 November 2026, as a backup has it.
pub(crate) fn time(hour: u64, nanos: u32) -> String {
    let seconds = 1_795_219_200 + hour * 3600;
    format!(r#"{{"secs_since_epoch":{seconds},"nanos_since_epoch":{nanos}}}"#)
}

/// Returns a backup with these lines between the first and the last one.
pub(crate) fn with_lines(lines: &[String]) -> String {
    let header = format!(
        r#"{{"backup":{{"format":1,"program":"landing 0.1.0","created_at":{},"key":{}}}}}"#,
        time(8, 0),
        to_json(&key())
    );
    let body = lines.iter().map(|line| format!("{line}\n"));
    let text = format!("{header}\n{}", body.collect::<String>());
    let count = |kind: &str| {
        let start = format!("{{\"{kind}\":");
        lines.iter().filter(|line| line.starts_with(&start)).count()
    };
    let end = format!(
        r#"{{"end":{{"people":{},"suppressed":{},"departures":{},"messages":{},"deliveries":{},"sha256":"{}"}}}}"#,
        count("person"),
        count("suppressed"),
        count("departure"),
        count("message"),
        count("delivery"),
        sha256(&text)
    );
    text + &end + "\n"
}

/// Returns a delivery. `status` has what follows the state.
pub(crate) fn delivery(
    message: &str,
    address: &str,
    state: &str,
    status: &str,
    attempts: u32,
) -> String {
    let recipient = hash(address);
    format!(
        r#"{{"delivery":["{message}",{{"recipient":{recipient},"status":{{"state":"{state}",{status}}},"attempts":{attempts}}}]}}"#
    )
}

/// Returns a person. `facts` has what follows the sign-up time.
pub(crate) fn person(email: &str, joined_at: &str, facts: &str) -> String {
    format!(r#"{{"person":{{"email":"{email}","joined_at":{joined_at},{facts}}}}}"#)
}

/// What follows the sign-up time of a person of whom nothing else is known, and the state of such a delivery.
pub(crate) const NO_FACTS: &str = r#""source":null,"asked_at":null,"confirmed_at":null"#;
pub(crate) const NO_RESULT: &str = r#""since":null,"reply":null"#;

/// Returns a backup with every kind of line, every field, and every state of a delivery except those under way.
pub(crate) fn everything() -> String {
    let suppressed = ["dan@example.com", "eve@example.com", "cyd@example.com"];
    let mut suppressed: Vec<AddressHash> = suppressed.map(|it| key().hash(it)).to_vec();
    suppressed.sort_unstable();
    let suppressed = suppressed.iter();
    let suppressed = suppressed.map(|hash| format!(r#"{{"suppressed":{}}}"#, to_json(hash)));
    let mut lines: Vec<_> = suppressed.collect();
    let (eight, nine) = (time(8, 0), time(9, 500_000_000));
    let replied = |code: u16, text: &str| {
        let since = time(10, 125_000_000);
        format!(r#""since":{since},"reply":{{"code":{code},"text":"{text}"}}"#)
    };
    let silent = format!(r#""since":{nine},"reply":null"#);
    lines.extend([
        r#"{"departure":{"id":"0b8d3c1e-6f1c-4d9a-9a53-0f6a2d0b7c11","source":"hn"}}"#.to_owned(),
        r#"{"departure":{"id":"9b8d3c1e-6f1c-4d9a-9a53-0f6a2d0b7c11","source":null}}"#.to_owned(),
        message("confirmation-1", "123456 is your code", "null"),
        delivery(
            "confirmation-1",
            "bob@example.com",
            "deferred",
            &replied(451, "4.7.1 later \\\"please\\\""),
            3,
        ),
        delivery(
            "confirmation-1",
            "ann@example.com",
            "accepted",
            &replied(250, ""),
            1,
        ),
        message("launch", "We are open 🎉", &to_json(&[9; 32])),
        delivery(
            "launch",
            "ann@example.com",
            "accepted",
            &replied(250, "2.0.0 Ok: queued as 4bX"),
            1,
        ),
        delivery(
            "launch",
            "bob@example.com",
            "refused",
            &replied(550, "5.1.1 no such user"),
            1,
        ),
        delivery("launch", "cyd@example.com", "unknown", &silent, 1),
        delivery("launch", "dan@example.com", "skipped", &silent, 0),
        delivery("launch", "eve@example.com", "waiting", NO_RESULT, 0),
        person(
            "old@example.com",
            r#"{"secs_since_epoch":0,"nanos_since_epoch":1000000}"#,
            NO_FACTS,
        ),
        person(
            "ann@example.com",
            &eight,
            &format!(r#""source":"hn","asked_at":{eight},"confirmed_at":{nine}"#),
        ),
        person(
            "Bob@Example.com",
            &nine,
            &format!(r#""source":null,"asked_at":{nine},"confirmed_at":null"#),
        ),
        // In the order of their sign-ups.
        person(
            "=1+1@example.com",
            &nine,
            r#""source":"-x","asked_at":null,"confirmed_at":null"#,
        ),
        // The owner has corrected the address to one that is suppressed.
        person("cyd@example.com", &nine, NO_FACTS),
        person(
            "andré@bücher.example",
            &nine,
            &format!(r#""source":null,"asked_at":null,"confirmed_at":{nine}"#),
        ),
    ]);
    with_lines(&lines)
}

pub(crate) fn message(id: &str, subject: &str, text_digest: &str) -> String {
    let begun_at = time(8, 0);
    format!(
        r#"{{"message":{{"id":"{id}","begun_at":{begun_at},"subject":"{subject}","text_digest":{text_digest}}}}}"#
    )
}
