//! Turns the Markdown of a message (CommonMark) into HTML, and rejects what an e-mail cannot have.

use html_escape::encode_text;
use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd, TextMergeWithOffset, html::push_html};

use super::{
    error::{TemplateError, TemplateProblem},
    placeholders::{self, LINKS, UNSUBSCRIBE},
};

/// The schemes that a link can have.
const LINK_SCHEMES: [&str; 3] = ["https:", "http:", "mailto:"];

/// A message in HTML, with its placeholders.
#[derive(Clone, Debug)]
pub(super) struct HtmlBody {
    pub(super) html: String,
    /// Whether it has the unsubscribe link itself.
    pub(super) has_unsubscribe_link: bool,
}

/// Converts a message that begins in a line of its file. `{unsubscribe}` and `{invite_link}` in the text become links.
pub(super) fn to_html(body: &str, first_line: usize) -> Result<HtmlBody, TemplateError> {
    let mut events = Vec::new();
    let (mut is_in_link, mut is_in_code) = (false, false);
    let (mut has_unsubscribe_link, mut is_empty) = (false, true);
    for (event, range) in TextMergeWithOffset::new(Parser::new(body).into_offset_iter()) {
        let line = first_line + body[..range.start].matches('\n').count();
        check(&event, is_in_code).map_err(|problem| problem.at(line))?;
        match &event {
            Event::Start(Tag::CodeBlock(_)) => is_in_code = true,
            Event::End(TagEnd::CodeBlock) => is_in_code = false,
            Event::Start(Tag::Link { dest_url, .. }) => {
                is_in_link = true;
                has_unsubscribe_link |= **dest_url == *UNSUBSCRIBE;
            }
            Event::End(TagEnd::Link) => is_in_link = false,
            _ => {}
        }
        is_empty &= !matches!(event, Event::Text(_) | Event::Code(_));
        events.push(match event {
            Event::Text(text)
                if LINKS.iter().any(|it| text.contains(it)) && !is_in_link && !is_in_code =>
            {
                has_unsubscribe_link |= text.contains(UNSUBSCRIBE);
                let mut html = encode_text(&text).into_owned();
                for link in LINKS {
                    html = html.replace(link, &format!("<a href=\"{link}\">{link}</a>"));
                }
                Event::InlineHtml(html.into())
            }
            event => event,
        });
    }
    if is_empty {
        return Err(TemplateProblem::Empty.at(first_line));
    }
    let mut html = String::new();
    push_html(&mut html, events.into_iter());
    Ok(HtmlBody {
        html,
        has_unsubscribe_link,
    })
}

fn check(event: &Event<'_>, is_in_code: bool) -> Result<(), TemplateProblem> {
    // As an entity, such as `&#1;`.
    let is_hidden = |c: char| c.is_control() && !matches!(c, '\t' | '\n');
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
            let is_placeholder = LINKS.contains(&&**dest_url);
            // Another site must not get the token, and the footer would have no link.
            if dest_url.contains(UNSUBSCRIBE) && !is_placeholder {
                return Err(TemplateProblem::PartOfUrl);
            }
            let has_scheme = LINK_SCHEMES
                .iter()
                .any(|scheme| dest_url.to_ascii_lowercase().starts_with(scheme));
            if is_placeholder || has_scheme {
                Ok(())
            } else {
                Err(TemplateProblem::Link(dest_url.to_string()))
            }
        }
        Event::Text(text) if text.contains(is_hidden) => Err(TemplateProblem::Control),
        Event::Text(text) if !is_in_code => placeholders::check(text),
        _ => Ok(()),
    }
}
