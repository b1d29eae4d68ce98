//! `landing show` and `landing correct`.

use serde_json::json;

use super::{send::send, stderr, with_three_people};
use crate::mail::smtp_server::{Action, SmtpServer, Step};

#[test]
fn shows_everything_that_is_stored_about_a_person() {
    for cli in with_three_people() {
        let shown = cli.stdout(&["show", "Ann <ANN@example.com>"]);
        let expected = "address       ann@example.com\njoined at     2026-11-01T08:00:00.000Z\n";
        assert_eq!(shown, expected);
        let expected = json!({ "email": "ann@example.com", "joined_at": "2026-11-01T08:00:00.000Z",
                    "suppressed": false, "messages": [] });
        assert_eq!(cli.json(&["show", "ann@EXAMPLE.com"]), expected);
        let error = stderr(&cli.run(&["show", "amy@example.com"]).code(1));
        assert!(
            error.contains(&format!(
                "amy@example.com is not on the list in {}; nothing is stored about this address, also no hash",
                cli.location()
            )),
            "{error}"
        );
        let error = stderr(&cli.run(&["show", "Ann"]).code(1));
        assert!(error.contains("an address needs an @"), "{error}");
    }
}

#[test]
fn shows_the_messages_to_a_person_also_to_one_who_has_left() {
    for cli in with_three_people() {
        let server = SmtpServer::scripted(|step, line| match step {
            Step::Recipient if line.contains("ann") => Action::Reply("550 5.2.1 disabled"),
            _ => Action::Continue,
        });
        send(&cli, &server, &["--all", "--connections", "1"]);
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

#[test]
fn corrects_an_address_and_keeps_its_time() {
    for cli in with_three_people() {
        let stdout = cli.stdout(&["correct", "ANN@example.com", "Ann <anna@example.com>"]);
        assert_eq!(stdout, "ANN@example.com is now anna@example.com\n");
        let listed = cli.listed();
        let first = listed.first().expect("three people");
        assert_eq!(first, "2026-11-01T08:00:00.000Z\tanna@example.com");
        assert_eq!(cli.stdout(&["count"]), "3\n");
        cli.stdout(&["check"]);
        if let Some(server) = &cli.server {
            assert_eq!(server.join("anna@example.com"), "409");
            assert_eq!(server.join("ann@example.com"), "201");
        }
    }
}

#[test]
fn impossible_corrections_change_nothing() {
    for cli in with_three_people() {
        let before = cli.listed();
        let not_listed = format!(
            "amy@example.com is not on the list in {}; check",
            cli.location()
        );
        for (old, new, code, expected) in [
            ("amy@example.com", "amy@example.org", 1, &*not_listed),
            (
                "ann@example.com",
                "BOB@example.com",
                1,
                "is on the list already",
            ),
            ("ann@example.com", "ann", 2, "an address needs an @"),
            (
                "ann",
                "ann@example.org",
                1,
                "ann is not an address: an address needs an @",
            ),
        ] {
            let error = stderr(&cli.run(&["correct", old, new]).code(code));
            assert!(error.contains(expected), "{old} {new}: {error}");
        }
        assert_eq!(cli.listed(), before);
    }
}
