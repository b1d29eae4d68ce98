//! The sled store: its directory, the databases that it rejects, its queue and its compaction.

mod compaction;
mod opening;
mod writing;

use std::path::Path;

use landing::waitlist::SledWaitlist;

fn open(data: &Path) -> SledWaitlist {
    SledWaitlist::open(data).expect("the list opens")
}
