//! `landing settings`, the file for a service manager.

use std::{collections::BTreeSet, fs};

use super::without_server;

/// Returns the lines of the file that are settings, without the `#` before them.
fn settings(file: &str) -> Vec<&str> {
    let lines = file.lines().filter_map(|line| line.strip_prefix('#'));
    lines.filter(|line| !line.starts_with(' ')).collect()
}

#[test]
fn names_every_setting_of_the_server_once() {
    let cli = without_server();
    let file = cli.stdout(&["settings"]);
    let names: Vec<_> = settings(&file)
        .into_iter()
        .map(|line| line.split('=').next().expect("a name"))
        .collect();
    let help = cli.stdout(&["serve", "--help"]);
    let mentioned: BTreeSet<_> = help
        .split("[env: ")
        .skip(1)
        .map(|rest| rest.split(['=', ']']).next().expect("a name"))
        .collect();
    assert_eq!(names.iter().copied().collect::<BTreeSet<_>>(), mentioned);
    assert_eq!(names.len(), mentioned.len(), "{names:?}");
    // Without any, nothing changes.
    assert!(
        file.lines()
            .all(|line| line.is_empty() || line.starts_with('#'))
    );
}

/// The units of the package read the file, which begins with these lines.
#[test]
fn file_of_the_package_names_the_list() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/landing.env");
    let file = fs::read_to_string(path).expect("readable");
    let active: Vec<_> = file
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    assert_eq!(active, ["LANDING_DATA=/var/lib/landing"]);
}
