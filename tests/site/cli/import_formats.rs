//! `landing import`: files of other programs.

use super::{all_stores, fixture, stderr, stdout, with_three_people, without_server};

/// Imports a file into an empty list in each store. Returns the lines of `list`, the report and the exit code.
fn imported(name: &str) -> Vec<(Vec<String>, String, Option<i32>)> {
    let import = |cli: super::TestCli| {
        let file = fixture(name);
        let result = cli.run(&["import", file.to_str().expect("text")]);
        let report = stdout(&result);
        (cli.listed(), report, result.get_output().status.code())
    };
    all_stores().map(import).into()
}

#[test]
fn reads_a_mailchimp_export() {
    for (listed, report, code) in imported("mailchimp.csv") {
        let expected = "column \"Email Address\": addresses\n\
                        column \"OPTIN_TIME\": sign-up times\n\
                        column \"CONFIRM_TIME\": sign-up times where \"OPTIN_TIME\" is empty\n\
                        ignored: \"First Name\", \"Last Name\", \"MEMBER_RATING\", \"OPTIN_IP\", \"CONFIRM_IP\", \
                        \"LATITUDE\", \"LONGITUDE\", \"GMTOFF\", \"DSTOFF\", \"TIMEZONE\", \
                        \"CC\", \"REGION\", \"LAST_CHANGED\", \"LEID\", \"EUID\", \"NOTES\"\n\
                        2 added, 0 already there, 0 rejected\n";
        assert_eq!(report, expected);
        assert_eq!(code, Some(0));
        assert_eq!(
            listed,
            [
                "2015-03-16T14:40:47.000Z\tann@example.com",
                "2015-03-17T08:00:00.000Z\tbob@example.com"
            ]
        );
    }
}

#[test]
fn skips_people_who_unsubscribed_elsewhere() {
    for cli in all_stores() {
        let file = fixture("mailchimp-unsubscribed.csv");
        let args = ["import", "--skip-all", file.to_str().expect("text")];
        let report = cli.stdout(&args);
        assert!(
            report.contains("mailchimp-unsubscribed.csv:2: skipped: unsubscribed\n"),
            "{report}"
        );
        assert_eq!(cli.stdout(&["count"]), "0\n");
    }
}

#[test]
fn reads_a_getwaitlist_export() {
    for (listed, report, _) in imported("getwaitlist.csv") {
        assert!(
            report.contains("getwaitlist.csv:4: skipped: unsubscribed"),
            "{report}"
        );
        assert_eq!(
            listed,
            [
                "2022-01-16T21:43:53.123Z\tann@example.com",
                "2022-01-17T06:00:00.000Z\tBob@Example.com"
            ]
        );
    }
}

#[test]
fn reads_spreadsheet_files_with_any_separator() {
    for (listed, _, code) in imported("excel.csv") {
        assert_eq!(code, Some(0));
        assert_eq!(
            listed,
            [
                "2024-02-29T00:00:00.000Z\tann@müller.example",
                "2024-03-01T09:30:00.000Z\tbob@example.com"
            ]
        );
    }
}

#[test]
fn asks_whether_dates_of_a_spreadsheet_begin_with_the_day() {
    for cli in all_stores() {
        let file = fixture("spreadsheet.tsv");
        let file = file.to_str().expect("text");
        let stderr = stderr(&cli.run(&["import", file]).code(1));
        assert!(
            stderr.contains(
                "spreadsheet.tsv:3: nothing was imported: column \"Timestamp\" has dates such as \
                 \"3/5/2024 14:22:11\", which may begin with the day or with the month; add --date-format \
                 '%d/%m/%Y' if they begin with the day (2024-05-03), or --date-format '%m/%d/%Y' if they begin with \
                 the month (2024-03-05)\n"
            ),
            "{stderr}"
        );
        cli.run(&["import", file, "--date-format", "%m/%d/%Y"])
            .success();
        assert_eq!(
            cli.listed(),
            [
                "2024-03-01T09:30:00.000Z\tann@example.com",
                "2024-03-05T14:22:11.000Z\tbob@example.com"
            ]
        );
    }
}

#[test]
fn addresses_without_times_get_the_current_time() {
    for (listed, _, code) in imported("addresses.txt") {
        assert_eq!(code, Some(0));
        let today = jiff::Timestamp::now().to_string();
        assert!(
            listed.iter().all(|line| line[..9] == today[..9]),
            "{listed:?}"
        );
        let emails = listed.iter().filter_map(|line| line.split('\t').nth(1));
        assert!(
            emails.eq(["ann@example.com", "bob@example.com"]),
            "{listed:?}"
        );
    }
    for cli in with_three_people() {
        // `import` accepts the output of `list`.
        let list = cli.stdout(&["list"]);
        cli.run_with_input(&["import", "--data", "other"], list.clone())
            .success();
        assert_eq!(cli.stdout(&["list", "--data", "other"]), list);
    }
}

