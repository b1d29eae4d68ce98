//! The limits of requests and connections. `config/mod.rs` has those that the owner can configure.

use std::time::Duration;

/// Maximum body of a form, in bytes. The longest address needs at most 800, if a form encodes each character.
pub(super) const BODY_MAX_BYTES: usize = 4096;

/// Timeout for the body of a form to arrive.
pub(super) const BODY_READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of the head of a request, in bytes. nginx accepts 8 KiB per line and 32 KiB in total. HTTP/2 counts 32 bytes
/// more for each field (RFC 9113, 6.5.2).
pub(super) const HEAD_MAX_BYTES: u32 = 16 * 1024;

/// Maximum number of items of a list header that count, also empty ones. A head has room for 16,000 commas, and to split them
/// takes longer than everything else that a request for the page needs.
pub(super) const LIST_ITEMS_MAX: usize = 256;

/// The timeouts of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// For the headers of an HTTP/1 request to arrive. Also closes a keep-alive connection without a further
    /// request. (Apache's defaults are 20 and 5 seconds.)
    pub(super) header_read: Duration,
    /// For a connection without any traffic. Longer than a body and the store may take together, after the head.
    pub(super) idle: Duration,
}

/// The timeouts of clients that are not trusted proxies.
pub(super) const CLIENT_TIMEOUTS: Timeouts = Timeouts {
    header_read: Duration::from_secs(15),
    idle: Duration::from_secs(30),
};

/// The timeouts of trusted proxies: longer than a proxy keeps an idle connection (nginx and AWS's load balancers
/// 60 seconds, Caddy 120, Google's load balancers 600). Otherwise the server could close a connection just as the
/// proxy reuses it. Slow visitors are the proxy's concern.
pub(super) const PROXY_TIMEOUTS: Timeouts = Timeouts {
    header_read: Duration::from_secs(15 * 60),
    idle: Duration::from_secs(15 * 60),
};

/// How long a request may still take to arrive once the server shuts down. A client that stalls must not delay a
/// restart by the whole `--shutdown-grace`, which is for requests that wait for the store.
pub(super) const SHUTDOWN_READ_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of connections that wait in the kernel to be accepted. `net.core.somaxconn` may lower it. With
/// tokio's default of 128, one client that reconnected after each rejection made others wait a second for their
/// next SYN.
pub(super) const LISTEN_BACKLOG: u32 = 4096;

/// What the kernel keeps for a client that does not read, in bytes; Linux doubles it. The page fits, also uncompressed. By
/// default it grows to 4 MB, so 3,584 connections of a client could hold 10 GB.
pub(super) const SEND_BUFFER_BYTES: u32 = 128 * 1024;

/// The server makes room when less than an eighth of `--max-connections` is free. With the default of 4,096, that is
/// beyond 3,584 connections: 300 browsers behind one address open 1,800.
pub(super) const RESERVE_DIVISOR: usize = 8;

/// The share of a client is a 64th of `--max-connections`: 64 of the default. While room is made, a client within its share
/// loses only idle connections. So slow connections need 64 clients (IPv4 addresses, or IPv6 networks) to take all places.
/// While the store hangs, nine are enough: one takes 7/8, and eight the rest. Trusted proxies are exempt.
pub(super) const SHARE_DIVISOR: usize = 64;

/// How long a connection waits for a place. Most wait for a second or two: until others have been slow for
/// [`EVICTION_AGE_MIN`].
pub(super) const PLACE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that has been idle or slow for less than this is not evicted: the client may be sending a request at this
/// moment, and would lose it.
pub(super) const EVICTION_AGE_MIN: Duration = Duration::from_secs(1);

/// Minimum interval between two searches for connections to close. A search among 4,096 takes about 0.2 ms.
pub(super) const MAKE_ROOM_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum number of idle connections that one search closes: 6,400 a second. They get no response, so closing them is cheap.
pub(super) const IDLE_EVICTION_BATCH: usize = 64;

/// Maximum number of other connections that one search closes: 800 a second. With 6,400 a second, each with a response, an
/// attacker who replaced them kept the processors busy, and visitors waited.
pub(super) const SLOW_EVICTION_BATCH: usize = 8;

/// Maximum number of concurrent requests per HTTP/2 connection: the minimum that RFC 9113 (6.5.2) recommends. A
/// client that reads no responses keeps all its requests in memory, with their headers and trailers. So only
/// trusted proxies may use HTTP/2. Browsers do not use it without TLS.
pub(super) const HTTP2_MAX_STREAMS: u32 = 100;

/// Flow-control window of an HTTP/2 connection, in bytes: the smallest possible (RFC 9113, 6.9.2).
pub(super) const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 65_535;

/// How long the server still reads from a connection that it closes. Otherwise bytes that the client is still
/// sending would reset the connection, and the client would lose the response.
pub(super) const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the server still reads from a connection that makes room: others may be waiting for its place. With half a
/// second, an attacker who replaced each closed connection at once made a visitor wait for 0.3 seconds.
pub(super) const EVICTED_LINGER_TIMEOUT: Duration = Duration::from_millis(50);

/// Maximum number of bytes that the server still reads from a connection that it closes.
pub(super) const LINGER_MAX_BYTES: u64 = 64 * 1024;

/// How long a request may wait for the store, in all its calls together. HAProxy waits for 12 seconds in its recipe, and the
/// other proxies longer.
pub(super) const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of the store in `/readyz`. Load balancers do not wait much longer.
pub(super) const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// `Retry-After` in seconds while the store fails or places are scarce.
pub(super) const RETRY_AFTER_SECONDS: u64 = 1;

/// Minimum interval between two rebuilds of the landing page. It keeps the count on the page at most 0.75 s
/// old: half a second, and a quarter by which an instance may lag behind its database.
pub(super) const PAGE_MIN_INTERVAL: Duration = Duration::from_millis(500);

/// How long the count must be stable before the page is compressed at the highest quality, which takes 50 ms of
/// processor time.
pub(super) const PAGE_QUIET_PERIOD: Duration = Duration::from_secs(1);

/// Minimum interval between two equal warnings that any client can cause.
pub(super) const WARNING_INTERVAL: Duration = Duration::from_secs(60);
