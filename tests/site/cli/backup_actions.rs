//! What people and programs do to a backup: it is restored completely, or rejected as a whole.

use serde_json::Value;

use super::{
    TestCli,
    backup_file::{everything, with_lines},
    stderr, without_server,
};

/// Changes the bytes of a backup.
type Action = fn(&str) -> Vec<u8>;

/// The kinds of lines.
const KINDS: [&str; 7] = [
    "backup",
    "suppressed",
    "departure",
    "message",
    "delivery",
    "person",
    "end",
];

fn bytes(text: impl Into<String>) -> Vec<u8> {
    text.into().into_bytes()
}

/// Writes lines, each with its line break.
fn lines<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Vec<u8> {
    let lines = lines.into_iter();
    lines
        .flat_map(|line| bytes(line.as_ref().to_owned() + "\n"))
        .collect()
}

/// Writes each line again as another program prints JSON.
fn map_values(backup: &str, print: impl Fn(&Value) -> String) -> Vec<u8> {
    let values = backup.lines().map(serde_json::from_str::<Value>);
    lines(values.map(|value| print(&value.expect("JSON"))))
}

fn utf_16(backup: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = format!("\u{feff}{backup}");
    text.encode_utf16().flat_map(unit).collect()
}

/// What a spreadsheet does to a file that it takes for CSV.
fn quote(line: &str) -> String {
    format!("\"{}\"", line.replace('"', "\"\""))
}

/// What people and programs replace everywhere in the file.
const REPLACEMENTS: [(&str, &str, &str); 22] = [
    ("convert the line breaks to those of Windows", "\n", "\r\n"),
    ("convert the line breaks to those of early Macs", "\n", "\r"),
    ("add a blank between the lines", "\n", "\n\n"),
    ("add spaces to the lines", "\n", "  \n"),
    ("indent the lines", "\n", "\n  "),
    ("print as Python does", "\":", "\": "),
    ("split at the commas into tabs", ",", "\t"),
    ("correct the quotation marks", "\"", "\u{201d}"),
    ("escape what is not ASCII", "ü", "\\u00fc"),
    ("decompose what is not ASCII", "ü", "u\u{308}"),
    ("upload as text without what is not ASCII", "ü", ""),
    (
        "add a field to each person",
        "\"joined_at\"",
        "\"name\":\"\",\"joined_at\"",
    ),
    ("leave out missing values", "\"since\":null,", ""),
    (
        "write the times as floating-point numbers",
        ",\"nanos_since_epoch\":0",
        ".0",
    ),
    ("write the times without fractions", "125000000", "0"),
    ("erase a person", "Bob@Example.com", "x"),
    ("correct an address", "Bob@Example.com", "rob@example.com"),
    ("hide the addresses", "@example.com", "@…"),
    (
        "write the addresses in lower case",
        "Bob@Example.com",
        "bob@example.com",
    ),
    ("change a count", "\"people\":6", "\"people\":5"),
    (
        "forget that a message was sent",
        "\"accepted\"",
        "\"waiting\"",
    ),
    ("use the key of another list", "7,7,7", "8,8,8"),
];

/// What else they do.
const ACTIONS: [(&str, Action); 22] = [
    ("add a byte order mark", |it| bytes(format!("\u{feff}{it}"))),
    ("save as UTF-16, little-endian", |it| {
        utf_16(it, u16::to_le_bytes)
    }),
    ("save as UTF-16, big-endian", |it| {
        utf_16(it, u16::to_be_bytes)
    }),
    ("save as Latin-1", |it| {
        it.chars()
            .map(|c| u8::try_from(c).unwrap_or(b'?'))
            .collect()
    }),
    ("read UTF-8 as Latin-1 and save", |it| {
        bytes(it.bytes().map(char::from).collect::<String>())
    }),
    ("remove the last line break", |it| bytes(it.trim_end())),
    ("add a line break", |it| bytes(format!("{it}\n"))),
    ("add a line break at the beginning", |it| {
        bytes(format!("\n{it}"))
    }),
    ("pad with zeros", |it| [it.as_bytes(), &[0; 512]].concat()),
    ("append a disk's garbage", |it| {
        [it.as_bytes(), b"\xff\xfe garbage"].concat()
    }),
    ("sort the fields", |it| map_values(it, ToString::to_string)),
    ("pretty-print", |it| {
        map_values(it, |value| format!("{value:#}"))
    }),
    ("wrap in an array", |it| {
        bytes(format!("[{}]\n", it.trim_end().replace('\n', ",\n")))
    }),
    ("save from a spreadsheet", |it| lines(it.lines().map(quote))),
    ("split at the commas by a spreadsheet", |it| {
        lines(
            it.lines()
                .map(|line| line.split(',').map(quote).collect::<Vec<_>>().join(",")),
        )
    }),
    ("sort the lines", |it| {
        let mut sorted: Vec<_> = it.lines().collect();
        sorted.sort_unstable();
        lines(sorted)
    }),
    ("reverse the lines", |it| lines(it.lines().rev())),
    ("append another backup", |it| bytes(it.repeat(2))),
    ("keep the first lines", |it| lines(it.lines().take(10))),
    ("keep the last lines", |it| lines(it.lines().skip(10))),
    ("keep the people only", |it| {
        lines(it.lines().filter(|line| line.contains("\"person\"")))
    }),
    ("use an empty file", |_| Vec::new()),
];

/// Returns the names of the files and lists that a command has left.
fn left_behind(cli: &TestCli) -> Vec<String> {
    let mut names = cli.file_names();
    names.retain(|name| !name.ends_with(".backup"));
    names
}

