//! `landing show`: the messages to a person.

use serde_json::json;

use super::{send::send, with_three_people};
use crate::mail::smtp_server::{Action, SmtpServer, Step};

#[test]
fn shows_the_messages_to_a_person_also_to_one_who_has_left() {
    for cli in with_three_people() {
        let server =
            SmtpServer::acting(Step::Recipient, "ann", Action::Reply("550 5.2.1 disabled"));
        send(&cli, &server, &["--all"]);
        let message = |shown: &str| {
            let line = shown.lines().last().expect("lines").to_owned();
            let parts: Vec<_> = line.split("  ").map(str::trim).map(str::to_owned).collect();
            assert!(
                parts.iter().any(|it| it.starts_with("20")),
                "a time: {line}"
            );
            (line, parts)
        };
        let (line, parts) = message(&cli.stdout(&["show", "ann@example.com"]));
        assert!(
            line.starts_with("message       launch  refused  "),
            "{line}"
        );
        assert_eq!(parts.last().map(String::as_str), Some("550 5.2.1 disabled"));
        let json = cli.json(&["show", "bob@example.com"]);
        let sent = &json["messages"][0];
        assert_eq!(
            (&sent["id"], &sent["state"], &sent["attempts"]),
            (&json!("launch"), &json!("accepted"), &json!(1))
        );
        // The hash stays, so that a person who joins again does not get the message again.
        cli.run(&["erase", "ann@example.com"]).success();
        let shown = cli.stdout(&["show", "ann@example.com"]);
        assert!(
            shown.starts_with(
                "address       ann@example.com is not on the list; it has a keyed hash"
            ),
            "{shown}"
        );
        assert_eq!(message(&shown).0, line);
    }
}
