//! What a response promises, whatever happens to the program and its machine.
//!
//! strace records what the running program does to its files, and makes calls of it fail.

mod disk_model;
mod external_changes;
mod interrupted_start;
mod io_errors;
mod kill;
mod power_cut;
mod recording;
mod strace;

use std::sync::{Arc, Mutex};

use reqwest::Client;
use tokio::task::JoinSet;

/// A number for a longer run than the usual one, given in the environment.
fn env_number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

/// As many clients sign up, each as soon as it has its last response. Returns each address with the
/// status of its response, or nothing where there was none.
async fn sign_up(
    addr: &str,
    clients: u64,
    addresses: impl IntoIterator<Item = String, IntoIter: Send + 'static>,
) -> Vec<(String, Option<u16>)> {
    let addresses = Arc::new(Mutex::new(addresses.into_iter()));
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        let (client, addresses) = (Client::new(), Arc::clone(&addresses));
        let url = format!("http://{addr}/api/waitlist");
        tasks.spawn(async move {
            let mut responses = Vec::new();
            let next = || addresses.lock().expect("no panic").next();
            while let Some(email) = next() {
                let body = serde_json::json!({ "email": email });
                let response = client.post(&url).json(&body).send().await;
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

/// The addresses whose sign-up was acknowledged: with 201, or with 409 as there already.
fn acknowledged(responses: &[(String, Option<u16>)]) -> impl Iterator<Item = &str> {
    let is_promise = |status| matches!(status, Some(201 | 409));
    let promises = responses
        .iter()
        .filter(move |(_, status)| is_promise(*status));
    promises.map(|(email, _)| email.as_str())
}
