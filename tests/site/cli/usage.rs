//! What the command line says of itself.

use clap_complete::Shell;

use super::{alone, everywhere, printed, told};

const COMMANDS: [&str; 8] = [
    "serve", "count", "list", "export", "import", "erase", "stats", "check",
];

#[test]
fn there_are_eight_commands_and_each_has_an_example() {
    let owner = alone();
    let help = owner.printed(&["--help"]);
    let (_, commands) = help.split_once("Commands:\n").expect("a list");
    let (commands, _) = commands.split_once("\n\n").expect("its end");
    let names: Vec<_> = commands
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, COMMANDS);
    for command in COMMANDS {
        let help = owner.printed(&[command, "--help"]);
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
fn a_command_line_that_is_none_ends_with_2_and_what_is_right() {
    for owner in everywhere() {
        for args in [
            &["cuont"][..],
            &["list", "--limit", "few"],
            &["export", "--format", "xls"],
        ] {
            let done = owner.run(args).code(2);
            assert!(told(&done).contains("--help"), "{}", told(&done));
            assert_eq!(printed(&done), "");
        }
    }
}

#[test]
fn every_command_takes_the_place_of_the_list_from_the_environment() {
    for owner in everywhere() {
        owner
            .run_with(&["import", "--data", "data"], "email\nann@example.com\n")
            .success();
        let mut command = owner.command();
        let done = command
            .env("LANDING_DATA", owner.file("data"))
            .arg("count")
            .assert()
            .success();
        assert_eq!(printed(&done), "1\n");
    }
}

#[test]
fn a_manual_and_completions_are_made_of_it() {
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
