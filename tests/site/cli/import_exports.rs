//! `landing import`: files that `export` wrote, and files that look like them.

use super::{all_stores, stderr, stdout, with_three_people, without_server};

#[test]
fn exports_round_trip() {
    for cli in with_three_people() {
        for (name, args) in [("list.csv", &[][..]), ("list.jsonl", &["--json"])] {
            cli.run(&[&["export", "-o", name], args].concat()).success();
            let known = stdout(&cli.run(&["import", name]).success());
            assert!(
                known.ends_with("0 added, 3 already there, 0 rejected\n"),
                "{known}"
            );
            let new = cli.run(&["import", "--data", &name[5..], name]).success();
            let new = stdout(&new);
            assert!(
                new.ends_with("3 added, 0 already there, 0 rejected\n"),
                "{new}"
            );
            let copy = cli.stdout(&["export", "--data", &name[5..]]);
            assert_eq!(copy, cli.stdout(&["export"]));
        }
    }
}

#[test]
fn backup_is_not_imported() {
    for cli in with_three_people() {
        cli.stdout(&["backup", "-o", "list.backup"]);
        for args in [
            &["import", "list.backup"][..],
            &["erase", "--file", "list.backup"],
        ] {
            let error = stderr(&cli.run(args).code(1));
            let advice =
                "the file is a backup; run `landing restore FILE` with an empty or new list";
            assert!(error.contains(advice), "{error}");
        }
        assert_eq!(cli.stdout(&["count"]), "3\n");
    }
}

#[test]
fn reads_files_with_the_columns_of_an_export() {
    let cli = without_server();
    for file in [
        "email,joined_at\nann@example.com,2026-11-01\n",
        "email,joined_at\nann@example.com,2026-11-01T08:00:00.000Z\n",
        // Excel's "CSV UTF-8" begins with a byte order mark.
        "\u{feff}email,joined_at\r\nann@example.com,2026-11-01 08:00\r\n",
        "\u{feff}email,joined_at\r\nann@example.com,2026-11-01T08:00:00Z\r\n",
        "\u{feff}email,joined_at\r\nann@example.com,\r\n",
        "\u{feff}email,joined_at\r\nann@example.com\r\n",
        "{\"email\":\"ann@example.com\",\"joined_at\":\"2026-11-01\"}\n",
        "ann@example.com\n",
        "ann@example.com",
    ] {
        let result = cli.run_with_input(&["import", "--dry-run"], file).success();
        let report = stdout(&result);
        assert!(
            report.contains("\n1 would be added, 0 already there, 0 rejected\n"),
            "{file:?}: {report}"
        );
    }
}

/// Returns an export of people with sources and confirmations.
fn export_with_sources(is_json: bool) -> String {
    if is_json {
        concat!(
            r#"{"email":"ann@example.com","joined_at":"2026-11-01T08:00:00.000Z","source":"hn"}"#,
            "\n",
            r#"{"email":"bob@example.com","joined_at":"2026-11-02T08:00:00.000Z"}"#,
            "\n",
            r#"{"email":"eve@example.com","joined_at":"2026-11-03T08:00:00.000Z","source":"-x","confirmed_at":"2026-11-03T09:00:00.125Z"}"#,
            "\n",
        ).to_owned()
    } else {
        "\u{feff}email,joined_at,source,confirmed_at\n\
         ann@example.com,2026-11-01T08:00:00.000Z,hn,\n\
         bob@example.com,2026-11-02T08:00:00.000Z,,\n\
         eve@example.com,2026-11-03T08:00:00.000Z,'-x,2026-11-03T09:00:00.125Z\n"
            .to_owned()
    }
}

/// Returns the arguments that write such an export.
fn export_args(is_json: bool) -> &'static [&'static str] {
    match is_json {
        true => &["export", "--json"],
        false => &["export"],
    }
}

#[test]
fn exports_with_sources_and_confirmations_round_trip() {
    for is_json in [false, true] {
        for cli in all_stores() {
            let file = export_with_sources(is_json);
            cli.run_with_input(&["import"], &*file).success();
            assert_eq!(cli.stdout(export_args(is_json)), file);
            // Existing entries are not changed.
            let other = file.replace("hn", "other");
            let result = cli.run_with_input(&["import"], other);
            let result = stdout(&result.success());
            assert!(result.contains("0 added, 3 already there"), "{result}");
            assert_eq!(cli.stdout(export_args(is_json)), file);
        }
    }
}

#[test]
fn reads_the_sources_of_other_programs() {
    let cli = without_server();
    let file = "E-Mail,Source,Joined\n\
                ann@example.com,Product Hunt,2026-11-01\n\
                bob@example.com,\"<a href=/>\",2026-11-02\n\
                eve@example.com,,2026-11-03\n";
    let result = stdout(&cli.run_with_input(&["import"], file).success());
    assert!(result.contains("column \"Source\": sources\n"), "{result}");
    assert!(result.contains("3 added"), "{result}");
    assert!(
        result.contains("1 has an invalid source; it was left out"),
        "{result}"
    );
    let exported = cli.stdout(&["export"]);
    let sources = exported.lines().skip(1).take(3);
    let sources = sources.map(|row| row.split(',').nth(2).unwrap_or_default());
    assert!(sources.eq(["product-hunt", "", ""]), "{exported}");
}

