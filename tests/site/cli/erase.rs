//! `landing erase`.

use serde_json::json;

use super::{stderr, stdout, with_three_people};
use crate::{ended::RunToEnd, process::wait_until};

#[test]
fn erased_people_leave_the_count_list_and_export() {
    for cli in with_three_people() {
        assert_eq!(
            cli.stdout(&["erase", "bob@example.com", "CYD@example.com"]),
            "bob@example.com is erased\nCYD@example.com is erased\n"
        );
        assert_eq!(cli.stdout(&["count"]), "1\n");
        assert_eq!(cli.listed(), ["2026-11-01T08:00:00.000Z\tann@example.com"]);
        assert!(!cli.stdout(&["export"]).contains("ob@"));
        if let Some(server) = &cli.server {
            // The server reads the count of a database periodically.
            wait_until("the server counts one entry", || server.count() == 1);
            assert_eq!(server.join("bob@example.com"), "201", "may join again");
        }
    }
}

#[test]
fn reports_unknown_addresses_and_erases_the_others() {
    for cli in with_three_people() {
        let result = cli
            .run(&["erase", "ann@example.com", "amy@example.com"])
            .code(1);
        assert_eq!(
            stdout(&result),
            "ann@example.com is erased\namy@example.com is not on the list\n"
        );
        let list = cli.location();
        assert_eq!(
            stderr(&result),
            format!("landing: not on the list in {list}: 1 of 2 addresses; check the spelling\n")
        );
        for args in [
            &["erase", "amy@example.com"][..],
            &["erase", "amy@example.com", "cyd@example.com", "--dry-run"],
        ] {
            let error = stderr(&cli.run(args).code(1));
            assert!(error.ends_with("; check the spelling\n"), "{error}");
        }
        assert_eq!(cli.stdout(&["count"]), "2\n");
        let report = cli.json_lines(&["erase", "cyd@example.com"]);
        assert_eq!(
            report,
            json!([{ "email": "cyd@example.com", "erased": true, "suppressed": false }])
        );
    }
}

#[test]
fn erases_a_repeated_address_once() {
    for cli in with_three_people() {
        let stdout = cli.stdout(&["erase", " Ann <ann@example.com>", "ANN@example.com"]);
        assert_eq!(stdout, "ann@example.com is erased\n");
        let result = cli.run(&["erase", "nobody"]).code(1);
        let expected = "nobody is not an address: an address needs an @\n";
        assert_eq!(super::stdout(&result), expected);
        cli.run(&["erase"]).code(2);
    }
}

#[test]
fn erases_the_addresses_of_a_file() {
    for cli in with_three_people() {
        let csv = "Name;E-Mail;Status\nAnn;ANN@example.com;unsubscribed\nCyd;cyd@example.com;\n";
        std::fs::write(cli.file("gone.csv"), csv).expect("writable");
        let erase = ["erase", "--file", "gone.csv"];
        let stdout = cli.stdout(&[&erase[..], &["--dry-run"]].concat());
        let expected = "ANN@example.com would be erased\ncyd@example.com would be erased\n";
        assert_eq!(stdout, expected);
        assert_eq!(cli.stdout(&["count"]), "3\n");
        let expected = "ANN@example.com is erased\ncyd@example.com is erased\n";
        assert_eq!(cli.stdout(&erase), expected);
        assert_eq!(cli.stdout(&["count"]), "1\n");

        let result = cli.run_with_input(
            &["erase", "--file", "-"],
            "bob@example.com\ndan@example.com\n",
        );
        let result = result.code(1);
        let expected = "bob@example.com is erased\ndan@example.com is not on the list\n";
        assert_eq!(super::stdout(&result), expected);
        assert_eq!(cli.stdout(&["count"]), "0\n");
    }
}

#[test]
fn reads_the_lists_that_import_reads() {
    let cli = super::without_server().with_three_people();
    let file = "# left today\n\n- Ann <ann@example.com>\n* <bob@example.com>\n";
    let erase = ["erase", "--dry-run", "--file", "-"];
    let printed = super::stdout(&cli.run_with_input(&erase, file).success());
    assert_eq!(
        printed,
        "ann@example.com would be erased\nbob@example.com would be erased\n"
    );
    let table = "name,email,friend\nCyd,cyd@example.com,\nAnn,ann@example.com,bob@example.com\n";
    let error = stderr(&cli.run_with_input(&erase, table).code(1));
    assert!(error.contains("line 3: more than one address"), "{error}");
}

#[test]
fn erases_nobody_if_a_line_is_invalid() {
    for cli in with_three_people() {
        let result = cli.run_with_input(&["erase", "--file", "-"], "ann@example.com\nBob Smith\n");
        let error = stderr(&result.code(1));
        assert!(
            error.contains("nothing was changed: line 2: an address needs an @"),
            "{error}"
        );
        for line in [
            "ann@example.com;bob@example.com\n",
            "ann@example.com,bob@example.com\n",
        ] {
            let error = stderr(&cli.run_with_input(&["erase", "--file", "-"], line).code(1));
            assert!(error.contains("nothing was changed"), "{error}");
        }
        let result = cli.run_with_input(&["erase", "--file", "-"], "");
        assert!(stderr(&result.code(1)).contains(
            "standard input: nothing was changed: the file has no addresses; write one address per line"
        ));
        let error = stderr(&cli.run(&["erase", "--file", "missing.csv"]).code(1));
        assert!(
            error.contains("missing.csv: nothing was changed: cannot read the file: No such file"),
            "{error}"
        );
        assert_eq!(cli.stdout(&["count"]), "3\n");
    }
}

/// On a terminal, the command asks.
#[cfg(target_os = "linux")]
#[test]
fn asks_whether_to_unsubscribe_on_a_terminal() {
    let cli = super::without_server().with_three_people();
    for (email, answer, expected) in [
        ("ann@example.com", "u\n", "ann@example.com is unsubscribed"),
        ("bob@example.com", "e\n", "bob@example.com is erased"),
        ("cyd@example.com", "\n", "nothing was changed"),
    ] {
        let command = format!(
            "'{}' erase {email} --store data",
            env!("CARGO_BIN_EXE_landing")
        );
        let mut script = cli.command_for("script");
        script.args(["-qec", &command, "/dev/null"]);
        let shown = stdout(&script.run_with_input(answer));
        assert!(shown.contains("[u]nsubscribe, [e]rase"), "{shown}");
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let report = stdout(&cli.run_with_input(&["import"], "ann@example.com\nbob@example.com\n"));
    assert!(report.contains("1 added"), "{report}");
    assert_eq!(cli.stdout(&["count"]), "2\n");
}
