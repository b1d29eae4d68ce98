//! The help of the program. clap has no groups of commands, so its template has them.

use std::fmt::Write;

use clap::Command;

/// The groups, and the commands of each. A test compares them with the commands that exist.
const GROUPS: [(&str, &str); 5] = [
    ("Serve", "serve health settings"),
    (
        "People",
        "count list show stats report add unsubscribe erase correct",
    ),
    ("Files", "import export backup restore"),
    ("Messages", "send messages mail-check webhook-test"),
    ("Maintenance", "check compact manual completions"),
];

/// Width of the names of the commands.
const NAME_WIDTH: usize = "completions".len();

/// Groups the commands in the help. Leaves the options of the server to the help of `serve`.
pub(super) fn group_commands(command: Command) -> Command {
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(groups, "{heading}:");
        let subcommands = names.split_whitespace();
        for subcommand in subcommands.filter_map(|name| command.find_subcommand(name)) {
            let about = subcommand.get_about().map(ToString::to_string);
            let (name, about) = (subcommand.get_name(), about.unwrap_or_default());
            let _ = writeln!(groups, "  {name:<NAME_WIDTH$}  {about}");
        }
        groups.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    );
    let command = command.mut_args(|arg| arg.hide(true));
    command.help_template(template)
}
