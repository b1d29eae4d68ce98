//! The README's page for the owner: it prints what it says.

use std::{fs, path::Path};

use super::{all_stores, stderr, stdout};

/// What the page's owner had.
const MAILCHIMP: &str = "\"Email Address\",\"First Name\",MEMBER_RATING,OPTIN_TIME\n\
                         ann@example.com,Ann,2,\"2026-11-01 08:00:00\"\n\
                         bob@example.com,Bob,4,\"2026-11-02 09:30:00\"\n\
                         cyd at example.com,Cyd,3,\n\
                         ";

/// The commands of the page, each with what it prints.
fn console_examples() -> Vec<(String, String)> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).expect("readable");
    let mut console_examples: Vec<(String, String)> = Vec::new();
    for block in readme.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("its end");
        for line in block.lines() {
            match (line.strip_prefix("$ landing "), console_examples.last_mut()) {
                (Some(command), _) => console_examples.push((command.into(), String::new())),
                (None, Some((_, prints))) => *prints += &format!("{line}\n"),
                (None, None) => panic!("a block begins with a command"),
            }
        }
    }
    console_examples
}

#[test]
fn commands_print_the_output_in_the_readme() {
    for cli in all_stores() {
        cli.write("mailchimp.csv", MAILCHIMP);
        let console_examples = console_examples();
        assert_eq!(console_examples.len(), 11);
        for (command, prints) in console_examples {
            let args: Vec<_> = command.split(' ').collect();
            let done = cli.run(&args);
            assert_eq!(stdout(&done) + &stderr(&done), prints, "{command}");
        }
    }
}
