//! Sign-ups that were made while a clock was wrong.

use sha2::{Digest, Sha256};

use super::{Owner, everywhere, printed, told};
use crate::process::Place;

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
fn an_intact_export_is_imported_whole_whatever_its_times() {
    let soon = std::time::SystemTime::now() + std::time::Duration::from_secs(3 * 86_400);
    let soon = super::rfc3339(soon);
    let times = [
        "1970-01-01T00:00:00.000Z",
        "2026-11-01T08:00:00.000Z",
        &soon,
        "2100-01-01T00:00:00.000Z",
        "9999-12-30T22:00:00.999Z",
    ];
    for owner in everywhere() {
        for (is_json, format) in [(false, "csv"), (true, "jsonl")] {
            let file = export(&times, is_json);
            let args = ["import", "--dry-run"];
            let done = owner.run_with(&args, &*file).success();
            let warning = "4 have an implausible time (before 1971 or in the future), kept as it is \
                           because the export is intact\n";
            assert!(printed(&done).contains(warning), "{}", printed(&done));
            let done = owner.run_with(&["import", "--json"], &*file).success();
            assert!(printed(&done).contains("\"implausible_times\":4"));
            assert_eq!(owner.printed(&["export", "--format", format]), file);

            // Of a file that was changed nobody knows where its times come from.
            let args = ["import", "--changed", "--dry-run"];
            let done = owner.run_with(&args, file).code(1);
            assert!(printed(&done).contains(" 4 rejected"), "{}", printed(&done));
        }
    }
}

/// A list with people who joined at these times, in milliseconds since 1970.
fn with_times(times: &[u64]) -> Place {
    let place = Place::new();
    place.serve().join("ann@example.com");
    let database = sled::open(place.path().join("data/waitlist")).expect("sled opens");
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
    place
}

#[test]
fn commands_survive_times_after_the_year_9999() {
    let times = [0, 253_402_300_800_000, 1 << 62, u64::MAX - 1];
    for is_served in [false, true] {
        let place = with_times(&times);
        let server = is_served.then(|| place.serve());
        let owner = Owner {
            place,
            server,
            database: None,
        };
        assert_eq!(owner.listed().len(), 4);
        assert!(owner.printed(&["stats"]).contains("\n9999  "));
        assert!(told(&owner.run(&["check"]).code(1)).contains("4 things"));
        for name in ["list.csv", "list.jsonl"] {
            owner.run(&["export", "-o", name]).success();
            let report =
                owner.printed(&["import", "--data", name.trim_start_matches("list."), name]);
            assert!(report.starts_with("4 added, "), "{report}");
            let copy = owner.printed(&["list", "--data", name.trim_start_matches("list.")]);
            assert_eq!(copy, owner.printed(&["list"]));
        }
    }
}
