//! `landing import`: files with several rows for one person.

use super::{dry_run_counts, stderr, stdout, without_server};

#[test]
fn skips_all_rows_of_a_person_unsubscribed_in_one() {
    let cli = without_server();
    for rows in [
        "ann@example.com,active\nANN@example.com,unsubscribed\n",
        "ANN@example.com,unsubscribed\nann@example.com,active\n",
    ] {
        let file = format!("email,status\n{rows}bob@example.com,active\n");
        let counted = dry_run_counts(&cli, &file);
        assert_eq!(counted, "1 would be added, 0 already there, 2 rejected");
    }
}

#[test]
fn skips_export_lines_of_a_person_unsubscribed_in_another_line() {
    let cli = without_server();
    let unsubscribed = "{\"email\":\"ann@example.com\",\"status\":\"unsubscribed\"}\n";
    let export = "{\"joined_at\":\"2024-01-01T00:00:00Z\",\"email\":\"Ann@example.com\"}\n";
    let other = "{\"joined_at\":\"2024-01-01T00:00:00Z\",\"email\":\"bob@example.com\"}\n";
    for rows in [[unsubscribed, export], [export, unsubscribed]] {
        let counted = dry_run_counts(&cli, &(rows.concat() + other));
        assert_eq!(counted, "1 would be added, 0 already there, 2 rejected");
        let result = cli.run_with_input(&["import"], rows.concat()).code(1);
        assert!(stderr(&result).contains(
            "everybody in the file would be skipped because of column \"status\" (1 person)"
        ));
    }
}

#[test]
fn escaped_and_plain_formulas_are_the_same_person() {
    let cli = without_server();
    for header in ["email,status", "email,status,joined_at"] {
        for rows in [
            "'+a@example.com,unsubscribed\n+a@example.com,subscribed\n",
            "+a@example.com,unsubscribed\n'+a@example.com,subscribed\n",
        ] {
            let file = format!("{header}\n{rows}bob@example.com,subscribed\n");
            let counted = dry_run_counts(&cli, &file);
            assert_eq!(counted, "1 would be added, 0 already there, 2 rejected");
            let result = cli.run_with_input(&["import", "--dry-run"], file).success();
            assert!(stdout(&result).contains("standard input:2: skipped: unsubscribed"));
        }
    }
}
