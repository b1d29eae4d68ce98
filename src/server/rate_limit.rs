//! The rate limits of sign-ups and of codes.

use std::{
    hash::RandomState,
    num::NonZeroUsize,
    sync::Mutex,
    time::{Duration, Instant},
};

use lru::LruCache;

use super::ClientKey;
use crate::waitlist::locked;

/// Maximum number of clients that are remembered, each with one action, which takes about 7 MB. Beyond that, the one that has
/// been inactive the longest is forgotten. An attacker with more addresses than this could not be limited per address anyway.
const TRACKED_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();

/// How many attempts one from an IPv6 network counts as. One from an IPv4 address counts once: a conference, an office or a
/// mobile carrier puts thousands of people behind it. With IPv6, each phone or household has its own /64 (RFC 6177,
/// RFC 7849), and an attacker gets many of them.
const IPV6_WEIGHT: u32 = 12;

/// What a client does only so often.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum LimitedAction {
    /// To sign up.
    SignUp,
    /// To confirm an address by a code. A crowd that has just signed up must be able to.
    Code,
}

/// What a client may send only so often.
pub(super) trait Limited {
    /// What it counts as.
    const ACTION: LimitedAction;
    /// Whether the landing page has the URL that it is sent to, so that a precondition may name its `ETag`.
    const IS_SENT_TO_PAGE: bool = false;
}

/// The limits of attempts for each client: a number per minute, and as many in one burst. An IPv6 network may make a twelfth of
/// them, but at least one.
pub(super) struct RateLimits {
    /// 0 means no limit.
    per_minute: u32,
    /// The theoretical arrival time of each action of a client (the generic cell rate algorithm): when all its attempts will be
    /// forgotten. Each takes its part of a minute, one after the other.
    free_at: Mutex<LruCache<(ClientKey, LimitedAction), Instant, RandomState>>,
}

impl RateLimits {
    pub(super) fn per_minute(per_minute: u32) -> Self {
        // std's hasher, which clients cannot force into collisions.
        let table = LruCache::with_hasher(TRACKED_MAX, RandomState::new());
        Self {
            per_minute,
            free_at: Mutex::new(table),
        }
    }

    /// Counts an attempt.
    ///
    /// # Errors
    /// The time until the next attempt can succeed, if there were too many. Then this one does not count.
    pub(super) fn count(&self, action: LimitedAction, client: ClientKey) -> Result<(), Duration> {
        const MINUTE: Duration = Duration::from_secs(60);
        if self.per_minute == 0 {
            return Ok(());
        }
        let weight = if client.is_ipv6() { IPV6_WEIGHT } else { 1 };
        let takes = MINUTE * weight.min(self.per_minute) / self.per_minute;
        // Codes are guessed, and nobody else is likely to need one from the same /48 in this minute.
        let client = match action {
            LimitedAction::SignUp => client,
            LimitedAction::Code => client.customer(),
        };
        let now = Instant::now();
        let mut table = locked(&self.free_at);
        let free_at = table.get_or_insert_mut((client, action), || now);
        let next = now.max(*free_at) + takes;
        match next.checked_duration_since(now + MINUTE) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                *free_at = next;
                Ok(())
            }
        }
    }
}
