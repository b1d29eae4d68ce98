//! The help of the command line, and the variables that are for the server.

use super::{assert_contains, stderr, without_server};
use crate::ended::RunToEnd;

/// Returns the names of the commands.
fn commands() -> Vec<String> {
    let program = landing::cli::command();
    let names = program.get_subcommands().map(|it| it.get_name().to_owned());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

/// The commands that need no list.
const WITHOUT_LIST: [&str; 6] = [
    "completions",
    "health",
    "mail-check",
    "manual",
    "settings",
    "webhook-test",
];

/// Returns the headings in a help text.
fn headings(help: &str) -> Vec<&str> {
    let lines = help.lines().filter(|line| !line.starts_with(' '));
    lines.filter_map(|line| line.strip_suffix(':')).collect()
}

#[test]
fn help_lists_every_command_in_a_group_and_with_an_example() {
    let cli = without_server();
    let help = cli.stdout(&["--help"]);
    let is_command = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let lines = help.lines().filter(is_command);
    let names = lines.filter_map(|line| line.split_whitespace().next());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('-')).collect();
    names.sort_unstable();
    assert_eq!(names, commands(), "{help}");
    assert_eq!(
        headings(&help),
        [
            "Serve",
            "People",
            "Files",
            "Messages",
            "Maintenance",
            "Options"
        ]
    );
    assert!(!help.contains("--addr"), "{help}");
    assert!(
        cli.stdout(&["serve", "--help"])
            .contains("--addr <IP:PORT>")
    );
    for command in commands() {
        let help = cli.stdout(&[&command, "--help"]);
        assert!(
            help.contains("Example") && help.contains(&format!("landing {command} ")),
            "{help}"
        );
        let has_store = !WITHOUT_LIST.contains(&&*command);
        assert_eq!(help.contains("--store <STORE>"), has_store, "{help}");
        assert_eq!(help.contains("[alias: --data]"), has_store, "{help}");
    }
}

#[test]
fn json_of_every_command_has_a_transcript() {
    let transcript = include_str!("transcripts/json.txt");
    for command in landing::cli::command().get_subcommands() {
        let mut arguments = command.get_arguments();
        let has_json = arguments.any(|it| it.get_long() == Some("json"));
        let mut arguments = command.get_arguments();
        let has_dry_run = arguments.any(|it| it.get_long() == Some("dry-run"));
        let begin = format!("$ keys {}", command.get_name());
        let mut lines = transcript.lines().filter(|it| it.starts_with(&begin));
        assert_eq!(lines.clone().next().is_some(), has_json, "{begin}");
        let is_dry_run = |line: &str| line.ends_with(" --dry-run");
        assert_eq!(lines.any(is_dry_run), has_json && has_dry_run, "{begin}");
    }
}

#[test]
fn commands_ignore_the_environment_of_the_server() {
    let cli = without_server();
    cli.run_with_input(&["import"], "ann@example.com\n")
        .success();
    let server = landing::cli::command();
    let variables = server.get_arguments().filter_map(|arg| arg.get_env());
    let mut invalid: Vec<_> = variables.map(|name| (name, "%")).collect();
    assert!(invalid.len() > 10, "{invalid:?}");
    for args in [&[][..], &["serve"]] {
        let result = cli.landing().envs(invalid.clone()).args(args).run();
        let error = stderr(&result.code(2));
        assert_contains(&error, "invalid value '%' for '--");
    }

    invalid.retain(|(name, _)| *name != "LANDING_STORE");
    for args in [
        &["count"][..],
        &["list"],
        &["export"],
        &["import", "--dry-run"],
        &["erase", "ann@example.com"],
        &["stats"],
        &["report"],
        &["check"],
        &["compact"],
    ] {
        let mut command = cli.landing();
        let command = command.envs(invalid.clone()).args(args);
        let result = command.run_with_input("email\n").success();
        assert_eq!(stderr(&result), "", "{args:?}");
    }
    let mut command = cli.landing();
    let result = command.env("LANDING_STORE", "elsewhere").arg("count").run();
    let error = stderr(&result.code(1));
    assert_contains(&error, "elsewhere");
}

/// The units of the package read the file, which begins with these lines.
#[test]
fn file_of_the_package_names_the_list() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/landing.env");
    let file = std::fs::read_to_string(path).expect("readable");
    let active: Vec<_> = file
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    assert_eq!(active, ["LANDING_DATA=/var/lib/landing"]);
}
