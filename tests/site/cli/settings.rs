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

#[test]
fn defaults_in_the_file_are_valid_for_the_shell_and_the_server() {
    let cli = without_server();
    let file = cli.stdout(&["settings"]);
    let given = settings(&file)
        .into_iter()
        .filter(|line| !line.ends_with('='));
    let given: Vec<_> = given
        .filter(|line| !line.starts_with("LANDING_ADDR="))
        .collect();
    assert!(given.contains(&"LANDING_SIGNUPS_PER_MINUTE=120"), "{file}");
    cli.write("landing.env", given.join("\n"));
    let mut shell = cli.command_for("sh");
    let program = env!("CARGO_BIN_EXE_landing");
    let script = format!(
        "set -aeu; . ./landing.env; {program} serve --check --addr 127.0.0.1:0 --store data"
    );
    let output = shell
        .args(["-c", &script])
        .output()
        .expect("the shell runs");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_environment_does_not_appear_in_the_file() {
    let cli = without_server();
    let mut command = cli.landing();
    command
        .arg("settings")
        .env("LANDING_SMTP", "smtps://user:secret@mail.example");
    let output = command.output().expect("the program runs");
    let file = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(file, cli.stdout(&["settings"]));
    assert!(output.stderr.is_empty(), "{:?}", output.stderr);
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