/// Nobody is lost because of a confirmation, which most programs do not even have.
#[test]
fn unreadable_time_of_a_confirmation_is_left_out() {
    let cli = without_server();
    let file = b"email,source,joined_at,confirmed_at\n\
                 ann@example.com,M\xfcller,2026-11-01,soon\n\
                 bob@example.com,hn,2026-11-01,2026-11-02\n\
                 eve@example.com,hn,2026-11-01,\xfc\n";
    let result = cli.run_with_input(&["import"], file).success();
    let report = stdout(&result);
    assert!(report.contains("3 added"), "{report}");
    let note = "2 have a confirmation time that cannot be read; it was left out";
    assert!(report.contains(note), "{report}");
    let exported = cli.stdout(&["export"]);
    let confirmed = exported
        .lines()
        .filter(|row| row.ends_with(",2026-11-02T00:00:00.000Z"));
    assert_eq!(confirmed.count(), 1, "{exported}");
    assert!(
        exported.contains("ann@example.com,2026-11-01T00:00:00.000Z,,\n"),
        "{exported}"
    );
}

/// Excel has saved the export with the dates of the United States.
#[test]
fn confirmations_are_read_in_the_order_of_the_sign_up_times() {
    for (file, confirmed_at) in [
        (
            "email,joined_at,source,confirmed_at\n\
             ann@example.com,1/2/2026 8:00,hn,1/3/2026 8:00\n\
             bob@example.com,2/13/2026 8:00,hn,\n",
            ",2026-01-03T08:00:00.000Z",
        ),
        (
            "email,joined_at,confirmed_at\n\
             ann@example.com,2026-01-02,3/1/2026\n\
             bob@example.com,2026-02-13,13/2/2026\n",
            ",2026-01-03T00:00:00.000Z",
        ),
    ] {
        let cli = without_server();
        let report = stdout(&cli.run_with_input(&["import"], file).success());
        assert!(
            report.contains("2 added, 0 already there, 0 rejected"),
            "{report}"
        );
        let exported = cli.stdout(&["export"]);
        let ann = exported.lines().nth(1).unwrap_or_default();
        assert!(ann.ends_with(confirmed_at), "{exported}");
    }
}

/// A column of that name of another program may say who has left.
#[test]
fn asks_about_unsubscribed_people_in_a_column_of_sources() {
    for file in [
        "email,joined_at,source\nann@example.com,2026-11-01,unsubscribed\nbob@example.com,2026-11-01,hn\n",
        "email,utm_source\nann@example.com,Do not contact\nbob@example.com,hn\n",
        "{\"email\":\"ann@example.com\",\"source\":\"unsubscribed\",\"x\":1}\n\
         {\"email\":\"bob@example.com\",\"source\":\"hn\",\"x\":1}\n",
    ] {
        let cli = without_server();
        let result = cli.run_with_input(&["import"], file).code(1);
        let error = stderr(&result);
        assert!(error.contains("people have unsubscribed"), "{error}");
        assert!(!cli.file("data").exists());
        let name = if file.contains("utm_source") {
            "utm_source=Do not contact"
        } else {
            "source=unsubscribed"
        };
        let result = cli.run_with_input(&["import", "--skip", name], file);
        let report = stdout(&result.success());
        assert!(
            report.contains("1 added, 0 already there, 1 rejected"),
            "{file}: {report}"
        );
    }
}

/// Anybody can sign up with such a link.
#[test]
fn export_with_a_misleading_source_round_trips() {
    for is_json in [false, true] {
        let cli = without_server();
        let file = export_with_sources(is_json).replace("hn", "unsubscribed");
        cli.run_with_input(&["import"], &*file).success();
        assert_eq!(cli.stdout(export_args(is_json)), file);
    }
}

#[test]
fn dry_run_names_the_columns_of_an_export() {
    for cli in with_three_people() {
        for (name, args) in [("list.csv", &[][..])] {
            cli.run(&[&["export", "-o", name], args].concat()).success();
            assert_eq!(
                cli.stdout(&["import", "--dry-run", name]),
                "column \"email\": addresses\n\
                 column \"joined_at\": sign-up times\n\
                 column \"source\": sources\n\
                 column \"confirmed_at\": times of confirmations\n\
                 0 would be added, 3 already there, 0 rejected\n"
            );
            assert_eq!(
                cli.json(&["import", "--dry-run", name])["columns"],
                serde_json::json!([
                    { "name": "email", "use": "email" },
                    { "name": "joined_at", "use": "joined_at" },
                    { "name": "source", "use": "source" },
                    { "name": "confirmed_at", "use": "confirmed_at" },
                ])
            );
        }
    }
}
