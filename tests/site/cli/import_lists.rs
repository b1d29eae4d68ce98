//! `landing import`: lists that a person wrote or pasted from a mail program. Nobody may be lost silently.

use super::{addresses, stderr, stdout, without_server};

const SEVERAL: &str = "more than one address on the line; write one address per line";

#[test]
fn rejects_lines_with_several_addresses() {
    for line in [
        "kim@example.com, lea@example.com; max@example.com",
        "kim@example.com,lea@example.com",
        "kim@example.com;lea@example.com",
        "kim@example.com\tlea@example.com",
        "To: kim@example.com, lea@example.com",
        "Kim <kim@example.com>, Lea <lea@example.com>",
        "Kim,kim@example.com,mailto:kim.private@example.com",
    ] {
        for file in [line.to_owned(), format!("{line}\nann@example.com\n")] {
            let cli = without_server();
            let result = cli.run_with_input(&["import"], file).code(1);
            let report = stdout(&result);
            let expected = format!("standard input:1: {SEVERAL}\n");
            assert!(report.contains(&expected), "{line}: {report}");
            let printed = report + &stderr(&result);
            assert!(!printed.contains("@example.com"), "{line}: {printed}");
        }
    }
    // The same line below others.
    for line in [
        "kim@example.com, lea@example.com",
        "kim@example.com lea@example.com",
        "Kim <kim@example.com>, Lea <lea@example.com>",
    ] {
        let cli = without_server();
        let file = format!("ann@example.com\n{line}\nbob@example.com\n");
        let result = cli.run_with_input(&["import"], file).code(1);
        let expected =
            format!("\nstandard input:2: {SEVERAL}\n2 added, 0 already there, 1 rejected\n");
        assert!(
            stdout(&result).contains(&expected),
            "{line}: {}",
            stdout(&result)
        );
    }
}

#[test]
fn file_whose_first_line_is_not_one_address_asks_for_one_address_per_line() {
    for line in [
        "kim@example.com lea@example.com",
        "please add kim@example.com",
        "# kim@example.com",
    ] {
        let cli = without_server();
        let file = format!("{line}\nann@example.com\n");
        let error = stderr(&cli.run_with_input(&["import"], file).code(1));
        assert!(
            error.contains("write one address per line"),
            "{line}: {error}"
        );
        assert!(cli.file_names().is_empty(), "{line}: no list is created");
    }
}

#[test]
fn address_that_is_written_twice_on_a_line_is_one_person() {
    let cli = without_server();
    let file = "ann@example.com,ANN@example.com\n'bob@example.com' <bob@example.com>,\n";
    cli.run_with_input(&["import"], file).success();
    assert_eq!(addresses(&cli), ["ann@example.com", "bob@example.com"]);
}

#[test]
fn ignored_column_may_have_other_addresses() {
    let cli = without_server();
    let file = "ann@example.com,ann@home.example\n";
    cli.run_with_input(&["import", "--ignore", "2"], file)
        .success();
    assert_eq!(addresses(&cli), ["ann@example.com"]);
}

#[test]
fn second_column_of_addresses_below_a_header_row_is_reported_as_ignored() {
    let cli = without_server();
    let file = "email,alternate email\nann@example.com,ann@home.example\n";
    let report = stdout(&cli.run_with_input(&["import"], file).success());
    assert!(
        report.contains("ignored: \"alternate email\"\n"),
        "{report}"
    );
    assert!(report.contains("1 added"), "{report}");
}

#[test]
fn cell_with_several_addresses_is_rejected_below_a_header_row() {
    for cell in [
        "ann@example.com, bob@example.com",
        "Ann <ann@example.com>, Bob <bob@example.com>",
        "ann@example.com <bob@example.com>",
    ] {
        let cli = without_server();
        let file = format!("name,email\nAnn,\"{cell}\"\nCyd,cyd@example.com\n");
        let result = cli.run_with_input(&["import"], file).code(1);
        let expected = "standard input:2: more than one address in the column of addresses; write one address per \
                        line\n1 added";
        assert!(
            stdout(&result).contains(expected),
            "{cell}: {}",
            stdout(&result)
        );
    }
}

#[test]
fn accepts_a_name_before_the_address() {
    for file in [
        "Hanna <hanna@example.com>\n<lea@example.com>\nmax@example.com\n",
        "<lea@example.com>\n\"Doe, Hanna\" <hanna@example.com>\nMax  < max@example.com >\n",
        "name,email\nHanna,Hanna Doe <hanna@example.com>\nLea,<lea@example.com>\nMax,max@example.com\n",
        "Hanna,Hanna <hanna@example.com>\nLea,<lea@example.com>\nMax,max@example.com\n",
        "{\"email\":\"Hanna <hanna@example.com>\"}\n{\"email\":\"<lea@example.com>\"}\n{\"email\":\"max@example.com\"}\n",
    ] {
        let cli = without_server();
        cli.run_with_input(&["import"], file).success();
        assert_eq!(
            addresses(&cli),
            ["hanna@example.com", "lea@example.com", "max@example.com"],
            "{file}"
        );
    }
}

