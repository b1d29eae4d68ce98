//! `landing send --dry-run`: the people who would get the message, and the first one as it would look.

use std::io;

use serde_json::json;

use super::{message_writer::MessageWriter, plan::Plan};
use crate::cli::terminal::output::OutputArgs;

/// Prints the preview.
pub(super) fn print(
    plan: &Plan,
    writer: &MessageWriter<'_>,
    output: &OutputArgs,
) -> anyhow::Result<()> {
    let first = plan.people().next();
    let message = first.map(|person| {
        // Without a token: output ends up in files.
        let url = format!("{}/unsubscribe/…", writer.origin.as_str());
        (person, writer.render(person.position, &url))
    });
    let mut json = plan.to_json();
    let addresses = plan.people().filter_map(|person| person.email.as_ref());
    json["addresses"] = addresses.map(|email| email.as_typed()).collect();
    if let Some((_, message)) = &message {
        json["first"] = json!({
            "subject": message.subject,
            "text": message.text,
            "html": message.html,
        });
    }
    if message.is_some() {
        plan.print_notes();
    }
    output.print(&json, |out| {
        let Some((person, message)) = &message else {
            return writeln!(out, "nobody to send to: {}", plan.why_empty());
        };
        writeln!(out, "would send to {}:", plan.describe())?;
        for person in plan.people() {
            if let Some(email) = &person.email {
                writeln!(out, "  {:>6}  {}", person.position, email.as_typed())?;
            }
        }
        let to = person.email.as_ref().map_or("", |email| email.as_typed());
        writeln!(out, "\nFrom: {}", writer.settings.from.mailbox())?;
        writeln!(out, "To: {to}\nSubject: {}\n", message.subject)?;
        io::Write::write_all(out, message.text.as_bytes())
    })
}
