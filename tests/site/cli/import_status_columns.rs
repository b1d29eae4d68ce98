//! `landing import`: asks the owner about columns that may mark unsubscribed people.

use serde_json::json;

use super::{dry_run_counts, dry_run_counts_with, stderr, stdout, without_server};

/// Returns a CSV file with two people and a second column with a quoted value for each.
fn csv_with_column(column: &str, ann: &str, bob: &str) -> String {
    format!("email,{column}\nann@example.com,\"{ann}\"\nbob@example.com,\"{bob}\"\n")
}

#[test]
fn asks_about_columns_that_may_mark_unsubscribed_people() {
    let cli = without_server();
    for (column, unsubscribed, subscribed) in [
        // A single word in any column.
        ("Campaign Status", "Unsubscribed", "Sent"),
        ("Campaign Status", "Bounced", "Opened"),
        ("Message", "unsubscribed", "Hello"),
        ("Reason", "opted out", ""),
        ("Type", "removed", "regular"),
        ("Phone notes", "unsubscribed", "call again"),
        ("", "unsubscribed", "x"),
        // A word in a list or a sentence.
        ("Tags", "vip; unsubscribed", "vip"),
        ("Tags", "vip|Bounced", "vip"),
        ("Lists", "news (unsubscribed)", "news"),
        ("Lists", "news: opted-out", "news"),
        ("Notes", "She has unsubscribed.", "Likes tea"),
        ("Data", "['a', 'unsub']", "['a']"),
        // A "no" in an opt-in column.
        ("Newsletter opt-in", "No", "Yes"),
        ("GDPR consent", "false", "true"),
        ("GDPR consent", "withdrawn", "given"),
        ("Subscriber", "No", "Yes"),
        ("Receive marketing emails", "No", "Yes"),
        ("Receive marketing emails", "No, thanks", "Yes, please"),
        ("Receive marketing emails", "✗", "✓"),
        ("Receive marketing emails", "I don't want to", "I do"),
        // A "no" to a question or a wish.
        ("May we email you about the launch?", "No", "Yes"),
        ("Can we contact you about the beta?", "No", "Yes"),
        ("May we send you news?", "No", "Yes"),
        ("Is it OK to email you?", "No", "Yes"),
        ("Would you like to hear from us?", "No", "Yes"),
        ("Do you want updates?", "No", "Yes"),
        ("Send me product updates", "No", "Yes"),
        ("Stay in touch?", "No", "Yes"),
        ("Dürfen wir dir schreiben?", "Nein", "Ja"),
        ("Dürfen wir dich kontaktieren?", "Nein", "Ja"),
        ("Darf ich dich per E-Mail benachrichtigen?", "Nein", "Ja"),
        // A "yes" or a time in an opt-out column.
        ("No emails please", "Yes", "No"),
        ("Keine Mails bitte", "ja", "nein"),
        ("Deleted", "true", "false"),
        ("Archived", "yes", "no"),
        ("Archived", "✓", ""),
        ("Removed", "2024-03-05", ""),
        ("Left at", "2024-03-05 12:30", ""),
        ("leftAt", "1709645000", ""),
        ("Abgemeldet", "ja", "nein"),
        ("Bounce", "Hard", ""),
        ("Bounce type", "Hard bounce", ""),
        ("Email quarantined", "true", "false"),
        ("is_excluded_from_campaigns", "true", "false"),
        // An unknown value in a status or opt-in column.
        ("consent", "withdrawn", "granted"),
        ("consent", "withdrawn", ""),
        ("newsletter", "no thanks", "yes"),
        ("Application status", "withdrawn", ""),
        (
            "Marketing contact status",
            "Non-marketing contact",
            "Marketing contact",
        ),
    ] {
        let csv = csv_with_column(column, unsubscribed, subscribed);
        let object =
            |email: &str, value: &str| format!("{}\n", json!({ "email": email, column: value }));
        let jsonl =
            object("ann@example.com", unsubscribed) + &object("bob@example.com", subscribed);
        // An unnamed CSV column has a number, which the flags accept. An empty JSON key has none.
        let files = [csv, jsonl]
            .into_iter()
            .take(if column.is_empty() { 1 } else { 2 });
        let context = format!("{column}: {unsubscribed}");
        for file in files {
            let result = cli.run_with_input(&["import"], &*file).code(1);
            let stderr = stderr(&result);
            assert!(
                stderr.contains("nothing was imported"),
                "{context}: {stderr}"
            );
            let name = if column.is_empty() { "2" } else { column };
            let all_values = format!("{name}=*");
            let counted = dry_run_counts_with(&cli, &file, &["--skip", &all_values]);
            assert!(counted.starts_with("1 would"), "{context}: {counted}");
            let counted = dry_run_counts_with(&cli, &file, &["--keep", &all_values]);
            assert!(counted.starts_with("2 would"), "{context}: {counted}");
            let counted = dry_run_counts_with(&cli, &file, &["--ignore", name]);
            assert!(counted.starts_with("2 would"), "{context}: {counted}");
        }
    }
}

