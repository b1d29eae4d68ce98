//! `--json` of every command: a list is an object per line, everything else is one object, and a dry run has the same keys.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{TestCli, send, stdout, without_server};
use crate::mail::smtp_server::SmtpServer;

/// What a command prints with `--json`.
#[derive(Clone, Copy)]
enum Shape {
    List,
    Object,
}

/// Runs a command, and returns the objects that it prints.
fn objects(cli: &TestCli, args: &[&str], more: &[&str]) -> Vec<Map<String, Value>> {
    let output = stdout(&cli.run(&[args, more, &["--json"]].concat()));
    let lines = output.lines().map(serde_json::from_str);
    let objects = lines.collect::<Result<Vec<_>, _>>();
    objects.unwrap_or_else(|error| panic!("{args:?}: {error}: {output}"))
}

fn keys(objects: &[Map<String, Value>]) -> BTreeSet<&str> {
    objects
        .iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect()
}

#[test]
fn lists_are_an_object_per_line_and_everything_else_is_one_object() {
    let cli = without_server().with_three_people();
    let server = SmtpServer::start();
    let url = server.url();
    cli.write("launch.md", send::MESSAGE);
    cli.write(
        "more.csv",
        "email,joined_at\ndan@example.com,2026-11-04T08:00:00Z\n",
    );
    let send = send::args(&url, &["--all"]);
    use Shape::{List, Object};
    let table: [(Shape, &[&str]); 20] = [
        (Object, &["count"]),
        (List, &["list"]),
        (Object, &["show", "ann@example.com"]),
        (Object, &["stats"]),
        (List, &["export"]),
        (Object, &["export", "-o", "list.jsonl"]),
        (Object, &["import", "more.csv"]),
        (List, &["add", "eve@example.com", "ann@example.com"]),
        (Object, &send),
        (Object, &send),
        (List, &["messages"]),
        (Object, &["backup", "-o", "list.backup"]),
        (Object, &["restore", "list.backup", "--store", "other"]),
        (Object, &["correct", "eve@example.com", "fay@example.com"]),
        (List, &["unsubscribe", "ann@example.com", "gus@example.com"]),
        (
            List,
            &[
                "unsubscribe",
                "--undo",
                "ann@example.com",
                "gus@example.com",
            ],
        ),
        (List, &["erase", "bob@example.com", "cyd@example.com"]),
        (
            Object,
            &[
                "mail-check",
                "--smtp",
                &url,
                "--mail-from",
                "hello@steward.test",
            ],
        ),
        (Object, &["check"]),
        (Object, &["compact"]),
    ];
    for (shape, args) in table {
        let command = landing::cli::command();
        let command = command.find_subcommand(args[0]).expect("a command");
        let has_dry_run = command.get_arguments().any(|arg| arg.get_id() == "dry_run");
        let dry_run = has_dry_run.then(|| objects(&cli, args, &["--dry-run"]));
        let objects = objects(&cli, args, &[]);
        match shape {
            Object => assert_eq!(objects.len(), 1, "{args:?}"),
            List => assert!(!objects.is_empty(), "{args:?}"),
        }
        if let Some(dry_run) = dry_run {
            assert_eq!(keys(&objects), keys(&dry_run), "{args:?}");
        }
    }
    let command = landing::cli::command();
    let with_json = command.get_subcommands().filter(|command| {
        let mut arguments = command.get_arguments();
        arguments.any(|arg| arg.get_long() == Some("json"))
    });
    let with_json: BTreeSet<_> = with_json.map(|it| it.get_name().to_owned()).collect();
    let tested: BTreeSet<_> = table.iter().map(|(_, args)| args[0].to_owned()).collect();
    assert_eq!(tested, with_json);
}
