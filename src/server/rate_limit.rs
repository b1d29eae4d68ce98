//! How many sign-ups one client may try: a token bucket for each.

use std::{
    fmt,
    hash::RandomState,
    num::{NonZeroU32, NonZeroUsize},
    sync::{Mutex, PoisonError},
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, MonotonicClock},
    nanos::Nanos,
    state::StateStore,
};
use lru::LruCache;

use super::ClientKey;

/// Clients that are remembered, about 6 MB. It is a bound and not a guess: whoever has more addresses
/// than this is not held by limits for each of them. What is full forgets who has been away longest.
const TRACKED_CLIENTS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();

/// The limit of sign-ups for each client.
pub(super) struct SignUpRateLimit(Option<RateLimiter<ClientKey, TokenBuckets, MonotonicClock>>);

impl SignUpRateLimit {
    /// So many a minute, and as many at once. 0 lifts it.
    pub(super) fn per_minute(sign_ups: u32) -> Self {
        let quota = NonZeroU32::new(sign_ups).map(Quota::per_minute);
        Self(quota.map(|quota| RateLimiter::new(quota, TokenBuckets::default(), MonotonicClock)))
    }

    /// Takes a token of the client's.
    ///
    /// # Errors
    /// How many seconds it takes until there is one.
    pub(super) fn take_token(&self, client: ClientKey) -> Result<(), u64> {
        let Some(limiter) = &self.0 else {
            return Ok(());
        };
        limiter.check_key(&client).map_err(|not_until| {
            let wait = not_until.wait_time_from(limiter.clock().now());
            wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
        })
    }
}

impl fmt::Debug for SignUpRateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignUpRateLimit")
    }
}

/// governor's own tables grow with every address that is seen.
struct TokenBuckets(Mutex<LruCache<ClientKey, Nanos, RandomState>>);

impl Default for TokenBuckets {
    fn default() -> Self {
        // std's hash, which nobody outside can steer.
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
