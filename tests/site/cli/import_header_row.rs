//! `landing import`: the header row, the lines before it, and the line that names the separator.

use serde_json::Value;

use super::{stderr, stdout, without_server};

#[test]
fn first_line_may_set_the_separator() {
    for (line, separator) in [
        ("sep=;", ';'),
        ("sep=,", ','),
        ("sep=\t", '\t'),
        ("sep=\\t", '\t'),
        ("sep=|", '|'),
        ("\"sep=;\"", ';'),
        ("\u{feff}sep=;", ';'),
        ("\u{feff}\"sep=,\"", ','),
        ("SEP=;\r", ';'),
        ("sep=;\n", ';'),
    ] {
        // Every other separator is more frequent.
        let name = "name, first, last; nick\tname|s; title".replace(separator, " ");
        let header = format!("{name}{separator}email");
        let file = format!("{line}\n{header}\nAnn{separator}ann@example.com\nBob{separator}bob\n");
        let cli = without_server();
        let result = cli.run_with_input(&["import"], file).code(1);
        let report = stdout(&result);
        let number = if line.ends_with('\n') { 5 } else { 4 };
        assert!(
            report.starts_with("column \"email\": addresses\nignored: \"name"),
            "{line}: {report}"
        );
        let expected = format!(
            "\nstandard input:{number}: invalid address \"bob\": an address needs an @\n1 added"
        );
        assert!(report.contains(&expected), "{line}: {report}");
    }
}

#[test]
fn separator_line_needs_no_header_row() {
    let cli = without_server();
    let file = "sep=;\n\"Miller, Ann, Dr\";ann@example.com\nBob;bob@example.com\n";
    let result = cli.run_with_input(&["import"], file).success();
    assert!(stdout(&result).starts_with("column 2: addresses\n"));
    assert_eq!(cli.stdout(&["count"]), "2\n");
}

#[test]
fn separator_line_that_a_spreadsheet_saved_sets_nothing() {
    for line in ["sep=;,,", "\"sep=,\";;", "sep=;\t\t"] {
        let separator = line.chars().last().expect("a separator");
        let file = format!(
            "{line}\nname{separator}email{separator}city\nAnn{separator}ann@example.com{separator}Bonn\n"
        );
        let cli = without_server();
        let result = cli.run_with_input(&["import"], file).success();
        assert!(stdout(&result).contains("\n1 added"), "{line}");
    }
}

#[test]
fn address_that_looks_like_a_separator_line_is_imported() {
    let cli = without_server();
    let file = "sep=ann@example.com\nbob@example.com\n";
    cli.run_with_input(&["import"], file).success();
    assert_eq!(cli.stdout(&["count"]), "2\n");
}

/// The lines before a header row, and the number of that row.
const PREAMBLES: [(&str, u64); 8] = [
    ("Newsletter subscribers\n", 2),
    (
        "Newsletter subscribers;;;\nExported on;2026-11-21;;\n;;;\n",
        4,
    ),
    ("Subscribers, exported by Bob, Ann, and others\r\n\r\n", 3),
    ("\n\n\nE-mail subscribers of ACME\n\n", 6),
    ("Report,Everybody who has an email\nDate,2026-11-21\n\n", 4),
    ("\"A title\nover, two lines\"\n", 3),
    ("sep=;\nTitle, with, commas, and\ttabs\n\n", 4),
    (
        "\u{feff}Konto;Newsletter;\nZeitraum;01.11.2026 - 21.11.2026;\nAnzahl;2;\n\n",
        5,
    ),
];

#[test]
fn skips_lines_before_the_header_row() {
    for (preamble, line) in PREAMBLES {
        let file =
            format!("{preamble}Name;E-Mail;Datum\nAnn;ann@example.com;01.11.2026\nBob;bob;\n");
        let cli = without_server();
        let result = cli.run_with_input(&["import"], &*file).code(1);
        let report = stdout(&result);
        let expected = format!(
            "header row: line {line}; the lines before it are skipped\n\
             column \"E-Mail\": addresses\n\
             column \"Datum\": sign-up times\n\
             ignored: \"Name\"\n\
             standard input:{}: invalid address \"bob\": an address needs an @\n1 added",
            line + 2
        );
        assert!(report.starts_with(&expected), "{preamble:?}: {report}");
        assert_eq!(cli.listed(), ["2026-11-01T00:00:00.000Z\tann@example.com"]);
        let result = cli.run_with_input(&["import", "--json"], file).code(1);
        let report: Value = serde_json::from_str(&stdout(&result)).expect("JSON");
        assert_eq!(report["header_line"], line, "{preamble:?}");
    }
}

