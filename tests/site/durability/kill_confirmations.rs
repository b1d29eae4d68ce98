//! Kills and stops the server while it asks people to confirm their address, and welcomes those who have: no sign-up and no
//! message may be lost, and no invitation. A code whose result is lost is sent again, so somebody may get it twice. A
//! welcome never comes twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, SystemTime},
};

use landing::waitlist::{
    DeliveryState, Email, Ledger, MessageId, OwnerList, Selection, SledWaitlist, Source, Standings,
    Waitlist, WaitlistEntry, invite_link,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use reqwest::Client;
use tokio::runtime::Runtime;

use super::{acknowledged_in, env_number, sign_up_from};
use crate::{
    mail::smtp_server::{Action, Received, SmtpServer, Step},
    process::{Sandbox, ServerProcess, landing, signal, wait_up_to},
    store::confirmation_fixtures::{WELCOME, code},
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
    let data = sandbox.path().join("data");
    let (inviter, link) = runtime.block_on(add_inviter(&data));
    let start = || {
        let mut command = sandbox.command();
        command.args([
            "--confirm-signups",
            "--invites",
            WELCOME,
            // More than all rounds of `make torture NAME=kill` need.
            "--confirm-per-day=1000000",
            &format!("--smtp={}", mail.url()),
            "--mail-from=Steward <hello@steward.test>",
            "--origin=https://steward.test",
        ]);
        command.arg("--data").arg(&data);
        ServerProcess::start(command)
    };
    let mut acknowledged = BTreeSet::new();
    let mut confirmed = BTreeSet::new();
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
        let responses = runtime.block_on(async {
            let signed_up = sign_up_from(&link, &server.addr, CLIENTS, addresses);
            let confirming = confirm_all(&server.addr, &mail, &mut confirmed);
            tokio::join!(signed_up, confirming).0
        });
        acknowledged.extend(acknowledged_in(&responses).map(str::to_owned));
        killer.join().expect("no panic");
    }
    assert!(!acknowledged.is_empty());
    // The last start asks everybody who is left. A message without a result is sent again after pauses, and after a broken
    // connection nobody is asked for a while.
    let patience = Duration::from_secs(10 * rounds.max(30));
    let mut server = start();
    wait_up_to(patience, "everybody has a message", || {
        std::thread::sleep(Duration::from_millis(100));
        let received: BTreeSet<_> = mail.recipients().into_iter().collect();
        acknowledged.is_subset(&received)
    });
    wait_up_to(patience, "nobody waits for a welcome", || {
        std::thread::sleep(Duration::from_millis(100));
        let mut check = landing(sandbox.path());
        let checked = check.args(["check", "--json"]).output();
        let checked = checked.expect("the program runs").stdout;
        let checked: serde_json::Value = serde_json::from_slice(&checked).expect("JSON");
        checked["welcome"]["waiting"] == 0
    });
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));

    let list = SledWaitlist::open(&data).expect("the list opens");
    let key = runtime.block_on(list.list_key()).expect("a key");
    let (mut listed, mut invited) = (BTreeSet::new(), 0);
    for entry in list.entries(Selection::default()).expect("readable") {
        let entry = entry.expect("readable");
        invited += u64::from(entry.source.is_some() && entry.confirmed_at.is_some());
        listed.insert(entry.email.key());
    }
    assert!(acknowledged.is_subset(&listed));
    // Everybody has come by the link.
    let entries = list.entries(Selection::default()).expect("readable");
    let standings = Standings::read(key, entries).expect("readable");
    assert_eq!(standings.invitations(&inviter), invited);
    assert!(invited >= confirmed.len() as u64);
    let (welcomes, codes): (Vec<_>, Vec<_>) = mail.received().into_iter().partition(is_welcome);
    let received: BTreeSet<_> = codes.into_iter().map(|it| it.recipient).collect();
    let deliveries = list.deliveries(&MessageId::confirmation(), 0);
    let deliveries = runtime.block_on(deliveries).expect("deliveries");
    listed.remove(&inviter.key());
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
    let deliveries = list.deliveries(&MessageId::welcome(), 0);
    let deliveries = runtime.block_on(deliveries).expect("deliveries");
    let unknown = deliveries
        .into_iter()
        .filter(|it| it.status.state == DeliveryState::Unknown);
    let unknown: Vec<_> = unknown.map(|it| it.recipient).collect();
    let is_unknown = |person: &str| unknown.contains(&key.hash(person));
    check_welcomes(&welcomes, &confirmed, is_unknown);
    println!("{} confirmed, {} unknown", confirmed.len(), unknown.len());
}

/// Creates a list with a person who invites all others. Returns the person, and the link without its origin.
async fn add_inviter(data: &Path) -> (Email, String) {
    let list = SledWaitlist::open(data).expect("the list opens");
    let inviter = Email::parse("inviter@example.com").expect("an address");
    let entry = WaitlistEntry::new(inviter.clone(), SystemTime::now());
    list.join(entry).await.expect("the inviter is added");
    let key = list.list_key().await.expect("a key");
    let link = invite_link("", Source::of_invited(&key, &inviter).as_str());
    (inviter, link)
}

/// Checks that everybody who has confirmed has one welcome. It may be missing if the ledger says that it is unknown.
fn check_welcomes(
    welcomes: &[Received],
    confirmed: &BTreeSet<String>,
    is_unknown: impl Fn(&str) -> bool,
) {
    let mut counts = BTreeMap::<&str, u32>::new();
    for welcome in welcomes {
        *counts.entry(&welcome.recipient).or_default() += 1;
    }
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    for person in confirmed {
        let has_it = counts.contains_key(&**person);
        assert!(has_it || is_unknown(person), "{person} is forgotten");
    }
    assert!(!confirmed.is_empty());
}

fn is_welcome(message: &Received) -> bool {
    message.message.contains("\r\nSubject: Welcome")
}

/// Confirms the address of each person who gets a code, until the server is gone. Adds those that it has acknowledged.
async fn confirm_all(addr: &str, mail: &SmtpServer, confirmed: &mut BTreeSet<String>) {
    let client = Client::builder().timeout(Duration::from_secs(30)).build();
    let client = client.expect("a client");
    let url = format!("http://{addr}/api/waitlist/confirm");
    loop {
        let received = mail.received().into_iter();
        let is_next = |it: &Received| !is_welcome(it) && !confirmed.contains(&it.recipient);
        let next = received.rev().find(is_next);
        let (email, code) = match &next {
            Some(message) => (&*message.recipient, code(message)),
            // Finds out whether the server still runs.
            None => ("nobody@example.com", "000000".to_owned()),
        };
        let body = serde_json::json!({ "email": email, "code": code });
        match client.post(&url).json(&body).send().await {
            Ok(response) if response.status() == 200 => {
                confirmed.insert(email.to_owned());
            }
            Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(_) => return,
        }
    }
}
