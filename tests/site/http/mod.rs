//! Requests: what the server responds to each, and what it logs. They are transcripts, see `cli::transcripts`.

use crate::cli::transcripts::assert_replays_alone;

/// Replays each of these transcripts in a test of its name.
macro_rules! transcripts {
    ($($name:ident: $file:literal,)*) => {
        $(#[test]
        fn $name() {
            assert_replays_alone(concat!("http/", $file));
        })*
    };
}

transcripts! {
    api: "api.txt",
    bodies: "bodies.txt",
    confirmation: "confirmation.txt",
    files: "files.txt",
    head_and_text_files: "head.txt",
    invitations: "invitations.txt",
    log: "log.txt",
    options: "options.txt",
    other_sites: "other-sites.txt",
    pages: "pages.txt",
    rate_limit: "rate-limit.txt",
    raw_requests: "raw.txt",
    security_headers: "security-headers.txt",
    sources: "sources.txt",
    starts: "starts.txt",
    unsubscribe: "unsubscribe.txt",
}
