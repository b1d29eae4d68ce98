//! `landing import`: files in UTF-16, and files that are not text.

use std::fs;

use super::{TestCli, stderr, stdout, without_server};

fn utf16_le(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn utf16_be(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

fn utf32_le(text: &str) -> Vec<u8> {
    let code_points = text.chars().map(u32::from);
    code_points.flat_map(u32::to_le_bytes).collect()
}

/// Reports what an import of a file and of standard input would do, which must be the same.
fn dry_run(cli: &TestCli, bytes: &[u8]) -> String {
    let args = ["import", "--dry-run"];
    let from_input = stdout(&cli.run_with_input(&args, bytes).success());
    fs::write(cli.file("file.txt"), bytes).expect("writable");
    let from_file = cli.stdout(&["import", "--dry-run", "file.txt"]);
    assert_eq!(from_input, from_file);
    from_input
}

#[test]
fn reads_the_unicode_text_of_a_spreadsheet() {
    let file = "\u{feff}Name\tE-Mail\tDatum\r\n\
                Ann 🦀, Müller\tann@müller.example\t01.11.2026 14:05\r\n\
                \"Bob\r\nGroß\"\tbob@example.com\t15.11.2026\r\n\
                Cyd\tcyd\t\r\n";
    for encode in [utf16_le, utf16_be] {
        let cli = without_server();
        fs::write(cli.file("file.txt"), encode(file)).expect("writable");
        let result = cli.run(&["import", "file.txt"]).code(1);
        let report = stdout(&result);
        assert!(
            report
                .contains("\nfile.txt:5: invalid address \"cyd\": an address needs an @\n2 added"),
            "{report}"
        );
        assert_eq!(
            cli.listed(),
            [
                "2026-11-01T14:05:00.000Z\tann@müller.example",
                "2026-11-15T00:00:00.000Z\tbob@example.com"
            ]
        );
        let result = cli.run_with_input(&["import"], encode(file)).code(1);
        assert!(stdout(&result).contains("0 added, 2 already there, 1 rejected\n"));
    }
}

#[test]
fn reads_long_files_in_utf_16() {
    let rows: String = (0..5_000)
        .map(|number| format!("{}🦀\t{number}@example.com\n", "x".repeat(number % 7)))
        .collect();
    let json: String = (0..5_000)
        .map(|number| format!("{{\"email\":\"{number}@example.com\",\"name\":\"🦀\"}}\n"))
        .collect();
    for file in [
        format!("\u{feff}name\temail\n{rows}"),
        format!("\u{feff}{json}"),
    ] {
        for bytes in [utf16_le(&file), utf16_be(&file)] {
            let cli = without_server();
            let report = dry_run(&cli, &bytes);
            assert!(report.contains("\n5000 would be added"), "{report}");
            cli.stdout(&["import", "file.txt"]);
            assert_eq!(cli.stdout(&["count"]), "5000\n");
        }
    }
}

#[test]
fn erases_the_people_of_a_file_in_utf_16() {
    let cli = without_server().with_three_people();
    fs::write(
        cli.file("gone.txt"),
        utf16_le("\u{feff}Email\nann@example.com\n"),
    )
    .expect("writable");
    assert_eq!(
        cli.stdout(&["erase", "--file", "gone.txt"]),
        "ann@example.com is erased\n"
    );
}

#[test]
fn rejects_other_encodings_and_binary_files() {
    let people = "email\nann@example.com\n";
    let null_bytes = "the file has null bytes: it is in UTF-16 or UTF-32, or it is not text; save it as CSV in UTF-8";
    let archive = "the file is a spreadsheet or an archive; save the spreadsheet as CSV in UTF-8, or unpack the \
                   archive first";
    let address_book =
        "the file is an address book (vCard or LDIF); export the contacts as CSV instead";
    let with_bom = format!("\u{feff}{people}");
    for (file, why) in [
        (utf16_le(people), null_bytes),
        (utf16_be(people), null_bytes),
        (utf32_le(people), null_bytes),
        (utf32_le(&with_bom), null_bytes),
        (b"\x7fELF\x02\x01\x01\0\0".to_vec(), null_bytes),
        (
            b"PK\x03\x04\x14\0\x06\0[Content_Types].xml".to_vec(),
            archive,
        ),
        (b"PK\x05\x06\0\0\0\0".to_vec(), archive),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0".to_vec(), archive),
        (b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(), archive),
        (
            b"BEGIN:VCARD\r\nEMAIL:ann@example.com\r\n".to_vec(),
            address_book,
        ),
        (
            b"dn: cn=Ann,mail=ann@example.com\nmail: ann@example.com\n".to_vec(),
            address_book,
        ),
        (
            b"\x1f\x8b\x08\x08email".to_vec(),
            "the file is compressed; decompress it first, for example with `gunzip`",
        ),
    ] {
        let cli = without_server();
        let result = cli.run_with_input(&["import"], &*file).code(1);
        let expected = format!("landing: standard input: nothing was imported: {why}\n");
        assert_eq!(stderr(&result), expected);
        fs::write(cli.file("file"), &file).expect("writable");
        let result = cli.run(&["import", "file"]).code(1);
        let expected = format!("landing: file: nothing was imported: {why}\n");
        assert_eq!(stderr(&result), expected);
        assert!(!fs::exists(cli.file("data")).expect("readable"));
    }
}

#[test]
fn rejects_an_address_with_a_broken_character() {
    let mut file = utf16_le("\u{feff}email\tname\nann@ex");
    // The first half of a pair.
    file.extend(0xd83e_u16.to_le_bytes());
    file.extend(utf16_le("ample.com\tAnn\nbob@example.com\tBob"));
    // The file was cut off inside a character.
    file.push(b'!');
    let cli = without_server();
    let result = cli.run_with_input(&["import"], file).code(1);
    let report = stdout(&result);
    assert!(
        report.contains("standard input:2: invalid address: "),
        "{report}"
    );
    assert!(report.contains("\n1 added"), "{report}");
}
