//! The README's page for the owner: it prints what it says.

use std::{fs, path::Path};

use super::{everywhere, printed, told};

/// What the page's owner had.
const MAILCHIMP: &str = "\"Email Address\",\"First Name\",MEMBER_RATING,OPTIN_TIME\n\
                         ann@example.com,Ann,2,\"2026-11-01 08:00:00\"\n\
                         bob@example.com,Bob,4,\"2026-11-02 09:30:00\"\n\
                         cyd at example.com,Cyd,3,\n\
                         ";

/// The commands of the page, each with what it prints.
fn session() -> Vec<(String, String)> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).expect("readable");
    let mut session: Vec<(String, String)> = Vec::new();
    for block in readme.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("its end");
        for line in block.lines() {
            match (line.strip_prefix("$ landing "), session.last_mut()) {
                (Some(command), _) => session.push((command.into(), String::new())),
                (None, Some((_, prints))) => *prints += &format!("{line}\n"),
                (None, None) => panic!("a block begins with a command"),
            }
        }
    }
    session
}

#[test]
fn each_command_prints_what_the_readme_says() {
    for owner in everywhere() {
        owner.write("mailchimp.csv", MAILCHIMP);
        let session = session();
        assert_eq!(session.len(), 11);
        for (command, prints) in session {
            let args: Vec<_> = command.split(' ').collect();
            let done = owner.run(&args);
            assert_eq!(printed(&done) + &told(&done), prints, "{command}");
        }
    }
}
