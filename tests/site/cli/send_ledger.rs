//! What the ledger of `landing send` remembers: through interruptions and kills.

use std::{
    collections::BTreeSet,
    process::Child,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use landing::waitlist::{Ledger, Message, MessageId, SledWaitlist};

use super::{
    TestCli, all_stores,
    send::{args, args_with_rate, messages, send, start},
    with_server, without_server,
};
use crate::{
    durability::env_number,
    mail::smtp_server::{Action, SmtpServer, Step},
    postgres_server::{PostgresServer, SHARED_SERVER},
    process::wait_until,
};

/// The mail server closes the connection after the first message. Until the person has left, it accepts no other one, or is
/// slow to greet.
#[test]
fn people_who_leave_while_a_send_reconnects_get_nothing() {
    for is_slow in [false, true] {
        let cli = with_server().with_three_people();
        let is_away = Arc::new(AtomicBool::new(false));
        let server = SmtpServer::scripted({
            let is_away = Arc::clone(&is_away);
            move |step, line| match step {
                Step::Greeting if is_slow => {
                    while is_away.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(10));
                    }
                    Action::Continue
                }
                Step::Greeting if is_away.load(Ordering::Relaxed) => Action::Cut,
                Step::Recipient if line.contains("Bob@") && server_closes_once(&is_away) => {
                    Action::Cut
                }
                _ => Action::Continue,
            }
        });
        let url = server.url();
        let sending = start(&cli, &args(&url, &["--all"]));
        // The first connection only checks the login.
        wait_until("the send reconnects", || server.connection_count() > 2);
        if is_slow {
            // It may be somebody else who has typed the address in.
            cli.run(&["erase", "bob@example.com"]).success();
            cli.run(&["add", "bob@example.com"]).success();
        } else {
            cli.run(&["unsubscribe", "bob@example.com"]).success();
        }
        is_away.store(false, Ordering::Relaxed);
        let sent = sending.wait_with_output().expect("the send ends");
        assert_eq!(
            String::from_utf8_lossy(&sent.stdout),
            "2 accepted, 1 skipped\n"
        );
        assert_eq!(server.recipients(), ["ann@example.com", "cyd@example.com"]);
    }
}

/// Returns whether the server closes the connection: the first time.
fn server_closes_once(is_away: &AtomicBool) -> bool {
    !is_away.swap(true, Ordering::Relaxed)
}

/// A server has asked somebody. The command does not have its settings.
#[tokio::test(flavor = "multi_thread")]
async fn people_who_have_not_confirmed_get_nothing() {
    let cli = without_server();
    let file = "email,joined_at,confirmed_at\n\
        ann@example.com,2026-11-01T08:00:00Z,2026-11-01T09:00:00Z\n\
        bob@example.com,2026-11-02T08:00:00Z,\n";
    cli.run_with_input(&["import"], file).success();
    let server = SmtpServer::start();
    let list = SledWaitlist::open(&cli.file("data")).expect("the list opens");
    let message = Message::new(MessageId::confirmation(), SystemTime::now(), "code");
    list.add_message(message).await.expect("a response");
    drop(list);
    let (out, ..) = send(&cli, &server, &["--all"]);
    assert_eq!(out, "1 accepted\n");
    let (_, error, is_success) = send(&cli, &server, &["--to", "bob@example.com"]);
    assert!(!is_success, "{error}");
    let reason = "bob@example.com is left out, because they have not confirmed their address; nothing was sent\n";
    assert!(error.ends_with(reason), "{error}");
    assert_eq!(server.recipients(), ["ann@example.com"]);
    let (out, ..) = send(&cli, &server, &["--all", "--include-unconfirmed"]);
    assert_eq!(out, "1 accepted\n");
}

#[test]
fn killed_sends_lose_and_repeat_no_message() {
    let people = env_number("SEND_PEOPLE", 900) as usize;
    let kills = env_number("SEND_KILLS", 6) as usize;
    for cli in all_stores() {
        cli.import_people(people);
        let server = SmtpServer::start();
        let url = server.url();
        // Each is killed at another moment, when some more messages have arrived.
        for round in 1..=kills {
            let mut send = start(&cli, &args(&url, &["--all"]));
            // After a third of the people, all kills are done.
            let more = people * 2 * round / (3 * kills * (kills + 1));
            let enough = server.recipients().len() + more;
            while server.recipients().len() < enough
                && send.try_wait().expect("the program runs").is_none()
            {
                thread::sleep(Duration::from_millis(1));
            }
            send.kill().expect("the program runs");
            send.wait().expect("the program ends");
        }
        let (out, err, is_success) = send(&cli, &server, &["--all"]);
        let counts = &messages(&cli)[0];
        let count = |state: &str| counts[state].as_u64().expect("a number") as usize;
        // Nobody is left out silently.
        assert_eq!(is_success, count("sending") == 0, "{out} {err}");
        let names = |state: &str, text: &str| count(state) == 0 || err.contains(text);
        assert!(names("sending", "begun by another command"), "{err}");
        assert!(names("unknown", "with an unknown result"), "{err}");
        // While a server holds the list, and in a database, nobody can know yet that the senders are dead.
        let in_doubt = count("unknown") + count("sending");
        assert_eq!(count("accepted") + in_doubt, people, "{counts}");
        let received = server.recipients();
        let distinct: BTreeSet<_> = received.iter().cloned().collect();
        assert_eq!(received.len(), distinct.len(), "a message was sent twice");
        let listed = cli.json_lines(&["messages", "launch"]);
        let listed = listed.as_array().expect("a list").iter();
        let in_doubt: BTreeSet<_> = listed
            .filter(|it| ["unknown", "sending"].contains(&it["state"].as_str().expect("text")))
            .map(|it| it["email"].as_str().expect("an address").to_owned())
            .collect();
        // Everybody has the message, or is reported as unknown.
        for person in (0..people).map(|number| format!("p{number}@example.com")) {
            assert!(
                distinct.contains(&person) || in_doubt.contains(&person),
                "{person} is lost"
            );
        }
        // Few are in doubt: one for each connection of a program that was killed.
        assert!(in_doubt.len() <= kills * 4, "{}", in_doubt.len());
        println!("{people} people, {kills} kills: {counts}");
    }
}

