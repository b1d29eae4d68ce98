//! `landing import`: files that mark unsubscribed people.

use serde_json::json;

use super::{all_stores, dry_run_counts, dry_run_counts_with, stderr, stdout, without_server};

/// Returns a CSV file with two people and a second column with a value for each, unquoted.
fn csv_with_column(column: &str, ann: &str, bob: &str) -> String {
    format!("email,{column}\nann@example.com,{ann}\nbob@example.com,{bob}\n")
}

#[test]
fn imports_subscribed_people() {
    let cli = without_server();
    for (column, value) in [
        ("unsubscribe_url", "https://example.com/unsubscribe?id=1"),
        ("Unsubscribe", "https://example.com/unsubscribe?id=1"),
        ("List-Unsubscribe", "mailto:leave@example.com"),
        ("UNSUB_REASON", "No longer interested"),
        ("unsubscribed_at", "0000-00-00 00:00:00"),
        ("unsubscribed_at", "0001-01-01T00:00:00Z"),
        ("unsubscribed_at", "1970-01-01T00:00:00Z"),
        ("unsubscribed", "-"),
        ("unsubscribed", "N/A"),
        ("Email Suppressions", "[]"),
        ("unsubscribed", "never"),
        ("unsubscribed", "nein"),
        ("unsubscribed", "subscribed"),
        ("Opted out of email: Monthly news", "false"),
        ("EMAIL_BLACKLISTED", "false"),
        ("SMS_BLACKLISTED", "true"),
        ("subscribed", "true"),
        ("subscribed_to_emails", "TRUE"),
        ("email_disabled", "false"),
        ("active_subscription", "false"),
        ("Email Marketing Consent", "SUBSCRIBED"),
        ("SMS Marketing Consent", "NEVER_SUBSCRIBED"),
        ("Email permission", "somehow"),
        ("State", "California"),
        ("status", "Active"),
        ("status", "free"),
        ("bounce count", "3"),
    ] {
        assert_eq!(
            dry_run_counts(&cli, &csv_with_column(column, value, value)),
            "2 would be added, 0 already there, 0 rejected",
            "{column}: {value}"
        );
    }
}

#[test]
fn skips_unsubscribed_people() {
    let cli = without_server();
    for (column, unsubscribed, subscribed) in [
        ("Status", "Unsubscribed", "Subscribed"),
        ("Unsubscribed on", "2024-02-29", "no"),
        ("Unsubscribed", "true", "no"),
        ("opt-out date", "2024-02-29 08:00", "no"),
        ("status", "inactive", "active"),
        ("status", "complained", "active"),
        ("status", "Opted out", "Opted in"),
        ("status", "spam", "active"),
        ("status", "Blacklisted", "active"),
        ("status", "junk", "active"),
        ("status", "non-subscribed", "subscribed"),
        ("Subscriber state", "cancelled", "active"),
        ("state", "bounced", "active"),
        ("Mailing status", "unsubscribed", "active"),
        ("Opted out of email: Monthly news", "true", "false"),
        ("Unsubscribed from all email", "true", ""),
        ("EMAIL_BLACKLISTED", "true", "false"),
        ("EMAIL_BLACKLISTED", "1", "0"),
        ("email_disabled", "true", "false"),
        ("subscribed", "false", "true"),
        ("subscribed_to_emails", "no", "yes"),
        ("is_active", "0", "1"),
        ("Accepts Email Marketing", "no", "yes"),
        ("Email Marketing Consent", "UNSUBSCRIBED", "SUBSCRIBED"),
        ("Email Marketing Consent", "NEVER_SUBSCRIBED", "SUBSCRIBED"),
        ("unsubscribed_at", "3/5/2024 14:22", ""),
        ("unsubscribed_at", "5 March 2024 2:22 pm", "null"),
        ("unsubscribed_at", "1709645000", "0"),
        ("complained_at", "2024-03-05T14:22:00+01:00", ""),
        (
            "cancelled_unsubscribed_at",
            "2024-03-05T14:22[Europe/Berlin]",
            "",
        ),
        ("Email Suppressions", "['UNSUBSCRIBE']", "[]"),
        ("deleted_at", "2024-03-05", "-"),
        ("Unsubscribed", "unsubscribed", "-"),
    ] {
        let expected = "1 would be added, 0 already there, 1 rejected";
        let context = format!("{column}: {unsubscribed}");
        let csv = csv_with_column(column, unsubscribed, subscribed);
        assert_eq!(dry_run_counts(&cli, &csv), expected, "{context}");
        let object =
            |email: &str, value: &str| format!("{}\n", json!({"email": email, column: value}));
        let jsonl =
            object("ann@example.com", unsubscribed) + &object("bob@example.com", subscribed);
        assert_eq!(dry_run_counts(&cli, &jsonl), expected, "{context}");
    }
}

