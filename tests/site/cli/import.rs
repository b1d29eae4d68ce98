//! `landing import`.

use serde_json::json;

use super::{all_stores, people_csv, stderr, stdout, with_three_people, without_server};

#[test]
fn reports_invalid_lines_by_number_and_imports_the_others() {
    for cli in all_stores() {
        let file = "email,joined_at\n\
                    ann@example.com,2026-11-01T08:00:00Z\n\
                    no address,2026-11-01T08:00:00Z\n\
                    \"two\nlines@example.com\",\n\
                    bob@example.com,soon\n\
                    cyd@example.com,1969-01-01\n\
                    dee@example.com,2999-01-01\n\
                    \n\
                    ,2026-11-01T08:00:00Z\n\
                    ANN@example.com,2026-11-05T08:00:00Z\n\
                    eve@example.com\n";
        let result = cli.run_with_input(&["import"], file).code(1);
        let expected = "standard input:3: invalid address: an address needs an @\n\
                        standard input:4: invalid address: the part before the @ is missing or has a character that is not allowed\n\
                        standard input:6: invalid time: not a time, or ambiguous; write it as \
                        2026-11-21T08:00:00Z, or remove the column\n\
                        standard input:7: its time is before e-mail existed\n\
                        standard input:8: its time is in the future\n\
                        standard input:10: missing address\n\
                        2 added, 1 already there, 6 rejected\n\
                        1 has no sign-up time; the current time was used\n";
        assert_eq!(stdout(&result), expected);
        assert_eq!(
            stderr(&result),
            "landing: standard input: 6 of 9 lines are invalid, see above; correct them and import the file again\n"
        );
        assert_eq!(cli.stdout(&["count"]), "2\n");
        assert!(!stderr(&result).contains("ann@"));
    }
}

#[test]
fn numbers_lines_as_editors_do() {
    let cli = without_server();
    let file = "email,note\n\nbad,\n\n\nbad,\"two\nlines\"\nbad,";
    for file in [
        file.to_owned(),
        file.to_owned() + "\n",
        file.replace('\n', "\r\n"),
        file.replace('\n', "\r"),
    ] {
        let report = cli
            .run_with_input(&["import", "--json"], file.clone())
            .code(1);
        let report: serde_json::Value = serde_json::from_str(&stdout(&report)).expect("JSON");
        let lines = report["rejected"].as_array().expect("rows").iter();
        let lines: Vec<_> = lines
            .map(|row| row["line"].as_u64().expect("a number"))
            .collect();
        assert_eq!(lines, [3, 6, 8], "{file:?}");
    }
}

#[test]
fn reports_invalid_utf_8_and_invalid_json_lines() {
    for cli in all_stores() {
        let csv = b"email\nann@example.com\nb\xe4b@example.com\n";
        let result = cli.run_with_input(&["import"], csv).code(1);
        assert!(
            stdout(&result).contains("\nstandard input:3: invalid UTF-8; save the file as UTF-8\n"),
            "{}",
            stdout(&result)
        );
        let jsonl = b"{\"email\":\"bob@example.com\",\"name\":\"Bob\"}\n\nnonsense\n\
                      {\"name\":\"Cyd\"}\n{\"email\":\"\xff\"}\n{\"email\":\"dee@example.com\"}";
        let result = cli.run_with_input(&["import"], jsonl).code(1);
        assert_eq!(
            stdout(&result),
            "column \"email\": addresses\n\
             ignored: \"name\"\n\
             standard input:3: invalid JSON: each line must be one object\n\
             standard input:4: missing \"email\"\n\
             standard input:5: invalid UTF-8; save the file as UTF-8\n\
             2 added, 0 already there, 3 rejected\n\
             2 have no sign-up time; the current time was used\n"
        );
    }
}

#[test]
fn report_is_available_as_json() {
    for cli in with_three_people() {
        cli.write(
            "list.csv",
            "email\nann@example.com\nnone\nnew@example.com\n",
        );
        let rejected =
            json!([{ "line": 3, "reason": "invalid address \"none\": an address needs an @" }]);
        let report = json!({
            "columns": [{ "name": "email", "use": "email" }],
            "added": 1,
            "already_listed": 1,
            "rejected": rejected,
            "without_time": 1,
        });
        assert_eq!(cli.json(&["import", "--dry-run", "list.csv"]), report);
        assert_eq!(cli.json(&["import", "list.csv"]), report);
    }
}

