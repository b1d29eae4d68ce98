//! The limit on open files: each connection needs a file descriptor. As many connections wait as are served
//! (`src/server/connections/limit.rs`). An eighth as many may be closing after they have waited in vain.

use rustix::process::{Resource, getrlimit, setrlimit};

/// File descriptors reserved for the list, the log, the control socket and the process itself. The control socket needs
/// up to 8 of them.
const RESERVED_FILES: u64 = 64;

/// File descriptors for each 8 connections that are served.
const FILES_PER_8_CONNECTIONS: u64 = 8 + 8 + 1;

/// Raises the limit on open files so that it suffices for `connections`, as far as the hard limit allows. Services
/// start with 1,024 (systemd.exec(5)) because of programs that use select(2).
///
/// Returns how many connections to accept. This is less than `connections` if the limit stays too low, so visitors
/// never take the last file descriptor from the list or from the owner.
pub(super) fn raise_for(connections: u32) -> u32 {
    let needed = u64::from(connections) * FILES_PER_8_CONNECTIONS / 8 + RESERVED_FILES;
    let mut limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current.filter(|current| *current < needed) else {
        return connections;
    };
    let wanted = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    limit.current = Some(wanted);
    let files = match setrlimit(Resource::Nofile, limit) {
        Ok(()) => wanted,
        Err(_) => current,
    };
    let allowed = connections_for(files).min(connections);
    if allowed < connections {
        tracing::warn!(
            "the limit of {files} open files allows {allowed} concurrent connections instead of {connections}; raise \
             it to {needed} (ulimit -n, or LimitNOFILE=), or lower --max-connections"
        );
    }
    allowed
}

/// Returns how many connections can be served with these files. All but [`RESERVED_FILES`] are for connections, or half if
/// there are very few.
fn connections_for(files: u64) -> u32 {
    let files = files.saturating_sub(RESERVED_FILES).max(files / 2);
    u32::try_from(files * 8 / FILES_PER_8_CONNECTIONS)
        .unwrap_or(u32::MAX)
        .max(1)
}
