//! Durability: a sign-up that the server has acknowledged is never lost.
//!
//! A response with status 201 or 409 says that the address is on the list. The tests break the program and its
//! machine in every way they can, then open the list and compare it with the responses:
//!
//! - [`kill`] kills the program while it serves, starts and erases.
//! - [`kill_confirmations`] kills it while it asks people to confirm their address.
//! - [`kill_restore`] kills a restore, or makes its calls fail.
//! - [`kill_webhook`] kills it while it sends events to a webhook.
//! - [`power_cut`] rebuilds the disks that a power cut can leave behind, and opens the list on each.
//! - [`io_errors`] makes the disk fail, fill up and hang, and takes file descriptors away.
//! - [`interrupted_start`] interrupts the opening of a list at each system call.
//! - [`external_changes`] removes, replaces and overwrites the files of a served list.
//! - [`watchdog`] checks that a server whose store hangs stops its keep-alives, so that it is restarted.
//!
//! strace records what the running program does to its files, and makes its system calls fail.

mod disk_model;
mod external_changes;
mod interrupted_start;
mod io_errors;
mod kill;
mod kill_confirmations;
mod kill_restore;
mod kill_webhook;
mod power_cut;
mod recording;
mod store_files;
pub(crate) mod strace;
pub(crate) mod watchdog;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use landing::waitlist::{OwnerList, Selection, SledWaitlist, Waitlist};
use reqwest::Client;
use tokio::task::JoinSet;

/// Returns a number from the environment, which sets the length of a run.
pub(crate) fn env_number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Signs up the addresses from concurrent clients. Each client sends its next request as soon as it has a
/// response, and stops when a request gets none. Returns each address with the status of its response.
async fn sign_up(
    addr: &str,
    clients: u64,
    addresses: impl IntoIterator<Item = String, IntoIter: Send + 'static>,
) -> Vec<(String, Option<u16>)> {
    sign_up_from("/", addr, clients, addresses).await
}

/// The same, from a page of the site.
async fn sign_up_from(
    page: &str,
    addr: &str,
    clients: u64,
    addresses: impl IntoIterator<Item = String, IntoIter: Send + 'static>,
) -> Vec<(String, Option<u16>)> {
    let addresses = Arc::new(Mutex::new(addresses.into_iter()));
    // Now and then the client waits forever for a connection that a killed server has closed.
    let timeout = Duration::from_secs(30);
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        let client = Client::builder().timeout(timeout).build();
        let (client, addresses) = (client.expect("a client"), Arc::clone(&addresses));
        let url = format!("http://{addr}/api/waitlist");
        let referer = format!("http://{addr}{page}");
        tasks.spawn(async move {
            let mut responses = Vec::new();
            let next = || addresses.lock().expect("no panic").next();
            while let Some(email) = next() {
                let body = serde_json::json!({ "email": email });
                let post = client.post(&url).header("referer", &referer);
                let response = post.json(&body).send().await;
                let status = response.ok().map(|response| response.status().as_u16());
                responses.push((email, status));
                if status.is_none() {
                    break;
                }
            }
            responses
        });
    }
    tasks.join_all().await.concat()
}

/// Returns the addresses whose sign-up was acknowledged: with 201, or with 409 if they were already listed.
fn acknowledged_in(responses: &[(String, Option<u16>)]) -> impl Iterator<Item = &str> {
    let acknowledged = responses
        .iter()
        .filter(|(_, status)| matches!(status, Some(201 | 409)));
    acknowledged.map(|(email, _)| email.as_str())
}

/// Opens the list in a data directory and returns the keys of its entries.
///
/// # Panics
/// If the list does not open, holds an address twice, or has another count than entries.
fn listed_keys(data: &Path) -> BTreeSet<String> {
    let list = SledWaitlist::open(data).expect("the list opens");
    let entries = list.entries(Selection::default()).expect("readable");
    let keys: Vec<_> = entries
        .map(|entry| entry.expect("readable").email.key())
        .collect();
    assert_eq!(keys.len() as u64, list.count(), "entries and count");
    let keys: BTreeSet<_> = keys.into_iter().collect();
    assert_eq!(
        keys.len() as u64,
        list.count(),
        "an address is listed twice"
    );
    keys
}
