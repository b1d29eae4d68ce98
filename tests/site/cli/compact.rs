//! `landing compact`.

use std::{fs, path::Path};

use super::with_three_people;

/// What a compaction removes: of people who were erased, and of one who was corrected.
const GONE: [&str; 4] = [
    "Bob@Example.com",
    "eve@example.com",
    "link-of-eve",
    "dan@exmaple.com",
];

/// Returns whether a file of a directory contains these bytes.
pub(crate) fn contains(directory: &Path, bytes: &[u8]) -> bool {
    let entries = fs::read_dir(directory).expect("readable");
    entries
        .map(|entry| entry.expect("readable").path())
        .any(|path| {
            if path.is_dir() {
                return contains(&path, bytes);
            }
            // The control socket cannot be read.
            let file = fs::read(&path).unwrap_or_default();
            file.windows(bytes.len()).any(|window| window == bytes)
        })
}

#[test]
fn erased_addresses_are_gone_from_the_files_and_the_list_is_unchanged() {
    for cli in with_three_people() {
        if cli.database.is_some() {
            cli.assert_fails(&["compact"], "run VACUUM (FULL)");
            continue;
        }
        let more = "email,source\neve@example.com,link-of-eve\ndan@exmaple.com,\n";
        cli.run_with_input(&["import", "--nobody-left"], more)
            .success();
        let erased = ["erase", "bob@example.com", "eve@example.com"];
        cli.run(&erased).success();
        let corrected = ["correct", "dan@exmaple.com", "dan@example.com"];
        cli.run(&corrected).success();
        let listed = cli.listed();
        let data = cli.file("data");
        for gone in GONE {
            assert!(contains(&data, gone.as_bytes()), "{gone}");
        }
        let stdout = cli.stdout(&["compact"]);
        assert!(
            stdout.starts_with("no erased address is left in ")
                && stdout.contains(", which now has "),
            "{stdout}"
        );
        for gone in GONE {
            assert!(!contains(&data, gone.as_bytes()), "{gone}");
        }
        assert!(!data.join("waitlist.compact").exists());
        assert!(contains(&data, b"ann@example.com"));
        assert_eq!(cli.listed(), listed);
        if let Some(server) = &cli.server {
            assert_eq!(server.join("bob@example.com"), "201");
            assert_eq!(server.join("ann@example.com"), "409");
        }
        let report = cli.json(&["compact"]);
        assert!(report["bytes_after"].as_u64() > Some(0), "{report}");
        cli.stdout(&["check"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn compactions_leave_no_file_descriptors_open() {
    let cli = super::with_server().with_three_people();
    let server = cli.server.as_ref().expect("a server");
    let count_open = || {
        let open = fs::read_dir(format!("/proc/{}/fd", server.child.id())).expect("readable");
        let targets = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        let deleted = targets.filter(|target| target.to_string_lossy().ends_with(" (deleted)"));
        deleted.count()
    };
    let before = count_open();
    for _ in 0..5 {
        cli.stdout(&["compact"]);
    }
    crate::process::wait_until("the old files are closed", || count_open() <= before);
}
