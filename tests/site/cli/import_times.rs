//! `landing import`: the notations of times.

use super::{assert_contains, dry_run, rfc3339};

/// Returns the sign-up time of a row with this text, or why it cannot be read.
fn joined_at(text: &str, options: &[&str]) -> Result<String, String> {
    let file = format!("email,joined_at\nann@people.example,\"{text}\"\n");
    let rows = dry_run(file, options).map_err(|error| error.to_string())?;
    let entry = rows[0].entry.as_ref().expect("an entry");
    Ok(rfc3339(entry.joined_at))
}

#[test]
fn reads_rfc_3339_iso_and_go_times() {
    for (text, time) in [
        ("2026-11-01T14:05:00Z", "2026-11-01T14:05:00.000Z"),
        (
            "2026-11-01T14:05:00.123456+01:00",
            "2026-11-01T13:05:00.123Z",
        ),
        (" 2026-11-01 14:05:09 ", "2026-11-01T14:05:09.000Z"),
        ("2026-11-01 14:05", "2026-11-01T14:05:00.000Z"),
        ("2026-11-01", "2026-11-01T00:00:00.000Z"),
        ("2026-11-01 14:05:00 UTC", "2026-11-01T14:05:00.000Z"),
        (
            "2026-11-01 14:05:00.789012 +0000 UTC",
            "2026-11-01T14:05:00.789Z",
        ),
        (
            "2026-11-01 14:05:00.789 +0200 CEST",
            "2026-11-01T12:05:00.789Z",
        ),
        ("2026-11-01 14:05:00 -0330", "2026-11-01T17:35:00.000Z"),
        // No time: the current one, which is 1970 here.
        ("", "1970-01-01T00:00:00.000Z"),
        ("null", "1970-01-01T00:00:00.000Z"),
        ("0000-00-00 00:00:00", "1970-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(joined_at(text, &[]).as_deref(), Ok(time), "{text}");
    }
}

#[test]
fn date_format_reads_the_other_notations() {
    for (text, format, time) in [
        ("11/01/2026", "%d/%m/%Y", "2026-01-11T00:00:00.000Z"),
        ("11/01/2026", "%m/%d/%Y", "2026-11-01T00:00:00.000Z"),
        ("1.11.2026 14:05", "%d.%m.%Y", "2026-11-01T14:05:00.000Z"),
        ("01.11.26", "%d.%m.%y", "2026-11-01T00:00:00.000Z"),
        (
            "10-01-2026 08:30:05",
            "%d-%m-%Y",
            "2026-01-10T08:30:05.000Z",
        ),
        (
            "2026/01/10 8:30:05 PM GMT+1",
            "%Y/%m/%d",
            "2026-01-10T19:30:05.000Z",
        ),
        (
            "Nov 1, 2026, 2:05\u{202f}PM",
            "%b %d, %Y",
            "2026-11-01T14:05:00.000Z",
        ),
        (
            "Sun, 01 Nov 2026 14:05:00 +0100",
            "%a, %d %b %Y",
            "2026-11-01T13:05:00.000Z",
        ),
        ("1793541900", "%s", "2026-11-01T14:05:00.000Z"),
        // Another column may have it.
        (
            "2026-11-01T14:05:00Z",
            "%d/%m/%Y",
            "2026-11-01T14:05:00.000Z",
        ),
    ] {
        let options = ["--date-format", format];
        assert_eq!(
            joined_at(text, &options).as_deref(),
            Ok(time),
            "{text} {format}"
        );
    }
    // The month of 90826 would be 90 in `%-m%d%y`.
    for format in [
        "%H",
        "%m/%Y",
        "%-m%d%y",
        "YYYY年MM月DD日",
        "DD/MM",
        "garbage",
    ] {
        let error = joined_at("2026-11-01", &["--date-format", format]).expect_err(format);
        assert_contains(&error, "write the date with %d, %m and %Y");
    }
    // The month would be 13. The format must not be ignored in one row.
    let error = joined_at("2026-01-13", &["--date-format", "%Y-%d-%m"]).expect_err("no month");
    assert_contains(&error, "how are times such as \"2026-01-13\" written?");
}

#[test]
fn asks_how_unreadable_times_are_written() {
    for (text, proposal) in [
        ("25/11/2026", " --date-format %d/%m/%Y"),
        ("11/25/2026 08:00", " --date-format %m/%d/%Y"),
        ("21.11.2026", " --date-format %d.%m.%Y"),
        ("1793541900", "landing import FILE\n"),
        ("11/01/2026 [Europe/Berlin]", "landing import FILE\n"),
    ] {
        let error = joined_at(text, &[]).expect_err(text);
        let question = format!("how are times such as {text:?} written? Answer with --date-format");
        assert!(
            error.contains(&question) && error.contains(proposal),
            "{error}"
        );
    }
}

#[test]
fn rows_whose_time_differs_stop_the_import() {
    let file = "email,joined_at,confirmed_at\n\
                ann@people.example,2026-11-01,\n\
                bob@people.example,soon,\n\
                cyd@people.example,2026-11-01,2026-11-02\n\
                dee@people.example,2026-11-01,soon\n";
    let error = dry_run(file, &[]).expect_err("two bad rows").to_string();
    assert_eq!(
        error,
        "3: invalid time in column joined_at; see --date-format\n\
         5: invalid time in column confirmed_at; see --date-format\n"
    );
    let rows = dry_run(file, &["--skip-invalid"]).expect("two good rows");
    let lines: Vec<_> = rows.iter().map(|row| row.line).collect();
    assert_eq!(lines, [2, 4]);
}

#[test]
fn implausible_times_are_read_only_in_our_own_exports() {
    let rows = "ann@people.example,1969-01-01\nbob@people.example,2999-01-01\ncyd@people.example,2026-11-01\n";
    let own = format!("email,joined_at\n{rows}");
    assert_eq!(dry_run(own.as_bytes(), &[]).expect("a plan").len(), 3);
    let other = format!("email,when\n{rows}");
    let options = ["--map", "joined_at=when", "--nobody-left"];
    let error = dry_run(other.as_bytes(), &options)
        .expect_err("two bad rows")
        .to_string();
    assert_eq!(
        error,
        "2: its time is before e-mail existed\n3: its time is in the future\n"
    );
}