#[test]
fn json_booleans_count_as_yes_and_no() {
    let cli = without_server();
    let file = r#"{"email":"ann@example.com","subscribed":false}
{"email":"bob@example.com","subscribed":true}
{"email":"cyd@example.com","subscribed":true,"email_blacklisted":true}
"#;
    assert_eq!(
        dry_run_counts(&cli, file),
        "1 would be added, 0 already there, 2 rejected"
    );
}

#[test]
fn asks_about_an_unknown_status_before_importing() {
    let csv = "email,status\nann@example.com,active\nbob@example.com,Trialing\n\
               cyd@example.com,paused\ndee@example.com,trialing\n";
    let jsonl = "{\"email\":\"ann@example.com\",\"status\":\"active\"}\n\
                 {\"email\":\"bob@example.com\",\"status\":\"Trialing\"}\n\
                 {\"email\":\"cyd@example.com\",\"status\":\"paused\"}\n\
                 {\"email\":\"dee@example.com\",\"status\":\"trialing\"}\n";
    for cli in all_stores() {
        for (file, line) in [(csv, 3), (jsonl, 2)] {
            for args in [&["import"][..], &["import", "--dry-run"]] {
                let result = cli.run_with_input(args, file).code(1);
                let stderr = stderr(&result);
                for part in [
                    "nothing was imported".to_owned(),
                    format!("line {line}: column \"status\" says \"Trialing\" (2 people)"),
                    format!(
                        "line {}: column \"status\" says \"paused\" (1 person)",
                        line + 1
                    ),
                    "--keep STATUS".to_owned(),
                    "--skip STATUS".to_owned(),
                    "--ignore COLUMN".to_owned(),
                ] {
                    assert!(stderr.contains(&part), "{part}: {stderr}");
                }
                assert!(!stderr.contains('@'), "{stderr}");
                assert!(stdout(&result).contains("column \"status\""));
            }
            let counts_with = |flags: &[&str]| {
                let args = [&["import", "--dry-run"], flags].concat();
                let result = cli.run_with_input(&args, file).success();
                let report = stdout(&result);
                let counts = report.lines().find(|line| line.contains("added"));
                counts.expect("a count").to_owned()
            };
            assert_eq!(
                counts_with(&["--keep", "trialing", "--skip", "PAUSED"]),
                "3 would be added, 0 already there, 1 rejected"
            );
            assert_eq!(
                counts_with(&["--keep", "paused", "--skip", "trialing"]),
                "2 would be added, 0 already there, 2 rejected"
            );
            assert_eq!(
                counts_with(&["--ignore", "Status"]),
                "4 would be added, 0 already there, 0 rejected"
            );
        }
        let count = cli.run(&["count"]);
        assert!(["0\n", ""].contains(&&*stdout(&count)), "nobody was added");
    }
}

