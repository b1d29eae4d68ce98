//! The rate limit of sign-ups: one token bucket per client.

use std::{
    fmt,
    hash::RandomState,
    num::{NonZeroU32, NonZeroUsize},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use governor::{
    InsufficientCapacity, Quota, RateLimiter,
    clock::{Clock, MonotonicClock},
    nanos::Nanos,
    state::StateStore,
};
use lru::LruCache;

use super::ClientKey;

/// Maximum number of clients in the table, which then takes about 6 MB. A full table drops the client that has
/// been inactive the longest. An attacker with more addresses than this could not be limited per address anyway.
const TRACKED_CLIENTS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();

/// How many tokens a sign-up from an IPv6 network takes: an IPv4 address has the limit of twelve networks. A conference, an
/// office or a mobile carrier puts thousands of people behind one IPv4 address. With IPv6, each phone or household has
/// its own /64 (RFC 6177, RFC 7849), and an attacker gets many of them.
const IPV6_TOKENS: NonZeroU32 = NonZeroU32::new(12).unwrap();

/// The limit of sign-ups for each client.
pub(super) struct SignUpRateLimit(Option<Limit>);

struct Limit {
    limiter: RateLimiter<ClientKey, TokenBuckets, MonotonicClock>,
    /// [`IPV6_TOKENS`], or fewer if a bucket has fewer.
    ipv6_tokens: NonZeroU32,
}

impl SignUpRateLimit {
    /// Allows `sign_ups` per minute and IPv4 address, and as many in one burst. An IPv6 network may make a twelfth of them,
    /// but at least one. 0 means no limit.
    pub(super) fn per_minute(sign_ups: u32) -> Self {
        Self(NonZeroU32::new(sign_ups).map(|sign_ups| Limit {
            limiter: RateLimiter::new(
                Quota::per_minute(sign_ups),
                TokenBuckets::default(),
                MonotonicClock,
            ),
            ipv6_tokens: IPV6_TOKENS.min(sign_ups),
        }))
    }

    /// Takes a token from the client's bucket, or [`IPV6_TOKENS`] from that of an IPv6 network.
    ///
    /// # Errors
    /// The time until the next attempt can succeed, if the bucket has too few.
    pub(super) fn take_token(&self, client: ClientKey) -> Result<(), Duration> {
        let Some(Limit {
            limiter,
            ipv6_tokens,
        }) = &self.0
        else {
            return Ok(());
        };
        let tokens = if client.is_ipv6() {
            *ipv6_tokens
        } else {
            NonZeroU32::MIN
        };
        match limiter.check_key_n(&client, tokens) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(not_until)) => Err(not_until.wait_time_from(limiter.clock().now())),
            // A bucket holds at least `ipv6_tokens`.
            Err(InsufficientCapacity(_)) => unreachable!("more tokens than a bucket holds"),
        }
    }
}

impl fmt::Debug for SignUpRateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignUpRateLimit")
    }
}

/// A bounded table. governor's own tables grow with every new address.
struct TokenBuckets(Mutex<LruCache<ClientKey, Nanos, RandomState>>);

impl Default for TokenBuckets {
    fn default() -> Self {
        // std's hasher, which clients cannot force into collisions.
        let table = LruCache::with_hasher(TRACKED_CLIENTS_MAX, RandomState::new());
        Self(Mutex::new(table))
    }
}

impl StateStore for TokenBuckets {
    type Key = ClientKey;

    fn measure_and_replace<T, F, E>(&self, client: &ClientKey, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (outcome, bucket) = measure(buckets.get(client).copied())?;
        buckets.put(*client, bucket);
        Ok(outcome)
    }
}
