//! The rate limit of sign-ups: one token bucket per client.

use std::{
    fmt,
    hash::RandomState,
    num::{NonZeroU32, NonZeroUsize},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, MonotonicClock},
    nanos::Nanos,
    state::StateStore,
};
use lru::LruCache;

use super::ClientKey;

/// Maximum number of clients in the table, which then takes about 6 MB. A full table drops the client that has
/// been inactive the longest. An attacker with more addresses than this could not be limited per address anyway.
const TRACKED_CLIENTS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();

/// The limit of sign-ups for each client.
pub(super) struct SignUpRateLimit(Option<RateLimiter<ClientKey, TokenBuckets, MonotonicClock>>);

impl SignUpRateLimit {
    /// Allows `sign_ups` per minute and client, and as many in one burst. 0 means no limit.
    pub(super) fn per_minute(sign_ups: u32) -> Self {
        let quota = NonZeroU32::new(sign_ups).map(Quota::per_minute);
        Self(quota.map(|quota| RateLimiter::new(quota, TokenBuckets::default(), MonotonicClock)))
    }

    /// Takes a token from the client's bucket.
    ///
    /// # Errors
    /// The time until the next token, if the bucket is empty.
    pub(super) fn take_token(&self, client: ClientKey) -> Result<(), Duration> {
        let Some(limiter) = &self.0 else {
            return Ok(());
        };
        limiter
            .check_key(&client)
            .map_err(|not_until| not_until.wait_time_from(limiter.clock().now()))
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
