//! `landing import`: files that a transcript cannot show: other line breaks and encodings, and many values.

use landing::cli::{Person, Verdict};

use super::{assert_contains, dry_run};

/// Returns the line and the address of each row.
fn people(rows: &[Person]) -> Vec<String> {
    let row = |row: &Person| {
        let entry = row.entry.as_ref().expect("an entry");
        format!("{} {}", row.line, entry.email.as_typed())
    };
    rows.iter().map(row).collect()
}

fn read(file: impl AsRef<[u8]>, options: &[&str]) -> Vec<String> {
    let file = file.as_ref();
    let text = || String::from_utf8_lossy(&file[..file.len().min(500)]).into_owned();
    let rows = dry_run(file, options);
    people(&rows.unwrap_or_else(|error| panic!("{}: {error}", text())))
}

/// Returns why a file is not imported.
fn why_not(file: impl AsRef<[u8]>, options: &[&str]) -> String {
    match dry_run(file, options) {
        Ok(rows) => panic!("{rows:?}"),
        Err(error) => error.to_string(),
    }
}

const NOBODY_LEFT: &[&str] = &["--ignore-rest", "--nobody-left"];

#[test]
fn numbers_lines_as_editors_do() {
    let file = "email,note\n\nann@people.example,\n\n\nbob@people.example,\"two\n\nlines\"\ncyd@people.example,\"x\"";
    for (from, to) in [
        ("\n", "\n"),
        ("\n", "\r\n"),
        ("\n", "\r"),
        ("\"x\"", "\"x\"\n\n"),
    ] {
        let lines = read(file.replace(from, to), NOBODY_LEFT);
        let expected = [
            "3 ann@people.example",
            "6 bob@people.example",
            "9 cyd@people.example",
        ];
        assert_eq!(lines, expected, "{to:?}");
    }
}

#[test]
fn rejects_files_that_are_not_text() {
    for file in [&b"PK\x03\x04\x14\0"[..], b"a\0b\0"] {
        assert_contains(why_not(file, &[]), "the file is not text in UTF-8");
    }
}

#[test]
fn other_encodings_matter_only_in_cells_that_are_used() {
    for file in [
        &b"email,joined_at,name\na@people.example,,Jos\xe9\n"[..],
        b"\xef\xbb\xbfemail,joined_at,name\na@people.example,,Jos\xc3\xa9\n",
        b"{\"email\":\"a@people.example\",\"joined_at\":\"\",\"name\":\"Jos\xe9\"}\n",
    ] {
        assert_eq!(read(file, NOBODY_LEFT).len(), 1);
    }
    for file in [
        &b"email,joined_at\nJos\xe9@people.example,\n"[..],
        b"email,joined_at,source\na@people.example,,caf\xe9\n",
        b"Jos\xe9@people.example\nb@people.example\n",
    ] {
        let error = why_not(file, &["--nobody-left"]);
        assert!(
            error.contains("invalid UTF-8") || error.contains("one with a mistake"),
            "{error}"
        );
    }
    // Nobody knows what these say about the person.
    let file = b"email,statut\na@people.example,d\xe9sabonn\xe9\n";
    let error = why_not(&file[..], &["--stay", "statut=*"]);
    assert_contains(&error, "invalid UTF-8");
    let error = why_not(
        &b"email,d\xe9sabonn\xe9\na@people.example,\n"[..],
        NOBODY_LEFT,
    );
    assert_contains(&error, "invalid UTF-8");
}

#[test]
fn reads_utf_16_with_a_byte_order_mark() {
    let text = "\u{feff}email\tname\tjoined_at\nann@people.example\tÄnn\t2026-11-01\n";
    let encode = |to: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(to).collect::<Vec<u8>>();
    for bytes in [encode(u16::to_le_bytes), encode(u16::to_be_bytes)] {
        let options = ["--ignore", "name", "--nobody-left"];
        assert_eq!(read(bytes, &options), ["2 ann@people.example"]);
    }
}

#[test]
fn preview_is_short_and_has_no_addresses() {
    let rows = (0..20).map(|number| {
        let long = "x".repeat(300);
        format!(
            "p{number}@people.example,{number},v{half},{half}{long},x{half}@people.example\n",
            half = number % 2
        )
    });
    let file = format!("email,id,half,text,friend\n{}", rows.collect::<String>());
    let error = why_not(&file, &[]);
    let expected = "rows: 20\n\
                    column \"email\": email; 20 with an address\n\
                    column \"id\": 20 with many values, such as \"0\"\n\
                    column \"half\": 10 × \"v0\"; 10 × \"v1\"\n\
                    column \"text\": 20 with a long text\n\
                    column \"friend\": 20 with an address\n";
    assert!(error.starts_with(expected), "{error}");
    let command = "landing import FILE --left/--stay/--undecided half=v0 --left/--stay/--undecided half=v1 --ignore-rest\n";
    assert_contains(&error, command);
    assert!(!error.contains('@') && !error.contains("xx"), "{error}");
    // Nor does the command have them if the owner names the column.
    let options = ["--left", "friend=0", "--left", "text=0", "--ignore-rest"];
    let error = why_not(&file, &options);
    let command = "--left/--stay/--undecided 'text=*' --left/--stay/--undecided 'friend=*'\n";
    assert_contains(&error, command);
    assert!(!error.contains('@') && !error.contains("xx"), "{error}");
}

#[test]
fn a_column_with_many_values_needs_a_rule_for_the_others() {
    let rows = (0..150).map(|number| format!("p{number}@people.example,v{number}\n"));
    let file = format!("email,status\n{}", rows.collect::<String>());
    let error = why_not(&file, &["--left", "status=v0"]);
    assert_contains(&error, ", \"*\" in column \"status\" mean?");
    let options = ["--left", "status=v0", "--stay", "status=*"];
    let people = dry_run(&file, &options).expect("a plan");
    let left = people.iter().filter(|it| it.verdict == Verdict::Left);
    assert_eq!((left.count(), people.len()), (1, 150));
}
