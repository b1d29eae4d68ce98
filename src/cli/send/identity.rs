//! Reads a message, and checks that it is the one that its file name says. By its id, the list knows who has had it, and the
//! id is the name of the file unless the front matter has one.

use std::{fs, path::Path, time::SystemTime};

use anyhow::{Context, anyhow, bail};

use crate::{
    cli::{time::rfc3339, waitlist_handle::WaitlistHandle},
    exit::print_stderr,
    mail::{Template, TemplateError},
    waitlist::Message,
};

/// Reads and parses a message.
pub(in crate::cli) fn read_template(file: &Path) -> anyhow::Result<Template> {
    let name = file.display().to_string();
    let text = fs::read(file).with_context(|| format!("cannot read {name}"))?;
    let text =
        String::from_utf8(text).map_err(|_| anyhow!("{name} is not UTF-8; save it as UTF-8"))?;
    let template = Template::parse(&name, &text)
        .map_err(|TemplateError { line, problem }| anyhow!("{name}:{line}: {problem}"))?;
    if template.id().is_reserved() {
        bail!(
            "{name}: the id {} is for messages of the server; choose another name",
            template.id()
        );
    }
    Ok(template)
}

/// Returns the message as the ledger keeps it.
pub(super) fn message(template: &Template) -> Message {
    let message = Message::new(template.id().clone(), SystemTime::now(), template.subject());
    message.with_text_digest(Some(template.text_digest()))
}

/// Fails if a message with another id has the same subject or text, because a renamed file would go to everybody again. Warns
/// if the message with this id has another subject or text: nobody who had that one gets this one.
pub(super) fn check(
    list: &WaitlistHandle,
    template: &Template,
    is_new_message: bool,
) -> anyhow::Result<()> {
    let (messages, sent) = (list.messages()?, message(template));
    if let Some(known) = messages.iter().find(|it| it.id == sent.id) {
        let other = match known.text_digest {
            _ if known.subject() != sent.subject() => format!("the subject {:?}", known.subject()),
            Some(digest) if Some(digest) != sent.text_digest => "another text".to_owned(),
            _ => return Ok(()),
        };
        print_stderr(&format!(
            "warning: {} was begun with {other}; if this is another message, give it another id",
            known.id
        ));
        return Ok(());
    }
    let twin = messages.iter().find_map(|it| {
        if it.subject() == sent.subject() {
            return Some((it, "subject"));
        }
        (it.text_digest == sent.text_digest).then_some((it, "text"))
    });
    if let (Some((twin, part)), false) = (twin, is_new_message) {
        bail!(
            "{} has the {part} of {}, which was begun at {}; nothing was sent, because people who had {1} would get it again. \
             If it is the same message, add the line `id: {1}` to its front matter; if it is another one, add --new-message",
            sent.id,
            twin.id,
            rfc3339(twin.begun_at)
        );
    }
    Ok(())
}
