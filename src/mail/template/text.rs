//! The plain text of a message, for people who prefer it and for programs that cannot show HTML. Programs wrap long lines
//! themselves.

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use super::placeholders::Placeholders;
use crate::copy;

/// Returns the message as plain text.
pub(super) fn render(
    events: &[Event<'_>],
    values: &Placeholders<'_>,
    link_in_footer: bool,
) -> String {
    let mut writer = TextWriter::default();
    for event in events {
        writer.push(event);
    }
    let mut footer = vec![values.reason()];
    footer.extend(values.postal_address.map(str::to_owned));
    if link_in_footer {
        footer.push(format!(
            "{}: {}",
            copy::mail::UNSUBSCRIBE,
            values.unsubscribe
        ));
    }
    // The mark before a signature, which many programs show in grey (RFC 3676, section 4.3).
    format!("{}\n\n-- \n{}\n", writer.text, footer.join("\n"))
}

#[derive(Default)]
struct TextWriter {
    text: String,
    /// What begins a line, for each list item, quote and code block around it.
    indents: Vec<String>,
    /// The number of the next item, for each list around it. A list without numbers has none.
    lists: Vec<Option<u64>>,
    /// The URL of the link that is being read, and where its text begins.
    link: Option<(String, usize)>,
    /// Whether the line has only the mark of a list item or a quote.
    is_after_mark: bool,
}

impl TextWriter {
    fn push(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(*tag),
            Event::Text(text) | Event::Code(text) => self.push_text(text),
            Event::SoftBreak => self.push_text(" "),
            Event::HardBreak => self.push_text("\n"),
            Event::Rule => {
                self.begin_block();
                self.push_text("* * *");
            }
            _ => {}
        }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::Heading { .. } => self.begin_block(),
            Tag::CodeBlock(_) => {
                self.begin_block();
                self.begin_indent("    ", "    ");
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.begin_indent("> ", "> ");
            }
            Tag::List(first) => {
                // A list in a list follows its item.
                if self.lists.is_empty() {
                    self.begin_block();
                    self.is_after_mark = true;
                }
                self.lists.push(*first);
            }
            Tag::Item => {
                if !self.is_after_mark {
                    self.begin_line();
                }
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.begin_indent(&mark, &" ".repeat(mark.len()));
            }
            Tag::Link {
                link_type,
                dest_url,
                ..
            } if !matches!(link_type, LinkType::Autolink | LinkType::Email) => {
                self.link = Some((dest_url.to_string(), self.text.len()));
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Link => {
                if let Some((url, start)) = self.link.take()
                    && self.text[start..] != url
                {
                    self.push_text(&format!(" ({url})"));
                }
            }
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::CodeBlock => {
                self.text.truncate(self.text.trim_end().len());
                self.indents.pop();
            }
            TagEnd::Item | TagEnd::BlockQuote(_) => {
                self.indents.pop();
                self.is_after_mark = false;
            }
            _ => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.begin_line();
            }
            self.text.push_str(line);
        }
        self.is_after_mark = false;
    }

    /// Begins a paragraph after an empty line, or after the mark of a list item or a quote.
    fn begin_block(&mut self) {
        if !self.text.is_empty() && !self.is_after_mark {
            self.begin_line();
            self.begin_line();
        }
    }

    fn begin_line(&mut self) {
        let end = self.text.trim_end_matches(' ').len();
        self.text.truncate(end);
        self.text.push('\n');
        self.text.push_str(&self.indents.concat());
    }

    /// Begins a block whose first line begins with a mark, and the others with another text.
    fn begin_indent(&mut self, mark: &str, others: &str) {
        self.text.push_str(mark);
        self.indents.push(others.to_owned());
        self.is_after_mark = true;
    }
}
