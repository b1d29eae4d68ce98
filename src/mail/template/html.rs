//! The HTML form of a message: one column, in the colours of the site, light and dark. All styles are inline, because
//! some programs remove the others; without the `style` element the message stays light. Nothing is loaded.

use html_escape::{encode_double_quoted_attribute, encode_text};
use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};

use super::placeholders::Placeholders;
use crate::copy;

const PAPER: &str = "#faf9f5";
const INK: &str = "#15171d";
const MUTED: &str = "#54575f";
const LINE: &str = "#d9d7d0";
const FONT: &str = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const CODE_FONT: &str = "ui-monospace,Menlo,Consolas,monospace";

/// The colours in dark mode.
const DARK: &str = "@media (prefers-color-scheme:dark){\
    body,.page{background:#101218!important;color:#efece5!important}\
    .page a,.page h1,.page h2,.page h3{color:#efece5!important}\
    .page .muted,.page .muted a,.page blockquote{color:#a7aab2!important}\
    .page .line,.page blockquote,.page pre,.page code,.page hr{border-color:#34383f!important}}";

/// Returns the message as a document.
pub(super) fn render(
    subject: &str,
    events: &[Event<'_>],
    values: &Placeholders<'_>,
    link_in_footer: bool,
) -> String {
    let mut body = String::new();
    let mut is_in_pre = false;
    for event in events {
        push(event, &mut body, &mut is_in_pre);
    }
    let footer = footer(values, link_in_footer);
    let subject = encode_text(subject);
    format!(
        "<!DOCTYPE html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{subject}</title>\n\
         <style>{DARK}</style>\n\
         </head>\n\
         <body style=\"margin:0;padding:0;background:{PAPER};color:{INK}\">\n\
         <div class=\"page\" style=\"box-sizing:border-box;max-width:600px;margin:0 auto;padding:32px 20px;\
         background:{PAPER};color:{INK};font:16px/1.6 {FONT};overflow-wrap:break-word\">\n\
         {body}{footer}\
         </div>\n\
         </body>\n\
         </html>\n"
    )
}

fn footer(values: &Placeholders<'_>, link_in_footer: bool) -> String {
    let mut lines = vec![encode_text(&values.reason()).into_owned()];
    if let Some(address) = values.postal_address {
        lines.push(encode_text(address).into_owned());
    }
    if link_in_footer {
        let url = encode_double_quoted_attribute(values.unsubscribe);
        let label = copy::mail::UNSUBSCRIBE;
        lines.push(format!(
            "<a href=\"{url}\" style=\"color:{MUTED}\">{label}</a>"
        ));
    }
    format!(
        "<p class=\"muted line\" style=\"margin:32px 0 0;padding:16px 0 0;border-top:1px solid {LINE};\
         color:{MUTED};font-size:14px\">{}</p>\n",
        lines.join("<br>\n")
    )
}

/// Appends an event.
fn push(event: &Event<'_>, html: &mut String, is_in_pre: &mut bool) {
    match event {
        Event::Start(tag) => {
            *is_in_pre |= matches!(tag, Tag::CodeBlock(_));
            html.push_str(&open(tag));
        }
        Event::End(tag) => {
            *is_in_pre &= !matches!(tag, TagEnd::CodeBlock);
            html.push_str(close(*tag));
        }
        Event::Text(text) => html.push_str(&encode_text(text)),
        Event::Code(code) if *is_in_pre => html.push_str(&encode_text(code)),
        Event::Code(code) => html.push_str(&format!(
            "<code style=\"padding:0 3px;border:1px solid {LINE};border-radius:3px;font:14px {CODE_FONT}\">{}</code>",
            encode_text(code)
        )),
        Event::SoftBreak => html.push('\n'),
        Event::HardBreak => html.push_str("<br>\n"),
        Event::Rule => html.push_str(&format!(
            "<hr style=\"margin:24px 0;border:0;border-top:1px solid {LINE}\">\n"
        )),
        // `markdown` has rejected HTML, and the other events belong to extensions.
        _ => {}
    }
}

fn open(tag: &Tag<'_>) -> String {
    match tag {
        Tag::Paragraph => "<p style=\"margin:0 0 16px\">".into(),
        Tag::Heading { level, .. } => {
            let (name, size) = match level {
                HeadingLevel::H1 => ("h1", 26),
                HeadingLevel::H2 => ("h2", 21),
                _ => ("h3", 17),
            };
            format!(
                "<{name} style=\"margin:24px 0 12px;color:{INK};font-size:{size}px;line-height:1.25\">"
            )
        }
        Tag::BlockQuote(_) => format!(
            "<blockquote style=\"margin:0 0 16px;padding:0 0 0 16px;border-left:3px solid {LINE};color:{MUTED}\">\n"
        ),
        Tag::CodeBlock(_) => format!(
            "<pre style=\"margin:0 0 16px;padding:12px;border:1px solid {LINE};border-radius:3px;\
             font:14px/1.5 {CODE_FONT};white-space:pre-wrap\"><code style=\"border:0\">"
        ),
        Tag::List(Some(1)) => "<ol style=\"margin:0 0 16px;padding:0 0 0 24px\">\n".into(),
        Tag::List(Some(first)) => {
            format!("<ol start=\"{first}\" style=\"margin:0 0 16px;padding:0 0 0 24px\">\n")
        }
        Tag::List(None) => "<ul style=\"margin:0 0 16px;padding:0 0 0 24px\">\n".into(),
        Tag::Item => "<li style=\"margin:0 0 6px\">".into(),
        Tag::Emphasis => "<em>".into(),
        Tag::Strong => "<strong>".into(),
        Tag::Link {
            dest_url,
            link_type,
            ..
        } => {
            let scheme = match link_type {
                pulldown_cmark::LinkType::Email => "mailto:",
                _ => "",
            };
            format!(
                "<a href=\"{scheme}{}\" style=\"color:{INK}\">",
                encode_double_quoted_attribute(dest_url)
            )
        }
        _ => String::new(),
    }
}

fn close(tag: TagEnd) -> &'static str {
    match tag {
        TagEnd::Paragraph => "</p>\n",
        TagEnd::Heading(HeadingLevel::H1) => "</h1>\n",
        TagEnd::Heading(HeadingLevel::H2) => "</h2>\n",
        TagEnd::Heading(_) => "</h3>\n",
        TagEnd::BlockQuote(_) => "</blockquote>\n",
        TagEnd::CodeBlock => "</code></pre>\n",
        TagEnd::List(true) => "</ol>\n",
        TagEnd::List(false) => "</ul>\n",
        TagEnd::Item => "</li>\n",
        TagEnd::Emphasis => "</em>",
        TagEnd::Strong => "</strong>",
        TagEnd::Link => "</a>",
        _ => "",
    }
}
