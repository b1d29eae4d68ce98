//! Entries whose sign-up time comes from a wrong clock.

use super::{stderr, with_raw_record};

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
        // Nobody joins in the future: the last bar is that of today.
        assert!(!cli.stdout(&["stats"]).contains("\n9999  "));
        assert!(stderr(&cli.run(&["check"]).code(1)).contains("4 faults in 4 entries"));
        // Times after the year 9999 become the last one that RFC 3339 has.
        cli.stdout(&["backup", "-o", "list.backup"]);
        let restored = cli.run(&["restore", "--data", "other", "list.backup"]);
        restored.success();
        let copy = cli.stdout(&["list", "--data", "other"]);
        assert_eq!(copy, cli.stdout(&["list"]));
    }
}