#[test]
fn recognizes_many_names_for_the_email_column() {
    for (name, header) in [
        ("a", "name,E-MAIL"),
        ("b", "n,\"What is your email address?\""),
        ("c", "Email permission,Email Address"),
        ("d", "x,mail"),
    ] {
        let cli = without_server();
        cli.run_with_input(&["import"], format!("{header}\n{name},ann@example.com\n"))
            .success();
        assert!(cli.listed()[0].ends_with("\tann@example.com"), "{header}");
    }
}

#[test]
fn recognizes_spellings_of_the_email_column() {
    for header in [
        "E-mail Address",
        "E-Mail-Adresse",
        "e mail",
        "E\u{2011}Mail",
        "Email Address (required)",
        "E-Mail *",
        "E-Mail (Pflichtfeld)",
        "Email (required for our newsletter)",
        "Primary email",
        "Mail address",
        "Mail-Adresse",
        "Mailadresse",
        "Adresse e-mail",
        "Adresse électronique",
        "Courriel",
        "Correo electrónico",
        "Dirección de correo electrónico",
    ] {
        for file in [
            format!("Name,\"{header}\"\nAnn,ann@example.com\n"),
            format!("{{\"{header}\":\"ann@example.com\"}}\n"),
        ] {
            let cli = without_server();
            let result = cli.run_with_input(&["import"], file);
            let report = stdout(&result) + &stderr(&result);
            assert!(
                report.contains(&format!("column \"{header}\": addresses\n")),
                "{report}"
            );
            assert!(cli.listed()[0].ends_with("\tann@example.com"), "{header}");
        }
    }
}

#[test]
fn reads_the_addresses_of_google_contacts() {
    let cli = without_server();
    let file = "First Name,E-mail 1 - Label,E-mail 1 - Value\nAnn,* Work,ann@example.com\n";
    let result = cli.run_with_input(&["import"], file).success();
    assert!(stdout(&result).starts_with("column \"E-mail 1 - Value\": addresses\n"));
}

#[test]
fn reports_a_file_without_addresses() {
    for cli in all_stores() {
        for (file, why) in [
            (
                "Ann at example.com\nBob at example.com\n",
                "write one address per line, or add a header row that names the column \"email\"",
            ),
            (
                "[{\"email\":\"ann@example.com\"}]",
                "write one object per line",
            ),
            (
                "name,phone\nAnn,123\n",
                "add a header row that names the column \"email\"",
            ),
            ("\u{feff}\n\n", "0 added"),
        ] {
            let result = cli.run_with_input(&["import"], file);
            let output = stdout(&result) + &stderr(&result);
            assert!(output.contains(why), "{output}");
        }
        let output = stderr(&cli.run(&["import", "nowhere.csv"]).code(1));
        assert!(
            output
                .contains("nowhere.csv: nothing was imported: cannot read the file: No such file"),
            "{output}"
        );
    }
}

#[test]
fn unclosed_quote_rejects_only_one_line() {
    for cli in all_stores() {
        let many: String = (0..300)
            .map(|number| format!("{number}@example.com,x\n"))
            .collect();
        let file = format!(
            "email,name\nann@example.com,\"Ann\nbob@example.com,\"Bob\n the \"\"2nd\"\"\"\n{many}\
             dee@example.com,\"Dee"
        );
        let result = cli.run_with_input(&["import"], file).code(1);
        assert_eq!(
            stdout(&result),
            "column \"email\": addresses\n\
             ignored: \"name\"\n\
             standard input:2: unclosed quotation mark\n\
             standard input:305: unclosed quotation mark\n\
             301 added, 0 already there, 2 rejected\n301 have no sign-up time; the current time was used\n"
        );
    }
}

#[test]
fn address_in_the_first_line_is_not_a_header() {
    for first in ["steve@mail.ru", "x@freemail.hu", "email@email.example"] {
        let cli = without_server();
        let file = format!("{first}\nbob@example.com\n");
        cli.run_with_input(&["import"], file).success();
        assert_eq!(cli.stdout(&["count"]), "2\n", "{first}");
    }
}

