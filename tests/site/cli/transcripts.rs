//! Transcripts of commands: what each prints, and how it ends. The examples of the documentation are transcripts too, and so
//! are requests, with what the server responds and logs.

use std::{fs, path::Path};

use regex::Regex;

use super::{TestCli, all_stores, with_database, with_three_people, without_server};
use crate::{
    mail::smtp_server::{Action, SmtpServer, Step},
    process::{ServerProcess, wait_until},
};

/// Runs the commands of a transcript, and returns it as they print it now.
///
/// `LIST` is where the list is, `HERE` is the working directory, `SITE` is the server, and `NOW` is a time of the last hour.
/// `$FIXTURES` is the directory of the files that tests share. `transcripts.sh` there has the commands that send messages and
/// requests.
///
/// `serve` starts the server, and prints what it logs before it listens. `stop` sends it a signal, and prints what it has
/// logged since, with `…` for durations and for the sizes of pages. `await` waits for a number of messages.
///
/// The mail server accepts every message, unless a line of the file `mail-server` says otherwise: a step, a part of the
/// client's line, and a reply. The reply `ACCEPT AND CUT` accepts the message and cuts the connection without a word. A reply
/// that ends with `QUOTE` quotes the subject and the link of the message. The file `received` has the recipients of the
/// messages that the server accepted, and `message` has the last of them.
fn replay(transcript: &str, cli: &mut TestCli) -> String {
    let rules = cli.file("mail-server");
    let server = SmtpServer::scripted(move |step, line| action(&rules, step, line));
    let mut replayed = String::new();
    for line in transcript.lines() {
        let Some(command) = line.strip_prefix("$ ") else {
            if line.starts_with("# ") {
                replayed += &format!("{line}\n");
            }
            continue;
        };
        let received = server.received();
        if let Some(last) = received.last() {
            let recipients = received.iter().map(|it| format!("{}\n", it.recipient));
            cli.write("received", recipients.collect::<String>());
            cli.write("message", last.message.replace('\r', ""));
        }
        let printed = if is_serve(command) {
            serve(cli, command, &server.url())
        } else if let Some(signal) = command.strip_prefix("stop") {
            stop(cli, signal.trim())
        } else if let Some(count) = command.strip_prefix("await ") {
            let count = count.parse().expect("a number");
            let has_received = || server.received().len() >= count;
            wait_until("the mail server has that number of messages", has_received);
            String::new()
        } else {
            cli.shell(command, &server.url())
        };
        let printed = printed.replace(&cli.location(), "LIST");
        let mut printed = printed.replace(&cli.file("").display().to_string(), "HERE/");
        if let Some(server) = &cli.server {
            printed = printed.replace(&format!("http://{}", server.addr), "SITE");
        }
        replayed += &format!("{line}\n{}", hide_present_times(&printed));
    }
    replayed
}

/// Returns whether a command is `serve`, perhaps with variables before it.
fn is_serve(command: &str) -> bool {
    let mut words = command.split(' ').skip_while(|word| word.contains('='));
    words.next() == Some("serve")
}

/// Starts the server, instead of the one that runs. Returns what it logs before it listens.
fn serve(cli: &mut TestCli, command: &str, smtp: &str) -> String {
    cli.server = None;
    let server = ServerProcess::start(cli.shell_command(command, smtp));
    let logged = server.startup_log.iter().map(|line| format!("{line}\n"));
    let logged = logged.collect();
    cli.server = Some(server);
    logged
}

/// Stops the server with a signal, SIGTERM by default. Returns what it has logged since it listened.
fn stop(cli: &mut TestCli, signal: &str) -> String {
    let mut server = cli.server.take().expect("a server");
    server.signal(if signal.is_empty() { "-TERM" } else { signal });
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log().join("\n") + "\n";
    let varying = Regex::new(r#"\b(us\W+)\d+|\b(bytes\W+)\d{4,}"#).expect("valid");
    varying.replace_all(&log, "$1$2…").into_owned()
}

/// Returns what the mail server does at a step.
fn action(rules: &Path, step: Step, line: &str) -> Action {
    let rules = fs::read_to_string(rules).unwrap_or_default();
    let step = format!("{step:?}");
    let reply = rules.lines().find_map(|rule| {
        let mut parts = rule.splitn(3, ' ');
        let is_step = parts.next() == Some(&step);
        let is_line = parts.next().is_some_and(|part| line.contains(part));
        parts.next().filter(|_| is_step && is_line)
    });
    match reply.map(|reply| (reply, reply.strip_suffix(" QUOTE"))) {
        None => Action::Continue,
        Some(("ACCEPT AND CUT", _)) => Action::AcceptAndCut,
        Some((_, Some(reply))) => Action::Quote(reply.to_owned().leak()),
        Some((reply, _)) => Action::Reply(reply.to_owned().leak()),
    }
}

fn hide_present_times(printed: &str) -> String {
    let time = Regex::new(r"\d{4}-\d\d-\d\dT[\d:.]+Z").expect("valid");
    let now = jiff::Timestamp::now();
    let shown = |found: &regex::Captures<'_>| {
        let time: jiff::Timestamp = found[0].parse().expect("a time");
        let is_present = now.duration_since(time).abs().as_hours() == 0;
        if is_present { "NOW" } else { &found[0] }.to_owned()
    };
    time.replace_all(printed, shown).into_owned()
}

