//! Lists with entries that no file can import: with sources and confirmations.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use landing::waitlist::{
    CALL_MAX, Email, PostgresWaitlist, SledWaitlist, Source, Waitlist, WaitlistEntry,
};
use tokio::runtime::Runtime;

use super::TestCli;
use crate::{
    postgres_server::SHARED_SERVER,
    process::{Sandbox, ServerProcess},
};

/// Returns a person who joined this long ago.
pub(super) fn joined_ago(name: &str, age: Duration) -> WaitlistEntry {
    let email = Email::parse(&format!("{name}@example.com")).expect("an address");
    WaitlistEntry::new(email, SystemTime::now() - age)
}

/// Gives an entry a source.
pub(super) fn from_source(source: &str, entry: WaitlistEntry) -> WaitlistEntry {
    let source = Some(Source::parse(source).expect("a source"));
    WaitlistEntry { source, ..entry }
}

/// Returns a directory without a server, with these entries on the list.
pub(super) fn without_server_with(entries: &[WaitlistEntry]) -> TestCli {
    let sandbox = Sandbox::new();
    fill_directory(&sandbox.path().join("data"), entries);
    TestCli {
        sandbox,
        server: None,
        database: None,
    }
}

/// Returns the three places a list can be in, with these entries on each list.
pub(super) fn all_stores_with(entries: &[WaitlistEntry]) -> [TestCli; 3] {
    let mut served = without_server_with(entries);
    served.server = Some(served.sandbox.serve());
    let (sandbox, database) = (Sandbox::new(), SHARED_SERVER.create_database());
    let runtime = Runtime::new().expect("a runtime");
    let url = database.parse().expect("a URL");
    let list = PostgresWaitlist::open_or_create(&url, runtime.handle());
    fill(&list.expect("the list opens"), &runtime, entries);
    let mut command = sandbox.command();
    command.env("DATABASE_URL", &database);
    let in_database = TestCli {
        server: Some(ServerProcess::start(command)),
        sandbox,
        database: Some(database),
    };
    [without_server_with(entries), served, in_database]
}

fn fill_directory(data: &Path, entries: &[WaitlistEntry]) {
    let runtime = Runtime::new().expect("a runtime");
    let list = SledWaitlist::open(data).expect("the list opens");
    fill(&list, &runtime, entries);
}

fn fill(list: &dyn Waitlist, runtime: &Runtime, entries: &[WaitlistEntry]) {
    for batch in entries.chunks(CALL_MAX) {
        let joined = runtime.block_on(list.join_all(batch.to_vec()));
        joined.expect("writable");
    }
}