#[test]
fn yes_to_a_negated_wish_skips_people() {
    let cli = without_server();
    for column in [
        "Please don't email me",
        "Don’t contact",
        "Do not send me emails",
    ] {
        let file = csv_with_column(column, "Yes", "No");
        let result = cli.run_with_input(&["import", "--dry-run"], file).success();
        let report = stdout(&result);
        assert!(report.contains("1 would be added"), "{column}: {report}");
        assert!(
            report.contains(&format!("column \"{column}\": skips \"Yes\"")),
            "{report}"
        );
    }
}

#[test]
fn asks_nothing_about_ordinary_columns() {
    let cli = without_server();
    for (column, ann, bob) in [
        ("Name", "Don Nott", "Ann Left"),
        ("Company", "Bounce Ltd", "Spam Musubi Inc."),
        ("Archive link", "https://example.com/archived/1", ""),
        ("Website", "https://example.com/unsubscribed", ""),
        ("Birthday", "1990-01-01", "2000-12-31"),
        ("Notes", "Says no to meat, yes to tea", "not sure"),
        ("VIP", "no", "yes"),
        ("Seats left", "3", "12"),
        ("Bounce count", "0", "1"),
        ("Spam score", "0.1", "5"),
        ("Deleted", "", "no"),
        ("Removed", "0000-00-00", ""),
        ("Newsletter opt-in", "yes", "2024-01-01"),
        ("OPTIN_IP", "203.0.113.7", "203.0.113.8"),
        ("GDPR consent", "", ""),
        ("Subscriber since", "2020-01-01", ""),
        ("Marketing source", "Google", "None"),
        ("SMS status", "unsubscribed", "subscribed"),
        ("Project status", "In progress", "Planned"),
        ("paid_subscription", "false", "true"),
        ("Hand", "left", "right"),
        ("Email verified", "no", "yes"),
        ("Contact person", "no", "Ann"),
        ("Last updated", "never", "2024-01-01"),
        ("unsubscribe_token", "1709645000", "1709645001"),
    ] {
        for file in [
            csv_with_column(column, ann, bob),
            csv_with_column(column, bob, ann),
        ] {
            let result = cli.run_with_input(&["import", "--dry-run"], file).success();
            let report = stdout(&result);
            assert!(report.contains("2 would be added"), "{column}: {report}");
        }
    }
}

#[test]
fn asks_about_values_in_nested_json() {
    let cli = without_server();
    for (key, value, column) in [
        (
            "lists",
            json!([{ "name": "a", "subscription_status": "unsubscribed" }]),
            "lists.subscription_status",
        ),
        (
            "subscription",
            json!({ "status": "unsubscribed" }),
            "subscription.status",
        ),
        (
            "subscription",
            json!({ "status": "odd" }),
            "subscription.status",
        ),
        ("user", json!({ "status": "unsubscribed" }), "user.status"),
        (
            "flags",
            json!({ "email": { "unsubscribed": true } }),
            "flags.email.unsubscribed",
        ),
        (
            "consent",
            json!({ "marketing": false }),
            "consent.marketing",
        ),
        ("tags", json!(["vip", "unsubscribed"]), "tags"),
        ("tags", json!(["vip", { "name": "bounced" }]), "tags.name"),
        ("deleted", json!({ "at": "2024-01-01" }), "deleted.at"),
    ] {
        let ann = json!({ "email": "ann@example.com", key: value });
        let file = format!("{ann}\n{{\"email\":\"bob@example.com\"}}\n");
        let stderr = stderr(&cli.run_with_input(&["import"], &*file).code(1));
        assert!(
            stderr.contains(&format!("line 1: column {column:?}")),
            "{stderr}"
        );
        for (options, added) in [
            (["--skip", &*format!("{column}=*")], 1),
            (["--ignore", column], 2),
            (["--ignore", key], 2),
        ] {
            let counted = dry_run_counts_with(&cli, &file, &options);
            assert!(counted.starts_with(&format!("{added} would")), "{counted}");
        }
    }
    // The address of another person, and objects without a status.
    let file = "{\"referrer\":{\"email\":\"eve@example.com\"}}\n\
                {\"email\":\"bob@example.com\",\"address\":{\"state\":\"Bern\",\"ok\":false},\"ids\":[1,2],\"x\":{}}\n";
    let counted = dry_run_counts(&cli, file);
    assert_eq!(counted, "1 would be added, 0 already there, 1 rejected");
}

