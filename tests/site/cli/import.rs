//! `landing import`, as a program: what it prints and changes.

use serde_json::{Value, json};

use super::{
    TestCli, addresses, all_stores, people_csv, stderr, stdout, with_three_people, without_server,
};

const STATUSES: &str = "email,status\nann@example.com,gone\ndan@example.com,gone\nDAN@example.com,gone\n\
                        eve@example.com,here\nfay@example.com,asked\n";
const OPTIONS: [&str; 7] = [
    "import",
    "--left",
    "status=gone",
    "--stay",
    "status=here",
    "--undecided",
    "status=asked",
];

#[test]
fn invalid_rows_stop_the_import_unless_they_are_skipped() {
    for cli in all_stores() {
        let file = "email,joined_at\n\
                    ann@example.com,2026-11-01T08:00:00Z\n\
                    no address,2026-11-01T08:00:00Z\n\
                    bob@example.com,soon\n\
                    ,2026-11-01T08:00:00Z\n\
                    ANN@example.com,2026-11-05T08:00:00Z\n\
                    eve@example.com\n";
        let rows = "standard input:3: invalid address: an address needs an @\n\
                    standard input:4: invalid time in column joined_at; see --date-format\n\
                    standard input:5: missing address\n";
        let result = cli.run_with_input(&["import"], file).code(1);
        assert_eq!(stdout(&result), rows);
        assert_eq!(
            stderr(&result),
            "landing: standard input: nothing was imported: 3 of 6 rows cannot be read, see above; correct the file, \
             or leave them out with --skip-invalid\n"
        );
        if cli.server.is_none() {
            assert!(cli.file_names().is_empty(), "no list is created");
        }
        let result = cli
            .run_with_input(&["import", "--skip-invalid"], file)
            .success();
        let counts = "2 added, 1 already there, 3 invalid\n\
                      1 without a sign-up time: the current time was used\n";
        assert_eq!(stdout(&result), format!("{rows}{counts}"));
        assert_eq!(cli.listed()[0], "2026-11-01T08:00:00.000Z\tann@example.com");
        assert_eq!(addresses(&cli), ["ann@example.com", "eve@example.com"]);
    }
}

#[test]
fn questions_import_nothing_and_print_a_preview() {
    for cli in all_stores() {
        cli.write("list.csv", STATUSES);
        let result = cli.run(&["import", "list.csv"]).code(1);
        assert_eq!(
            stdout(&result).lines().last(),
            Some(
                "  landing import list.csv --left/--stay/--undecided status=gone --left/--stay/--undecided status=here \
                 --left/--stay/--undecided status=asked"
            )
        );
        assert!(
            stderr(&result).starts_with(
                "landing: list.csv: nothing was imported: has anybody in the file left, or said no to mail?"
            ),
            "{}",
            stderr(&result)
        );
        let result = cli.run(&["import", "list.csv", "--json"]).code(1);
        assert_eq!(stdout(&result), "", "a program cannot answer");
        let result = cli.run_with_input(&["import"], STATUSES).code(1);
        assert!(stdout(&result).contains("\n  landing import - --left/--stay/--undecided "));
        if cli.server.is_none() {
            assert_eq!(cli.file_names(), ["list.csv"], "no list is created");
        }
    }
}

/// Imports a file of one person, and returns the report.
fn import_one(cli: &TestCli, typed: &str) -> String {
    stdout(
        &cli.run_with_input(&["import"], format!("{typed}\n"))
            .success(),
    )
}

