//! `landing import`: how other programs write sign-up times.

use super::{TestCli, raw_stdout, stderr, stdout, without_server};

/// Imports a column of sign-up times. Returns the times on the list, and the report.
fn imported(column: &str, values: &[&str], options: &[&str]) -> (Vec<String>, String) {
    let cli = without_server();
    let args = [&["import"], options].concat();
    let result = cli.run_with_input(&args, csv(column, values)).success();
    let time = |line: &String| line.split_once('\t').expect("two columns").0.to_owned();
    // `list` sorts by time, and the last lines are the newest.
    (cli.listed().iter().map(time).collect(), stdout(&result))
}

/// Returns a file with a person for each value.
fn csv(column: &str, values: &[&str]) -> String {
    let mut file = format!("email;{column}\n");
    for (number, value) in values.iter().enumerate() {
        file += &format!("person{number}@example.com;{value}\n");
    }
    file
}

/// Runs an import that must ask a question, and returns the question.
fn question(cli: &TestCli, file: &str, options: &[&str]) -> String {
    let args = [&["import"], options].concat();
    let result = cli.run_with_input(&args, file).code(1);
    assert!(!raw_stdout(&result).contains("added"), "{result}");
    let stderr = stderr(&result);
    let (_, question) = stderr
        .split_once("nothing was imported: ")
        .unwrap_or_else(|| panic!("{stderr}"));
    question.trim_end().to_owned()
}

#[test]
fn reads_the_notations_of_other_programs() {
    for (value, time) in [
        ("01.11.2026", "2026-11-01T00:00:00"),
        ("1.11.2026 14:05", "2026-11-01T14:05:00"),
        ("01.11.2026, 14:05:59", "2026-11-01T14:05:59"),
        ("01.11.2026 14:05 Uhr", "2026-11-01T14:05:00"),
        ("2026/11/01", "2026-11-01T00:00:00"),
        ("2026/11/1 9:05:59", "2026-11-01T09:05:59"),
        ("2026/11/01 9:05:59 PM GMT+1", "2026-11-01T20:05:59"),
        ("2026/11/01 9:05:59 AM MEZ", "2026-11-01T08:05:59"),
        ("2026-11-01 09:05 PM", "2026-11-01T21:05:00"),
        ("2026-11-01 12:05 AM", "2026-11-01T00:05:00"),
        ("2026-11-01 09:05:59 UTC", "2026-11-01T09:05:59"),
        ("2026-11-01 09:05:59.250 -0330", "2026-11-01T12:35:59.250"),
        ("Nov 1, 2026", "2026-11-01T00:00:00"),
        ("November 1, 2026 9:05 PM", "2026-11-01T21:05:00"),
        ("1 Nov 2026 09:05", "2026-11-01T09:05:00"),
        ("Sun, 01 Nov 2026 09:05:00 +0100", "2026-11-01T08:05:00"),
        (
            "Sun Nov 01 2026 09:05:00 GMT+0100 (Central European Standard Time)",
            "2026-11-01T08:05:00",
        ),
        ("1793520000", "2026-11-01T08:00:00"),
        ("1793520000.123456", "2026-11-01T08:00:00"),
        ("1793520000250", "2026-11-01T08:00:00.250"),
    ] {
        for column in ["Datum", "joined_at"] {
            let (times, report) = imported(column, &[value], &[]);
            let expected = if time.contains('.') {
                format!("{time}Z")
            } else {
                format!("{time}.000Z")
            };
            assert_eq!(times, [expected], "{value}");
            assert!(!report.contains("current time"), "{value}: {report}");
        }
    }
}

#[test]
fn json_numbers_are_seconds_or_milliseconds() {
    let cli = without_server();
    let file = "{\"email\":\"ann@example.com\",\"created_at\":1793520000}\n\
                {\"email\":\"bob@example.com\",\"created_at\":1793520001250}\n";
    cli.run_with_input(&["import"], file).success();
    assert_eq!(
        cli.listed(),
        [
            "2026-11-01T08:00:00.000Z\tann@example.com",
            "2026-11-01T08:00:01.250Z\tbob@example.com"
        ]
    );
}

