//! An owner who erases a person, corrects an address and sends a message during each fault.

use std::{
    collections::BTreeSet,
    fs,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use super::{OWNER_DOMAIN, landing};
use crate::{
    ended::RunToEnd,
    mail::smtp_server::{Received, SmtpServer},
    postgres_server::PostgresServer,
};

/// Messages of a send, and messages per second: it takes as long as most faults.
const SEND: [&str; 4] = ["--next", "60", "--rate", "20"];

pub(super) struct Owner {
    /// URL of the database.
    database: String,
    /// Where the messages are written.
    folder: TempDir,
    smtp: SmtpServer,
    rounds: Vec<Round>,
}

/// What the owner did during a fault.
struct Round {
    erased: String,
    corrected: String,
    /// Whether the commands reported success. A command that did not may have changed the list.
    is_erased: bool,
    is_corrected: bool,
}

/// The commands that run during a fault.
pub(super) struct Running {
    erasing: Child,
    correcting: Child,
    sending: Child,
}

impl Owner {
    pub(super) fn new(database: &str) -> Self {
        Self {
            database: database.to_owned(),
            folder: TempDir::new().expect("a directory"),
            smtp: SmtpServer::start(),
            rounds: Vec::new(),
        }
    }

    /// Adds two people, who are the next to get a message, and starts the commands of a round, of which two are about them.
    pub(super) fn start(&mut self) -> Running {
        let number = self.rounds.len();
        let [erased, corrected] =
            ["erased", "old"].map(|name| format!("{name}{number}{OWNER_DOMAIN}"));
        let people = format!("email,joined_at\n{erased},2020-01-01\n{corrected},2020-01-01\n");
        let mut import = landing(&self.database, &["import"]);
        import.run_with_input(people).success();
        let text = format!("---\nsubject: Round {number}\n---\nNews {number}.\n");
        fs::write(self.folder.path().join(file(number)), text).expect("writable");
        let running = Running {
            erasing: start(&mut landing(&self.database, &["erase", &erased])),
            correcting: start(&mut landing(
                &self.database,
                &["correct", &corrected, &new_address(number)],
            )),
            sending: start(&mut self.send(number, &SEND)),
        };
        self.rounds.push(Round {
            erased,
            corrected,
            is_erased: false,
            is_corrected: false,
        });
        running
    }

    /// Waits for the commands of a round after the fault, and continues the message.
    pub(super) fn finish(&mut self, mut running: Running) {
        let number = self.rounds.len() - 1;
        let round = &mut self.rounds[number];
        round.is_erased = is_success(&mut running.erasing);
        round.is_corrected = is_success(&mut running.correcting);
        if !is_success(&mut running.sending) {
            // Its exit code tells whether results are unknown, which no command can change.
            is_success(&mut start(&mut self.send(number, &["--continue"])));
        }
    }

    fn send(&self, round: usize, args: &[&str]) -> Command {
        let mut command = landing(&self.database, &["send", &file(round), "--yes"]);
        command
            .current_dir(self.folder.path())
            .args(["--smtp", &self.smtp.url()])
            .args(["--mail-from", "Steward <hello@steward.test>"])
            .args(["--origin", "https://steward.test", "--skip-link-check"])
            .args(args);
        command
    }

    /// Checks that nobody is back, no correction was undone, and nobody had a message twice or after leaving.
    pub(super) fn assert_promises(&self, server: &PostgresServer, list: &str) {
        let listed = server.sql(list, "SELECT email FROM waitlist_entries");
        let listed: BTreeSet<_> = listed.lines().collect();
        let received = self.smtp.received();
        let mut seen = BTreeSet::new();
        for message in &received {
            let is_first = seen.insert((round_of(message), &message.recipient));
            assert!(is_first, "{} had a message twice", message.recipient);
        }
        for (number, round) in self.rounds.iter().enumerate() {
            let is_listed = |address: &str| listed.contains(address);
            let new = new_address(number);
            assert!(
                !round.is_erased || !is_listed(&round.erased),
                "{} is listed again",
                round.erased
            );
            assert_ne!(is_listed(&round.corrected), is_listed(&new), "{new}");
            assert!(!round.is_corrected || is_listed(&new), "{new} is undone");
            for message in received.iter().filter(|it| round_of(it) > number) {
                let is_gone = |is_done, address: &str| is_done && message.recipient == address;
                assert!(!is_gone(round.is_erased, &round.erased), "{}", round.erased);
                assert!(
                    !is_gone(round.is_corrected, &round.corrected),
                    "{}",
                    round.corrected
                );
            }
        }
        let count = |is: fn(&Round) -> bool| self.rounds.iter().filter(|it| is(it)).count();
        let (erased, corrected) = (count(|it| it.is_erased), count(|it| it.is_corrected));
        println!(
            "{erased} erased, {corrected} corrected, {} messages",
            received.len()
        );
        assert!(erased > 0 && corrected > 0 && !received.is_empty());
    }
}

fn start(command: &mut Command) -> Child {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.spawn().expect("the program starts")
}

fn is_success(child: &mut Child) -> bool {
    child.wait().expect("the program ends").success()
}

fn file(round: usize) -> String {
    format!("round-{round}.md")
}

fn new_address(round: usize) -> String {
    format!("corrected{round}{OWNER_DOMAIN}")
}

/// The round of a message, which its subject names.
fn round_of(message: &Received) -> usize {
    let subject = message
        .message
        .lines()
        .find_map(|it| it.strip_prefix("Subject: Round "));
    subject
        .expect("a subject")
        .trim()
        .parse()
        .expect("a number")
}
