//! `landing send --dry-run`: the people who would get the message, and the first one as it would look. If there is nobody, also
//! without the option.

use std::io;

use serde_json::{Value, json};

use super::plan::{Plan, Recipient};
use crate::{
    cli::{delivery_counts::DeliveryCounts, terminal::output::OutputArgs},
    mail::{MessageWriter, RenderedMessage},
    waitlist::Email,
};

/// Prints the preview.
pub(super) fn print(
    plan: &Plan,
    writer: &MessageWriter<'_>,
    output: &OutputArgs,
) -> anyhow::Result<()> {
    let first = render_first(plan, writer);
    if first.is_some() {
        plan.print_notes();
    }
    output.print(&to_json(plan, writer), |out| {
        let Some((person, message)) = &first else {
            return writeln!(out, "nobody to send to: {}", plan.why_empty());
        };
        writeln!(out, "would send to {}:", plan.describe())?;
        for person in plan.people() {
            if let Some(email) = person.email() {
                writeln!(out, "  {:>6}  {}", person.position, email.as_typed())?;
            }
        }
        let to = person.email().map_or("", Email::as_typed);
        writeln!(out, "\nFrom: {}", writer.settings.from.mailbox())?;
        writeln!(out, "To: {to}\nSubject: {}\n", message.subject)?;
        io::Write::write_all(out, message.text.as_bytes())
    })
}

/// Returns what `--json` prints. Before a send, and if nobody gets the message, all results are zero.
pub(super) fn to_json(plan: &Plan, writer: &MessageWriter<'_>) -> Value {
    let addresses = plan.people().filter_map(Recipient::email);
    let mut json = json!(plan.skipped);
    json["recipients"] = json!(plan.people().count());
    json["addresses"] = json!(addresses.map(Email::as_typed).collect::<Vec<_>>());
    json["selected"] = json!(plan.selected);
    json["message"] = writer.id.as_str().into();
    let first = render_first(plan, writer);
    json["first"] = first.map_or(Value::Null, |(_, message)| {
        json!({ "subject": message.subject, "text": message.text, "html": message.html })
    });
    json["results"] = json!(DeliveryCounts::default());
    json
}

/// Returns the first person who gets the message, and their message.
fn render_first<'a>(
    plan: &'a Plan,
    writer: &MessageWriter<'_>,
) -> Option<(&'a Recipient, RenderedMessage)> {
    let person = plan.people().next()?;
    // Without a token: output ends up in files.
    let message = writer.render(person.position, "…", "invite-…");
    Some((person, message))
}
