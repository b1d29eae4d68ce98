//! Entries whose sign-up time comes from a wrong clock.

use super::{all_stores, sha256, stderr, stdout, with_raw_record};

/// Returns the file that `export` writes for people with these sign-up times.
fn export(times: &[&str], is_json: bool) -> String {
    let mut text = String::new();
    if !is_json {
        text += "\u{feff}email,joined_at,source,confirmed_at,asked_at\n";
    }
    for (number, time) in times.iter().enumerate() {
        text += &if is_json {
            format!("{{\"email\":\"{number}@example.com\",\"joined_at\":\"{time}\"}}\n")
        } else {
            format!("{number}@example.com,{time},,,\n")
        };
    }
    let hash = sha256(&text);
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
    for (is_json, format) in [(false, "csv"), (true, "jsonl")] {
        for cli in all_stores() {
            let file = export(&times, is_json);
            let args = ["import", "--dry-run"];
            let result = cli.run_with_input(&args, &*file).success();
            let warning = "4 have an implausible time (before 1971 or in the future), kept \
                           because the export is intact\n";
            assert!(stdout(&result).contains(warning), "{}", stdout(&result));
            let result = cli.run_with_input(&["import", "--json"], &*file).success();
            assert!(stdout(&result).contains("\"implausible_times\":4"));
            assert_eq!(cli.stdout(&["export", "--format", format]), file);

            // In a modified file, implausible times are not trusted.
            let args = ["import", "--changed", "--dry-run"];
            let result = cli.run_with_input(&args, file).code(1);
            assert!(
                stdout(&result).contains(" 4 rejected"),
                "{}",
                stdout(&result)
            );
        }
    }
}

/// Returns a record of people who joined at these times, in milliseconds since 1970.
fn record_with_times(times: &[u64]) -> Vec<u8> {
    let mut record = Vec::new();
    for (number, time) in (0..).zip(times) {
        record.extend([13, 0]);
        record.extend(time.to_be_bytes());
        record.extend([b'a' + number]);
        record.extend(b"@example.com");
    }
    record
}

#[test]
fn commands_handle_times_after_the_year_9999() {
    let times = [0, 253_402_300_800_000, 1 << 62, u64::MAX - 1];
    for is_served in [false, true] {
        let cli = with_raw_record(&record_with_times(&times), is_served);
        assert_eq!(cli.listed().len(), 4);
        assert!(cli.stdout(&["stats"]).contains("\n9999  "));
        assert!(stderr(&cli.run(&["check"]).code(1)).contains("4 faults in 4 entries"));
        for name in ["list.csv", "list.jsonl"] {
            cli.run(&["export", "-o", name]).success();
            let report = cli.stdout(&["import", "--data", name.trim_start_matches("list."), name]);
            assert!(report.starts_with("4 added, "), "{report}");
            let copy = cli.stdout(&["list", "--data", name.trim_start_matches("list.")]);
            assert_eq!(copy, cli.stdout(&["list"]));
        }
    }
}
