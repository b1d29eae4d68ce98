//! What the command line says of itself.

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
    let (commands, _) = commands.split_once("\n\n").expect("its end");
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
            let done = cli.run(args).code(2);
            assert!(stderr(&done).contains("--help"), "{}", stderr(&done));
            assert_eq!(stdout(&done), "");
        }
    }
}

#[test]
fn commands_read_the_store_from_the_environment() {
    for cli in all_stores() {
        cli.run_with_input(&["import", "--data", "data"], "email\nann@example.com\n")
            .success();
        let mut command = cli.command();
        let done = command
            .env("LANDING_DATA", cli.file("data"))
            .arg("count")
            .assert()
            .success();
        assert_eq!(stdout(&done), "1\n");
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
