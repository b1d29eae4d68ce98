//! File handles: each connection takes one.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Files reserved for the list, the log, the control socket and the process itself. The control socket needs up
/// to 8 of them.
const RESERVED_FILES: u64 = 64;

/// Raises the limit on open files to what `connections` need, as far as the administrator allows it. Services
/// start with 1,024 (systemd.exec(5)) because of programs that use select(2).
///
/// Returns how many connections to accept. They are fewer if the limit stays lower, so visitors never take the
/// last file from the list or from the owner.
pub(super) fn raise_for(connections: u32) -> u32 {
    let needed = u64::from(connections) + RESERVED_FILES;
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
            "this process may open {files} files, so it serves {allowed} connections at a time and not \
             {connections}: raise its limit to {needed} (ulimit -n, or LimitNOFILE=), or lower \
             --max-connections"
        );
    }
    allowed
}

/// Returns how many of these files connections may take: all but [`RESERVED_FILES`], or half if there are very few.
fn connections_for(files: u64) -> u32 {
    let connections = files.saturating_sub(RESERVED_FILES).max(files / 2).max(1);
    u32::try_from(connections).unwrap_or(u32::MAX)
}
