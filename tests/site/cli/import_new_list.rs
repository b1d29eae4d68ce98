//! `landing import`: where it creates a list.

use super::{assert_contains, raw_stdout, with_database, with_server, without_server};
use crate::postgres_server::SHARED_SERVER;

const FILE: &str = "ann@example.com\nANN@example.com\n";

#[test]
fn report_names_a_new_list() {
    let cli = without_server();
    let database = SHARED_SERVER.create_database();
    for store in ["sled:first", &database] {
        let import = |args: &[&str]| {
            let args = [&["import", "--store", store], args].concat();
            raw_stdout(&cli.run_with_input(&args, FILE).success())
        };
        let report = import(&["--dry-run"]);
        assert!(
            report.starts_with("1 would be added to a new list in "),
            "{report}"
        );
        let report = import(&["--json", "--dry-run"]);
        assert_contains(&report, "\"new_list\":");
        let report = import(&[]);
        let (_, location) = report
            .split_once("1 added to a new list in ")
            .unwrap_or_else(|| panic!("{report}"));
        let (location, counts) = location.split_once(", ").expect("other counts");
        assert!(counts.starts_with("1 already there\n"), "{report}");
        let name = store.rsplit([':', '/']).next().expect("a name");
        if store.starts_with("sled:") {
            assert!(location.starts_with('/'), "an absolute path: {report}");
        }
        assert!(location.ends_with(name), "{report}");
        let report = import(&[]);
        assert!(report.starts_with("0 added, 2 already there\n"), "{report}");
        assert!(!import(&["--json"]).contains("new_list"));
    }
}

#[test]
fn an_empty_list_is_not_new() {
    for cli in [with_server(), with_database()] {
        for args in [&["import", "--dry-run"][..], &["import"]] {
            let report = raw_stdout(&cli.run_with_input(args, FILE).success());
            assert!(!report.contains("new list"), "{report}");
        }
    }
}