#[test]
fn keep_overrides_the_guessed_meaning_of_a_status() {
    let cli = without_server();
    let csv = csv_with_column("status", "inactive", "active");
    let result = cli
        .run_with_input(&["import", "--keep", "inactive"], csv)
        .success();
    assert!(stdout(&result).contains("2 added"), "{}", stdout(&result));
}

#[test]
fn asks_when_everybody_would_be_skipped() {
    for cli in all_stores() {
        let csv = "email,status\nann@example.com,unsubscribed\nno address,unsubscribed\n";
        let result = cli.run_with_input(&["import"], csv).code(1);
        let stderr = stderr(&result);
        assert!(stderr.contains("nothing was imported"), "{stderr}");
        assert!(
            stderr.contains(
                "everybody in the file would be skipped because of column \"status\" (2 people)"
            ),
            "{stderr}"
        );
        assert!(stderr.contains("--skip-all"), "{stderr}");
        let dry_run = ["import", "--ignore", "status", "--dry-run"];
        let result = cli.run_with_input(&dry_run, csv).code(1);
        assert!(stdout(&result).contains("1 would be added, 0 already there, 1 rejected"));
        let result = cli.run_with_input(&["import", "--skip-all"], csv).success();
        let report = stdout(&result);
        assert!(report.contains("0 added, 0 already there, 2 rejected"));
        let suppressed = "1 unsubscribed person is suppressed: no import adds them";
        assert!(report.contains(suppressed), "{report}");
    }
}

#[test]
fn asks_about_an_unclear_value_in_an_unsubscribed_column() {
    let cli = without_server();
    let csv = csv_with_column("unsubscribed", "true", "perhaps");
    let result = cli.run_with_input(&["import"], csv).code(1);
    let expected = "line 3: column \"unsubscribed\" says \"perhaps\" (1 person)";
    assert!(stderr(&result).contains(expected), "{}", stderr(&result));
}

#[test]
fn asks_about_an_empty_cell_in_an_opt_in_column() {
    for column in ["newsletter", "GDPR consent"] {
        let cli = without_server();
        let csv = csv_with_column(column, "yes", "");
        let stderr = stderr(&cli.run_with_input(&["import"], &*csv).code(1));
        let expected = format!("column {column:?} says \"\" (1 person)");
        assert!(stderr.contains(&expected), "{stderr}");
        let result = cli
            .run_with_input(&["import", "--skip", ""], &*csv)
            .success();
        assert!(stdout(&result).contains("1 added, 0 already there, 1 rejected"));
    }
}

#[test]
fn question_omits_addresses_and_long_values() {
    let cli = without_server();
    let long = "long ".repeat(1000);
    let csv = csv_with_column("status", "ann@example.com", &long);
    let many: String = (0..500)
        .map(|number| format!("{number}@example.com,odd{number}\n"))
        .collect();
    let result = cli.run_with_input(&["import"], csv + &many).code(1);
    let (stderr, stdout) = (stderr(&result), stdout(&result));
    assert!(
        !stderr.contains('@') && !stdout.contains('@'),
        "{stderr}{stdout}"
    );
    assert!(stderr.contains("a value with an address in it"), "{stderr}");
    assert!(stderr.len() < 3000, "{}", stderr.len());
    assert!(stderr.contains("and 492 more"), "{stderr}");
}

#[test]
fn rejects_ignore_for_a_missing_column() {
    let cli = without_server();
    let csv = csv_with_column("status", "active", "active");
    let result = cli
        .run_with_input(&["import", "--ignore", "stauts"], csv)
        .code(1);
    assert!(
        stderr(&result).contains("there is no column \"stauts\""),
        "{}",
        stderr(&result)
    );
}