#[test]
fn name_with_another_address_is_invalid_everywhere() {
    let several = "Ann <ann@example.com>, Bob <bob@example.com>";
    let cli = without_server();
    let file = format!("{{\"email\":\"{several}\"}}\n{{\"email\":\"cyd@example.com\"}}\n");
    let result = cli.run_with_input(&["import"], file).code(1);
    assert!(
        stdout(&result).contains("standard input:1: invalid address: "),
        "{}",
        stdout(&result)
    );
    for command in ["show", "erase"] {
        cli.run(&[command, several]).code(1);
    }
    assert_eq!(addresses(&cli), ["cyd@example.com"]);
}

/// One row gives the name, the other one says that the person has left.
#[test]
fn name_before_an_address_hides_nobody_who_has_left() {
    let cli = without_server();
    let file = "email,status\nHanna <hanna@example.com>,subscribed\nhanna@example.com,unsubscribed\n\
                max@example.com,subscribed\n";
    let report = stdout(&cli.run_with_input(&["import"], file).success());
    assert!(
        report.contains("1 added, 0 already there, 2 rejected"),
        "{report}"
    );
    assert_eq!(addresses(&cli), ["max@example.com"]);
}

#[test]
fn skips_comments_and_empty_lines_and_ignores_bullets() {
    for file in [
        "# my friends\n\n- ann@example.com\n* bob@example.com\n# family, and others\n• cyd@example.com\n\n",
        "\n# a \"title\"\n#\n  - ann@example.com\n \n  * bob@example.com\n#family\n  •\u{a0}cyd@example.com\n",
        "email\n- ann@example.com\n# family\n* bob@example.com\n• Cyd <cyd@example.com>\n",
    ] {
        let cli = without_server();
        let result = cli.run_with_input(&["import"], file).success();
        let report = stdout(&result);
        assert!(
            report.contains("3 added, 0 already there, 0 rejected"),
            "{file}: {report}"
        );
        assert!(!report.contains("header row"), "{file}: {report}");
        let expected = ["ann@example.com", "bob@example.com", "cyd@example.com"];
        assert_eq!(addresses(&cli), expected, "{file}");
    }
}

#[test]
fn address_may_begin_like_a_bullet_or_a_comment() {
    let cli = without_server();
    let file = "-x@example.com\n#y@example.com\n*z@example.com\n- -v@example.com\n";
    cli.run_with_input(&["import"], file).success();
    assert_eq!(
        addresses(&cli),
        [
            "#y@example.com",
            "*z@example.com",
            "-v@example.com",
            "-x@example.com"
        ]
    );
}

#[test]
fn comment_with_an_address_and_text_beside_an_address_are_invalid() {
    for line in [
        "# bob@example.com",
        "please add bob@example.com",
        "1. bob@example.com",
    ] {
        let cli = without_server();
        let file = format!("ann@example.com\n{line}\n");
        let result = cli.run_with_input(&["import"], file).code(1);
        let expected =
            "standard input:2: text beside the address; write one address per line\n1 added";
        assert!(
            stdout(&result).contains(expected),
            "{line}: {}",
            stdout(&result)
        );
    }
}

#[test]
fn comment_that_says_that_people_have_left_stops_the_import() {
    let cli = without_server();
    let error = stderr(
        &cli.run_with_input(&["import"], "# unsubscribed\nann@example.com\n")
            .code(1),
    );
    assert!(
        error.contains("may mean that the people in the file have unsubscribed"),
        "{error}"
    );
    assert!(cli.file_names().is_empty());
}

#[test]
fn erase_reads_the_same_lists() {
    let cli = without_server().with_three_people();
    let file = "# left today\n\n- Ann <ann@example.com>\n* <bob@example.com>\n";
    let erase = ["erase", "--file", "-"];
    let printed = stdout(&cli.run_with_input(&erase, file).success());
    assert_eq!(
        printed,
        "ann@example.com is erased\nbob@example.com is erased\n"
    );
    for line in [
        "cyd@example.com, dan@example.com",
        "Cyd <cyd@example.com>, Dan <dan@example.com>",
    ] {
        let error = stderr(&cli.run_with_input(&erase, line).code(1));
        assert!(error.contains(&format!("line 1: {SEVERAL}")), "{error}");
    }
    assert_eq!(cli.stdout(&["count"]), "1\n");
}

/// On a terminal, the location is printed before a progress bar is drawn.
#[cfg(target_os = "linux")]
#[test]
fn names_the_list_before_it_reads_the_file() {
    let cli = without_server();
    cli.write("list.csv", super::people_csv(30_000));
    let shown = cli.shown_on_terminal("import list.csv");
    let location = shown
        .find("landing: the waitlist in ")
        .expect("the location");
    assert!(
        shown.find("scanning").is_none_or(|bar| location < bar),
        "{shown}"
    );
}
