//! `landing import`: how rows are read: lists, separators, quotation marks, JSON lines, encodings, and limits.

use landing::cli::Person;

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
fn reads_lists_that_a_person_wrote() {
    let file =
        "\nann@people.example\n\"Cyd\" <cyd@people.example>\n\n Fay Lee <fay@people.example>\r\n";
    let expected = [
        "2 ann@people.example",
        "3 cyd@people.example",
        "5 fay@people.example",
    ];
    assert_eq!(read(file, &[]), expected);
    assert_eq!(read("", &[]), [""; 0]);
    assert_eq!(read("email\n", &[]), [""; 0]);
}

#[test]
fn loses_nobody_on_a_line_of_a_list() {
    for (line, reason) in [
        (
            "bob@people.example, cyd@people.example",
            "2: invalid address",
        ),
        ("bob@people.example 2026-11-01", "2: invalid address"),
        ("- bob@people.example", "2: invalid address"),
        ("# gone: bob@people.example", "2: the line begins with #"),
        ("#bob@people.example", "2: the line begins with #"),
        ("bob at people", "2: invalid address: an address needs an @"),
        ("bob@x.example <cyd@people.example>", "2: invalid address"),
    ] {
        let error = why_not(format!("ann@people.example\n{line}\n"), &[]);
        assert!(error.starts_with(reason), "{line}: {error}");
        assert!(!error.contains("people"), "{error}");
    }
}

#[test]
fn a_table_needs_a_header_row() {
    for file in [
        "ann@people.example,Ann\n",
        "Ann;ann@people.example;2026-11-01\n",
    ] {
        let error = why_not(file, NOBODY_LEFT);
        assert!(
            error.starts_with("line 1 has an address, so the file has no header row"),
            "{error}"
        );
    }
}

#[test]
fn finds_the_separator_in_the_header_row() {
    for separator in [",", ";", "\t"] {
        let file = "email|name, first|x\nann@people.example|Lee, Ann|y\n".replace('|', separator);
        let file = if separator == "," {
            file.replace("Lee, Ann", "\"Lee, Ann\",")
        } else {
            file
        };
        assert_eq!(
            read(file, NOBODY_LEFT),
            ["2 ann@people.example"],
            "{separator:?}"
        );
    }
    let file = "\"a;b;c\",email\nx,ann@people.example\n";
    assert_eq!(read(file, NOBODY_LEFT), ["2 ann@people.example"]);
}

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
fn unclosed_quotation_mark_loses_nobody() {
    for file in [
        "email,name\nann@people.example,\"Ann\nbob@people.example,Bob\n",
        "email,name\nann@people.example,\"Ann\nbob@people.example,Bob\ncyd@people.example,\"Cyd\"\n",
    ] {
        let error = why_not(file, NOBODY_LEFT);
        assert_contains(&error, "2: a quotation mark is not closed");
    }
    let error = why_not("email,\"name\nann@people.example,Ann\n", NOBODY_LEFT);
    assert!(
        error.starts_with("line 1: the header row cannot be read: a quotation mark"),
        "{error}"
    );
    // A letter in a cell may contain an address.
    let file = "email,name,note\nann@people.example,Ann,\"Hello,\nbob@people.example\"\n";
    assert_eq!(read(file, NOBODY_LEFT), ["2 ann@people.example"]);
}

#[test]
fn rows_with_other_cells_than_the_header_row() {
    // Spreadsheets leave out empty cells at the end, and write empty rows below a table.
    let file = "email,name,note\nann@people.example\n,,\nbob@people.example,Bob,,,\n\n";
    assert_eq!(
        read(file, NOBODY_LEFT),
        ["2 ann@people.example", "4 bob@people.example"]
    );
    // The file may have been cut there.
    let error = why_not(
        "email,name,left_at\nann@people.example,Ann,\nbob@people.example,Bob\n",
        &["--left", "left_at=*", "--ignore-rest"],
    );
    assert!(
        error.starts_with("3: the row ends before the column"),
        "{error}"
    );
    let error = why_not("email,name\nann@people.example,Lee, Ann\n", NOBODY_LEFT);
    assert!(
        error.starts_with("2: more cells than in the header row"),
        "{error}"
    );
    // A column without a name has a number, and so has a second one with the same name.
    let file = "email,joined_at,email\nann@people.example,,bob@people.example\n";
    assert!(why_not(file, &[]).contains("columns without a use: 1"));
    let file = file.replace("bob@people.example", "");
    assert_eq!(
        read(file, &["--ignore", "email (3)", "--nobody-left"]).len(),
        1
    );
    let file = "email,\nann@people.example,x\n";
    assert_eq!(
        read(file, &["--ignore", "column 2", "--nobody-left"]).len(),
        1
    );
}

#[test]
fn reads_json_lines_with_any_keys() {
    let file = "{\"email\":\"ann@people.example\",\"state\":{\"a\":[1]}}\n\n\
                {\"n\":1,\"email\":\"bob@people.example\",\"state\":null}\r\n";
    assert_eq!(
        read(file, NOBODY_LEFT),
        ["1 ann@people.example", "3 bob@people.example"]
    );
    let options = [
        "--left",
        "state={\"a\":[1]}",
        "--stay",
        "state=",
        "--ignore",
        "n",
    ];
    let rows = dry_run(file, &options).expect("a plan");
    assert_eq!(rows.iter().filter(|row| row.entry.is_some()).count(), 1);
    let broken = "{\"email\":\"ann@people.example\",\"joined_at\":\"\"}\nnonsense\n[1]\n";
    assert_eq!(
        why_not(broken, &[]),
        "2: invalid JSON: each line must be one object\n3: invalid JSON: each line must be one object\n"
    );
    assert!(why_not("[{\"email\":\"ann@people.example\"}]", &[]).contains("jq -c '.[]'"));
}

#[test]
fn reads_sources_and_confirmations() {
    let file = "email,joined_at,source,confirmed_at\n\
                ann@people.example,2026-11-01,Product Hunt,2026-11-02\n\
                '+bob@people.example,2026-11-01,'-x,\n\
                cyd@people.example,2026-11-01,a/b,\n";
    let rows = dry_run(file, &[]).expect("a plan");
    let facts: Vec<_> = rows
        .iter()
        .filter_map(|row| row.entry.as_ref())
        .map(|it| {
            (
                it.email.as_typed().to_owned(),
                it.source.clone().map(|it| it.to_string()),
                it.confirmed_at.is_some(),
            )
        })
        .collect();
    assert_eq!(
        facts,
        [
            (
                "ann@people.example".to_owned(),
                Some("product-hunt".to_owned()),
                true
            ),
            (
                "+bob@people.example".to_owned(),
                Some("-x".to_owned()),
                false
            ),
            ("cyd@people.example".to_owned(), None, false),
        ]
    );
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
            error.contains("invalid UTF-8") || error.contains("addresses?"),
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
fn backups_are_for_restore() {
    let error = why_not("{\"backup\":{}}\n{\"suppressed\":[1]}\n", &[]);
    assert_contains(&error, "run `landing restore FILE`");
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
