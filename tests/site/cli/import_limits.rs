//! `landing import`: limits on memory and output, cells that are not UTF-8, and columns without a name.

use std::fmt::Write;

use serde_json::Value;

use super::{dry_run_counts, dry_run_counts_with, stderr, stdout, without_server};

#[test]
fn rejects_json_with_too_many_different_keys() {
    let cli = without_server();
    for key in ["\"k", "\"x\":{\"k"] {
        let line = |number: u64| {
            let end = if key.contains('{') { "}}" } else { "}" };
            format!("{{\"email\":\"{number}@example.com\",{key}{number}\":1{end}\n")
        };
        let file: String = (0..1_000).map(line).collect();
        assert!(dry_run_counts(&cli, &file).starts_with("1000 would be added"));
        let file: String = (0..2_000).map(line).collect();
        let stderr = stderr(&cli.run_with_input(&["import"], &*file).code(1));
        assert!(
            stderr.contains("more than 1024 different names"),
            "{stderr}"
        );
        assert!(stderr.contains("nothing was imported"), "{stderr}");
    }
    let file: String = (0..2_000)
        .map(|number| format!("{{\"email\":\"{number}@example.com\",\"x\":{{\"k{number}\":1}}}}\n"))
        .collect();
    let counted = dry_run_counts_with(&cli, &file, &["--ignore", "x"]);
    assert!(counted.starts_with("2000 would be added"), "{counted}");
}

#[test]
fn shows_the_first_rejected_lines_and_counts_the_others() {
    let cli = without_server();
    let mut file = "email,status\nann@example.com,active\n".to_owned();
    for number in 0..10_010 {
        writeln!(file, "{number}@example.com,unsubscribed").expect("text");
    }
    file += &"bad,active\n".repeat(10_005);
    let result = cli.run_with_input(&["import", "--dry-run"], &*file).code(1);
    let report = stdout(&result);
    assert!(
        report.contains("\nstandard input:10002: skipped: unsubscribed"),
        "{}",
        report.len()
    );
    assert!(
        !report.contains("\nstandard input:10003: "),
        "{}",
        report.len()
    );
    assert!(
        report.contains("\nstandard input:20012: invalid address \"bad\": an address needs an @"),
        "{}",
        report.len()
    );
    assert!(
        !report.contains("\nstandard input:20013: "),
        "{}",
        report.len()
    );
    let end = "\nand 15 more lines\n1 would be added, 0 already there, 20015 rejected\n";
    assert!(report.contains(end), "{}", report.len());
    assert!(stderr(&result).contains("10005 of 20016 lines are invalid"));
    let args = ["import", "--dry-run", "--json"];
    let report = stdout(&cli.run_with_input(&args, file).code(1));
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["rejected"].as_array().expect("rows").len(), 20_000);
    assert_eq!(report["rejected_not_shown"], 15);
}

#[test]
fn unused_cells_may_have_another_encoding() {
    let cli = without_server();
    for file in [
        &b"email,name,status\na@x.example,Jos\xe9,subscribed\n"[..],
        b"{\"email\":\"a@x.example\",\"name\":\"Jos\xe9\",\"status\":\"subscribed\"}\n",
    ] {
        let result = cli.run_with_input(&["import", "--dry-run"], file).success();
        assert!(stdout(&result).contains("1 would be added, 0 already there, 0 rejected"));
    }
    for file in [
        &b"email,name,status\na@x.example,Jos\xe9,abonn\xe9\n"[..],
        b"email,name,status\nJos\xe9@x.example,a,subscribed\n",
        b"email,joined_at,status\na@x.example,2024\xe9,subscribed\n",
        b"{\"email\":\"Jos\xe9@x.example\"}\n",
        b"{\"joined_at\":\"2024\xe9\",\"email\":\"a@x.example\"}\n",
        b"{\"email\":\"a@x.example\",\"status\":\"abonn\xe9\"}\n",
    ] {
        let result = cli.run_with_input(&["import", "--dry-run"], file).code(1);
        let report = stdout(&result);
        assert!(
            report.contains("0 would be added, 0 already there, 1 rejected"),
            "{report}"
        );
    }
    // The readable parts of a cell still count.
    let file = b"email,tags\na@x.example,caf\xe9; unsubscribed\n";
    assert!(
        stderr(&cli.run_with_input(&["import"], file).code(1)).contains("says \"unsubscribed\"")
    );
}

#[test]
fn ignore_accepts_the_number_of_an_unnamed_column() {
    let cli = without_server();
    for file in [
        "ann@example.com,2024-01-01,unsubscribed\nbob@example.com,2024-01-01,x\n",
        "email,name,\nann@example.com,Ann,unsubscribed\nbob@example.com,Bob,x\n",
    ] {
        let stderr = stderr(&cli.run_with_input(&["import"], file).code(1));
        assert!(
            stderr.contains("column \"3\" says \"unsubscribed\""),
            "{stderr}"
        );
        let counted = dry_run_counts_with(&cli, file, &["--ignore", "3"]);
        assert!(counted.starts_with("2 would be added"), "{counted}");
        let counted = dry_run_counts_with(&cli, file, &["--ignore", "4"]);
        assert!(counted.contains("there is no column \"4\""), "{counted}");
    }
}