#[test]
fn report_lists_each_column_and_its_use() {
    for cli in all_stores() {
        let csv = "\"E-mail\",Created at,Optin time,Status,unsubscribed_at,unsubscribe,Name\n\
                   ann@example.com,2024-01-01,,Active,,https://example.com/1,Ann\n\
                   bob@example.com,2024-01-02,,Bounced,,https://example.com/2,Bob\n\
                   cyd@example.com,2024-01-03,,Active,2024-02-01,https://example.com/3,Cyd\n";
        let report = "column \"E-mail\": addresses\n\
                      column \"Optin time\": sign-up times\n\
                      column \"Created at\": sign-up times where \"Optin time\" is empty\n\
                      column \"Status\": skips \"Bounced\"; imports \"Active\"\n\
                      column \"unsubscribed_at\": skips people with a time\n\
                      column \"unsubscribe\": ignored: contains links\n\
                      ignored: \"Name\"\n\
                      standard input:3: skipped: unsubscribed\n\
                      standard input:4: skipped: unsubscribed\n\
                      1 would be added, 0 already there, 2 rejected\n\
                      2 unsubscribed people would be suppressed: no import adds them\n";
        let result = cli.run_with_input(&["import", "--dry-run"], csv).success();
        assert_eq!(stdout(&result), report);
        let result = cli
            .run_with_input(&["import", "--dry-run", "--json"], csv)
            .success();
        let report: serde_json::Value = serde_json::from_str(&stdout(&result)).expect("JSON");
        assert_eq!(
            report["columns"],
            json!([
                { "name": "E-mail", "use": "email" },
                { "name": "Optin time", "use": "joined_at" },
                { "name": "Created at", "use": "joined_at" },
                { "name": "Status", "use": "left", "skipped": ["Bounced"], "imported": ["Active"] },
                { "name": "unsubscribed_at", "use": "left", "skipped": ["a time"], "imported": [] },
                { "name": "unsubscribe", "use": "ignored", "skipped": [], "imported": [] },
                { "name": "Name", "use": "ignored" },
            ])
        );
    }
}

#[test]
fn malformed_header_row_stops_the_import() {
    let cli = without_server();
    let csv = "email,\"status\nann@example.com,unsubscribed\n";
    let result = cli.run_with_input(&["import"], csv).code(1);
    assert_eq!(
        stderr(&result),
        "landing: standard input:1: nothing was imported: unclosed quotation mark\n"
    );
}

#[test]
fn asks_about_an_unsubscribed_value_in_any_column() {
    let cli = without_server();
    for file in [
        csv_with_column("type", "regular", "unsubscribed"),
        csv_with_column("Email Deliverability", "good", "Bounced"),
        csv_with_column("plan_status", "", "opted out"),
        "ann@example.com,active\nbob@example.com,unsubscribed\n".to_owned(),
    ] {
        let result = cli.run_with_input(&["import"], file.clone()).code(1);
        let stderr = stderr(&result);
        assert!(stderr.contains("nothing was imported"), "{file}: {stderr}");
        assert!(stderr.contains("--skip STATUS"), "{file}: {stderr}");
        let word = file.trim_end().rsplit(',').next().expect("a cell");
        for (flag, added) in [("--skip", 1), ("--keep", 2)] {
            let counted = dry_run_counts_with(&cli, &file, &[flag, word]);
            let expected = format!("{added} would be added");
            assert!(counted.starts_with(&expected), "{file} {flag}: {counted}");
        }
    }
    // A status of text messages says nothing about e-mail.
    let sms = csv_with_column("SMS Marketing Consent", "SUBSCRIBED", "UNSUBSCRIBED");
    assert!(dry_run_counts(&cli, &sms).starts_with("2 would be added"));
}

#[test]
fn asks_to_split_a_file_with_two_header_rows() {
    let cli = without_server();
    let file = "email,name\nann@example.com,Ann\n\
                email,UNSUB_TIME\nbob@example.com,2024-03-03 03:03:03\n";
    let result = cli.run_with_input(&["import"], file).code(1);
    let stderr = stderr(&result);
    assert!(
        stderr.starts_with(
            "landing: standard input:3: nothing was imported: this is a second header row"
        ),
        "{stderr}"
    );
}
