//! Detects that another program has written to sled's log, such as `cp -a backup/. data/`.
//!
//! The length of the log is not enough: sled extends its log in steps, so a backup is often as long. Its timestamps
//! would be enough, but writes become slower when the timestamps are queried (see [`FileState`]).
//!
//! [`FileState`]: super::files::FileState

use std::path::Path;

/// Watches the log. It detects nothing on systems without inotify, or once the user has reached the limit of inotify
/// instances.
#[derive(Debug)]
pub(super) struct OverwriteMonitor {
    #[cfg(target_os = "linux")]
    events: Option<rustix::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl OverwriteMonitor {
    /// Starts to watch a log. sled must have locked it, which means that every earlier user has closed it.
    pub(super) fn watch(log: &Path) -> Self {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

        let start = || {
            let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            // sled keeps the log open, so each event comes from another program.
            add_watch(&events, log, WatchFlags::CLOSE_WRITE)?;
            rustix::io::Result::Ok(events)
        };
        Self {
            events: start().ok(),
        }
    }

    /// Returns whether another program has opened the log for writing and closed it since the last call. This consumes
    /// the event.
    pub(super) fn take_overwrite(&self) -> bool {
        let Some(events) = &self.events else {
            return false;
        };
        let mut event = [0; 1024];
        rustix::io::read(events, &mut event).is_ok_and(|length| length > 0)
    }
}

#[cfg(not(target_os = "linux"))]
impl OverwriteMonitor {
    pub(super) fn watch(_: &Path) -> Self {
        Self {}
    }

    pub(super) fn take_overwrite(&self) -> bool {
        false
    }
}