#[test]
fn asks_about_each_item_of_a_list_value() {
    let cli = without_server();
    let file = "email,tags\n\
                ann@example.com,\"vip, unsubscribed\"\n\
                bob@example.com,\"unsubscribed, bounced\"\n\
                cyd@example.com,vip\n";
    let stderr = stderr(&cli.run_with_input(&["import"], file).code(1));
    assert!(
        stderr.contains("line 2: column \"tags\" says \"unsubscribed\" (2 people)"),
        "{stderr}"
    );
    assert!(
        stderr.contains("line 3: column \"tags\" says \"bounced\" (1 person)"),
        "{stderr}"
    );
    for (options, added) in [
        (&["--skip", "unsubscribed"][..], 1),
        (&["--keep", "unsubscribed", "--skip", "bounced"], 2),
        (&["--keep", "unsubscribed", "--keep", "bounced"], 3),
        (&["--keep", "tags=unsubscribed", "--skip", "tags=*"], 1),
    ] {
        let counted = dry_run_counts_with(&cli, file, options);
        assert!(counted.starts_with(&format!("{added} would")), "{counted}");
    }
    // The other item has no answer yet.
    let counted = dry_run_counts_with(&cli, file, &["--keep", "unsubscribed"]);
    assert!(counted.contains("says \"bounced\""), "{counted}");
}

#[test]
fn asks_once_about_all_times_in_a_column() {
    let cli = without_server();
    let file =
        "email,Removed\nann@example.com,2024-01-01\nbob@example.com,2024-01-02\ncyd@example.com,\n";
    let stderr = stderr(&cli.run_with_input(&["import"], file).code(1));
    assert!(
        stderr.contains("line 2: column \"Removed\" says \"a time\" (2 people)"),
        "{stderr}"
    );
    for answer in ["a time", "removed=a time", "Removed=*"] {
        let counted = dry_run_counts_with(&cli, file, &["--skip", answer]);
        assert_eq!(counted, "1 would be added, 0 already there, 2 rejected");
    }
}

#[test]
fn does_not_ask_about_people_who_are_skipped_anyway() {
    let cli = without_server();
    let file = "email,status,UNSUB_REASON\n\
                ann@example.com,unsubscribed,N/A (unsubscribed by admin)\n\
                bob@example.com,subscribed,\n";
    let counted = dry_run_counts(&cli, file);
    assert_eq!(counted, "1 would be added, 0 already there, 1 rejected");
}

#[test]
fn rejects_a_row_with_more_cells_than_columns() {
    let cli = without_server();
    let file = "email,name,status\n\
                ann@example.com,Ann,active,unsubscribed\n\
                bob@example.com,Bob,active,,\n\
                cyd@example.com,Cyd,active, \n\
                dee@example.com,Dee\n\
                ANN@example.com,Ann,active\n";
    let report = stdout(&cli.run_with_input(&["import", "--dry-run"], file).code(1));
    assert!(
        report.contains("standard input:2: more cells than in the first row"),
        "{report}"
    );
    assert!(
        report.contains("standard input:6: skipped: unsubscribed"),
        "{report}"
    );
    assert!(
        report.contains("3 would be added, 0 already there, 2 rejected"),
        "{report}"
    );
}

#[test]
fn rejects_text_after_the_address_in_a_file_with_one_column() {
    let cli = without_server();
    for (first, line) in [("ann@example.com", 2), ("email\nann@example.com", 3)] {
        let file = format!(
            "{first}\nbob@example.com,unsubscribed\nfoo@x,de\ncyd@example.com,\ndee@example.com, \n"
        );
        let report = stdout(&cli.run_with_input(&["import", "--dry-run"], file).code(1));
        let why = "text follows the address, but the first row has only one column; write one address per line";
        assert!(
            report.contains(&format!(
                "\nstandard input:{line}: {why}\nstandard input:{}: {why}\n3 would be added, ",
                line + 1
            )),
            "{report}"
        );
    }
}

#[test]
fn rejects_an_address_with_a_comma_in_its_domain() {
    let cli = without_server();
    for line in ["foo@x,de", "foo@x;de", "foo@example,com"] {
        let report = stdout(&cli.run_with_input(&["import"], line).code(1));
        assert!(
            report.contains(
                "\nstandard input:1: the domain has no dot, and the address ends at a separator; "
            ),
            "{line}: {report}"
        );
        assert!(report.contains("\n0 added, "), "{line}: {report}");
    }
    // A column of names.
    let report = stdout(
        &cli.run_with_input(&["import"], "foo@x.example,Ann\n")
            .success(),
    );
    assert!(report.contains("\n1 added, "), "{report}");
}
