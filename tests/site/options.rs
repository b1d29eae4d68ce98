//! The options of the server and their environment variables.

use std::process::Output;

use crate::{
    fixtures::parse_config,
    process::{Sandbox, ServerProcess, landing},
};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn environment_variables_set_the_options() {
    let sandbox = Sandbox::new();
    let mut command = landing(sandbox.path());
    command.envs([
        ("LANDING_ADDR", "127.0.0.1:0"),
        ("LANDING_DATA", "by-environment"),
        ("LANDING_PRODUCT", "Butler"),
    ]);
    let page = ServerProcess::start(command).request("GET", "/", "");
    assert!(page.contains("Butler runs the business."));
    assert!(sandbox.path().join("by-environment/waitlist").is_dir());
}

#[test]
fn options_override_the_environment() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.env("LANDING_PRODUCT", "Butler");
    command.args(["--product", "Valet"]);
    let page = ServerProcess::start(command).request("GET", "/", "");
    assert!(page.contains("Valet runs the business.") && !page.contains("Butler"));
}

#[test]
fn warns_of_variables_that_are_no_setting() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.envs([
        ("LANDING_TRUSTED_PROXYS", "127.0.0.1"),
        ("LANDING_DATA", "data"),
    ]);
    let log = ServerProcess::start(command).startup_log.join("\n");
    assert!(
        log.contains("LANDING_TRUSTED_PROXYS is not a setting"),
        "{log}"
    );
    assert_eq!(log.matches("is not a setting").count(), 1, "{log}");
}

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

#[test]
fn warns_once_about_an_unset_origin() {
    let sandbox = Sandbox::new();
    let startup_log = sandbox.serve().startup_log.clone();
    let [warning] = &startup_log[..] else {
        panic!("one line: {startup_log:?}");
    };
    assert!(warning.contains("WARN"), "{warning}");
    assert!(warning.contains("--origin is not set"), "{warning}");
    assert!(warning.contains("https://steward.example"), "{warning}");

    // Also without a warning: the default, if the owner chose it.
    for origin in ["https://bob.example", "https://steward.example"] {
        let mut by_option = sandbox.command();
        by_option.args(["--origin", origin]);
        let mut by_variable = sandbox.command();
        by_variable.env("LANDING_ORIGIN", origin);
        for command in [by_option, by_variable] {
            let startup_log = ServerProcess::start(command).startup_log.clone();
            assert!(startup_log.is_empty(), "{startup_log:?}");
        }
    }
}

#[test]
fn numbers_out_of_range_name_the_range() {
    for (option, value, expected) in [
        (
            "--max-connections",
            "0",
            ": write a whole number from 1 to 1000000\n",
        ),
        (
            "--max-connections",
            "many",
            ": write a whole number from 1 to 1000000\n",
        ),
        (
            "--signups-per-minute",
            "1.5",
            ": write a whole number from 0 to 4294967295\n",
        ),
        ("--count-from", "ten", ": write a whole number\n"),
        ("--shutdown-grace", "1m", ": write a whole number\n"),
    ] {
        let error = parse_config(&[option, value]).expect_err("an invalid value");
        let error = error.to_string();
        assert!(error.contains(expected), "{option} {value}: {error}");
    }
}

#[test]
fn rejects_invalid_option_values_by_name() {
    let sandbox = Sandbox::new();
    let invalid = [
        ("--addr", "localhost"),
        ("--addr", "4600"),
        ("--addr", "steward.example:80"),
        ("--addr", "127.0.0.1:99999"),
        ("--origin", "steward.example"),
        ("--origin", "https://steward.example/path"),
        ("--origin", "ftp://steward.example"),
        ("--product", " "),
        ("--contact", "nobody"),
        ("--contact", "a b@example.com"),
        ("--social", "javascript:alert(1)"),
        ("--privacy-url", "privacy.html"),
        ("--terms-url", "mailto:"),
        ("--support-url", ""),
        ("--signups-per-minute", "1.5"),
        ("--signups-per-minute", "many"),
        ("--trusted-proxies", "proxy.example"),
        ("--trusted-proxies", "10.0.0.0/33"),
        ("--trusted-proxies", "10.0.0.1,"),
        ("--trusted-proxies", "::ffff:127.0.0.0/95"),
        ("--trusted-proxies", "::ffff:0:0/80"),
        ("--max-connections", "0"),
        ("--max-connections", "1000001"),
        ("--shutdown-grace", "1m"),
        ("--log", "xml"),
        ("--log-level", "trace"),
        ("--hsts", "on"),
    ];
    for (option, value) in invalid {
        let error = parse_config(&[option, value])
            .expect_err("an invalid value")
            .to_string();
        assert!(error.contains(option), "{option} {value}: {error}");

        if value.is_empty() {
            // An empty variable counts as unset.
            continue;
        }
        let variable = variable(&option[2..]);
        let output = landing(sandbox.path())
            .env(&variable, value)
            .output()
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(2), "{variable}={value}");
        let error = stderr(&output);
        assert!(error.contains(option), "{error}");
    }
}

#[test]
fn invalid_addresses_come_with_their_remedy() {
    for (addr, remedy) in [
        ("4600", "write 127.0.0.1:4600, or 0.0.0.0:4600"),
        (":4600", "write 127.0.0.1:4600, or 0.0.0.0:4600"),
        ("localhost", "missing the port; write 127.0.0.1:3000"),
        ("192.0.2.1", "missing the port; write 192.0.2.1:3000"),
        ("::1", "missing the port; write [::1]:3000"),
        ("[::1]", "missing the port; write [::1]:3000"),
        ("localhost:http", "the port must be a number"),
        ("127.0.0.1:99999", "the port must be a number"),
        ("steward.example:80", "expected an IP address and a port"),
    ] {
        let error = parse_config(&["--addr", addr]).expect_err("an invalid value");
        let error = error.to_string();
        assert!(error.contains(remedy), "{addr}: {error}");
    }
    let config = parse_config(&["--addr", "localhost:4601"]).expect("a valid value");
    assert_eq!(config.addr.to_string(), "127.0.0.1:4601");
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
