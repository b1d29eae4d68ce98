//! Sign-ups that were made while a clock was wrong.

use sha2::{Digest, Sha256};

use super::{TestCli, all_stores, stderr, stdout};
use crate::process::Sandbox;

/// What `export` writes about people with these times.
fn export(times: &[&str], is_json: bool) -> String {
    let mut text = String::new();
    if !is_json {
        text += "\u{feff}email,joined_at\n";
    }
    for (number, time) in times.iter().enumerate() {
        text += &if is_json {
            format!("{{\"email\":\"{number}@example.com\",\"joined_at\":\"{time}\"}}\n")
        } else {
            format!("{number}@example.com,{time}\n")
        };
    }
    let hash = Sha256::digest(&text);
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let people = times.len();
    text += &if is_json {
        format!("{{\"entries\":{people},\"sha256\":\"{hash}\"}}\n")
    } else {
        format!("# {people} entries,sha256:{hash}\n")
    };
    text
}

#[test]
fn imports_an_intact_export_with_implausible_times() {
    let soon = std::time::SystemTime::now() + std::time::Duration::from_secs(3 * 86_400);
    let soon = super::rfc3339(soon);
    let times = [
        "1970-01-01T00:00:00.000Z",
        "2026-11-01T08:00:00.000Z",
        &soon,
        "2100-01-01T00:00:00.000Z",
        "9999-12-30T22:00:00.999Z",
    ];
    for cli in all_stores() {
        for (is_json, format) in [(false, "csv"), (true, "jsonl")] {
            let file = export(&times, is_json);
            let args = ["import", "--dry-run"];
            let done = cli.run_with_input(&args, &*file).success();
            let warning = "4 have an implausible time (before 1971 or in the future), kept as it is \
                           because the export is intact\n";
            assert!(stdout(&done).contains(warning), "{}", stdout(&done));
            let done = cli.run_with_input(&["import", "--json"], &*file).success();
            assert!(stdout(&done).contains("\"implausible_times\":4"));
            assert_eq!(cli.stdout(&["export", "--format", format]), file);

            // Of a file that was changed nobody knows where its times come from.
            let args = ["import", "--changed", "--dry-run"];
            let done = cli.run_with_input(&args, file).code(1);
            assert!(stdout(&done).contains(" 4 rejected"), "{}", stdout(&done));
        }
    }
}

/// A list with people who joined at these times, in milliseconds since 1970.
fn list_with_times(times: &[u64]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.serve().join("ann@example.com");
    let database = sled::open(sandbox.path().join("data/waitlist")).expect("sled opens");
    let entries = database.open_tree("entries").expect("it is there");
    let mut record = Vec::new();
    for (number, time) in (0..).zip(times) {
        record.push(13);
        record.extend(time.to_be_bytes());
        record.extend([b'a' + number]);
        record.extend(b"@example.com");
    }
    let written = entries.insert(0u64.to_be_bytes(), record);
    written.expect("writable");
    sandbox
}

#[test]
fn commands_handle_times_after_the_year_9999() {
    let times = [0, 253_402_300_800_000, 1 << 62, u64::MAX - 1];
    for is_served in [false, true] {
        let sandbox = list_with_times(&times);
        let server = is_served.then(|| sandbox.serve());
        let cli = TestCli {
            sandbox,
            server,
            database: None,
        };
        assert_eq!(cli.listed().len(), 4);
        assert!(cli.stdout(&["stats"]).contains("\n9999  "));
        assert!(stderr(&cli.run(&["check"]).code(1)).contains("4 things"));
        for name in ["list.csv", "list.jsonl"] {
            cli.run(&["export", "-o", name]).success();
            let report = cli.stdout(&["import", "--data", name.trim_start_matches("list."), name]);
            assert!(report.starts_with("4 added, "), "{report}");
            let copy = cli.stdout(&["list", "--data", name.trim_start_matches("list.")]);
            assert_eq!(copy, cli.stdout(&["list"]));
        }
    }
}
