//! `erase`.

use serde_json::json;

use super::{printed, told, with_three};
use crate::process::wait_until;

#[test]
fn who_is_erased_is_gone_from_count_list_and_exports_and_stays_away() {
    for owner in with_three() {
        assert_eq!(
            owner.printed(&["erase", "bob@example.com", "CYD@example.com"]),
            "bob@example.com is erased\nCYD@example.com is erased\n"
        );
        assert_eq!(owner.printed(&["count"]), "1\n");
        assert_eq!(
            owner.listed(),
            ["2026-11-01T08:00:00.000Z\tann@example.com"]
        );
        assert!(!owner.printed(&["export"]).contains("ob@"));
        if let Some(server) = &owner.server {
            // In a database it is another one's doing, which the server looks for.
            wait_until("one is left", || server.count() == "{\"count\":1}");
            assert_eq!(server.join("bob@example.com"), "201", "and may come back");
        }
    }
}

#[test]
fn who_was_not_there_is_told_and_the_others_are_erased() {
    for owner in with_three() {
        let done = owner
            .run(&["erase", "ann@example.com", "amy@example.com"])
            .code(1);
        assert_eq!(
            printed(&done),
            "ann@example.com is erased\namy@example.com is not on the list\n"
        );
        assert!(
            told(&done).contains("1 of 2 were not on the list"),
            "{}",
            told(&done)
        );
        assert_eq!(owner.printed(&["count"]), "2\n");
        let report = owner.json(&["erase", "cyd@example.com"]);
        assert_eq!(
            report,
            json!([{ "email": "cyd@example.com", "erased": true }])
        );
    }
}

#[test]
fn who_is_named_twice_is_erased_once() {
    for owner in with_three() {
        let printed = owner.printed(&["erase", " ann@example.com", "ANN@example.com"]);
        assert_eq!(printed, "ann@example.com is erased\n");
        let told = told(&owner.run(&["erase", "bob"]).code(1));
        assert!(told.contains("1 of 1 were not on the list"), "{told}");
        owner.run(&["erase"]).code(2);
    }
}