#[test]
fn header_row_in_the_first_line_is_not_announced() {
    let cli = without_server();
    for file in [
        "email,name\nann@example.com,Ann\n",
        "\n,,\nemail,name\nann@example.com,Ann\n",
        "sep=,\nemail,name\nann@example.com,Ann\n",
        "What is your email?,How may we contact you?\nunknown,Email\nann@example.com,Email\n",
    ] {
        let report = stdout(&cli.run_with_input(&["import", "--dry-run"], file));
        assert!(report.starts_with("column "), "{report}");
        assert!(report.contains("\n1 would be added"), "{report}");
        let args = ["import", "--dry-run", "--json"];
        let report = stdout(&cli.run_with_input(&args, file));
        let report: Value = serde_json::from_str(&report).expect("JSON");
        assert!(report.get("header_line").is_none());
    }
}

#[test]
fn asks_to_delete_lines_with_an_address_before_the_header_row() {
    let cli = without_server();
    for (preamble, address, header) in [
        ("Subscribers\n\nbob@example.com\n", 3, 4),
        ("Exported by Bob <bob@example.com>\n", 1, 2),
        ("Subscribers\nbob＠example.com\n\n", 2, 4),
        ("Email subscribers\nContact: bob@example.com\n", 2, 3),
    ] {
        let file = format!("{preamble}Name;Email\nAnn;ann@example.com\n");
        let result = cli.run_with_input(&["import"], file).code(1);
        assert_eq!(
            stderr(&result),
            format!(
                "landing: standard input: nothing was imported: line {header} is the header row, but line {address} \
                 before it has an @ and may be a person; move the people to the end of the file, and delete the lines before \
                 the header row\n"
            )
        );
        assert_eq!(stdout(&result), "");
    }
}

#[test]
fn asks_about_a_title_that_means_unsubscribed() {
    let cli = without_server();
    for title in ["Unsubscribed contacts", "Filter;Status = unsubscribed"] {
        let file = format!("Export\n{title}\n\nName;Email\nAnn;ann@example.com\n");
        let result = cli.run_with_input(&["import"], file).code(1);
        assert_eq!(
            stderr(&result),
            "landing: standard input:2: nothing was imported: this line is above the header row, and may mean that the people \
             in the file have unsubscribed; if they have not, delete it and import the file again\n"
        );
    }
}

#[test]
fn asks_for_the_header_row_if_it_is_not_certain() {
    let cli = without_server();
    for file in [
        // The addresses are in another column.
        "name,phone\nAnn,ask by e-mail\nbob@example.com,123\n",
        // There are no addresses.
        "Subscribers\nName,Email\n",
        "name,phone\nAnn,ask by e-mail\nBob,123\n",
    ] {
        let result = cli.run_with_input(&["import"], file).code(1);
        assert_eq!(
            stderr(&result),
            "landing: standard input: nothing was imported: cannot find the column with the addresses; if line 2 is the \
             header row, delete the lines before it and name the column \"email\"; otherwise add a header row\n"
        );
    }
    for file in [
        // The header row is in line 21.
        format!("{}Name,Email\nAnn,ann@example.com\n", "Title\n".repeat(20)),
        "Subscribers\nann@example.com\nbob@example.com\n".to_owned(),
        // The second row may be a person.
        "Contact;Name\nmail;Ann <ann@example.com>\nbob@example.com;Bob\n".to_owned(),
        "Name\nAnn <ann@email.com>\nBob, no e-mail\n".to_owned(),
    ] {
        let result = cli.run_with_input(&["import"], file).code(1);
        assert_eq!(
            stderr(&result),
            "landing: standard input: nothing was imported: cannot find the column with the addresses; write one address per \
             line, or add a header row that names the column \"email\", and delete the lines before it\n"
        );
    }
}

#[test]
fn erases_people_below_a_title() {
    let cli = without_server().with_three_people();
    let gone = "Unsubscribed people\n\nName;Email\nAnn;ann@example.com\n";
    let result = cli
        .run_with_input(&["erase", "--file", "-"], gone)
        .success();
    assert_eq!(stdout(&result), "ann@example.com is erased\n");
}
