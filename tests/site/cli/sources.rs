//! The sources and the confirmations of people in `list` and `show`.

use std::time::{Duration, UNIX_EPOCH};

use landing::waitlist::WaitlistEntry;
use serde_json::json;

use super::entries::{all_stores_with, from_source, joined_ago, without_server_with};

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
