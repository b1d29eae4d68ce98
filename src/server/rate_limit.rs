//! The rate limits of sign-ups and of codes: one token bucket each per client.

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

/// How many tokens a sign-up from an IPv6 network takes. One from an IPv4 address takes one: a conference, an office or a
/// mobile carrier puts thousands of people behind it. With IPv6, each phone or household has its own /64 (RFC 6177,
/// RFC 7849), and an attacker gets many of them.
const IPV6_TOKENS: NonZeroU32 = NonZeroU32::new(12).unwrap();

/// What a client attempts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attempt {
    /// To sign up.
    SignUp,
    /// To confirm an address by a code. A crowd that has just signed up must be able to.
    Code,
}

/// The limits of attempts for each client.
pub(super) struct RateLimits(Option<Limits>);

struct Limits {
    sign_ups: TokenLimiter,
    codes: TokenLimiter,
    /// [`IPV6_TOKENS`], or fewer if a bucket has fewer.
    ipv6_tokens: NonZeroU32,
}

type TokenLimiter = RateLimiter<ClientKey, TokenBuckets, MonotonicClock>;

impl RateLimits {
    /// Allows this number of attempts of each kind per minute and IPv4 address, and as many in one burst. An IPv6 network
    /// may make a twelfth of them, but at least one. 0 means no limit.
    pub(super) fn per_minute(attempts: u32) -> Self {
        let limiter = |quota| RateLimiter::new(quota, TokenBuckets::default(), MonotonicClock);
        Self(NonZeroU32::new(attempts).map(|attempts| Limits {
            sign_ups: limiter(Quota::per_minute(attempts)),
            codes: limiter(Quota::per_minute(attempts)),
            ipv6_tokens: IPV6_TOKENS.min(attempts),
        }))
    }

    /// Takes a token from the client's bucket, or [`IPV6_TOKENS`] from that of an IPv6 network.
    ///
    /// # Errors
    /// The time until the next attempt can succeed, if the bucket has too few.
    pub(super) fn take_token(&self, attempt: Attempt, client: ClientKey) -> Result<(), Duration> {
        let Some(limits) = &self.0 else {
            return Ok(());
        };
        let limiter = match attempt {
            Attempt::SignUp => &limits.sign_ups,
            Attempt::Code => &limits.codes,
        };
        let tokens = if client.is_ipv6() {
            limits.ipv6_tokens
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

impl fmt::Debug for RateLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RateLimits")
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
