//! Kills the server while it asks people to confirm their address: no sign-up and no message may be lost, and none
//! sent twice.

use std::{collections::BTreeSet, time::Duration};

use landing::waitlist::{DeliveryState, Ledger, MessageId, OwnerList, Selection, SledWaitlist};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::runtime::Runtime;

use super::{acknowledged_in, env_number, sign_up};
use crate::{
    mail::smtp_server::SmtpServer,
    process::{Sandbox, ServerProcess, signal},
};

/// `make torture NAME=kill` kills more often.
const ROUNDS: u64 = 6;
/// Sign-ups in a round.
const SIGN_UPS: u64 = 120;
const CLIENTS: u64 = 6;

#[test]
fn sigkill_loses_and_repeats_no_confirmation() {
    let mut random = StdRng::seed_from_u64(env_number("KILL_SEED", 1));
    let runtime = Runtime::new().expect("a runtime");
    let (sandbox, mail) = (Sandbox::new(), SmtpServer::start());
    let start = || {
        let mut command = sandbox.command();
        command.args([
            "--confirm-signups",
            // More than all rounds of `make torture NAME=kill` need.
            "--confirm-per-day=1000000",
            &format!("--smtp={}", mail.url()),
            "--mail-from=Steward <hello@steward.test>",
            "--origin=https://steward.test",
        ]);
        command.arg("--data").arg(sandbox.path().join("data"));
        ServerProcess::start(command)
    };
    let mut acknowledged = BTreeSet::new();
    for round in 0..env_number("KILL_ROUNDS", ROUNDS) {
        let server = start();
        let process = server.child.id();
        let addresses = (0..SIGN_UPS).map(move |number| format!("{round}-{number}@example.com"));
        let delay = Duration::from_millis(random.random_range(20..400));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            signal(process, "-KILL");
        });
        let responses = runtime.block_on(sign_up(&server.addr, CLIENTS, addresses));
        acknowledged.extend(acknowledged_in(&responses).map(str::to_owned));
        killer.join().expect("no panic");
    }
    // The last start asks everybody who is left.
    let mut server = start();
    // `make torture NAME=kill` leaves thousands of messages, so the time is not limited.
    while {
        let before = mail.received().len();
        std::thread::sleep(Duration::from_millis(500));
        mail.received().len() > before
    } {}
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));

    let list = SledWaitlist::open(&sandbox.path().join("data")).expect("the list opens");
    let entries = list.entries(Selection::default()).expect("readable");
    let listed: BTreeSet<_> = entries
        .map(|it| it.expect("readable").email.key())
        .collect();
    assert!(acknowledged.is_subset(&listed));
    let received = mail.recipients();
    let distinct: BTreeSet<_> = received.iter().cloned().collect();
    assert_eq!(received.len(), distinct.len(), "a message was sent twice");
    let deliveries = list.deliveries(&MessageId::confirmation(1));
    let deliveries = runtime.block_on(deliveries).expect("deliveries");
    let key = runtime.block_on(list.keys()).expect("keys")[0];
    let states = deliveries.iter().map(|it| (it.recipient, it.status.state));
    let states: std::collections::HashMap<_, _> = states.collect();
    let mut unknown = 0;
    for person in &listed {
        match states.get(&key.hash(person)) {
            Some(DeliveryState::Accepted) => assert!(distinct.contains(person), "{person} is lost"),
            // Reported, and not repeated: the person may have it.
            Some(DeliveryState::Unknown) => unknown += 1,
            state => panic!("{person} is {state:?}"),
        }
    }
    println!(
        "{} people, {} messages, {unknown} unknown",
        listed.len(),
        received.len()
    );
    // One message is under way at a time.
    assert!(unknown <= env_number("KILL_ROUNDS", ROUNDS), "{unknown}");
}
