//! Suppressed addresses: people who have left. No import adds them again.

use serde_json::json;

use super::{TestCli, addresses, stderr, stdout, with_three_people};

/// Imports a file of one person, and returns the report.
fn import(cli: &TestCli, typed: &str) -> String {
    stdout(
        &cli.run_with_input(&["import"], format!("{typed}\n"))
            .success(),
    )
}

#[test]
fn suppressed_people_are_erased_and_no_import_adds_them() {
    for cli in with_three_people() {
        let suppress = ["unsubscribe", "ANN@example.com", "dan@example.com"];
        assert_eq!(
            cli.stdout(&[&suppress[..], &["--dry-run"]].concat()),
            "ANN@example.com would be unsubscribed\n\
             dan@example.com is not on the list (check the spelling); no import would add the address\n"
        );
        assert_eq!(cli.stdout(&["count"]), "3\n");
        assert_eq!(
            cli.stdout(&suppress),
            "ANN@example.com is unsubscribed\n\
             dan@example.com is not on the list (check the spelling); no import adds the address\n"
        );
        assert_eq!(addresses(&cli), ["Bob@Example.com", "cyd@example.com"]);
        let file = "ann@example.com\nDan@example.com\nbob@example.com\neve@example.com\n";
        let report = stdout(&cli.run_with_input(&["import", "--dry-run"], file).success());
        assert!(
            report.contains(
                "2 left this list: not added, because only they can join again, on the page\n"
            ),
            "{report}"
        );
        let report = stdout(&cli.run_with_input(&["import", "--json"], file).success());
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!(
            (&report["added"], &report["suppressed"]),
            (&json!(1), &json!(2))
        );
        let report = stdout(&cli.run_with_input(&["import"], file).success());
        assert!(
            report.contains(
                "2 left this list: not added, because only they can join again, on the page\n"
            ),
            "{report}"
        );
        assert_eq!(
            addresses(&cli),
            ["Bob@Example.com", "cyd@example.com", "eve@example.com"]
        );
        let check = cli.stdout(&["check"]);
        assert_eq!(check, "3 on the list, no faults\n2 suppressed addresses\n");
        assert_eq!(cli.json(&["check"])["suppressed"], 2);
    }
}

#[test]
fn unsubscribe_prints_json_and_rejects_what_is_no_address() {
    for cli in with_three_people() {
        let unsubscribe = ["unsubscribe", "ann@example.com"];
        for more in [&["--dry-run"][..], &[]] {
            assert_eq!(
                cli.json_lines(&[&unsubscribe[..], more].concat()),
                json!([{ "email": "ann@example.com", "erased": true, "suppressed": true }])
            );
        }
        let error = stderr(&cli.run(&["unsubscribe", "bob@example.com", "cyd"]).code(1));
        assert!(
            error.contains("nothing was changed: cyd is not an address"),
            "{error}"
        );
        assert_eq!(addresses(&cli).len(), 2);
        let file = cli.run_with_input(&["unsubscribe", "--file", "-"], "cyd@example.com\n");
        assert_eq!(stdout(&file), "cyd@example.com is unsubscribed\n");
        assert_eq!(addresses(&cli), ["Bob@Example.com"]);
    }
}

#[test]
fn undo_lets_imports_add_the_person_again() {
    for cli in with_three_people() {
        cli.stdout(&["unsubscribe", "ann@example.com", "dan@example.com"]);
        let undo = ["unsubscribe", "--undo", "ANN@example.com"];
        assert_eq!(
            cli.stdout(&[&undo[..], &["--dry-run"]].concat()),
            "ANN@example.com could be imported again\n"
        );
        assert!(import(&cli, "ann@example.com").contains("0 added, 0 already there"));
        assert_eq!(cli.stdout(&undo), "ANN@example.com can be imported again\n");
        assert!(import(&cli, "ann@example.com").contains("1 added"));
        assert!(import(&cli, "dan@example.com").contains("0 added, 0 already there"));
        let again = cli.run(&undo).code(1);
        assert_eq!(
            stdout(&again),
            "ANN@example.com is not among the people who have left\n"
        );
        assert_eq!(
            cli.json_lines(&["unsubscribe", "--undo", "dan@example.com"]),
            json!([{ "email": "dan@example.com", "was_suppressed": true }])
        );
    }
}

#[test]
fn people_who_left_can_join_again_on_the_page() {
    for cli in with_three_people() {
        cli.stdout(&["unsubscribe", "ann@example.com"]);
        let Some(server) = &cli.server else {
            continue;
        };
        assert_eq!(server.join("Ann@example.com"), "201");
        assert_eq!(server.join("ann@example.com"), "409");
        assert_eq!(
            addresses(&cli),
            ["Ann@example.com", "Bob@Example.com", "cyd@example.com"]
        );
        assert!(import(&cli, "ann@example.com").contains("0 added, 1 already there"));
        let shown = cli.stdout(&["show", "ann@example.com"]);
        assert!(!shown.contains("suppressed"), "{shown}");
    }
}

#[test]
fn show_says_that_an_address_is_suppressed() {
    for cli in with_three_people() {
        cli.stdout(&["unsubscribe", "ann@example.com"]);
        let shown = cli.stdout(&["show", "ANN@example.com"]);
        assert_eq!(
            shown,
            "address       ANN@example.com is not on the list; it has a keyed hash of the address:\n\
             suppressed    yes: no import adds the address\n"
        );
        let expected = json!({ "email": "ann@example.com", "suppressed": true, "messages": [] });
        assert_eq!(cli.json(&["show", "ann@example.com"]), expected);
        cli.run(&["show", "dan@example.com"]).code(1);
        // The owner corrects a typing mistake. That does not lift the suppression.
        cli.stdout(&["correct", "bob@example.com", "ann@example.com"]);
        let shown = cli.stdout(&["show", "ann@example.com"]);
        assert!(
            shown.ends_with("\nsuppressed    yes: no import adds the address\n"),
            "{shown}"
        );
    }
}

#[test]
fn erase_reads_an_export() {
    for cli in with_three_people() {
        for args in [&["export"][..], &["export", "--json"]] {
            let export = cli.stdout(args);
            let erase = ["erase", "--dry-run", "--file", "-"];
            let result = cli.run_with_input(&erase, export).success();
            assert_eq!(stdout(&result).lines().count(), 3);
        }
    }
}
