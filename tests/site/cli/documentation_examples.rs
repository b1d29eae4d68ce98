//! Runs the console examples of the documentation and compares their output.

use std::{fs, path::Path};

use super::{all_stores, stderr, stdout};
use crate::{
    ended::RunToEnd,
    mail::smtp_server::{Action, SmtpServer, Step},
};

/// The file that the examples import.
const MAILCHIMP: &str = "Email Address,First Name,OPTIN_TIME,CONFIRM_TIME,LAST_CHANGED,LEID,EUID\n\
                         ann@example.com,Ann,2026-11-01 08:00:00,,,1,a\n\
                         bob@example.com,Bob,2026-11-02 09:30:00,,,2,b\n";

/// A file of another program.
const CLIENTS: &str = "Courriel;Statut;Inscrit\n\
                       dee@example.com;Abonné;25/11/2026\n\
                       eve@example.com;Désabonné;25/11/2026\n\
                       fay@example.com;Non confirmé;25/11/2026\n\
                       gus@example.com;Abonné;\n";

/// The file of people to erase.
const GONE: &str = "Email Address,Unsubscribed\nbob@example.com,2026-11-20\n";

/// A command of an example, and the output that the page shows for it.
struct Example {
    command: String,
    output: String,
}

/// Returns the examples in the `console` blocks of a page, in order.
fn examples(page: &str) -> Vec<Example> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let page = fs::read_to_string(path).expect("readable");
    let mut examples: Vec<Example> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("an end of the block");
        for line in block.lines() {
            match (line.strip_prefix("$ landing "), examples.last_mut()) {
                (Some(command), _) => examples.push(Example {
                    command: command.into(),
                    output: String::new(),
                }),
                (None, Some(example)) => example.output += &format!("{line}\n"),
                (None, None) => panic!("a block that does not begin with a command: {line}"),
            }
        }
    }
    examples
}

/// Returns the message in the page about mail.
fn launch_message() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mail.md");
    let page = fs::read_to_string(path).expect("readable");
    let (_, message) = page.split_once("```text\n---\n").expect("a message");
    let (message, _) = message.split_once("```").expect("an end of the block");
    format!("---\n{message}")
}

/// The pages with examples, the commands to run before them, and the number of commands in them.
const PAGES: [(&str, &[&str], usize); 3] = [
    (
        "README.md",
        &["import", "mailchimp.csv", "--nobody-left"],
        3,
    ),
    // An empty list.
    ("docs/owner.md", &["import", "/dev/null"], 18),
    (
        "docs/mail.md",
        &["import", "mailchimp.csv", "--nobody-left"],
        7,
    ),
];

#[test]
fn commands_print_the_output_in_the_documentation() {
    for (page, setup, count) in PAGES {
        for cli in all_stores() {
            cli.write("mailchimp.csv", MAILCHIMP);
            cli.write("clients.csv", CLIENTS);
            cli.write("gone.csv", GONE);
            cli.write("launch.md", launch_message());
            // A mailbox that does not exist.
            let server = SmtpServer::scripted(|step, line| match step {
                Step::Recipient if line.contains("bob@") => {
                    Action::Reply("550 5.1.1 <bob@example.com>: no such user")
                }
                _ => Action::Continue,
            });
            cli.run(setup).success();
            let examples = examples(page);
            assert_eq!(examples.len(), count, "{page}");
            for Example { command, output } in examples {
                let mut args: Vec<_> = command.split(' ').collect();
                if args[0] == "send" && !args.contains(&"--abandon") {
                    // Its site does not exist.
                    args.push("--skip-link-check");
                }
                let mut command = cli.landing();
                command.env("LANDING_SMTP", server.url());
                command.env("LANDING_MAIL_FROM", "Steward <hello@steward.example>");
                command.env("LANDING_ORIGIN", "https://steward.example");
                command.env(
                    "LANDING_POSTAL_ADDRESS",
                    "Steward, 1 Main Street, Springfield",
                );
                let result = command.args(&args).run();
                let printed = stdout(&result) + &stderr(&result);
                let printed = printed.replace(&cli.location(), "/srv/landing/data");
                assert_eq!(printed, output, "{page}: {}", args.join(" "));
            }
        }
    }
}

#[test]
fn no_other_page_has_examples() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    for page in fs::read_dir(docs).expect("readable").flatten() {
        let name = format!("docs/{}", page.file_name().display());
        if !PAGES.iter().any(|(tested, ..)| *tested == name) {
            assert!(examples(&name).is_empty(), "{name} is not in PAGES");
        }
    }
}
