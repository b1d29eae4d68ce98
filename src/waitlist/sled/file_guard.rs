//! Ends the process when another program has changed the files of the list, and reveals a log that lost its end.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::files::{create_private_dirs, is_same_file};
use crate::exit::{EXIT_LIST_LOST, print_and_exit};

/// File in a data directory in which a list was created. If the list is removed, it stops the start that would create an empty
/// one in its place.
pub(super) const CREATED_FILE: &str = "created";

/// Notes that there is a list in a data directory.
pub(super) fn note_creation(data: &Path) {
    // It fails if this process may not create the directory again. The package's service does so as root (`ExecStopPost=` in
    // `landing.service`).
    let _ = create_private_dirs(data);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(data.join(CREATED_FILE));
    // A list whose directory is full must open all the same.
    let synced = file.and_then(|file| file.sync_all());
    let _ = synced.and_then(|()| File::open(data)?.sync_all());
}

/// The files of an open list.
pub(super) struct FileGuard {
    /// sled's log, opened a second time in order to sync it.
    pub(super) log: File,
    pub(super) log_path: PathBuf,
    overwrite_monitor: OverwriteMonitor,
    pub(super) high_water_mark: HighWaterMark,
}

impl FileGuard {
    /// Guards the files. sled must have locked the log, which means that every earlier user has closed it.
    pub(super) fn new(log: File, log_path: PathBuf, high_water_mark: HighWaterMark) -> Self {
        Self {
            overwrite_monitor: OverwriteMonitor::watch(&log_path),
            log,
            log_path,
            high_water_mark,
        }
    }

    /// Ends the process if another program has written to the log, such as `cp` from a backup. Nothing may be
    /// written from then on, because the next start must find what that program left.
    pub(super) fn exit_if_overwritten(&self) {
        if self.overwrite_monitor.take_overwrite() {
            self.exit();
        }
    }

    /// Ends the process if the files were removed or replaced. Otherwise sign-ups would be lost with this process,
    /// or with the next start.
    pub(super) fn exit_if_missing(&self) {
        self.exit_if_overwritten();
        let mark = self.log_path.with_file_name(MARK_FILE);
        for (file, path) in [
            (&self.log, &self.log_path),
            (self.high_water_mark.file(), &mark),
        ] {
            // If that cannot be determined, it counts as the same.
            if !is_same_file(file, path).unwrap_or(true) {
                self.exit();
            }
        }
    }

    fn exit(&self) -> ! {
        let store = self.log_path.parent().unwrap_or(&self.log_path);
        let data = store.parent().unwrap_or(store);
        note_creation(data);
        print_and_exit(
            &format!(
                "the files of the waitlist in {} were removed, replaced or overwritten while they were in use; the \
                 program stops; restore a backup, or remove what is left of the data directory and put a copy in its place",
                store.display()
            ),
            EXIT_LIST_LOST,
        )
    }
}

/// Detects that another program has written to the log, such as `cp -a backup/. data/`. It detects nothing on systems
/// without inotify, or once the user has reached the limit of inotify instances.
///
/// The length of the log is not enough: sled extends its log in steps, so a backup is often as long. Its timestamps
/// would be enough, but writes become slower when they are queried (see `FileId`).
#[derive(Debug)]
struct OverwriteMonitor {
    #[cfg(target_os = "linux")]
    events: Option<rustix::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl OverwriteMonitor {
    fn watch(log: &Path) -> Self {
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
    fn take_overwrite(&self) -> bool {
        let Some(events) = &self.events else {
            return false;
        };
        let mut event = [0; 1024];
        rustix::io::read(events, &mut event).is_ok_and(|length| length > 0)
    }
}

#[cfg(not(target_os = "linux"))]
impl OverwriteMonitor {
    fn watch(_: &Path) -> Self {
        Self {}
    }

    fn take_overwrite(&self) -> bool {
        false
    }
}

/// Name of the file in the store's directory.
pub(super) const MARK_FILE: &str = "mark";

/// Size of the number in the file, in bytes: the number (big-endian) and its complement, which reveals a torn write.
const MARK_BYTES: usize = 16;

/// Returns the path of the file of a store.
pub(super) fn mark_path(store: &Path) -> PathBuf {
    store.join(MARK_FILE)
}

/// The high-water mark: a file beside the log with the progress of the list. It reveals a log that lost its end.
///
/// When sled finds damage, it silently returns to the last state before it. The mark records how many items were
/// numbered. It is written after each batch is durable, so it is never ahead of the list.
/// After the process ends it is exact. It is not synced with each batch, so after a power cut it may be behind by what
/// the kernel had not written yet (half a minute).
#[derive(Debug)]
pub(super) struct HighWaterMark(File);

impl HighWaterMark {
    /// Creates the mark of an empty list.
    pub(super) fn create(store: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600);
        Self(file.open(mark_path(store))?).write(0)
    }

    pub(super) fn open(store: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(mark_path(store));
        file.map(Self)
    }

    /// Writes the number after the last item. It only grows.
    pub(super) fn write(&self, end: u64) -> io::Result<()> {
        let bytes = [end, !end].map(u64::to_be_bytes);
        self.0.write_all_at(bytes.as_flattened(), 0)
    }

    /// Returns the recorded number, which the list has at least reached. Returns `None` if it is damaged, so that it does
    /// not reveal what the list has lost.
    pub(super) fn read(&self) -> io::Result<Option<u64>> {
        let mut bytes = [0; MARK_BYTES];
        match self.0.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let both = u128::from_be_bytes(bytes);
        let (end, complement) = ((both >> 64) as u64, both as u64);
        Ok((end == !complement).then_some(end))
    }

    /// Returns the open file.
    pub(super) fn file(&self) -> &File {
        &self.0
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}
