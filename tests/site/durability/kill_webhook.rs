//! Kills servers that send events to a webhook, while people join, and takes some off the list by commands, with and without a
//! server. No event may be lost. One whose response is lost comes twice.

use std::{collections::BTreeSet, iter, sync::Mutex, thread, time::Duration};

use futures_util::future::join_all;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::runtime::Runtime;

use super::{acknowledged_in, env_number, sign_up};
use crate::{
    postgres_server::{SHARED_SERVER, psql},
    process::{Sandbox, ServerProcess, signal, wait_until},
    store::webhook_endpoint::{Endpoint, Reply},
    webhook::{run, serving},
};

/// `make torture NAME=kill` kills more often.
const ROUNDS: u64 = 8;
const CLIENTS: u64 = 3;

#[test]
fn kills_lose_no_event() {
    kill_servers(None, 1);
}

#[test]
fn kills_of_several_instances_lose_no_event() {
    let database = SHARED_SERVER.create_database();
    kill_servers(Some(&database), 2);
}

fn kill_servers(database: Option<&str>, instances: u64) {
    let runtime = Runtime::new().expect("a runtime");
    let mut random = StdRng::seed_from_u64(env_number("KILL_SEED", 1));
    let chance = Mutex::new(StdRng::seed_from_u64(1));
    let endpoint = Endpoint::scripted(move |_| {
        // After a failure, all wait for five seconds.
        match chance.lock().expect("no panic").random_ratio(1, 300) {
            true => Reply::Cut,
            false => Reply::Status(204),
        }
    });
    let sandbox = Sandbox::new();
    let start = || {
        if let Some(url) = database {
            // A minute after the kill. The first time, there is no such table.
            let expire = "UPDATE waitlist_webhook SET leased_until = now() - interval '1 second'";
            psql(url, expire);
        }
        ServerProcess::start(serving(&sandbox, &endpoint.url(), database))
    };
    let (mut joined, mut left) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..env_number("KILL_ROUNDS", ROUNDS) {
        let servers: Vec<_> = (0..instances).map(|_| start()).collect();
        let processes: Vec<_> = servers.iter().map(|it| it.child.id()).collect();
        let delay = Duration::from_millis(random.random_range(30..600));
        let killer = thread::spawn(move || {
            thread::sleep(delay);
            processes.into_iter().for_each(|it| signal(it, "-KILL"));
        });
        let responses = servers.iter().zip(0..).map(|(server, instance)| {
            let addresses = (0..).map(move |it| format!("{round}-{instance}-{it}@example.com"));
            // The endpoint gets one after the other.
            let addresses = addresses.take(100);
            sign_up(&server.addr, CLIENTS, addresses)
        });
        let responses = runtime.block_on(join_all(responses)).concat();
        joined.extend(acknowledged_in(&responses).map(str::to_owned));
        killer.join().expect("no panic");
        drop(servers);
        let _server = (round % 2 == 0).then(start);
        let leaving: Vec<_> = joined
            .difference(&left)
            .step_by(3)
            .take(5)
            .cloned()
            .collect();
        if !leaving.is_empty() {
            let args = iter::once("unsubscribe").chain(leaving.iter().map(String::as_str));
            run(&sandbox, database, &args.collect::<Vec<_>>());
        }
        left.extend(leaving);
    }
    let _server = start();
    wait_until("no event waits", || {
        let checked = run(&sandbox, database, &["check", "--json"]);
        let checked: serde_json::Value = serde_json::from_slice(&checked.stdout).expect("JSON");
        checked["webhook_waiting"] == 0
    });
    let accepted = endpoint.accepted();
    let first = |kind: &str, typed: &String| {
        let what = format!("person.{kind} {typed}");
        accepted.iter().position(|it| *it == what)
    };
    assert!(
        joined.len() > 50 && left.len() > 10,
        "{} joined",
        joined.len()
    );
    for typed in &joined {
        assert!(first("joined", typed).is_some(), "{typed} is lost");
    }
    for typed in &left {
        assert!(first("left", typed) > first("joined", typed), "{typed}");
    }
    let distinct: BTreeSet<_> = accepted.iter().collect();
    let repeated = accepted.len() - distinct.len();
    println!("{} events, {repeated} more than once", distinct.len());
}
