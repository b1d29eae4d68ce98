//! `import`.

use std::fs;

use serde_json::json;

use super::{alone, everywhere, many, printed, told, with_three};

#[test]
fn what_export_wrote_comes_back_whole() {
    for owner in with_three() {
        for name in ["list.csv", "list.jsonl"] {
            owner.run(&["export", "-o", name]).success();
            let report = owner.printed(&["import", name]);
            assert_eq!(report, "0 added, 3 already there, 0 rejected\n");
            let report =
                owner.printed(&["import", "--data", name.trim_start_matches("list."), name]);
            assert_eq!(report, "3 added, 0 already there, 0 rejected\n");
            let copy = owner.printed(&["export", "--data", name.trim_start_matches("list.")]);
            assert_eq!(copy, owner.printed(&["export"]));
        }
    }
}

#[test]
fn a_bad_line_is_told_by_its_number_and_stops_nothing() {
    for owner in everywhere() {
        let file = "email,joined_at\n\
                    ann@example.com,2026-11-01T08:00:00Z\n\
                    no address,2026-11-01T08:00:00Z\n\
                    \"two\nlines@example.com\",\n\
                    bob@example.com,soon\n\
                    cyd@example.com,1969-01-01\n\
                    dee@example.com,2999-01-01\n\
                    \n\
                    ,\n\
                    ANN@example.com,2026-11-05T08:00:00Z\n\
                    eve@example.com\n";
        let done = owner.run_with(&["import"], file).code(1);
        let expected = "line 3: an address needs an @\n\
                        line 4: the part before the @ is missing or has a character it can't have\n\
                        line 6: its time can be read in several ways, or in none: write it as \
                        2026-11-21T08:00:00Z, or leave its column out\n\
                        line 7: its time is before there was e-mail\n\
                        line 8: its time is to come\n\
                        line 10: the address is empty\n\
                        2 added, 1 already there, 6 rejected\n\
                        1 have no time there: theirs is now\n";
        assert_eq!(printed(&done), expected);
        assert_eq!(
            told(&done),
            "landing: 6 of 9 lines are wrong, see above; correct them and import standard input again\n"
        );
        assert_eq!(owner.printed(&["count"]), "2\n");
        assert!(!told(&done).contains("ann@"));
    }
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let owner = alone();
    let file = "email,note\n\nbad,\n\n\nbad,\"two\nlines\"\nbad,";
    for file in [
        file.to_owned(),
        file.to_owned() + "\n",
        file.replace('\n', "\r\n"),
        file.replace('\n', "\r"),
    ] {
        let report = owner.run_with(&["import", "--json"], file.clone()).code(1);
        let report: serde_json::Value = serde_json::from_str(&printed(&report)).expect("JSON");
        let lines = report["rejected"].as_array().expect("rows").iter();
        let lines: Vec<_> = lines
            .map(|it| it["line"].as_u64().expect("a number"))
            .collect();
        assert_eq!(lines, [3, 6, 8], "{file:?}");
    }
}

#[test]
fn bytes_that_are_no_text_and_lines_that_are_no_json_are_bad_lines() {
    for owner in everywhere() {
        let csv = b"email\nann@example.com\nb\xe4b@example.com\n";
        let done = owner.run_with(&["import"], csv).code(1);
        assert!(
            printed(&done).contains("\nline 3: it is not UTF-8\n"),
            "{}",
            printed(&done)
        );
        let jsonl = b"{\"email\":\"bob@example.com\",\"name\":\"Bob\"}\n\nnonsense\n\
                      {\"name\":\"Cyd\"}\n{\"email\":\"\xff\"}\n{\"email\":\"dee@example.com\"}";
        let done = owner.run_with(&["import"], jsonl).code(1);
        assert_eq!(
            printed(&done),
            "column \"email\": addresses\nline 3: it is no object of JSON\nline 4: it has no \"email\"\nline 5: it is not UTF-8\n\
             2 added, 0 already there, 3 rejected\n2 have no time there: theirs is now\n"
        );
    }
}

#[test]
fn the_report_is_also_json() {
    for owner in with_three() {
        owner.write(
            "list.csv",
            "email\nann@example.com\nnone\nnew@example.com\n",
        );
        let rejected = json!([{ "line": 3, "reason": "an address needs an @" }]);
        let report = json!({
            "columns": [{ "name": "email", "use": "email" }],
            "added": 1,
            "already_listed": 1,
            "rejected": rejected,
            "without_time": 2,
            "implausible_times": 0,
        });
        assert_eq!(owner.json(&["import", "--dry-run", "list.csv"]), report);
        assert_eq!(owner.json(&["import", "list.csv"]), report);
    }
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    for owner in with_three() {
        let file = "email\nann@EXAMPLE.com\nnew@example.com\nNEW@example.com\n";
        let done = owner.run_with(&["import", "--dry-run"], file).success();
        assert_eq!(
            printed(&done),
            "column \"email\": addresses\n1 would be added, 2 already there, 0 rejected\n3 have no time there: theirs is now\n"
        );
        assert_eq!(owner.printed(&["count"]), "3\n");
    }
    let owner = alone();
    let done = owner
        .run_with(&["import", "--dry-run"], "email\nann@example.com\n")
        .success();
    assert_eq!(
        printed(&done),
        "column \"email\": addresses\n1 would be added, 0 already there, 0 rejected\n\
         1 have no time there: theirs is now\n"
    );
    assert_eq!(owner.names(), ["site"], "no list is made");
}

