//! `landing erase`.

use serde_json::json;

use super::{stderr, stdout, with_three_people};
use crate::process::wait_until;

#[test]
fn erased_people_leave_the_count_list_and_export() {
    for cli in with_three_people() {
        assert_eq!(
            cli.stdout(&["erase", "bob@example.com", "CYD@example.com"]),
            "bob@example.com is erased\nCYD@example.com is erased\n"
        );
        assert_eq!(cli.stdout(&["count"]), "1\n");
        assert_eq!(cli.listed(), ["2026-11-01T08:00:00.000Z\tann@example.com"]);
        assert!(!cli.stdout(&["export"]).contains("ob@"));
        if let Some(server) = &cli.server {
            // The server reads the count of a database periodically.
            wait_until("the server counts one entry", || server.count() == 1);
            assert_eq!(server.join("bob@example.com"), "201", "may join again");
        }
    }
}

#[test]
fn reports_unknown_addresses_and_erases_the_others() {
    for cli in with_three_people() {
        let result = cli
            .run(&["erase", "ann@example.com", "amy@example.com"])
            .code(1);
        assert_eq!(
            stdout(&result),
            "ann@example.com is erased\namy@example.com is not on the list\n"
        );
        assert!(
            stderr(&result).contains("1 of 2 addresses not found; check the spelling"),
            "{}",
            stderr(&result)
        );
        assert_eq!(cli.stdout(&["count"]), "2\n");
        let report = cli.json(&["erase", "cyd@example.com"]);
        assert_eq!(
            report,
            json!([{ "email": "cyd@example.com", "erased": true }])
        );
    }
}

#[test]
fn erases_a_repeated_address_once() {
    for cli in with_three_people() {
        let stdout = cli.stdout(&["erase", " ann@example.com", "ANN@example.com"]);
        assert_eq!(stdout, "ann@example.com is erased\n");
        let stderr = stderr(&cli.run(&["erase", "bob"]).code(1));
        assert!(
            stderr.contains("1 of 1 addresses not found; check the spelling"),
            "{stderr}"
        );
        cli.run(&["erase"]).code(2);
    }
}