/// As when the owner updates the program. The results of the messages under way are recorded after the restart.
#[test]
fn server_that_restarts_during_a_send_loses_no_result() {
    const PEOPLE: usize = 300;
    let mut cli = with_server();
    cli.import_people(PEOPLE);
    let server = SmtpServer::start();
    let mut sending = start_and_wait(&cli, &server);
    let mut site = cli.server.take().expect("a server");
    site.signal("-TERM");
    assert_eq!(site.wait_for_exit(), Some(0));
    cli.server = Some(cli.sandbox.serve());
    // It stops if it begins deliveries while there is no server.
    sending.wait().expect("the program ends");
    send(&cli, &server, &["--all"]);
    let counts = &messages(&cli)[0];
    let count = |state: &str| counts[state].as_u64().expect("a number") as usize;
    // Of deliveries that begin at the moment of the stop, the command gets no reply, and sends nothing.
    assert_eq!(count("accepted"), server.received().len(), "{counts}");
    assert_eq!(count("accepted") + count("unknown"), PEOPLE, "{counts}");
    assert!(count("unknown") <= 4, "{counts}");
}

/// Starts a send at 200 messages a second, and waits for 60 messages.
fn start_and_wait(cli: &TestCli, server: &SmtpServer) -> Child {
    let sending = start(cli, &args_with_rate(&server.url(), "200", &["--all"]));
    while server.received().len() < 60 {
        thread::sleep(Duration::from_millis(1));
    }
    sending
}

/// As when the owner updates the database.
#[test]
fn database_that_restarts_during_a_send_loses_no_result() {
    const PEOPLE: usize = 300;
    let database = PostgresServer::start();
    let cli = TestCli {
        database: Some(database.create_database()),
        ..without_server()
    };
    cli.import_people(PEOPLE);
    let server = SmtpServer::start();
    let sending = start_and_wait(&cli, &server);
    database.down("fast");
    // A connection that is sending has no database for a while.
    thread::sleep(Duration::from_secs(1));
    database.up();
    // It stops if it begins deliveries while there is no database.
    sending.wait_with_output().expect("the program ends");
    send(&cli, &server, &["--all"]);
    let counts = &messages(&cli)[0];
    let count = |state: &str| counts[state].as_u64().expect("a number") as usize;
    assert_eq!(count("accepted"), server.received().len(), "{counts}");
    // Of deliveries that begin at the moment of the stop, the command gets no reply, and sends nothing.
    let in_doubt = count("unknown") + count("sending");
    assert_eq!(count("accepted") + in_doubt, PEOPLE, "{counts}");
    assert!(in_doubt <= 4, "{counts}");
}

#[test]
fn totals_include_messages_whose_results_cannot_be_recorded() {
    const PEOPLE: usize = 300;
    let url = SHARED_SERVER.create_database();
    let name = url.rsplit('/').next().expect("a name").to_owned();
    let cli = TestCli {
        database: Some(url),
        ..without_server()
    };
    cli.import_people(PEOPLE);
    let server = SmtpServer::start();
    let sending = start_and_wait(&cli, &server);
    let rename = |from: &str, to: &str| {
        SHARED_SERVER.sql(&name, &format!("ALTER TABLE {from} RENAME TO {to}"));
    };
    rename("waitlist_deliveries", "away");
    let output = sending.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(1));
    let totals = String::from_utf8(output.stdout).expect("UTF-8");
    let count = |state: &str| {
        let part = totals
            .trim()
            .split(", ")
            .find_map(|it| it.strip_suffix(state));
        part.map_or(0, |it| it.trim().parse::<usize>().expect("a number"))
    };
    let sent = server.received().len();
    let (accepted, in_doubt) = (count("accepted"), count("sending"));
    assert_eq!(accepted + in_doubt + count("waiting"), PEOPLE, "{totals}");
    assert!(
        accepted <= sent && sent <= accepted + in_doubt,
        "{sent}: {totals}"
    );
    rename("away", "waitlist_deliveries");
    let counts = &messages(&cli)[0];
    assert_eq!(counts["accepted"], accepted, "{totals} {counts}");
}
