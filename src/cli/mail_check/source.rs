//! Examines the source of a message as it arrived.

use super::Finding;
use crate::mail::is_direction;

/// The headers that the signature must cover, so that mail programs offer to unsubscribe (RFC 8058, section 4).
const COVERED: [&str; 2] = ["List-Unsubscribe", "List-Unsubscribe-Post"];

const ONE_CLICK: &str = "List-Unsubscribe=One-Click";

/// Returns what the source shows.
pub(super) fn examine(source: &str) -> Vec<Finding> {
    let headers = parse_headers(source);
    let values = |name: &str| {
        let matching = headers
            .iter()
            .filter(|(it, _)| it.eq_ignore_ascii_case(name));
        matching.map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    let mut findings = Vec::new();
    for name in COVERED {
        findings.push(match &values(name)[..] {
            [] => Finding::problem(format!("the message has no {name}; paste its whole source")),
            [value] if is_one_click(name, value) => Finding::ok(format!("the message has {name}")),
            [_] => Finding::problem(format!(
                "{name} offers no one-click unsubscribing (RFC 8058): it needs an https URL, and \
                 List-Unsubscribe-Post: {ONE_CLICK}"
            )),
            values => Finding::problem(format!(
                "the message has {} headers {name}, and may have 1",
                values.len()
            )),
        });
    }
    findings.extend(signatures(&values("DKIM-Signature")));
    findings.extend(results(&values("Authentication-Results")));
    findings
}

/// Returns whether the value of one of the headers is as mail programs need it.
fn is_one_click(name: &str, value: &str) -> bool {
    match name {
        "List-Unsubscribe" => value.to_ascii_lowercase().contains("<https://"),
        _ => value.eq_ignore_ascii_case(ONE_CLICK),
    }
}

/// Says whether one of the signatures covers the headers.
fn signatures(signatures: &[String]) -> Vec<Finding> {
    if signatures.is_empty() {
        let text =
            "the message has no signature (DKIM); switch it on where your mail server is managed";
        return vec![Finding::problem(text)];
    }
    let covers = |signature: &&String| {
        let signed = tag(signature, "h");
        let signed: Vec<_> = signed.split(':').map(str::trim).collect();
        COVERED
            .iter()
            .all(|name| signed.iter().any(|it| it.eq_ignore_ascii_case(name)))
    };
    vec![match signatures.iter().find(covers) {
        Some(signature) => Finding::ok(format!(
            "the signature of {} covers both headers",
            tag(signature, "d")
        )),
        None => Finding::problem(format!(
            "no signature covers {}; mail programs will not offer to unsubscribe. Ask the provider of your mail server",
            COVERED.join(" and ")
        )),
    }]
}

/// Says what the receiving server found (RFC 8601). Only its first header is its own.
fn results(headers: &[String]) -> Vec<Finding> {
    let Some(header) = headers.first() else {
        return Vec::new();
    };
    let finding = |method: &str| {
        let result = header.split(';').find_map(|part| {
            let result = part.trim().strip_prefix(method)?.strip_prefix('=')?;
            result.split_whitespace().next()
        })?;
        let text = format!("the receiving server reports {method}={result}");
        Some(match result {
            "pass" => Finding::ok(text),
            _ => Finding::problem(format!("{text}; check the DNS records")),
        })
    };
    ["spf", "dkim", "dmarc"]
        .into_iter()
        .filter_map(finding)
        .collect()
}

/// Returns the value of a tag of a signature (RFC 6376, section 3.2), without white space.
fn tag(signature: &str, name: &str) -> String {
    let tags = signature.split(';').filter_map(|tag| tag.split_once('='));
    let value = tags.into_iter().find(|(it, _)| it.trim() == name);
    let value = value.map_or("", |(_, value)| value);
    value.split_whitespace().collect()
}

/// Returns the headers of a message, each in one line.
fn parse_headers(source: &str) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    // Editors put a byte order mark before the text.
    let source = source.trim_start_matches('\u{feff}').trim_start();
    for line in source.lines() {
        if line.is_empty() {
            break;
        }
        // The findings are written to a terminal, and anybody can write a message.
        let is_harmful = |c: char| c != '\t' && (c.is_control() || is_direction(c));
        let line = &line.replace(is_harmful, "?");
        match (line.starts_with([' ', '\t']), headers.last_mut()) {
            (true, Some((_, value))) => {
                value.push(' ');
                value.push_str(line.trim());
            }
            _ => {
                if let Some((name, value)) = line.split_once(':') {
                    headers.push((name.trim().to_owned(), value.trim().to_owned()));
                }
            }
        }
    }
    headers
}
