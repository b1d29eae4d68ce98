//! The options that select entries: `--since`, `--until`, `--domain`, `--source`, `--confirmed` and `--unconfirmed`.

use std::time::SystemTime;

use anyhow::bail;

use super::time::{parse_time_or_age, rfc3339};
use crate::waitlist::{EmailDomain, Selection, Source};

/// The options that select entries.
#[derive(clap::Args)]
pub(super) struct SelectionArgs {
    /// Only entries from this time on: 2026-11-21T08:00:00Z, 2026-11-21, or an age such as 7d or 36h
    #[arg(long, value_name = "TIME", value_parser = parse_time_or_age)]
    since: Option<SystemTime>,

    /// Only entries before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time_or_age)]
    until: Option<SystemTime>,

    /// Only addresses at this domain, not at its sub-domains
    #[arg(long, value_parser = EmailDomain::parse)]
    domain: Option<EmailDomain>,

    /// Only people who came from this source, such as hn
    #[arg(long)]
    source: Option<Source>,

    /// Only people who have confirmed their address
    #[arg(long, conflicts_with = "unconfirmed")]
    confirmed: bool,

    /// Only people who have not confirmed their address
    #[arg(long)]
    unconfirmed: bool,
}

impl SelectionArgs {
    /// Converts the options to a selection of entries, oldest first.
    ///
    /// # Errors
    /// If the period ends before it begins.
    pub(super) fn selection(&self) -> anyhow::Result<Selection> {
        if let (Some(since), Some(until)) = (self.since, self.until)
            && until <= since
        {
            bail!(
                "--since {} is not before --until {}; choose an earlier --since or a later --until",
                rfc3339(since),
                rfc3339(until)
            );
        }
        Ok(Selection {
            since: self.since,
            until: self.until,
            domain: self.domain.clone(),
            source: self.source.clone(),
            confirmed: (self.confirmed | self.unconfirmed).then_some(self.confirmed),
            newest_first: false,
        })
    }
}
