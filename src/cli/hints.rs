//! Hints for command lines that use the words of other programs.

use clap::error::{ContextKind, ContextValue};

/// Words for a command, and the command of this program.
const COMMAND_SYNONYMS: [(&[&str], &str); 15] = [
    (&["insert", "new"], "add"),
    (&["load", "upload"], "import"),
    (&["download"], "export"),
    (&["dump", "save", "snapshot"], "backup"),
    (&["clean", "gc", "shrink", "vacuum"], "compact"),
    (&["completion"], "completions"),
    (&["change", "edit", "modify", "rename", "update"], "correct"),
    (&["chart", "growth", "statistics"], "stats"),
    (
        &["delete", "drop", "forget", "purge", "remove", "rm"],
        "erase",
    ),
    (&["block", "optout", "opt-out", "suppress"], "unsubscribe"),
    (&["doctor", "fsck", "repair", "validate", "verify"], "check"),
    (&["entries", "ls", "people", "print"], "list"),
    (&["find", "get", "info", "lookup", "search"], "show"),
    (&["length", "size", "status", "total"], "count"),
    (&["run", "server", "start", "up"], "serve"),
];

/// Names for an option, and the option of this program.
const OPTION_SYNONYMS: [(&[&str], &str); 12] = [
    (
        &["--bind", "--host", "--listen", "--port", "-p"],
        "--addr 127.0.0.1:3000",
    ),
    (&["--after", "--from", "--start"], "--since TIME"),
    (&["--base-url", "--public-url", "--url"], "--origin URL"),
    (&["--before", "--end", "--to"], "--until TIME"),
    (
        &["--database", "--db", "--dir", "--directory", "--path"],
        "--store STORE",
    ),
    (&["--log-format"], "--log FORMAT"),
    (&["--head", "--max", "-n"], "--limit N"),
    (
        &["--debug", "--quiet", "--verbose", "-q", "-v"],
        "--log-level LEVEL",
    ),
    (&["--out", "--outfile"], "--output FILE"),
    (
        &["--campaign", "--ref", "--referrer", "--utm-source"],
        "--source SOURCE",
    ),
    // These two are commands of other programs.
    (&["help"], "--help"),
    (&["version"], "--version"),
];

/// Adds a hint to the error of a command line, if it has a word of another program.
pub(super) fn add_hint(mut error: clap::Error) -> clap::Error {
    let context = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let words = context
        .into_iter()
        .filter_map(|kind| match error.get(kind)? {
            ContextValue::String(word) => Some(word.clone()),
            _ => None,
        });
    let find = |word: String| {
        let known = |table: &[(&[&str], &'static str)]| {
            let row = table
                .iter()
                .find(|(words, _)| words.contains(&word.as_str()));
            row.map(|(_, name)| *name)
        };
        known(&COMMAND_SYNONYMS)
            .map(|command| format!("the command for this is `landing {command}`"))
            .or_else(|| {
                known(&OPTION_SYNONYMS).map(|option| format!("the option for this is `{option}`"))
            })
    };
    if let Some(hint) = words.filter_map(find).next() {
        // The similar names that clap suggests would lead astray.
        for kind in [
            ContextKind::SuggestedArg,
            ContextKind::SuggestedSubcommand,
            ContextKind::Usage,
        ] {
            error.remove(kind);
        }
        let hint = ContextValue::StyledStrs(vec![hint.into()]);
        error.insert(ContextKind::Suggested, hint);
    }
    error
}
