//! The front matter of a message: lines such as `subject: We are open`, between two lines `---`.

use super::{
    error::{TemplateError, TemplateProblem},
    placeholders,
};
use crate::waitlist::MessageId;

/// The front matter, and the message after it.
pub(super) struct FrontMatter<'a> {
    pub(super) subject: String,
    pub(super) id: Option<MessageId>,
    pub(super) body: &'a str,
    /// The line in which the body begins, from 1.
    pub(super) body_line: usize,
}

/// Parses the front matter of a file.
pub(super) fn parse(text: &str) -> Result<FrontMatter<'_>, TemplateError> {
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n').enumerate();
    let mut offset = 0;
    let first = lines.by_ref().find_map(|(at, line)| {
        offset += line.len();
        (!line.trim().is_empty()).then_some((at + 1, line))
    });
    match first {
        Some((_, line)) if is_fence(line) => {}
        other => {
            let line = other.map_or(1, |(line, _)| line);
            return Err(TemplateProblem::NoFrontMatter.at(line));
        }
    }
    let (mut subject, mut id) = (None, None);
    let mut last = 1;
    for (at, line) in lines {
        let number = at + 1;
        last = number;
        offset += line.len();
        if is_fence(line) {
            let subject: String = subject.ok_or(TemplateProblem::NoSubject.at(number))?;
            let body = &text[offset..];
            if body.trim().is_empty() {
                return Err(TemplateProblem::Empty.at(number + 1));
            }
            return Ok(FrontMatter {
                subject,
                id,
                body,
                body_line: number + 1,
            });
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line
            .split_once(':')
            .ok_or(TemplateProblem::NotAKey.at(number))?;
        let (key, value) = (key.trim_end(), unquote(value.trim()));
        let is_repeated = match key {
            "subject" => subject.replace(parse_subject(value, number)?).is_some(),
            "id" => {
                let parsed = value.parse();
                let parsed =
                    parsed.map_err(|_| TemplateProblem::Id(value.to_owned()).at(number))?;
                id.replace(parsed).is_some()
            }
            other => return Err(TemplateProblem::UnknownKey(other.to_owned()).at(number)),
        };
        if is_repeated {
            return Err(TemplateProblem::DuplicateKey(key.to_owned()).at(number));
        }
    }
    Err(TemplateProblem::UnclosedFrontMatter.at(last))
}

fn parse_subject(value: &str, line: usize) -> Result<String, TemplateError> {
    if value.is_empty() {
        return Err(TemplateProblem::NoSubject.at(line));
    }
    if value.chars().any(char::is_control) {
        return Err(TemplateProblem::Control.at(line));
    }
    placeholders::check(value).map_err(|problem| problem.at(line))?;
    if value.contains(placeholders::UNSUBSCRIBE) {
        return Err(TemplateProblem::LinkInSubject.at(line));
    }
    Ok(value.to_owned())
}

/// Removes the quotation marks around a value.
fn unquote(value: &str) -> &str {
    let unquoted = ['"', '\''].into_iter().find_map(|mark| {
        let value = value.strip_prefix(mark)?.strip_suffix(mark)?;
        Some(value.trim())
    });
    unquoted.unwrap_or(value)
}

/// Returns the id for the name of a file, such as `we-are-open` for `We are open.md`.
pub(super) fn id_from_name(file_name: &str) -> Result<MessageId, TemplateError> {
    let stem = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
    // `news.1` and `news.2` are two messages.
    let stem = match stem.rsplit_once('.') {
        Some((stem, "md" | "markdown" | "txt")) => stem,
        _ => stem,
    };
    let words = stem.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let id = words.join("-").to_ascii_lowercase();
    id.parse().map_err(|_| TemplateProblem::NoId.at(1))
}
