//! The files of `landing backup`, as the program writes them.

use landing::waitlist::ListKey;
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

/// Returns a backup with every kind of line, every field, and every state of a delivery except those under way, in the
/// format of 0.1.0 and with [`key`].
pub(crate) fn everything() -> String {
    include_str!("fixtures/everything.backup").to_owned()
}

pub(crate) fn message(id: &str, subject: &str, text_digest: &str) -> String {
    let begun_at = time(8, 0);
    format!(
        r#"{{"message":{{"id":"{id}","begun_at":{begun_at},"subject":"{subject}","text_digest":{text_digest}}}}}"#
    )
}