/// Fails unless a transcript is still what its commands print. The name says where it is.
#[track_caller]
fn assert_replays(name: &str, transcript: &str, replayed: &str) {
    let both = transcript.lines().zip(replayed.lines());
    let same = both.take_while(|(expected, now)| expected == now).count();
    let commands = replayed.lines().take(same + 1);
    let command = commands.filter(|line| line.starts_with("$ ")).last();
    assert!(
        replayed == transcript,
        "{name}:{}, of {command:?}:\nexpected {:?}\nis now   {:?}\nall of it is now:\n{replayed}",
        same + 1,
        transcript.lines().nth(same),
        replayed.lines().nth(same)
    );
}

/// Replays the transcript in a file of `tests/site`.
#[track_caller]
pub(super) fn assert_file_replays(file: &str, replay: impl FnOnce(&str) -> String) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/site");
    let transcript = fs::read_to_string(directory.join(file)).expect("a transcript");
    assert_replays(file, &transcript, &replay(&transcript));
}

/// Replays a transcript in an empty directory.
#[track_caller]
pub(crate) fn assert_replays_alone(file: &str) {
    assert_file_replays(file, |it| replay(it, &mut without_server()));
}

/// Replays transcripts with each store.
fn assert_replay_with_three_people(names: &[&str]) {
    for name in names {
        for mut cli in with_three_people() {
            let file = format!("cli/transcripts/{name}.txt");
            assert_file_replays(&file, |it| replay(it, &mut cli));
        }
    }
}

#[test]
fn commands_print_their_transcripts() {
    assert_replay_with_three_people(&[
        "add",
        "erase",
        "import",
        "invitations",
        "people",
        "report",
        "selections",
        "stats",
        "unsubscribe",
    ]);
}

#[test]
fn sends_print_their_transcripts() {
    assert_replay_with_three_people(&["send", "send-choice", "send-results"]);
}

#[test]
fn json_has_the_keys_of_the_transcript() {
    let mut cli = without_server().with_three_people();
    assert_file_replays("cli/transcripts/json.txt", |it| replay(it, &mut cli));
}

#[test]
fn databases_print_their_transcript() {
    let mut cli = with_database();
    assert_file_replays("cli/transcripts/database.txt", |it| replay(it, &mut cli));
}

/// What they are about does not depend on where the list is.
#[test]
fn errors_print_their_transcripts() {
    for name in [
        "backup",
        "backup-actions",
        "locations",
        "output-file",
        "send-errors",
        "send-templates",
        "urls",
        "usage",
        "webhook",
    ] {
        assert_replays_alone(&format!("cli/transcripts/{name}.txt"));
    }
}

/// The files that the examples of the documentation use.
const FILES: [(&str, &str); 5] = [
    ("empty.csv", "email\n"),
    (
        "mailchimp.csv",
        "Email Address,First Name,OPTIN_TIME,CONFIRM_TIME,LAST_CHANGED,LEID,EUID\n\
         ann@example.com,Ann,2026-11-01 08:00:00,,,1,a\n\
         bob@example.com,Bob,2026-11-02 09:30:00,,,2,b\n",
    ),
    (
        "clients.csv",
        "Courriel;Statut;Inscrit\n\
         dee@example.com;Abonné;25/11/2026\n\
         eve@example.com;Désabonné;25/11/2026\n\
         fay@example.com;Non confirmé;25/11/2026\n\
         gus@example.com;Abonné;\n",
    ),
    (
        "gone.csv",
        "Email Address,Unsubscribed\nbob@example.com,2026-11-20\n",
    ),
    (
        "mail-server",
        "Recipient bob@ 550 5.1.1 <bob@example.com>: no such user\n",
    ),
];

/// Returns the parts of a page between two marks.
fn blocks<'a>(page: &'a str, begin: &'a str) -> impl Iterator<Item = &'a str> {
    let rest = page.split(begin).skip(1);
    rest.map(|rest| rest.split_once("```").expect("an end of the block").0)
}

#[test]
fn commands_print_the_output_in_the_documentation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = fs::read_dir(root.join("docs")).expect("readable").flatten();
    let pages = pages
        .map(|page| page.path())
        .chain([root.join("README.md")]);
    let mut with_examples = 0;
    for path in pages {
        let page = fs::read_to_string(&path).expect("readable");
        let examples: String = blocks(&page, "```console\n").collect();
        if examples.is_empty() {
            continue;
        }
        with_examples += 1;
        for mut cli in all_stores() {
            for (name, text) in FILES {
                cli.write(name, text);
            }
            for message in blocks(&page, "```text\n---\n") {
                cli.write("launch.md", format!("---\n{message}"));
            }
            // The owner's guide begins with an empty list.
            let file = if path.ends_with("owner.md") {
                "empty.csv"
            } else {
                "mailchimp.csv"
            };
            cli.run(&["import", file, "--nobody-left"]).success();
            // The site of the links does not exist.
            let commands = examples.replace("$ landing send ", "$ landing send --skip-link-check ");
            let commands = commands.lines().filter(|line| line.starts_with("$ "));
            let replayed = replay(&commands.collect::<Vec<_>>().join("\n"), &mut cli);
            let replayed = replayed
                .replace(" --skip-link-check", "")
                .replace("[exit 1]\n", "");
            let examples = examples.replace("/srv/landing/data", "LIST");
            let name = format!("the examples of {}", path.display());
            assert_replays(&name, &examples, &replayed);
        }
    }
    assert_eq!(with_examples, 3);
}