/// Checks that a backup is rejected before anything is created.
fn assert_rejected(cli: &TestCli, what: &str, changed: &[u8]) {
    cli.write("changed.backup", changed);
    let result = cli.run(&["restore", "changed.backup"]).code(1);
    let error = stderr(&result);
    assert!(
        error.starts_with("landing: changed.backup: nothing was restored: "),
        "{what}: {error}"
    );
    assert!(error.contains("use "), "{what}: {error}");
    assert_eq!(left_behind(cli), [""; 0], "{what}");
}

#[test]
fn changed_backup_is_rejected_as_a_whole() {
    let cli = without_server();
    let backup = everything();
    let replaced = REPLACEMENTS.map(|(what, from, to)| (what, bytes(backup.replace(from, to))));
    let changed = ACTIONS.map(|(what, change)| (what, change(&backup)));
    for (what, changed) in replaced.into_iter().chain(changed) {
        assert_ne!(changed, backup.as_bytes(), "{what}");
        assert_rejected(&cli, what, &changed);
    }
}

#[test]
fn backup_with_a_line_missing_doubled_or_moved_is_rejected() {
    let cli = without_server();
    let backup = everything();
    let written: Vec<_> = backup.lines().collect();
    for kind in KINDS {
        let start = format!("{{\"{kind}\":");
        let at = written.iter().rposition(|line| line.starts_with(&start));
        let at = at.unwrap_or_else(|| panic!("no {kind}"));
        let with = |edit: &dyn Fn(&mut Vec<&str>)| {
            let mut edited = written.clone();
            edit(&mut edited);
            lines(edited)
        };
        for (what, changed) in [
            (
                "missing",
                with(&|lines| {
                    lines.remove(at);
                }),
            ),
            ("doubled", with(&|lines| lines.insert(at, lines[at]))),
            (
                "moved to the beginning",
                with(&|lines| lines[..=at].rotate_right(1)),
            ),
            (
                "moved to the end",
                with(&|lines| lines[at..].rotate_left(1)),
            ),
            ("moved up", with(&|lines| lines.swap(at, at.max(1) - 1))),
        ] {
            if changed != backup.as_bytes() {
                assert_rejected(&cli, &format!("{kind} {what}"), &changed);
            }
        }
    }
}

/// A column that is deleted in an editor, or renamed by another program, and a value that somebody changes.
#[test]
fn backup_with_a_field_missing_renamed_or_changed_is_rejected() {
    let cli = without_server();
    let backup = everything();
    for kind in KINDS {
        let start = format!("{{\"{kind}\":");
        // The longest line has every field.
        let line = backup.lines().filter(|line| line.starts_with(&start));
        let line = line.max_by_key(|line| line.len()).expect("a line");
        for field in fields(line) {
            let written = format!("\"{field}\":");
            for (what, new) in [
                // The value is then one of the field before, or of nothing.
                ("missing", line.replacen(&written, "", 1)),
                (
                    "renamed",
                    line.replacen(&written, &format!("\"{field}2\":"), 1),
                ),
                (
                    "emptied",
                    line.replacen(&written, &format!("{written}\"\",\"x\":"), 1),
                ),
                (
                    "doubled",
                    line.replacen(&written, &format!("{written}0,{written}"), 1),
                ),
                (
                    "changed",
                    line.replacen(&written, &format!("{written}70,\"x\":"), 1),
                ),
            ] {
                assert_ne!(new, line);
                let changed = backup.replace(line, &new);
                assert_rejected(&cli, &format!("{kind}.{field} {what}"), changed.as_bytes());
            }
        }
    }
}

/// Returns the names of the fields in a line.
fn fields(line: &str) -> Vec<&str> {
    let mut before: Vec<_> = line.split("\":").collect();
    // The last value.
    before.pop();
    let before = before.iter().filter_map(|it| it.rsplit_once('"'));
    before.map(|(_, field)| field).collect()
}

#[test]
fn backup_that_is_cut_off_or_has_a_wrong_byte_anywhere_is_rejected() {
    let cli = without_server();
    let backup = everything();
    for end in (0..backup.len()).step_by(61) {
        assert_rejected(&cli, &format!("cut at {end}"), &backup.as_bytes()[..end]);
        let mut changed = backup.clone().into_bytes();
        changed[end] ^= 1;
        assert_rejected(&cli, &format!("byte {end}"), &changed);
    }
}

/// The checksum can be written again, but not for lines that contradict each other.
#[test]
fn signed_backup_with_a_contradiction_is_rejected() {
    let cli = without_server();
    let backup = everything();
    let lines: Vec<_> = backup.lines().map(str::to_owned).collect();
    let lines = &lines[1..lines.len() - 1];
    assert_eq!(with_lines(lines), backup);
    let without_messages: Vec<_> = lines
        .iter()
        .filter(|line| !line.starts_with("{\"message\""))
        .cloned()
        .collect();
    assert_rejected(&cli, "no message", with_lines(&without_messages).as_bytes());
    let long = "x".repeat(300);
    for (from, to) in [
        ("ann@example.com", long.as_str()),
        ("\"accepted\"", "\"lost\""),
        ("\"id\":\"launch\"", "\"id\":\"Launch\""),
        (
            "{\"secs_since_epoch\":0,\"nanos_since_epoch\":1000000}",
            "\"yesterday\"",
        ),
        ("\"source\":\"hn\"", "\"source\":\"\""),
    ] {
        let changed: Vec<_> = lines.iter().map(|line| line.replace(from, to)).collect();
        assert_rejected(&cli, to, with_lines(&changed).as_bytes());
    }
}