#[test]
fn people_who_left_are_suppressed_and_undecided_ones_are_not() {
    for cli in with_three_people() {
        let dry_run = [&OPTIONS[..], &["--dry-run"]].concat();
        let columns = "column \"email\": email\ncolumn \"status\": says who has left\n";
        assert_eq!(
            stdout(&cli.run_with_input(&dry_run, STATUSES).success()),
            format!(
                "{columns}1 would be added, 0 already there, 3 left, 1 undecided\n\
                 1 left the other list: would be suppressed, so no import adds them\n\
                 1 undecided: not added; decide with --stay or --left, and import the file again\n\
                 1 without a sign-up time: the current time would be used\n\
                 1 undecided by \"status=asked\"\n"
            )
        );
        assert!(
            import_one(&cli, "dan@example.com").starts_with("1 added"),
            "nothing was suppressed"
        );
        cli.stdout(&["erase", "dan@example.com"]);
        let json = stdout(
            &cli.run_with_input(&[&dry_run[..], &["--json"]].concat(), STATUSES)
                .success(),
        );
        let dry_report: Value = serde_json::from_str(&json).expect("JSON");
        let json = stdout(
            &cli.run_with_input(&[&OPTIONS[..], &["--json"]].concat(), STATUSES)
                .success(),
        );
        let report: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(report, dry_report, "a dry run has the same keys and values");
        assert_eq!(
            report,
            json!({
                "columns": [["email", "email"], ["status", "says who has left"]],
                "added": 1, "already_listed": 0, "suppressed": 0, "left": 3, "suppressed_leavers": 1,
                "undecided": 1, "undecided_values": {"status=asked": 1}, "invalid": 0, "invalid_rows": [], "without_time": 1, "invalid_sources": 0,
            })
        );
        // Dan left. Ann has joined this list by herself. About Fay, a later import decides.
        let expected = [
            "Bob@Example.com",
            "ann@example.com",
            "cyd@example.com",
            "eve@example.com",
        ];
        assert_eq!(addresses(&cli), expected);
        assert!(import_one(&cli, "dan@example.com").contains("1 left this list: not added"));
        assert!(import_one(&cli, "fay@example.com").starts_with("1 added"));
    }
}

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
fn dry_run_changes_nothing() {
    for cli in with_three_people() {
        let file = "ann@EXAMPLE.com\nnew@example.com\nNEW@example.com\n";
        let result = cli.run_with_input(&["import", "--dry-run"], file).success();
        assert_eq!(
            stdout(&result),
            "1 would be added, 2 already there\n1 without a sign-up time: the current time would be used\n"
        );
        assert_eq!(cli.stdout(&["count"]), "3\n");
    }
    let cli = without_server();
    cli.run_with_input(&["import", "--dry-run"], "ann@example.com\n")
        .success();
    assert!(cli.file_names().is_empty(), "no list is created");
}

#[test]
fn an_address_in_the_place_of_a_file_is_for_add() {
    let error = stderr(&without_server().run(&["import", "ann@example.com"]).code(1));
    assert!(error.contains("run `landing add ADDRESS`"), "{error}");
}

#[test]
fn presets_say_how_to_export_there() {
    let cli = without_server();
    let presets = cli.stdout(&["import", "--presets"]);
    for name in [
        "mailchimp",
        "kit",
        "substack",
        "ghost",
        "beehiiv",
        "buttondown",
        "mailerlite",
        "brevo",
        "hubspot",
        "klaviyo",
        "constant-contact",
        "listmonk",
        "shopify",
        "wix",
        "sendgrid",
        "postmark",
        "ses",
        "mailgun",
    ] {
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
    assert!(shown.contains(command), "{shown}");
    assert!(shown.contains("1 added"), "{shown}");
    // The question does not follow the progress bar.
    assert!(!shown.contains(" leftColumn"), "{shown}");
    assert_eq!(addresses(&cli), ["eve@example.com"]);
}

/// On a terminal, the location is printed before a progress bar is drawn.
#[cfg(target_os = "linux")]
#[test]
fn names_the_list_before_it_reads_the_file() {
    let cli = without_server();
    cli.write("list.csv", people_csv(30_000));
    let shown = cli.shown_on_terminal("import list.csv");
    let location = shown
        .find("landing: the waitlist in ")
        .expect("the location");
    assert!(
        shown.find("reading").is_none_or(|bar| location < bar),
        "{shown}"
    );
}
