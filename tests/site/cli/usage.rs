//! The help of the command line, its errors, its man pages and its completions.

use clap_complete::Shell;

use super::{all_stores, stderr, stdout, without_server};

const COMMANDS: [&str; 8] = [
    "serve", "count", "list", "export", "import", "erase", "stats", "check",
];

#[test]
fn help_lists_eight_commands_each_with_an_example() {
    let cli = without_server();
    let help = cli.stdout(&["--help"]);
    let (_, commands) = help.split_once("Commands:\n").expect("a list");
    let (commands, _) = commands.split_once("\n\n").expect("an end");
    let names: Vec<_> = commands
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, COMMANDS);
    for command in COMMANDS {
        let help = cli.stdout(&[command, "--help"]);
        assert!(
            help.contains(&format!("Example: landing {command}")),
            "{help}"
        );
        assert!(help.contains("--store <STORE>"), "{help}");
        assert!(help.contains("[alias: --data]"), "{help}");
        assert_eq!(help.contains("--json"), command != "serve", "{help}");
    }
}

#[test]
fn invalid_command_lines_exit_2_and_suggest_help() {
    for cli in all_stores() {
        for args in [
            &["cuont"][..],
            &["list", "--limit", "few"],
            &["export", "--format", "xls"],
        ] {
            let result = cli.run(args).code(2);
            assert!(stderr(&result).contains("--help"), "{}", stderr(&result));
            assert_eq!(stdout(&result), "");
        }
    }
}

#[test]
fn commands_read_the_store_from_the_environment() {
    for cli in all_stores() {
        cli.run_with_input(&["import", "--data", "data"], "email\nann@example.com\n")
            .success();
        let mut command = cli.command();
        let result = command
            .env("LANDING_DATA", cli.file("data"))
            .arg("count")
            .assert()
            .success();
        assert_eq!(stdout(&result), "1\n");
    }
}

#[test]
fn generates_man_pages_and_completions() {
    let mut manual = Vec::new();
    clap_mangen::Man::new(landing::cli::command())
        .render(&mut manual)
        .expect("a page");
    let manual = String::from_utf8(manual).expect("text");
    for command in COMMANDS {
        assert!(
            manual.contains(&format!("landing\\-{command}(1)")),
            "{command}"
        );
    }
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut landing::cli::command(), "landing", &mut script);
        let script = String::from_utf8(script).expect("text");
        assert!(
            COMMANDS.iter().all(|command| script.contains(command)),
            "{shell}"
        );
    }
}

#[test]
fn commands_ignore_the_environment_of_the_server() {
    let cli = without_server();
    cli.run_with_input(&["import"], "email\nann@example.com\n")
        .success();
    let server = landing::cli::command();
    let variables = server.get_arguments().filter_map(|arg| arg.get_env());
    let mut invalid: Vec<_> = variables.map(|name| (name, "%")).collect();
    assert!(invalid.len() > 10, "{invalid:?}");
    for args in [&[][..], &["serve"]] {
        let result = cli.command().envs(invalid.clone()).args(args).assert();
        let error = stderr(&result.code(2));
        assert!(error.contains("'%' for '--"), "{error}");
    }

    invalid.retain(|(name, _)| *name != "LANDING_STORE");
    for args in [
        &["count"][..],
        &["list"],
        &["export"],
        &["import", "--dry-run"],
        &["erase", "ann@example.com"],
        &["stats"],
        &["check"],
    ] {
        let mut command = cli.command();
        let command = command.envs(invalid.clone()).args(args);
        let result = command.write_stdin("email\n").assert().success();
        assert_eq!(stderr(&result), "", "{args:?}");
    }
    let mut command = cli.command();
    let result = command
        .env("LANDING_STORE", "elsewhere")
        .arg("count")
        .assert();
    let error = stderr(&result.code(1));
    assert!(error.contains("elsewhere"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn failure_exits_with_1_if_standard_error_cannot_be_written() {
    let cli = without_server();
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut command = cli.landing();
    command.args(["count", "--store", "missing"]);
    command.stderr(full.expect("a device of Linux"));
    let status = command.status().expect("the program starts");
    assert_eq!(status.code(), Some(1));
}

#[cfg(unix)]
#[test]
fn database_url_with_invalid_utf_8_is_never_a_directory() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    let cli = without_server();
    let mut command = cli.landing();
    let url = OsStr::from_bytes(b"postgres://ann:SECRET\xff@127.0.0.1/list");
    command.arg("import").env("LANDING_STORE", url);
    let output = command.output().expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(!message.contains("SECRET"), "{message}");
    assert_eq!(cli.file_names(), ["site"]);
}
