//! `landing import`: the flags that answer its questions about status values.

use super::{dry_run_counts_with, stderr, without_server};

const TYPES: &str = "email_address,type,creation_date\n\
    ann@example.com,regular,2024-01-01\n\
    bob@example.com,removed,2024-01-02\n\
    cyd@example.com,unsubscribed,2024-01-03\n\
    dee@example.com,undeliverable,2024-01-04\n\
    eve@example.com,churned,2024-01-05\n";

#[test]
fn skip_accepts_every_value_in_the_file() {
    let cli = without_server();
    let options = ["unsubscribed", "removed", "Undeliverable", "churned"];
    let options: Vec<_> = options
        .iter()
        .flat_map(|status| ["--skip", *status])
        .collect();
    let counted = dry_run_counts_with(&cli, TYPES, &options);
    assert_eq!(counted, "1 would be added, 0 already there, 4 rejected");
    // A flag may also name a value about which `import` would not ask.
    let file = "email,type\nann@example.com,regular\nbob@example.com,lapsed member\n";
    let counted = dry_run_counts_with(&cli, file, &["--skip", "lapsed member"]);
    assert_eq!(counted, "1 would be added, 0 already there, 1 rejected");
}

#[test]
fn rejects_a_status_that_matches_nothing() {
    let cli = without_server();
    let export = "email,joined_at\nann@example.com,2024-01-01\n";
    let jsonl = "{\"type\":\"x\",\"email\":\"ann@example.com\"}\n";
    for file in [TYPES, export, jsonl] {
        for flag in ["--skip", "--keep"] {
            for status in ["unsubscripted", "type=churnt", "tipe=churned", "no", ""] {
                let args = ["import", flag, status];
                let stderr = stderr(&cli.run_with_input(&args, file).code(1));
                let expected = format!("no value in the file matches {flag} {status:?}");
                assert!(stderr.contains(&expected), "{stderr}");
                assert!(stderr.contains("nothing was imported"), "{stderr}");
            }
        }
    }
}

#[test]
fn status_can_name_its_column() {
    let cli = without_server();
    let file = "email,status,unsubscribed,vip\n\
                ann@example.com,1,no,no\n\
                bob@example.com,2,no,yes\n\
                cyd@example.com,no,no,no\n\
                dee@example.com,1,yes,yes\n";
    for (options, added) in [
        (&["--keep", "1", "--keep", "2", "--skip", "no"][..], 2),
        (&["--keep", "Status=*"], 3),
        (&["--skip", "status=*", "--skip-all"], 0),
        (
            &["--keep", "status=1", "--skip", "status=*", "--skip-all"],
            0,
        ),
        (&["--keep", "status=*", "--keep", "unsubscribed=yes"], 4),
        (&["--keep", "status=*", "--skip", "VIP=no"], 1),
    ] {
        let counted = dry_run_counts_with(&cli, file, options);
        let expected = format!("{added} would be added");
        assert!(counted.starts_with(&expected), "{options:?}: {counted}");
    }
}
