//! File handles: each connection takes one.

use rustix::process::{Resource, getrlimit, setrlimit};

/// What the list, its log and the process itself need.
const OTHERS: u64 = 64;

/// Has the system allow as many as `connections` take, as far as the administrator has. Services
/// start with 1,024 (systemd.exec(5)) because of programs that use select(2).
pub(super) fn allow(connections: u32) {
    let needed = u64::from(connections) + OTHERS;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    limit.current = Some(limit.maximum.map_or(needed, |maximum| maximum.min(needed)));
    let allowed = setrlimit(Resource::Nofile, limit).is_ok() && limit.current == Some(needed);
    if !allowed {
        tracing::warn!(
            "this process may not open the {needed} files that {connections} connections take: raise \
             its limit (ulimit -n, or LimitNOFILE=), or lower --max-connections"
        );
    }
}
