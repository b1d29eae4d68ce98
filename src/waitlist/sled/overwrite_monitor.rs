//! Notices that another program has written to sled's log, such as `cp -a backup/. data/`.
//!
//! The length of a file says too little: sled extends its log in steps, so an older copy is often as long. Its
//! times would say it, but a file whose times are asked for is slower to write (see [`FileState`]).
//!
//! [`FileState`]: super::files::FileState

use std::path::Path;

/// Watches the log. On systems without inotify, and when the user's limit of inotify instances is reached, it
/// notices nothing.
#[derive(Debug)]
pub(super) struct OverwriteMonitor {
    #[cfg(target_os = "linux")]
    events: Option<rustix::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl OverwriteMonitor {
    /// Starts to watch a log that sled has locked: who had it before has closed it.
    pub(super) fn watch(log: &Path) -> Self {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

        let start = || {
            let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            // sled does not close it while it uses it, so each event is another program's.
            add_watch(&events, log, WatchFlags::CLOSE_WRITE)?;
            rustix::io::Result::Ok(events)
        };
        Self {
            events: start().ok(),
        }
    }

    /// Whether another program has had the log open for writing, and has closed it.
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
