//! Suppressed addresses: people who have left. No import adds them again.

use serde_json::json;

use super::{TestCli, addresses, all_stores, sha256, stderr, stdout, with_three_people};

const LEFT: &str = "1 left this list and was not added; only they can join again, on the page\n";

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
        let suppress = ["erase", "--suppress", "ANN@example.com", "dan@example.com"];
        assert_eq!(
            cli.stdout(&[&suppress[..], &["--dry-run"]].concat()),
            "ANN@example.com would be erased and suppressed\n\
             dan@example.com is not on the list; it would be suppressed\n"
        );
        assert_eq!(cli.stdout(&["count"]), "3\n");
        assert_eq!(
            cli.stdout(&suppress),
            "ANN@example.com is erased and suppressed\n\
             dan@example.com was not on the list; it is suppressed\n"
        );
        assert_eq!(addresses(&cli), ["Bob@Example.com", "cyd@example.com"]);
        let file = "email\nann@example.com\nDan@example.com\nbob@example.com\neve@example.com\n";
        let report = stdout(&cli.run_with_input(&["import", "--dry-run"], file).success());
        assert!(
            report.contains(
                "2 left this list and would not be added; only they can join again, on the page\n"
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
                "2 left this list and were not added; only they can join again, on the page\n"
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
fn erase_prints_json_and_rejects_what_is_no_address() {
    for cli in with_three_people() {
        let suppress = ["erase", "--suppress", "ann@example.com"];
        assert_eq!(
            cli.json(&[&suppress[..], &["--dry-run"]].concat()),
            json!([{ "email": "ann@example.com", "would_be_erased": true, "would_be_suppressed": true }])
        );
        assert_eq!(
            cli.json(&suppress),
            json!([{ "email": "ann@example.com", "erased": true, "suppressed": true }])
        );
        let error = stderr(
            &cli.run(&["erase", "--suppress", "bob@example.com", "cyd"])
                .code(1),
        );
        assert!(
            error.contains("nothing was erased: cyd is not an address"),
            "{error}"
        );
        assert_eq!(addresses(&cli).len(), 2);
    }
}

#[test]
fn people_who_left_can_join_again_on_the_page() {
    for cli in with_three_people() {
        cli.stdout(&["erase", "--suppress", "ann@example.com"]);
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
        cli.stdout(&["erase", "--suppress", "ann@example.com"]);
        let shown = cli.stdout(&["show", "ANN@example.com"]);
        assert!(
            shown.starts_with("ANN@example.com is not on the list; it is suppressed"),
            "{shown}"
        );
        let expected = json!({ "email": "ann@example.com", "suppressed": true });
        assert_eq!(cli.json(&["show", "ann@example.com"]), expected);
        cli.run(&["show", "dan@example.com"]).code(1);
        // The owner corrects a typing mistake. That does not lift the suppression.
        cli.stdout(&["correct", "bob@example.com", "ann@example.com"]);
        let shown = cli.stdout(&["show", "ann@example.com"]);
        assert!(shown.ends_with("\nsuppressed    yes\n"), "{shown}");
    }
}

#[test]
fn import_suppresses_people_who_unsubscribed_elsewhere() {
    let file = "email,status\nann@example.com,unsubscribed\ndan@example.com,unsubscribed\n\
                DAN@example.com,unsubscribed\neve@example.com,subscribed\n";
    for cli in with_three_people() {
        let report = stdout(&cli.run_with_input(&["import", "--dry-run"], file).success());
        assert!(
            report.ends_with(
                "1 unsubscribed person would be suppressed: no import adds them\n\
                 1 has no sign-up time; the current time would be used\n"
            ),
            "{report}"
        );
        assert!(import(&cli, "dan@example.com").contains("1 added"));
        cli.stdout(&["erase", "dan@example.com"]);
        let report = cli.run_with_input(&["import", "--json"], file).success();
        let report: serde_json::Value = serde_json::from_str(&stdout(&report)).expect("JSON");
        assert_eq!(report["unsubscribed_suppressed"], 1);
        assert!(import(&cli, "dan@example.com").contains(LEFT));
        // Ann has joined this list by herself.
        assert!(addresses(&cli).contains(&"ann@example.com".to_owned()));
        let shown = cli.stdout(&["show", "ann@example.com"]);
        assert!(!shown.contains("suppressed"), "{shown}");
    }
}

#[test]
fn export_without_suppressions_has_no_line_for_them() {
    for cli in with_three_people() {
        for format in ["csv", "jsonl"] {
            let export = cli.stdout(&["export", "--format", format]);
            assert_eq!(export.lines().count(), if format == "csv" { 5 } else { 4 });
            assert!(!export.contains("suppress"), "{export}");
        }
    }
}

#[test]
fn exports_carry_suppressions_to_another_list() {
    for cli in with_three_people() {
        cli.stdout(&[
            "erase",
            "--suppress",
            "ann@example.com",
            "dan@example.com",
            "eve@example.com",
        ]);
        for (name, lines) in [("list.csv", 9), ("list.jsonl", 8)] {
            let report = cli.stdout(&["export", "-o", name]);
            let expected = format!("2 entries and 3 suppressed addresses in {name}\n");
            assert_eq!(report, expected);
            let file = cli.read(name);
            assert_eq!(file.lines().count(), lines, "{file}");
            assert!(!file.contains("ann@") && !file.contains("eve@"), "{file}");
            let (rows, trailer) = file.trim_end().rsplit_once('\n').expect("lines");
            assert!(trailer.contains(&sha256(&format!("{rows}\n"))), "{trailer}");

            // Another list, which Eve has joined, and which Fay has left.
            let other = format!("other-{name}");
            let into = ["--data", &other];
            let run = |args: &[&str]| cli.stdout(&[args, &into[..]].concat());
            let import = |typed: &str| {
                let import = [&["import"][..], &into].concat();
                stdout(&cli.run_with_input(&import, format!("{typed}\n")).success())
            };
            import("eve@example.com");
            run(&["erase", "--suppress", "fay@example.com"]);
            for _ in 0..2 {
                run(&["import", name]);
                assert_eq!(run(&["count"]), "3\n");
                for typed in ["Ann@example.com", "dan@example.com", "fay@example.com"] {
                    assert!(import(typed).contains(LEFT), "{typed}");
                }
                let shown = run(&["show", "eve@example.com"]);
                assert!(!shown.contains("suppressed"), "{shown}");
                assert_eq!(
                    run(&["check"]),
                    "3 on the list, no faults\n3 suppressed addresses\n"
                );
            }
            // Into the same list: nothing changes.
            cli.stdout(&["import", name]);
            assert_eq!(cli.read(name), {
                cli.stdout(&["export", "-o", name]);
                cli.read(name)
            });
        }
    }
}

#[test]
fn restored_list_exports_the_same_bytes() {
    for cli in with_three_people() {
        cli.stdout(&["erase", "--suppress", "ann@example.com", "dan@example.com"]);
        for name in ["list.csv", "list.jsonl"] {
            cli.stdout(&["export", "-o", name]);
            let other = format!("other-{name}");
            cli.stdout(&["import", "--data", &other, name]);
            let format = name.trim_start_matches("list.");
            let export = cli.stdout(&["export", "--data", &other, "--format", format]);
            assert_eq!(export, cli.read(name));
        }
    }
}

#[test]
fn checksum_covers_the_suppressions() {
    for cli in with_three_people() {
        cli.stdout(&["erase", "--suppress", "ann@example.com"]);
        for format in ["csv", "jsonl"] {
            let export = cli.stdout(&["export", "--format", format]);
            let line = export
                .lines()
                .find(|it| it.contains("suppressed"))
                .expect("a line");
            for broken in [
                export.replace(&format!("{line}\n"), ""),
                export.replace(line, ""),
            ] {
                let result = cli.run_with_input(&["import", "--data", "other"], broken);
                let error = stderr(&result.code(1));
                assert!(error.contains("changed or cut off"), "{error}");
            }
            // The last line is missing too.
            let (cut, _) = export.trim_end().rsplit_once('\n').expect("lines");
            let error = stderr(&cli.run_with_input(&["import"], cut).code(1));
            assert!(error.contains("was cut off"), "{error}");
        }
        // A list that everybody has left.
        cli.stdout(&["erase", "--suppress", "bob@example.com", "cyd@example.com"]);
        for format in ["csv", "jsonl"] {
            let export = cli.stdout(&["export", "--format", format]);
            let (cut, _) = export.trim_end().rsplit_once('\n').expect("lines");
            let error = stderr(&cli.run_with_input(&["import"], cut).code(1));
            assert!(error.contains("was cut off"), "{error}");
            let other = ["--data", format];
            cli.run_with_input(&[&["import"][..], &other].concat(), export)
                .success();
            let check = cli.stdout(&[&["check"][..], &other].concat());
            assert_eq!(check, "0 on the list, no faults\n3 suppressed addresses\n");
        }
    }
}

#[test]
fn partial_exports_have_no_suppressions() {
    for cli in with_three_people() {
        cli.stdout(&["erase", "--suppress", "ann@example.com"]);
        for part in [["--since", "2026-11-01"], ["--domain", "example.com"]] {
            for format in ["csv", "jsonl"] {
                let export = cli.stdout(&[&["export", "--format", format][..], &part].concat());
                assert!(!export.contains("suppress"), "{export}");
            }
        }
    }
}

#[test]
fn erase_reads_an_export_with_suppressions() {
    for cli in with_three_people() {
        cli.stdout(&["erase", "--suppress", "ann@example.com"]);
        for format in ["csv", "jsonl"] {
            let export = cli.stdout(&["export", "--format", format]);
            let erase = ["erase", "--dry-run", "--file", "-"];
            let result = cli.run_with_input(&erase, export).success();
            assert_eq!(stdout(&result).lines().count(), 2);
        }
    }
}

#[test]
fn new_lists_have_no_suppressions() {
    for cli in all_stores() {
        import(&cli, "ann@example.com");
        let check = cli.stdout(&["check"]);
        assert_eq!(check, "1 on the list, no faults\n");
        assert_eq!(cli.json(&["check"])["suppressed"], json!(null));
    }
}
