//! What an attacker from outside may try.

mod blocked_stderr;
mod clients;
mod connections;
mod control_socket;
mod cross_site;
mod headers;
mod http2;
mod log;
mod overload;
mod readiness;
mod shutdown;
mod sign_up_limit;
