//! The rules of Mozilla's HTTP Observatory.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::header::HeaderMap;

#[test]
fn observatory_score_drops_for_weaker_headers() {
    let complete = [
        (
            "content-security-policy",
            "default-src 'none'; style-src 'self'; frame-ancestors 'none'",
        ),
        ("strict-transport-security", "max-age=63072000"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    let changed_score = |changed: &str, value: &'static str| {
        let mut headers = HeaderMap::new();
        for (name, kept) in complete {
            let value = if name == changed { value } else { kept };
            if !value.is_empty() {
                headers.insert(name, value.parse().expect("a value"));
            }
        }
        score(&headers)
    };
    assert_eq!(changed_score("", ""), 130);
    for (name, value, expected) in [
        // Without a policy there are no frame-ancestors either. A score below 90 gets no bonus.
        ("content-security-policy", "", 55),
        (
            "content-security-policy",
            "default-src 'self'; frame-ancestors 'none'",
            125,
        ),
        (
            "content-security-policy",
            "script-src 'self'; frame-ancestors 'none'",
            80,
        ),
        (
            "content-security-policy",
            "default-src 'none'; style-src 'unsafe-inline'",
            80,
        ),
        (
            "content-security-policy",
            "default-src 'none'; script-src 'unsafe-eval'",
            70,
        ),
        ("strict-transport-security", "", 80),
        ("strict-transport-security", "max-age=86400", 120),
        ("x-content-type-options", "", 125),
        ("referrer-policy", "unsafe-url", 120),
        ("cross-origin-resource-policy", "", 120),
    ] {
        assert_eq!(changed_score(name, value), expected, "{name}: {value}");
    }
}

/// Returns the score of Mozilla's HTTP Observatory (github.com/mdn/mdn-http-observatory, `src/grader` and
/// `src/analyzer/tests`, version of 2025). A score of 100 or more is an A+.
///
/// This function omits the rules for cookies and CORS, whose headers no response has, and those for redirects, which
/// the proxy sends. Subresource integrity does not change the score for scripts of the same origin.
pub(super) fn score(headers: &HeaderMap) -> i32 {
    let get = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let policy = get("content-security-policy").map(directives);
    let max_age = get("strict-transport-security").and_then(|value| {
        let mut parts = value.split(';').map(str::trim);
        parts.find_map(|part| part.strip_prefix("max-age=")?.parse::<u32>().ok())
    });
    let frames = policy
        .as_ref()
        .and_then(|policy| policy.get("frame-ancestors"));
    let modifiers = [
        policy.as_ref().map_or(-25, policy_modifier),
        match max_age {
            None => -20,
            Some(seconds) if seconds < 15_768_000 => -10,
            Some(_) => 0,
        },
        if get("x-content-type-options") == Some("nosniff") {
            0
        } else {
            -5
        },
        match (frames, get("x-frame-options")) {
            (Some(sources), _) if sources.is_disjoint(&BROAD_SOURCES.into()) => 5,
            (_, Some("DENY" | "SAMEORIGIN")) => 0,
            _ => -20,
        },
        match get("referrer-policy") {
            None => 0,
            Some(
                "no-referrer" | "same-origin" | "strict-origin" | "strict-origin-when-cross-origin",
            ) => 5,
            Some(_) => -5,
        },
        match get("cross-origin-resource-policy") {
            None | Some("cross-origin") => 0,
            Some("same-origin" | "same-site") => 10,
            Some(_) => -5,
        },
    ];
    let score = 100
        + modifiers
            .iter()
            .filter(|modifier| **modifier < 0)
            .sum::<i32>();
    let bonus = modifiers
        .iter()
        .filter(|modifier| **modifier > 0)
        .sum::<i32>();
    if score >= 90 { score + bonus } else { score }
}

const BROAD_SOURCES: [&str; 8] = [
    "ftp:",
    "http:",
    "https:",
    "*",
    "http://*",
    "http://*.*",
    "https://*",
    "https://*.*",
];

fn directives(policy: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let directives = policy.split(';').map(str::split_whitespace);
    directives
        .filter_map(|mut words| Some((words.next()?, words.collect())))
        .collect()
}

fn policy_modifier(policy: &BTreeMap<&str, BTreeSet<&str>>) -> i32 {
    let everything = BTreeSet::from(["*"]);
    let sources = |name: &str| {
        let listed = policy.get(name).or_else(|| policy.get("default-src"));
        listed.unwrap_or(&everything)
    };
    let (script, object, style) = (
        sources("script-src"),
        sources("object-src"),
        sources("style-src"),
    );
    let is_broad = |sources: &BTreeSet<&str>| !sources.is_disjoint(&BROAD_SOURCES.into());
    let is_hashed = |sources: &BTreeSet<&str>| {
        let hashes = ["'sha256-", "'sha384-", "'sha512-", "'nonce-"];
        sources
            .iter()
            .any(|source| hashes.iter().any(|hash| source.starts_with(hash)))
    };
    let is_inline = |sources: &BTreeSet<&str>| {
        sources.contains("data:") || sources.contains("'unsafe-inline'") && !is_hashed(sources)
    };
    let is_insecure = |source: &&str| source.starts_with("http:") || source.starts_with("ftp:");
    let is_open = is_broad(script) || is_inline(script) || is_broad(object);
    if is_open || policy.values().flatten().any(is_insecure) {
        -20
    } else if script.contains("'unsafe-eval'") || style.contains("'unsafe-eval'") {
        -10
    } else if is_broad(style) || is_inline(style) {
        0
    } else if policy.get("default-src") == Some(&BTreeSet::from(["'none'"])) {
        10
    } else {
        5
    }
}
