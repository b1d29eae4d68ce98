//! The options of the server and their environment variables. `http/options.txt` has their values.

use std::collections::BTreeMap;

use crate::process::{Sandbox, ServerProcess, landing};

/// Compose files and systemd units set a variable to an empty value when they leave an option at its default.
#[test]
fn empty_variables_count_as_unset() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    for (option, _) in documented_options() {
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

/// Returns the options of the server and their defaults, as `docs/settings.md` lists them.
fn documented_options() -> Vec<(String, Option<&'static str>)> {
    let page = include_str!("../../docs/settings.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `--"));
    let options = rows.flat_map(|row| {
        let mut cells = row.split(" | ");
        let (names, default) = (cells.next().expect("names"), cells.next());
        let default = default.and_then(|it| it.strip_prefix('`')?.split('`').next());
        let names = names.split(", `--").map(|it| it.trim_end_matches('`'));
        names.map(move |name| (name.to_owned(), default))
    });
    options.collect()
}

/// Returns the environment variable that sets an option.
fn variable(option: &str) -> String {
    format!("LANDING_{}", option.replace('-', "_").to_uppercase())
}

/// `landing settings` prints a paragraph for each option, which ends with the variable and its default.
#[test]
fn settings_page_lists_every_option_and_its_default() {
    let output = landing(Sandbox::new().path()).arg("settings").output();
    let printed = String::from_utf8(output.expect("the program runs").stdout).expect("UTF-8");
    let paragraphs = printed.trim_end().split("\n\n").filter_map(|paragraph| {
        let (_, setting) = paragraph.rsplit_once("\n#")?;
        let (variable, _) = setting.split_once('=')?;
        Some((variable.to_owned(), paragraph))
    });
    let paragraphs: BTreeMap<_, _> = paragraphs.collect();
    let documented: BTreeMap<_, _> = documented_options()
        .into_iter()
        .map(|(option, default)| (variable(&option), default))
        .collect();
    assert!(
        documented.keys().eq(paragraphs.keys()),
        "{documented:?} {paragraphs:?}"
    );
    for (variable, default) in documented {
        let paragraph = paragraphs[&variable];
        let is_default = |text: &str| {
            paragraph.ends_with(&format!("={text}"))
                || paragraph.contains(&format!("[default: {text}]"))
        };
        assert!(
            is_default(default.unwrap_or("")),
            "{default:?}: {paragraph}"
        );
    }
}