#[test]
fn recognizes_german_names_of_time_columns() {
    for column in [
        "Datum",
        "Zeitstempel",
        "Anmeldedatum",
        "Angemeldet am",
        "Eingetragen am",
        "Registriert am",
        "Erstellt am",
        "Opt-in-Datum",
    ] {
        let (times, _) = imported(column, &["01.11.2026"], &[]);
        assert_eq!(times, ["2026-11-01T00:00:00.000Z"], "{column}");
    }
    // `Datum` is used only if no other column has the sign-up times.
    let cli = without_server();
    let file = "email;Datum;created_at\nann@example.com;01.10.2026;2026-11-01\n";
    cli.run_with_input(&["import"], file).success();
    assert_eq!(cli.listed(), ["2026-11-01T00:00:00.000Z\tann@example.com"]);
}

#[test]
fn the_whole_column_decides_whether_the_day_comes_first() {
    for (values, order, json, time) in [
        (
            ["01/02/2026", "25/02/2026"],
            "day/month/year",
            "day_first",
            "2026-02-01T00:00:00.000Z",
        ),
        (
            ["01/02/2026 9:05 PM", "02/25/2026"],
            "month/day/year",
            "month_first",
            "2026-01-02T21:05:00.000Z",
        ),
        (
            ["01-02-2026 21:05", "25-02-2026"],
            "day/month/year",
            "day_first",
            "2026-02-01T21:05:00.000Z",
        ),
    ] {
        let (times, report) = imported("Date", &values, &[]);
        assert_eq!(times[0], time, "{values:?}");
        let line = format!("column \"Date\": sign-up times ({order})\n");
        assert!(report.contains(&line), "{report}");
        let cli = without_server();
        let result = cli.run_with_input(&["import", "--json"], csv("Date", &values));
        let report: serde_json::Value = serde_json::from_str(&stdout(&result)).expect("JSON");
        assert_eq!(report["columns"][1]["date_order"], json);
    }
}

#[test]
fn asks_when_the_day_and_the_month_cannot_be_told_apart() {
    let cli = without_server();
    for (values, format) in [
        (&["01/02/2026", "03/04/2026"][..], "%d/%m/%Y"),
        (&["2026-11-01", "1-2-2026 14:05"], "%d-%m-%Y"),
        // No order fits both.
        (&["25/11/2026", "11/25/2026"], "%d/%m/%Y"),
    ] {
        let question = question(&cli, &csv("Date", values), &[]);
        assert!(
            question.starts_with("column \"Date\" has dates such as \""),
            "{question}"
        );
        let option = format!("add --date-format '{format}' if they begin with the day");
        assert!(question.contains(&option), "{question}");
    }
    let example = |date: &str| question(&cli, &csv("Date", &[date]), &[]);
    assert!(
        example("1-2-2026 14:05").ends_with(
            "add --date-format '%d-%m-%Y' if they begin with the day (2026-02-01), or --date-format '%m-%d-%Y' if they \
             begin with the month (2026-01-02)"
        ),
        "{}",
        example("1-2-2026 14:05")
    );
    for (date, expected) in [
        (
            "01/02/26",
            "with --date-format '%d/%m/%y' (2026-02-01) or --date-format '%m/%d/%y' (2026-01-02)",
        ),
        (
            "11-21-26",
            "for example with --date-format '%m-%d-%y' (2026-11-21)",
        ),
        (
            "soon",
            "for example with --date-format '%d.%m.%y' for 21.11.26",
        ),
    ] {
        let question = example(date);
        assert!(question.contains(expected), "{date}: {question}");
    }
    assert!(cli.file_names().is_empty(), "no list is created");
    let options = ["--date-format", "%m/%d/%Y"];
    let (times, _) = imported(
        "Date",
        &["01/02/2026", "03/04/2026 14:05", "2026-05-06"],
        &options,
    );
    assert_eq!(
        times,
        [
            "2026-01-02T00:00:00.000Z",
            "2026-03-04T14:05:00.000Z",
            "2026-05-06T00:00:00.000Z"
        ]
    );
}

