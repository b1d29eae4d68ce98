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
    let is_fence = |line: &&str| line.trim_end() == "---";
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let first = lines.iter().position(|line| !line.trim().is_empty());
    let first = first.unwrap_or_default();
    if !lines.get(first).is_some_and(is_fence) {
        return Err(TemplateProblem::NoFrontMatter.at(first + 1));
    }
    let fields = &lines[first + 1..];
    let end = fields.iter().position(is_fence);
    let end = end.ok_or(TemplateProblem::UnclosedFrontMatter.at(lines.len()))?;
    let (mut subject, mut id) = (None, None);
    for (number, line) in (first + 2..).zip(&fields[..end]) {
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
    let body_line = first + end + 3;
    let offset: usize = lines[..body_line - 1].iter().map(|line| line.len()).sum();
    let subject = subject.ok_or(TemplateProblem::NoSubject.at(body_line - 1))?;
    let body = &text[offset..];
    if body.trim().is_empty() {
        return Err(TemplateProblem::Empty.at(body_line));
    }
    Ok(FrontMatter {
        subject,
        id,
        body,
        body_line,
    })
}

fn parse_subject(value: &str, line: usize) -> Result<String, TemplateError> {
    if value.is_empty() {
        return Err(TemplateProblem::NoSubject.at(line));
    }
    if value.chars().any(char::is_control) {
        return Err(TemplateProblem::Control.at(line));
    }
    placeholders::check(value).map_err(|problem| problem.at(line))?;
    if let Some(link) = placeholders::LINKS.iter().find(|it| value.contains(*it)) {
        return Err(TemplateProblem::LinkInSubject(link).at(line));
    }
    // lettre loses two spaces in a row between words that are encoded.
    let words: Vec<_> = value.split_whitespace().collect();
    Ok(words.join(" "))
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
    // `/dev/stdin` has the same name for every message.
    let stem = match file_name.starts_with("/dev/") {
        true => "",
        false => file_name.rsplit(['/', '\\']).next().unwrap_or_default(),
    };
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
