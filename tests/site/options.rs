//! The options of the server and their environment variables. `http/options.txt` has their values.

use crate::process::{Sandbox, ServerProcess, landing};

/// Compose files and systemd units set a variable to an empty value when they leave an option at its default.
#[test]
fn empty_variables_count_as_unset() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    for option in documented_options() {
        command.env(variable(&option), "");
    }
    command.envs([("LANDING_DATA", ""), ("DATABASE_URL", "")]);
    let server = ServerProcess::start(command);
    let page = server.request("GET", "/", "");
    assert!(page.contains("Steward runs the business."), "{page}");
    assert!(!page.contains("'unsafe-inline'"), "{page:.2000}");
    // The same holds for the other commands.
    let mut count = landing(sandbox.path());
    let count = count.env("LANDING_STORE", "").arg("count").output();
    assert_eq!(count.expect("the program runs").stdout, b"0\n");
}

/// Returns the options of the server, as `docs/settings.md` lists them.
fn documented_options() -> Vec<String> {
    let page = include_str!("../../docs/settings.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `--"));
    let cells = rows.filter_map(|row| row.split_once(" |"));
    let options = cells.flat_map(|(cell, _)| cell.split(", `--"));
    options
        .map(|option| option.trim_end_matches('`').to_owned())
        .collect()
}

/// Returns the environment variable that sets an option.
fn variable(option: &str) -> String {
    format!("LANDING_{}", option.replace('-', "_").to_uppercase())
}

#[test]
fn settings_page_lists_every_option_and_help_its_variable() {
    let output = landing(Sandbox::new().path())
        .args(["serve", "--help"])
        .output();
    let help = String::from_utf8_lossy(&output.expect("the program runs").stdout).into_owned();
    let lines = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("--"));
    let options = lines.map(|line| line.split(' ').next().unwrap_or_default());
    // `--check` and `--help` are not settings.
    let mut in_help: Vec<_> = options
        .filter(|option| help.contains(&format!("[env: {}", variable(option))))
        .collect();
    let mut documented = documented_options();
    in_help.sort_unstable();
    documented.sort_unstable();
    assert_eq!(documented, in_help);
    for option in documented {
        assert!(help.contains(&variable(&option)), "{option}: {help}");
    }
}
