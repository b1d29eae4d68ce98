//! The limits of a request, a connection and a shutdown. Those that an owner may set are in
//! `config.rs`.

use std::time::Duration;

/// Largest body of a sign-up, in bytes. The longest address that is one needs 270.
pub(super) const BODY_MAX_BYTES: usize = 4096;

/// How long the body of a sign-up may take to arrive.
pub(super) const BODY_READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest path with its query, in bytes. The site's own are below 100; campaigns add to them.
pub(super) const URL_MAX_BYTES: usize = 2048;

/// Largest head of a request, in bytes: nginx takes 8 KiB a line and 32 KiB in all.
pub(super) const HEADERS_MAX_BYTES: usize = 16 * 1024;

/// Maximum number of header fields in a request: hyper's default for HTTP/1. Each takes more memory than its
/// bytes.
pub(super) const HEADER_FIELDS_MAX: usize = 100;

/// Maximum head in HTTP/2: the same as in HTTP/1, plus the 32 bytes that HTTP/2 adds for each field (RFC 9113,
/// 6.5.2). h2 itself rejects larger ones.
pub(super) const HTTP2_HEADERS_MAX_BYTES: u32 = (HEADERS_MAX_BYTES + 32 * HEADER_FIELDS_MAX) as u32;

/// Maximum number of items read from a list header such as `Accept-Encoding`. Browsers send five.
pub(super) const LIST_ITEMS_MAX: usize = 32;

/// The same with the empty items, which are ignored (RFC 9110, 5.6.1).
pub(super) const LIST_COMMAS_MAX: usize = 256;

/// How long a connection is waited for.
pub(super) struct Timeouts {
    /// The head of an HTTP/1 request must arrive in this time; a connection that is kept alive is closed
    /// when its next request takes longer. (Apache's defaults are 20 and 5 seconds.)
    pub(super) header_read: Duration,
    /// No byte goes either way for so long. Longer than any answer takes.
    pub(super) idle: Duration,
    /// It is then closed in good order, whatever goes on in it: who sends or reads a byte now and then
    /// can hold a place no longer.
    pub(super) max_age: Duration,
}

/// With anybody.
pub(super) const CLIENT_TIMEOUTS: Timeouts = Timeouts {
    header_read: Duration::from_secs(15),
    idle: Duration::from_secs(30),
    max_age: Duration::from_secs(2 * 60),
};

/// With a trusted proxy: longer than it keeps a connection that it is not using (nginx and AWS's
/// balancers 60 seconds, Caddy 120, Google's balancers 600), so that none is closed in the moment it
/// is used again. Visitors' sloth is the proxy's to bear.
pub(super) const PROXY_TIMEOUTS: Timeouts = Timeouts {
    header_read: Duration::from_secs(15 * 60),
    idle: Duration::from_secs(15 * 60),
    max_age: Duration::from_secs(24 * 60 * 60),
};

/// How long a connection that is to be closed may take to finish what is under way.
pub(super) const GRACEFUL_CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Connections that may wait in the kernel to be accepted, as far as it lets them
/// (`net.core.somaxconn`). With tokio's 128 a client that came back at once whenever it was refused
/// had others wait a second for their next SYN.
pub(super) const LISTEN_BACKLOG: u32 = 4096;

/// Connections that one client may have; a browser opens six. Trusted proxies may have all.
pub(super) const CONNECTIONS_PER_CLIENT_MAX: usize = 100;

/// Concurrent requests in one HTTP/2 connection: the minimum that RFC 9113 (6.5.2) recommends. A client that reads
/// no responses keeps all requests in memory, each with its head and trailers, so only trusted proxies may speak
/// HTTP/2. No browser speaks it without TLS.
pub(super) const HTTP2_MAX_STREAMS: u32 = 100;

/// Bytes of bodies that one HTTP/2 connection may send ahead; the least there is (RFC 9113, 6.9.2).
pub(super) const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 65_535;

/// How long a closed connection is still read. Otherwise bytes that the client is still sending would reset the
/// connection, and the client would lose the response.
pub(super) const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of bytes that are then read.
pub(super) const LINGER_MAX_BYTES: u64 = 64 * 1024;

/// Timeout of `/readyz` for the store. Load balancers do not wait much longer.
pub(super) const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// What a client is told to wait, in seconds, when the store can't answer.
pub(super) const RETRY_AFTER_SECONDS: u64 = 1;

/// Between two makings of the page, while its count changes. The count in it is never older than a second,
/// also with the quarter of one by which a copy may be behind its database. (Made once a second, it was
/// 1.25 s old.)
pub(super) const PAGE_MIN_INTERVAL: Duration = Duration::from_millis(500);

/// How long nobody must have joined for the page to be compressed as far as it goes. Each time, that took a
/// copy 50 ms of a processor.
pub(super) const PAGE_QUIET_PERIOD: Duration = Duration::from_secs(1);

/// How often a warning that strangers can bring about is logged at most.
pub(super) const WARNING_INTERVAL: Duration = Duration::from_secs(60);