#[test]
fn dry_run_changes_nothing() {
    for cli in with_three_people() {
        let file = "email\nann@EXAMPLE.com\nnew@example.com\nNEW@example.com\n";
        let result = cli.run_with_input(&["import", "--dry-run"], file).success();
        assert_eq!(
            stdout(&result),
            "column \"email\": addresses\n1 would be added, 2 already there, 0 rejected\n1 has no sign-up time; the current time would be used\n"
        );
        assert_eq!(cli.stdout(&["count"]), "3\n");
    }
    let cli = without_server();
    let result = cli
        .run_with_input(&["import", "--dry-run"], "email\nann@example.com\n")
        .success();
    assert_eq!(
        stdout(&result),
        "column \"email\": addresses\n1 would be added, 0 already there, 0 rejected\n\
         1 has no sign-up time; the current time would be used\n"
    );
    assert!(cli.file_names().is_empty(), "no list is created");
}

#[test]
fn unescapes_formulas_in_an_export_with_an_added_column() {
    let cli = without_server();
    let file = "note,email,joined_at\nhello,'+49@example.com,2026-11-01\n";
    cli.run_with_input(&["import"], file).success();
    assert!(cli.listed()[0].ends_with("\t+49@example.com"));
}

#[test]
fn imports_many_people_once_and_in_order() {
    for cli in all_stores() {
        let file = people_csv(3_000);
        let result = cli.run_with_input(&["import"], file.clone()).success();
        assert_eq!(stdout(&result), "3000 added, 0 already there, 0 rejected\n");
        let result = cli.run_with_input(&["import"], file.clone()).success();
        assert_eq!(stdout(&result), "0 added, 3000 already there, 0 rejected\n");
        let exported = cli.stdout(&["export"]);
        assert_eq!(exported.trim_start_matches('\u{feff}'), file);
    }
}

#[test]
fn rejects_lines_longer_than_a_megabyte() {
    let long = "x".repeat(2 << 20);
    for cli in all_stores() {
        for file in [
            format!("email,name\nann@example.com,{long}\nbob@example.com,\n"),
            format!("email,name\nann@example.com,\"\n{long}\nbob@example.com,\"\n"),
            format!(
                "{{\"email\":\"eve@example.com\"}}\n{{\"email\":\"ann@example.com\",\"name\":\"{long}\"}}\n\
                 {{\"email\":\"bob@example.com\"}}\n{long}"
            ),
        ] {
            let result = cli.run_with_input(&["import", "--dry-run"], file).code(1);
            let report = stdout(&result);
            assert!(report.contains("standard input:2: "), "{report}");
            assert!(
                report.contains("the line is longer than 1 MiB\n"),
                "{report}"
            );
            assert!(report.contains(" would be added"), "{report}");
        }
        let header = format!("email,{long}\nann@example.com,x\n");
        let result = cli.run_with_input(&["import"], header).code(1);
        let stderr = stderr(&result);
        assert!(
            stderr.starts_with(
                "landing: standard input:1: nothing was imported: the line is longer than 1 MiB"
            ),
            "{stderr}"
        );
        assert!(stderr.contains("nothing was imported"), "{stderr}");
    }
}

#[test]
fn report_quotes_no_addresses_in_disguise() {
    let cli = without_server();
    let cells = [
        "ann%40example.com",
        "ann[at]example.com",
        "ann at example.com",
        "ann＠example.com",
        "+49 170 1234567",
        "bob",
    ];
    cli.write("list.csv", format!("email\n{}\n", cells.join("\n")));
    let expected = [2, 3, 4, 5, 6]
        .map(|line| format!("list.csv:{line}: invalid address: an address needs an @\n"))
        .concat()
        + "list.csv:7: invalid address \"bob\": an address needs an @\n";
    let report = stdout(&cli.run(&["import", "list.csv"]).code(1));
    assert!(report.contains(&expected), "{report}");
    let json = stdout(&cli.run(&["import", "list.csv", "--json"]).code(1));
    assert!(!json.contains("ann") && !json.contains("170"), "{json}");
}

#[test]
fn report_escapes_control_characters_of_the_file_name() {
    let cli = without_server();
    cli.write("a\n\u{1b}[31m.csv", "email\nbob\n");
    let result = cli.run(&["import", "a\n\u{1b}[31m.csv"]).code(1);
    let report = stdout(&result) + &stderr(&result);
    assert!(report.contains("a\\n\\u{1b}[31m.csv:2: "), "{report}");
    assert!(!report.contains('\u{1b}'), "{report}");
}

#[test]
fn spreadsheet_and_address_in_the_place_of_a_file_come_with_their_remedy() {
    let cli = super::without_server();
    cli.write("people.xlsx", b"PK\x03\x04\x14\x00\x06\x00");
    let error = super::stderr(&cli.run(&["import", "people.xlsx"]).code(1));
    assert!(
        error.contains("save the spreadsheet as CSV in UTF-8"),
        "{error}"
    );
    let error = super::stderr(&cli.run(&["import", "ann@example.com"]).code(1));
    assert!(error.contains("echo ADDRESS | landing import"), "{error}");
    assert!(!cli.file("data").exists());
}