#[test]
fn of_an_export_that_was_changed_or_cut_off_nothing_is_imported() {
    for owner in with_three() {
        for name in ["list.csv", "list.jsonl"] {
            owner.run(&["export", "-o", name]).success();
            let whole = owner.read(name);
            let (rows, _) = whole.trim_end().rsplit_once('\n').expect("lines");
            for broken in [
                whole.replace("ann@", "amy@"),
                whole.replace("cyd@example.com", ""),
                whole.replace('\n', "\r\n"),
                whole.repeat(2),
                // Its end is missing, in the middle of a row too, or somebody stands behind it.
                rows.to_owned(),
                rows[..rows.len() - 30].to_owned(),
                format!("{whole}eve@example.com,2026-11-01\n"),
            ] {
                let args = ["import", "--data", "other"];
                let told = told(&owner.run_with(&args, broken).code(1));
                assert!(
                    told.contains("it is an export, and not as it was"),
                    "{told}"
                );
                assert!(told.contains("nothing was imported"), "{told}");
                assert!(!fs::exists(owner.file("other")).expect("readable"));
            }
            // On purpose.
            let changed = whole.replace("ann@", if name == "list.csv" { "amy@" } else { "eve@" });
            let done = owner.run_with(&["import", "--changed"], changed).success();
            assert!(
                printed(&done).starts_with("1 added, "),
                "{}",
                printed(&done)
            );
        }
    }
}

#[test]
fn a_column_that_was_added_to_an_export_does_not_change_the_addresses() {
    let owner = alone();
    let file = "note,email,joined_at\nhello,'+49@example.com,2026-11-01\n";
    owner.run_with(&["import"], file).success();
    assert!(owner.listed()[0].ends_with("\t+49@example.com"));
}

#[test]
fn a_count_that_is_wrong_is_told() {
    for owner in with_three() {
        owner.run(&["export", "-o", "list.csv"]).success();
        let wrong = owner.read("list.csv").replace("# 3 entries", "# 4 entries");
        let done = owner.run_with(&["import"], wrong).code(1);
        assert!(
            told(&done).contains("says that it has 4 entries, and has 3"),
            "{}",
            told(&done)
        );
    }
}

#[test]
fn many_are_imported_in_their_order_and_once() {
    for owner in everywhere() {
        let file = many(3_000);
        let done = owner.run_with(&["import"], file.clone()).success();
        assert_eq!(printed(&done), "3000 added, 0 already there, 0 rejected\n");
        let done = owner.run_with(&["import"], file.clone()).success();
        assert_eq!(printed(&done), "0 added, 3000 already there, 0 rejected\n");
        let exported = owner.printed(&["export"]);
        let (rows, _) = exported.trim_end().rsplit_once('\n').expect("lines");
        assert_eq!(rows.trim_start_matches('\u{feff}'), file.trim_end());
    }
}

#[test]
fn a_line_of_more_than_a_megabyte_is_rejected_and_the_others_are_read() {
    let long = "x".repeat(2 << 20);
    for owner in everywhere() {
        for file in [
            format!("email,name\nann@example.com,{long}\nbob@example.com,\n"),
            format!("email,name\nann@example.com,\"\n{long}\nbob@example.com,\"\n"),
            format!(
                "{{\"email\":\"eve@example.com\"}}\n{{\"email\":\"ann@example.com\",\"name\":\"{long}\"}}\n\
                 {{\"email\":\"bob@example.com\"}}\n{long}"
            ),
        ] {
            let done = owner.run_with(&["import", "--dry-run"], file).code(1);
            let report = printed(&done);
            assert!(report.contains("line 2: "), "{report}");
            assert!(
                report.contains("it is longer than a megabyte\n"),
                "{report}"
            );
            assert!(report.contains(" would be added"), "{report}");
        }
        let header = format!("email,{long}\nann@example.com,x\n");
        let done = owner.run_with(&["import"], header).code(1);
        let told = told(&done);
        assert!(
            told.contains("line 1: it is longer than a megabyte"),
            "{told}"
        );
        assert!(told.contains("nothing was imported"), "{told}");
    }
}
