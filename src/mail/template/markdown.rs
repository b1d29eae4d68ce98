//! Parses the Markdown of a message (CommonMark), and rejects what an e-mail cannot have.

use pulldown_cmark::{CowStr, Event, LinkType, Parser, Tag, TagEnd, TextMergeWithOffset};

use super::{
    error::{TemplateError, TemplateProblem},
    placeholders::{self, Part, Placeholders, UNSUBSCRIBE},
};

/// Maximum depth of nested lists, quotes and styles.
const NESTING_MAX: usize = 16;

/// The schemes that a link can have.
const LINK_SCHEMES: [&str; 3] = ["https:", "http:", "mailto:"];

/// Parses a message that begins in a line of its file. A `{unsubscribe}` in the text becomes a link.
pub(super) fn parse(body: &str, first_line: usize) -> Result<Vec<Event<'static>>, TemplateError> {
    let mut events = Vec::new();
    let (mut depth, mut link_depth, mut code_depth) = (0, 0, 0);
    for (event, range) in TextMergeWithOffset::new(Parser::new(body).into_offset_iter()) {
        let line = first_line + body[..range.start].matches('\n').count();
        check(&event, code_depth > 0).map_err(|problem| problem.at(line))?;
        match &event {
            Event::Start(tag) => {
                depth += 1;
                link_depth += usize::from(matches!(tag, Tag::Link { .. }));
                code_depth += usize::from(matches!(tag, Tag::CodeBlock(_)));
                if depth > NESTING_MAX {
                    return Err(TemplateProblem::Nesting(NESTING_MAX).at(line));
                }
            }
            Event::End(tag) => {
                depth -= 1;
                link_depth -= usize::from(matches!(tag, TagEnd::Link));
                code_depth -= usize::from(matches!(tag, TagEnd::CodeBlock));
            }
            Event::Text(text) if link_depth == 0 && code_depth == 0 => {
                push_text(&mut events, text);
                continue;
            }
            // Code is shown as it is.
            Event::Text(text) if code_depth > 0 => {
                events.push(Event::Code(text.clone().into_static()));
                continue;
            }
            _ => {}
        }
        events.push(event.into_static());
    }
    Ok(events)
}

fn check(event: &Event<'_>, is_code: bool) -> Result<(), TemplateProblem> {
    match event {
        Event::Start(Tag::Image { .. }) => Err(TemplateProblem::Image),
        Event::Start(Tag::HtmlBlock) | Event::Html(_) | Event::InlineHtml(_) => {
            Err(TemplateProblem::Html)
        }
        Event::Start(Tag::Link {
            link_type: LinkType::Email,
            ..
        }) => Ok(()),
        Event::Start(Tag::Link { dest_url, .. }) => {
            placeholders::check(dest_url)?;
            let is_unsubscribe = **dest_url == *UNSUBSCRIBE;
            // Another site must not get the token, and the footer would have no link.
            if placeholders::has_unsubscribe(dest_url) && !is_unsubscribe {
                return Err(TemplateProblem::PartOfUrl);
            }
            let has_scheme = LINK_SCHEMES
                .iter()
                .any(|scheme| dest_url.to_ascii_lowercase().starts_with(scheme));
            if is_unsubscribe || has_scheme {
                Ok(())
            } else {
                Err(TemplateProblem::Link(dest_url.to_string()))
            }
        }
        Event::Text(text) if !is_code => placeholders::check(text),
        _ => Ok(()),
    }
}

/// Adds a text, whose `{unsubscribe}` become links.
fn push_text(events: &mut Vec<Event<'static>>, text: &str) {
    let mut pending = String::new();
    for part in placeholders::split(text) {
        match part {
            Part::Text(text) => pending.push_str(text),
            Part::Placeholder(UNSUBSCRIBE) => {
                if !pending.is_empty() {
                    events.push(Event::Text(std::mem::take(&mut pending).into()));
                }
                let url = CowStr::from(UNSUBSCRIBE);
                events.push(Event::Start(Tag::Link {
                    link_type: LinkType::Autolink,
                    dest_url: url.clone(),
                    title: "".into(),
                    id: "".into(),
                }));
                events.push(Event::Text(url));
                events.push(Event::End(TagEnd::Link));
            }
            Part::Placeholder(other) => pending.push_str(other),
        }
    }
    if !pending.is_empty() {
        events.push(Event::Text(pending.into()));
    }
}

/// Returns whether an event begins an unsubscribe link.
pub(super) fn has_unsubscribe_link(event: &Event<'_>) -> bool {
    matches!(event, Event::Start(Tag::Link { dest_url, .. }) if **dest_url == *UNSUBSCRIBE)
}

/// Replaces the placeholders in an event.
pub(super) fn fill<'a>(event: &'a Event<'static>, values: &Placeholders<'_>) -> Event<'a> {
    match event {
        Event::Text(text) => Event::Text(values.fill(text).into()),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Link {
            link_type: *link_type,
            dest_url: values.fill(dest_url).into(),
            title: title.clone(),
            id: id.clone(),
        }),
        event => event.clone(),
    }
}
