//! `landing export`.

use super::{send::send, with_three_people};
use crate::mail::smtp_server::SmtpServer;

/// Owners pass exports on. With the key of the list, anybody could unsubscribe everybody.
#[test]
fn export_has_no_key_no_hash_and_no_ledger() {
    for cli in with_three_people() {
        let server = SmtpServer::start();
        send(&cli, &server, &["--all"]);
        cli.stdout(&["unsubscribe", "ann@example.com"]);
        let expected = "\u{feff}email,joined_at,source,confirmed_at\n\
                        Bob@Example.com,2026-11-02T08:00:00.250Z,,\n\
                        cyd@example.com,2026-11-03T08:00:00.000Z,,\n";
        assert_eq!(cli.stdout(&["export"]), expected);
        assert_eq!(cli.stdout(&["export", "--json"]).lines().count(), 2);
    }
}