#[test]
fn json_lines_use_the_same_column_names() {
    for cli in all_stores() {
        let file = r#"{"email":"ann@example.com","created_at":"2022-01-16T21:43:53","status":"subscribed"}
{"Email Address":"bob@example.com","joined_at":null,"status":"unsubscribed"}
{"email":"cyd@example.com","joined_at":null,"tags":["a"],"score":3}
"#;
        let result = cli.run_with_input(&["import"], file).success();
        assert_eq!(
            stdout(&result),
            "column \"email\": addresses\n\
             column \"created_at\": sign-up times\n\
             column \"status\": skips \"unsubscribed\"; imports \"subscribed\"\n\
             column \"Email Address\": addresses\n\
             column \"joined_at\": sign-up times\n\
             ignored: \"score\", \"tags\"\n\
             standard input:2: skipped: unsubscribed\n\
             2 added, 0 already there, 1 rejected\n\
             1 unsubscribed person is suppressed: no import adds them\n\
             1 has no sign-up time; the current time was used\n"
        );
        assert_eq!(cli.listed()[0], "2022-01-16T21:43:53.000Z\tann@example.com");
    }
}

#[test]
fn recognizes_many_names_for_the_time_column() {
    for name in [
        "Submitted at",
        "Date joined",
        "Created time",
        "Submit Date (UTC)",
        "applied at",
        "SIGNUP_DATE",
        "Signed up",
        "subscribed_on",
        "Date Added",
        "ADDED_TIME",
    ] {
        let cli = without_server();
        let file = format!(
            "email,OPTIN_IP,created_by,{name}\nann@example.com,203.0.113.7,Bob,2024-02-29\n"
        );
        cli.run_with_input(&["import"], file).success();
        assert_eq!(
            cli.listed(),
            ["2024-02-29T00:00:00.000Z\tann@example.com"],
            "{name}"
        );
    }
}

#[test]
fn finds_the_separator_outside_quotes_in_the_first_line() {
    let cli = without_server();
    for file in [
        "\nemail;name\nann@example.com;Ann, the 1st, of many\n",
        " \r\n\r\nemail\tname\r\nann@example.com\tAnn, the 1st\r\n",
        "email;\"Surname, first name, title\"\nann@example.com;x\n",
        "\"What is\nyour name, please, really?\";email\nAnn;ann@example.com\n",
        "\"a, \"\"b, c\"\", d\"\temail\nAnn\tann@example.com\n",
        ";;;\nemail;name, first; ;\nann@example.com;Ann;;\n",
        "sep=;\nemail;name, first, last\nann@example.com;Ann\n",
    ] {
        let result = cli.run_with_input(&["import", "--dry-run"], file).success();
        assert!(stdout(&result).contains("1 would be added, 0 already there, 0 rejected"));
    }
}

#[test]
fn rejects_a_time_with_a_zone_name() {
    let cli = without_server();
    for time in [
        "2026-11-01T08:00:00[Europe/Berlin]",
        "2026-11-01T08:00:00+01:00[Europe/Berlin]",
        "2026-11-01[Europe/Berlin]",
        "2026-11-01 08:00[!Europe/Berlin]",
        "2026-11-01T08:00:00[u-ca=hebrew]",
    ] {
        for file in [
            format!("email,joined_at\nann@example.com,{time}\n"),
            format!("\n{{\"email\":\"ann@example.com\",\"joined_at\":\"{time}\"}}\n"),
        ] {
            let result = cli.run_with_input(&["import", "--dry-run"], file).code(1);
            assert_eq!(
                stdout(&result),
                "column \"email\": addresses\ncolumn \"joined_at\": sign-up times\n\
                 standard input:2: invalid time: zones in brackets are not supported; write the offset, as in \
                 2026-11-21T08:00:00+01:00, or remove the column\n0 would be added, 0 already there, 1 rejected\n"
            );
        }
    }
}

#[test]
fn treats_placeholder_times_as_missing() {
    let cli = without_server();
    for time in ["0000-00-00 00:00:00", "-", "N/A", "null"] {
        let file = format!("email,created_at\nann@example.com,{time}\n");
        let result = cli.run_with_input(&["import", "--dry-run"], file).success();
        assert!(stdout(&result).contains("1 has no sign-up time"), "{time}");
    }
}

#[test]
fn skips_the_empty_rows_below_a_table() {
    for cli in all_stores() {
        let file = "Email;Name;Note\nann@example.com;Ann;\n;;\n ; ;\n\nbob@example.com;Bob;\n;;\n";
        let result = cli.run_with_input(&["import"], file).success();
        let report = stdout(&result);
        assert!(
            report.contains("2 added, 0 already there, 0 rejected"),
            "{report}"
        );
        cli.write("gone.csv", "Email;Name\nann@example.com;Ann\n;\n");
        assert_eq!(
            cli.stdout(&["erase", "--file", "gone.csv"]),
            "ann@example.com is erased\n"
        );
    }
}
