//! `landing import`, as a program: what it prints and changes.

use serde_json::Value;

use super::{addresses, all_stores, assert_contains, people_csv, stdout, without_server};

const STATUSES: &str = "email,status\nann@example.com,gone\ndan@example.com,gone\nDAN@example.com,gone\n\
                        eve@example.com,here\nfay@example.com,asked\n";

#[test]
fn imports_many_people_once_and_in_order() {
    for cli in all_stores() {
        let file = people_csv(3_000);
        let result = cli.run_with_input(&["import"], file.clone()).success();
        assert_eq!(stdout(&result), "3000 added, 0 already there\n");
        let result = cli.run_with_input(&["import"], file.clone()).success();
        assert_eq!(stdout(&result), "0 added, 3000 already there\n");
        let emails = file
            .lines()
            .skip(1)
            .map(|row| row.split(',').next().expect("a cell"));
        let listed = cli.listed();
        let listed = listed
            .iter()
            .map(|line| line.split('\t').nth(1).expect("an address"));
        assert!(emails.eq(listed));
    }
}

#[test]
fn presets_say_how_to_export_there() {
    let cli = without_server();
    let presets = cli.stdout(&["import", "--presets"]);
    let programs = "mailchimp kit substack ghost beehiiv buttondown mailerlite brevo hubspot klaviyo constant-contact \
                    listmonk shopify wix sendgrid postmark ses mailgun";
    for name in programs.split_whitespace() {
        let entry = presets
            .split('\n')
            .find(|line| line.starts_with(&format!("{name}: ")));
        assert!(entry.is_some(), "{name}");
    }
    for line in cli.stdout(&["import", "--presets", "--json"]).lines() {
        let preset: Value = serde_json::from_str(line).expect("JSON");
        let export = preset["export"].as_str().expect("a text");
        assert!(export.len() > 10, "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn questions_are_asked_on_a_terminal() {
    let cli = without_server();
    cli.write("list.csv", STATUSES);
    cli.write("answers", "y\nl\ns\nu\ny\n");
    let landing = env!("CARGO_BIN_EXE_landing");
    let mut script = cli.command_for("sh");
    let command = format!("script -qec \"'{landing}' import list.csv\" /dev/null < answers");
    let output = script.args(["-c", &command]).output().expect("sh runs");
    let shown = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let command = "landing: next time, run: landing import list.csv --left status=gone --stay status=here \
                   --undecided status=asked\n";
    assert_contains(&shown, command);
    assert_contains(&shown, "1 added");
    // The question does not follow the progress bar.
    assert!(!shown.contains(" leftColumn"), "{shown}");
    assert_eq!(addresses(&cli), ["eve@example.com"]);
}

/// On a terminal, the location is printed before a progress bar is drawn.
#[cfg(target_os = "linux")]
#[test]
fn names_the_list_before_it_adds_anybody() {
    let cli = without_server();
    cli.write("list.csv", people_csv(30_000));
    let shown = cli.shown_on_terminal("import list.csv");
    let location = shown
        .find("landing: the waitlist in ")
        .expect("the location");
    assert!(
        shown.find("adding").is_none_or(|bar| location < bar),
        "{shown}"
    );
}
