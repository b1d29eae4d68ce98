//! Security headers, limits and access checks, and what the log contains and loses.

mod blocked_stderr;
mod client_address;
mod connection_eviction;
mod connection_limit;
mod connections;
mod control_socket_limits;
mod http2;
#[cfg(target_os = "linux")]
mod log_output;
pub(crate) mod overload;
mod rate_limit;
mod readiness;
mod shutdown;
mod shutdown_grace;
mod store_deadline;
