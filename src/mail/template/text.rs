//! The plain text of a message, for people who prefer it and for programs that cannot show HTML.

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};
use textwrap::{Options, WordSeparator, WordSplitter};

use super::placeholders::Placeholders;
use crate::copy;

/// Maximum length of a line, in columns. A URL may be longer.
const LINE_MAX: usize = 72;

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
    writer.end_block();
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
    let footer: Vec<_> = footer.iter().map(|line| wrap(line, "", "")).collect();
    format!("{}\n-- \n{}", writer.text, footer.concat())
}

#[derive(Default)]
struct TextWriter {
    text: String,
    /// The block that is being read.
    block: String,
    /// The prefixes of the lists and quotes around it.
    prefixes: Vec<Prefix>,
    links: Vec<Link>,
    is_code: bool,
    /// The underline of a heading.
    underline: Option<char>,
    /// The prefix of the last line.
    last_prefix: String,
    /// Whether the next block follows the one before without an empty line.
    is_tight: bool,
}

/// What begins the lines of a list item or a quote.
struct Prefix {
    first: String,
    later: String,
    /// The number of the next item of an ordered list.
    next_number: Option<u64>,
    is_list: bool,
}

/// A link that is being read.
struct Link {
    url: String,
    /// Where its text begins in the block.
    start: usize,
    is_bare: bool,
}

impl TextWriter {
    fn push(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(*tag),
            Event::Text(text) | Event::Code(text) => self.block.push_str(text),
            Event::SoftBreak => self.block.push(' '),
            Event::HardBreak => self.block.push('\n'),
            Event::Rule => {
                self.end_block();
                self.block.push_str("* * *");
                self.end_block();
            }
            _ => {}
        }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_block();
                self.underline = match *level as u8 {
                    1 => Some('='),
                    2 => Some('-'),
                    _ => None,
                };
            }
            Tag::Paragraph => self.end_block(),
            Tag::CodeBlock(_) => {
                self.end_block();
                self.is_code = true;
            }
            Tag::BlockQuote(_) => {
                self.end_block();
                self.prefixes.push(Prefix {
                    first: "> ".into(),
                    later: "> ".into(),
                    next_number: None,
                    is_list: false,
                });
            }
            Tag::List(first) => {
                self.end_block();
                self.prefixes.push(Prefix {
                    first: String::new(),
                    later: String::new(),
                    next_number: *first,
                    is_list: true,
                });
            }
            Tag::Item => {
                self.end_block();
                if let Some(list) = self.prefixes.last_mut() {
                    list.first = match &mut list.next_number {
                        Some(number) => {
                            *number += 1;
                            format!("{}. ", *number - 1)
                        }
                        None => "- ".into(),
                    };
                    list.later = " ".repeat(list.first.len());
                }
            }
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => self.links.push(Link {
                url: dest_url.to_string(),
                start: self.block.len(),
                is_bare: matches!(link_type, LinkType::Autolink | LinkType::Email),
            }),
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Link => {
                if let Some(Link {
                    url,
                    start,
                    is_bare,
                }) = self.links.pop()
                    && !is_bare
                    && self.block[start..] != url
                {
                    self.block.push_str(&format!(" ({url})"));
                }
            }
            TagEnd::Item => {
                self.end_block();
                self.is_tight = true;
            }
            TagEnd::List(_) | TagEnd::BlockQuote(_) => {
                self.end_block();
                self.prefixes.pop();
                self.is_tight = self.prefixes.iter().any(|prefix| prefix.is_list);
            }
            TagEnd::CodeBlock => {
                self.end_block();
                self.is_code = false;
            }
            TagEnd::Paragraph | TagEnd::Heading(_) => self.end_block(),
            _ => {}
        }
    }

    /// Appends the block to the text, with an empty line before it.
    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        if block.trim().is_empty() {
            return;
        }
        let first: String = self.prefixes.iter().map(|it| &*it.first).collect();
        let later: String = self.prefixes.iter().map(|it| &*it.later).collect();
        for prefix in &mut self.prefixes {
            prefix.first.clone_from(&prefix.later);
        }
        if !self.text.is_empty() && !std::mem::take(&mut self.is_tight) {
            let both = later.bytes().zip(self.last_prefix.bytes());
            let common = both.take_while(|(a, b)| a == b).count();
            self.text.push_str(later[..common].trim_end());
            self.text.push('\n');
        }
        if self.is_code {
            for line in block.lines() {
                self.text.push_str(&format!("{later}    {line}\n"));
            }
        } else {
            let wrapped = wrap(block.trim(), &first, &later);
            let width = wrapped.lines().map(|line| line.chars().count()).max();
            self.text.push_str(&wrapped);
            if let Some(mark) = self.underline.take() {
                let line: String = std::iter::repeat_n(mark, width.unwrap_or_default()).collect();
                self.text.push_str(&format!("{later}{line}\n"));
            }
        }
        if self.prefixes.is_empty() {
            self.is_tight = false;
        }
        self.last_prefix = later;
    }
}

/// Wraps a text. A word that is longer than a line, such as a URL, stays whole.
fn wrap(text: &str, first: &str, later: &str) -> String {
    let options = Options::new(LINE_MAX)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    let mut wrapped = String::new();
    for (at, line) in text.split('\n').enumerate() {
        let initial = if at == 0 { first } else { later };
        let options = options
            .clone()
            .initial_indent(initial)
            .subsequent_indent(later);
        for line in textwrap::wrap(line, options) {
            wrapped.push_str(line.trim_end());
            wrapped.push('\n');
        }
    }
    wrapped
}
