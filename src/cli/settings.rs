//! `landing settings`: a file with every setting, for a service manager or a container.

use clap::Arg;

use super::{command, terminal::output::print_to_stdout};

/// Columns of a line, without the `# ` before it.
const LINE_WIDTH: usize = 98;

#[derive(clap::Args)]
#[command(after_help = "Example: landing settings > settings.env")]
pub(super) struct SettingsArgs;

/// Prints each variable with its meaning, commented out. The value of a line is the default.
pub(super) fn print_settings() -> anyhow::Result<()> {
    let server = command();
    let settings = server.get_arguments().filter(|arg| arg.get_env().is_some());
    let text: String = settings.map(setting).collect();
    print_to_stdout(|out| out.write_all(text.as_bytes()))
}

fn setting(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let mut text = String::from("\n");
    for line in textwrap::wrap(&help, LINE_WIDTH) {
        text += &format!("# {line}\n");
    }
    let values = arg.get_possible_values();
    if !arg.get_action().takes_values() {
        text += "# One of: true, false\n";
    } else if !values.is_empty() {
        let names: Vec<_> = values.iter().map(|value| value.get_name()).collect();
        text += &format!("# One of: {}\n", names.join(", "));
    }
    let variable = arg.get_env().unwrap_or_default().display();
    let defaults = arg.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    text + &format!("#{variable}={}\n", defaults.join(","))
}