#[test]
fn asks_when_no_time_in_a_column_can_be_read() {
    let cli = without_server();
    let file = csv("Datum", &["", "21.11.26", "22.11.26"]);
    let args = ["import", "--dry-run"];
    let result = cli.run_with_input(&args, &*file).code(1);
    assert_eq!(
        stderr(&result),
        "landing: standard input:3: nothing was imported: no time in column \"Datum\" can be read, such as \"21.11.26\"; \
         say how they are written, for example with --date-format '%d.%m.%y' (2026-11-21); or let everybody get the \
         current time, with --ignore \"Datum\"\n"
    );
    let (times, report) = imported(
        "Datum",
        &["", "21.11.25", "22.11.25 14:05"],
        &["--date-format", "%d.%m.%y"],
    );
    assert_eq!(
        times[..2],
        ["2025-11-21T00:00:00.000Z", "2025-11-22T14:05:00.000Z"]
    );
    assert!(report.contains("\n1 has no sign-up time"), "{report}");
    let (_, report) = imported("Datum", &["21.11.25"], &["--ignore", "Datum"]);
    assert!(report.contains("\n1 has no sign-up time"), "{report}");
}

#[test]
fn rejects_single_lines_whose_time_differs() {
    let cli = without_server();
    for (values, options, reason) in [
        (
            ["01.11.2026", "soon"],
            &["import"][..],
            "not a time, or ambiguous; write it as 2026-11-21T08:00:00Z, or remove the column",
        ),
        (
            ["01.11.26", "soon"],
            &["import", "--date-format", "%d.%m.%y"],
            "it does not match --date-format",
        ),
    ] {
        let result = cli.run_with_input(options, csv("Datum", &values)).code(1);
        let report = stdout(&result);
        let line = format!("\nstandard input:3: invalid time: {reason}\n");
        assert!(report.contains(&line), "{report}");
    }
}

#[test]
fn date_format_must_describe_a_date_and_match() {
    let cli = without_server();
    for format in ["DD.MM.YYYY", "%d.%m", "%H:%M", "%k%", ""] {
        let args = ["import", "--date-format", format];
        let stderr = stderr(&cli.run_with_input(&args, csv("Datum", &["x"])).code(2));
        let advice = "write the date with %d, %m and %Y, as in %d.%m.%Y for 21.11.2026";
        assert!(stderr.contains(advice), "{format}: {stderr}");
    }
    let question_with = |file: &str| question(&cli, file, &["--date-format", "%d.%m.%y"]);
    assert_eq!(
        question_with(&csv("Datum", &["11/21/26"])),
        "no time in column \"Datum\" matches --date-format \"%d.%m.%y\", such as \"11/21/26\"; correct the format"
    );
    for file in [csv("Datum", &[""]), "ann@example.com\n".to_owned()] {
        assert_eq!(
            question_with(&file),
            "no column has sign-up times for --date-format \"%d.%m.%y\"; name the column \"joined_at\" in the file, \
             or leave the option out"
        );
    }
    // This format would read an RFC 3339 time with another meaning, so it reads no others.
    let args = ["--date-format", "%Y-%d-%m"];
    let (times, _) = imported("Datum", &["2026-01-11"], &args);
    assert_eq!(times, ["2026-11-01T00:00:00.000Z"]);
    let asked = question(&cli, &csv("Datum", &["2026-01-25"]), &args);
    assert!(asked.starts_with("no time in column"), "{asked}");
}

#[test]
fn asks_about_dates_in_a_column_with_another_name() {
    let cli = without_server();
    let file = csv(
        "Interesse;Termin",
        &["ja;01.11.2026", "ja;", "nein;12/24/2026"],
    );
    assert_eq!(
        question(&cli, &file, &[]),
        "column \"Termin\" may hold the sign-up times: name the right one \"joined_at\" in the file; or let \
         everybody get the current time, with --ignore \"Termin\""
    );
    let report = stdout(
        &cli.run_with_input(&["import", "--ignore", "Termin"], &*file)
            .success(),
    );
    assert!(
        report.contains("\nignored: \"Interesse\", \"Termin\"\n"),
        "{report}"
    );
    for (column, value) in [
        ("Geburtsdatum", "01.11.1990"),
        ("Last activity", "2026-11-01"),
        ("Telefon", "1793520000"),
        ("IP", "203.0.113.7"),
        ("Note", "1.11.2026 oder später"),
    ] {
        let (_, report) = imported(column, &[value], &[]);
        assert!(
            report.contains("\n1 has no sign-up time"),
            "{column}: {report}"
        );
    }
}
