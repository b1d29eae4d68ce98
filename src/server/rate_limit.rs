//! The rate limits of sign-ups and of codes: one token bucket each per client.

use std::{
    fmt,
    hash::RandomState,
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use lru::LruCache;

use super::ClientKey;

/// Maximum number of clients in each of the two tables, which then takes about 6 MB. A full table drops the client that has
/// been inactive the longest. An attacker with more addresses than this could not be limited per address anyway.
const TRACKED_CLIENTS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();

/// How many tokens a sign-up from an IPv6 network takes. One from an IPv4 address takes one: a conference, an office or a
/// mobile carrier puts thousands of people behind it. With IPv6, each phone or household has its own /64 (RFC 6177,
/// RFC 7849), and an attacker gets many of them.
const IPV6_TOKENS: u32 = 12;

/// What a client does only so often.
#[derive(Clone, Copy, Debug)]
pub(super) enum LimitedAction {
    /// To sign up.
    SignUp,
    /// To confirm an address by a code. A crowd that has just signed up must be able to.
    Code,
}

/// The limits of attempts for each client.
pub(super) struct RateLimits(Option<Limits>);

struct Limits {
    sign_ups: TokenBuckets,
    codes: TokenBuckets,
}

impl RateLimits {
    /// Allows this number of attempts of each kind per minute and IPv4 address, and as many in one burst. An IPv6 network
    /// may make a twelfth of them, but at least one. 0 means no limit.
    pub(super) fn per_minute(attempts: u32) -> Self {
        Self((attempts > 0).then(|| Limits {
            sign_ups: TokenBuckets::new(attempts),
            codes: TokenBuckets::new(attempts),
        }))
    }

    /// Takes a token from the client's bucket, or [`IPV6_TOKENS`] from that of an IPv6 network.
    ///
    /// # Errors
    /// The time until the next attempt can succeed, if the bucket has too few.
    pub(super) fn take_token(
        &self,
        action: LimitedAction,
        client: ClientKey,
    ) -> Result<(), Duration> {
        let Some(limits) = &self.0 else {
            return Ok(());
        };
        let buckets = match action {
            LimitedAction::SignUp => &limits.sign_ups,
            LimitedAction::Code => &limits.codes,
        };
        let tokens = if client.is_ipv6() { IPV6_TOKENS } else { 1 };
        buckets.take(client, tokens)
    }
}

impl fmt::Debug for RateLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RateLimits")
    }
}

/// A token bucket for each client. A bucket is the time at which it will be full: a client that is not in the table has a
/// full one.
struct TokenBuckets {
    /// Tokens in a full bucket, and per minute.
    size: u32,
    full_at: Mutex<LruCache<ClientKey, Instant, RandomState>>,
}

impl TokenBuckets {
    fn new(size: u32) -> Self {
        // std's hasher, which clients cannot force into collisions.
        let table = LruCache::with_hasher(TRACKED_CLIENTS_MAX, RandomState::new());
        Self {
            size,
            full_at: Mutex::new(table),
        }
    }

    /// Takes `tokens`, at most a full bucket.
    ///
    /// # Errors
    /// The time until the bucket has enough. Nothing is taken.
    fn take(&self, client: ClientKey, tokens: u32) -> Result<(), Duration> {
        const MINUTE: Duration = Duration::from_secs(60);
        let refill = MINUTE * tokens.min(self.size) / self.size;
        let now = Instant::now();
        let mut table = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let full_at = table.get(&client).map_or(now, |at| now.max(*at)) + refill;
        // An empty bucket is full in a minute.
        match full_at.checked_duration_since(now + MINUTE) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                table.put(client, full_at);
                Ok(())
            }
        }
    }
}
