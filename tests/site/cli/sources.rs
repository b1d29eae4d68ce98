//! The sources of sign-ups in `list`, `show`, `count` and `export`, and the options that select them.

use std::time::{Duration, UNIX_EPOCH};

use landing::waitlist::WaitlistEntry;
use serde_json::json;

use super::{
    entries::{all_stores_with, from_source, joined_ago, without_server_with},
    stderr, without_server,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns Ann without a source, and Bob from `hn` with a confirmed address.
fn two_people() -> [WaitlistEntry; 2] {
    let [ann, bob] = ["ann", "bob"].map(|name| joined_ago(name, DAY));
    let time = |millis| UNIX_EPOCH + Duration::from_millis(millis);
    [
        WaitlistEntry {
            joined_at: time(1_793_520_000_000),
            ..ann
        },
        WaitlistEntry {
            joined_at: time(1_793_606_400_000),
            confirmed_at: Some(time(1_793_606_460_250)),
            ..from_source("hn", bob)
        },
    ]
}

#[test]
fn list_prints_the_source_and_the_confirmation_last() {
    for cli in all_stores_with(&two_people()) {
        assert_eq!(
            cli.stdout(&["list"]),
            "2026-11-02T08:00:00.000Z\tbob@example.com\thn\t2026-11-02T08:01:00.250Z\n\
             2026-11-01T08:00:00.000Z\tann@example.com\n"
        );
        assert_eq!(
            cli.stdout(&["list", "--json"]),
            "{\"email\":\"bob@example.com\",\"joined_at\":\"2026-11-02T08:00:00.000Z\",\"source\":\"hn\",\
             \"confirmed_at\":\"2026-11-02T08:01:00.250Z\"}\n\
             {\"email\":\"ann@example.com\",\"joined_at\":\"2026-11-01T08:00:00.000Z\"}\n"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn list_prints_columns_on_a_terminal() {
    let cli = without_server_with(&two_people());
    let shown = cli.shown_on_terminal("list --store data").replace('\r', "");
    assert_eq!(
        shown,
        "JOINED AT                 EMAIL                             SOURCE            CONFIRMED AT\n\
         2026-11-02T08:00:00.000Z  bob@example.com                   hn                2026-11-02T08:01:00.250Z\n\
         2026-11-01T08:00:00.000Z  ann@example.com\n"
    );
}

#[test]
fn show_prints_the_source_and_the_confirmation() {
    for cli in all_stores_with(&two_people()) {
        assert_eq!(
            cli.stdout(&["show", "bob@example.com"]),
            "address       bob@example.com\n\
             joined at     2026-11-02T08:00:00.000Z\n\
             source        hn\n\
             confirmed at  2026-11-02T08:01:00.250Z\n"
        );
        assert_eq!(
            cli.json(&["show", "bob@example.com"]),
            json!({
                "email": "bob@example.com",
                "joined_at": "2026-11-02T08:00:00.000Z",
                "source": "hn",
                "confirmed_at": "2026-11-02T08:01:00.250Z",
                "suppressed": false,
                "messages": [],
            })
        );
    }
}

#[test]
fn selects_by_source() {
    for cli in all_stores_with(&two_people()) {
        for (source, count) in [("hn", 1), (" HN ", 1), ("h", 0)] {
            let selected = ["--source", source];
            let stdout = |command| {
                let output = cli.run(&[&[command][..], &selected].concat()).success();
                super::stdout(&output)
            };
            assert_eq!(stdout("count"), format!("{count}\n"));
            assert_eq!(stdout("list").lines().count(), count);
            let exported = stdout("export");
            assert_eq!(
                exported.contains("bob@example.com"),
                count == 1,
                "{exported}"
            );
            assert!(!exported.contains("ann@example.com"), "{exported}");
            for command in ["count", "list", "export"] {
                // The source may be misspelt.
                let message = stderr(&cli.run(&[command, "--source", source]).success());
                let is_noted = message.contains("`landing stats --by source` lists the sources");
                assert_eq!(is_noted, count == 0, "{command}: {message}");
            }
            let stats = cli.json(&[&["stats"][..], &selected].concat());
            assert_eq!(
                (&stats["people"], &stats["no_source"]["people"]),
                (&json!(count), &json!(0))
            );
        }
    }
}

#[test]
fn invalid_source_error_says_what_a_source_has() {
    let cli = without_server();
    for command in ["list", "count", "export", "stats", "report"] {
        for source in ["", "a/b", "b\u{fc}cher"] {
            let error = stderr(&cli.run(&[command, "--source", source]).code(2));
            let expected = "a source has only letters (a-z), digits, dots, hyphens and underscores";
            assert!(error.contains(expected), "{error}");
        }
    }
}
