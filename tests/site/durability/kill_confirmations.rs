//! Kills and stops the server while it asks people to confirm their address: no sign-up and no message may be lost. A message
//! whose result is lost is sent again, so somebody may get it twice.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use landing::waitlist::{DeliveryState, Ledger, MessageId, OwnerList, Selection, SledWaitlist};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::runtime::Runtime;

use super::{acknowledged_in, env_number, sign_up};
use crate::{
    mail::smtp_server::{Action, SmtpServer, Step},
    process::{Sandbox, ServerProcess, signal},
};

/// `make torture NAME=kill` kills more often.
const ROUNDS: u64 = 10;
/// Sign-ups in a round.
const SIGN_UPS: u64 = 24;
const CLIENTS: u64 = 6;

#[test]
fn kills_and_stops_lose_no_confirmation() {
    let mut random = StdRng::seed_from_u64(env_number("KILL_SEED", 1));
    let runtime = Runtime::new().expect("a runtime");
    // Some replies come late, and some connections break at the final dot, before or after the message was accepted.
    let faults = std::sync::Mutex::new(StdRng::seed_from_u64(1));
    let mail = SmtpServer::scripted(move |step, _| {
        let chance = faults.lock().expect("no panic").random_range(0..100);
        match (step, chance) {
            (Step::End, 0..2) => Action::Cut,
            (Step::End, 2..4) => Action::AcceptAndCut,
            (Step::End, _) => {
                std::thread::sleep(Duration::from_millis(chance / 4));
                Action::Continue
            }
            _ => Action::Continue,
        }
    });
    let sandbox = Sandbox::new();
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
    let rounds = env_number("KILL_ROUNDS", ROUNDS);
    for round in 0..rounds {
        let server = start();
        let process = server.child.id();
        let addresses = (0..SIGN_UPS).map(move |number| format!("{round}-{number}@example.com"));
        let delay = Duration::from_millis(random.random_range(20..400));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            signal(process, if round % 2 == 0 { "-KILL" } else { "-TERM" });
        });
        let responses = runtime.block_on(sign_up(&server.addr, CLIENTS, addresses));
        acknowledged.extend(acknowledged_in(&responses).map(str::to_owned));
        killer.join().expect("no panic");
    }
    assert!(!acknowledged.is_empty());
    // The last start asks everybody who is left. A message without a result is sent again after pauses, and after a broken
    // connection nobody is asked for a while.
    let patience = Duration::from_secs(10 * rounds.max(30));
    let mut server = start();
    let started = Instant::now();
    let waits_for = |people: &BTreeSet<String>| {
        let received: BTreeSet<_> = mail.recipients().into_iter().collect();
        !people.is_subset(&received)
    };
    while waits_for(&acknowledged) {
        assert!(started.elapsed() < patience, "somebody has no message");
        std::thread::sleep(Duration::from_millis(100));
    }
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));

    let list = SledWaitlist::open(&sandbox.path().join("data")).expect("the list opens");
    let entries = list.entries(Selection::default()).expect("readable");
    let listed: BTreeSet<_> = entries
        .map(|it| it.expect("readable").email.key())
        .collect();
    assert!(acknowledged.is_subset(&listed));
    let received: BTreeSet<_> = mail.recipients().into_iter().collect();
    let deliveries = list.deliveries(&MessageId::confirmation());
    let deliveries = runtime.block_on(deliveries).expect("deliveries");
    let key = runtime.block_on(list.list_key()).expect("a key");
    for person in &listed {
        let own = deliveries
            .iter()
            .filter(|it| it.recipient == key.hash(person));
        let is_accepted = own
            .into_iter()
            .any(|it| it.status.state == DeliveryState::Accepted);
        assert!(
            !is_accepted || received.contains(person),
            "{person} is lost"
        );
    }
    println!(
        "{} people, {} messages",
        listed.len(),
        mail.received().len()
    );
}
