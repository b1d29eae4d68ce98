//! Every fault of a mail server at every step has the right outcome: nothing that may have been accepted counts as not
//! sent, and nothing that was not accepted counts as unknown.

use std::time::{Duration, Instant};

use landing::{
    config::SmtpUrl,
    mail::{
        ConnectError, ConnectStep, Mailer, MessagePart, NotSent, SendOutcome, SmtpClient,
        SmtpConnection, SmtpTimeouts,
    },
    waitlist::{DeliveryState, Email},
};

use tokio_util::sync::CancellationToken;

use super::smtp_server::{Action, SmtpServer, Step};

pub(super) const MESSAGE: &[u8] = b"Subject: hi\r\n\r\n.a line that begins with a dot\r\nlast\r\n";

/// The time limit of a step for servers that stall.
pub(super) const STEP_TIMEOUT: Duration = Duration::from_millis(300);
pub(super) const TIMEOUTS: SmtpTimeouts = SmtpTimeouts {
    connect: Duration::from_secs(5),
    step: STEP_TIMEOUT,
    write: Duration::from_secs(60),
    accept: STEP_TIMEOUT,
};

/// Returns a client that gives up soon, for servers that stall.
pub(super) fn client(server: &SmtpServer, login: &str) -> SmtpClient {
    client_with_timeouts(server, login, TIMEOUTS)
}

pub(super) fn client_with_timeouts(
    server: &SmtpServer,
    login: &str,
    timeouts: SmtpTimeouts,
) -> SmtpClient {
    let url = server.url().replace("smtp://", &format!("smtp://{login}"));
    let url: SmtpUrl = url.parse().expect("a URL");
    SmtpClient::new(&url, "client.test", timeouts).expect("TLS")
}

/// Sends a message to Ann, or to somebody else.
pub(super) async fn send_message(connection: &mut SmtpConnection, recipient: &str) -> SendOutcome {
    let never = CancellationToken::new();
    let sent = connection.send("me@site.test", recipient, MESSAGE, &[], &never);
    sent.await
}

/// Sends a message to a server that does this at one step.
pub(super) async fn send(at: Step, action: Action) -> (SendOutcome, bool, usize) {
    let server = SmtpServer::acting(at, "", action);
    let connection = client(&server, "").connect().await;
    let mut connection = connection.unwrap_or_else(|error| panic!("{error}"));
    let outcome = send_message(&mut connection, "ann@example.com").await;
    let is_usable = connection.is_usable();
    (outcome, is_usable, server.received().len())
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_message_arrives_as_it_was_sent() {
    let server = SmtpServer::start();
    let mut connection = client(&server, "").connect().await.expect("a connection");
    for recipient in ["ann@example.com", "bob@example.com"] {
        let outcome = send_message(&mut connection, recipient).await;
        assert!(
            matches!(&outcome, SendOutcome::Accepted(reply) if reply.to_string() == "250 2.0.0 queued"),
            "{outcome:?}"
        );
    }
    connection.quit().await;
    assert_eq!(
        (server.connection_count(), server.recipients().len()),
        (1, 2)
    );
    let received = &server.received()[0];
    assert_eq!(received.sender, "me@site.test");
    assert_eq!(received.message.as_bytes(), [MESSAGE, b"\r\n"].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn rejections_have_the_words_of_the_server() {
    for (step, part) in [
        (Step::Mail, MessagePart::Sender),
        (Step::Recipient, MessagePart::Recipient),
        (Step::Data, MessagePart::Content),
        (Step::End, MessagePart::Content),
    ] {
        for (reply, code, text) in [
            (
                "450 4.2.1 <ann@example.com>: busy",
                450,
                "4.2.1 <address> busy",
            ),
            (
                "550-5.1.1 <ann@example.com>: no such\r\n550 5.1.1 user",
                550,
                "5.1.1 <address> no such user",
            ),
            ("421 4.3.2 shutting down", 421, "4.3.2 shutting down"),
            ("554 no", 554, "no"),
        ] {
            let (outcome, is_usable, received) = send(step, Action::Reply(reply)).await;
            let reply = match outcome {
                SendOutcome::Rejected(rejected, reply) if rejected == part => reply,
                outcome => panic!("{step:?} {code}: {outcome:?}"),
            };
            assert_eq!((reply.code, received), (code, 0), "{step:?}");
            assert_eq!(reply.text(), text, "{step:?}");
            assert_eq!(reply.is_transient(), code < 500, "{step:?}");
            assert_eq!(is_usable, code != 421, "{step:?} {code}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_in_replies_are_hidden_in_any_spelling() {
    for (reply, text) in [
        (
            "550 5.1.1 ann at Example.com: unknown",
            "5.1.1 <address> at <address> unknown",
        ),
        (
            "550 5.1.1 see https://help.test/?to=ann%40example.com",
            "5.1.1 see <address>",
        ),
        ("550 5.1.1 ANN\u{ff20}example.com", "5.1.1 <address>"),
        (
            "550-5.1.1 <ann\r\n550 5.1.1 @example.com>",
            "5.1.1 <address> <address>",
        ),
        (
            "550 5.1.1 forwarded to eve@other.test, user=ann",
            "5.1.1 forwarded to <address> <address>",
        ),
        ("550 5.1.1 cannot be announced", "5.1.1 cannot be announced"),
    ] {
        for step in [Step::Mail, Step::Recipient, Step::Data, Step::End] {
            let (outcome, ..) = send(step, Action::Reply(reply)).await;
            let SendOutcome::Rejected(_, reply) = outcome else {
                panic!("{step:?}: {outcome:?}");
            };
            assert_eq!(reply.text(), text, "{step:?}");
        }
    }
    let reply = Action::Reply("550 5.1.1 ann of m\u{fc}nchen.example is unknown");
    let server = SmtpServer::acting(Step::Recipient, "", reply);
    let mut connection = client(&server, "").connect().await.expect("a connection");
    let outcome = send_message(&mut connection, "ann+tag@xn--mnchen-3ya.example").await;
    let SendOutcome::Rejected(_, reply) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(reply.text(), "5.1.1 <address> of <address> is unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn message_without_a_reply_is_unknown_only_after_its_final_dot() {
    let (not_sent, unknown) = (
        SendOutcome::NotSent(NotSent::BeforeContent),
        SendOutcome::Unknown,
    );
    let in_content = SendOutcome::NotSent(NotSent::InContent);
    let mut cases = Vec::new();
    for step in [Step::Mail, Step::Recipient, Step::Data] {
        cases.push((step, Action::Cut, vec![not_sent.clone()], 0));
        cases.push((step, Action::Stall, vec![not_sent.clone()], 0));
        // A reply that breaks the protocol.
        let wrong = if step == Step::Data {
            "250 ok"
        } else {
            "354 go on"
        };
        cases.push((step, Action::Reply(wrong), vec![not_sent.clone()], 0));
    }
    // A short message is written before the client can notice that the server has gone.
    let either = vec![unknown.clone(), in_content];
    cases.push((Step::Data, Action::CutInMessage, either, 0));
    for (action, received) in [
        (Action::Cut, 0),
        (Action::AcceptAndCut, 1),
        (Action::Stall, 0),
        (Action::Reply("what?"), 0),
        (Action::Reply("354 go on"), 0),
    ] {
        cases.push((Step::End, action, vec![unknown.clone()], received));
    }
    for (step, action, expected, expected_received) in cases {
        let (outcome, is_usable, received) = send(step, action.clone()).await;
        assert!(
            expected.contains(&outcome),
            "{step:?} {action:?}: {outcome:?}"
        );
        assert_eq!(
            (is_usable, received),
            (false, expected_received),
            "{step:?} {action:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connecting_fails_with_the_step_and_the_words_of_the_server() {
    let fail = async |at: Step, action: Action| {
        let server = SmtpServer::acting(at, "", action);
        let connected = client(&server, "user:pass%40word@").connect().await;
        connected.err().expect("an error")
    };
    for (at, at_step) in [
        (Step::Greeting, ConnectStep::Greeting),
        (Step::Hello, ConnectStep::Hello),
        (Step::LogIn, ConnectStep::LogIn),
    ] {
        for (action, kind) in [
            (Action::Reply("421 4.3.2 try later"), "rejected with 421"),
            (Action::Cut, "broken"),
            (Action::Stall, "timeout"),
            (Action::Reply("HTTP/1.1 400 Bad Request"), "broken"),
        ] {
            let found = match fail(at, action.clone()).await {
                ConnectError::Rejected { step, reply } => {
                    (step, format!("rejected with {}", reply.code))
                }
                ConnectError::Broken { step, .. } => (step, "broken".to_owned()),
                ConnectError::Timeout { step, .. } => (step, "timeout".to_owned()),
                error => panic!("{at:?} {action:?}: {error:?}"),
            };
            assert_eq!(found, (at_step, kind.to_owned()), "{action:?}");
        }
    }
    let error = fail(Step::LogIn, Action::Reply("535 5.7.8 wrong")).await;
    assert!(
        matches!(&error, ConnectError::LogInRejected(_)),
        "{error:?}"
    );
    let text = format!("{error} {error:?}");
    assert!(!text.contains("pass@word"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_server_without_encryption_is_not_used() {
    let url: SmtpUrl = "smtp://user:password@mail.example".parse().expect("a URL");
    assert_eq!(url.to_string(), "smtp://mail.example:587");
    assert!(!format!("{url:?}").contains("password"));
    // The server on this machine takes the place of a remote one.
    let server = SmtpServer::start();
    let local: SmtpUrl = server.url().parse().expect("a URL");
    let remote = SmtpUrl {
        host: local.host,
        port: local.port,
        ..url
    };
    let client = SmtpClient::new(&remote, "client.test", SmtpTimeouts::default()).expect("TLS");
    let error = client.connect().await.err().expect("an error");
    assert!(matches!(error, ConnectError::NoStartTls), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_encryption_ends_the_connection() {
    // Nothing is sent without encryption that the server has offered, and nothing that follows its response in the
    // clear is taken for a later response.
    for (reply, is_rejected) in [
        ("454 4.7.0 TLS not available", true),
        ("220 go on\r\n250 injected", false),
    ] {
        let server = SmtpServer::scripted(move |step, line| match step {
            Step::Hello => Action::Reply("250-mail.test\r\n250 STARTTLS"),
            _ if line.starts_with("STARTTLS") => Action::Reply(reply),
            _ => Action::Continue,
        });
        let connected = client(&server, "user:password@").connect().await;
        let error = connected.err().expect("an error");
        match error {
            ConnectError::Rejected { step, reply } => {
                assert_eq!(
                    (step, reply.code, is_rejected),
                    (ConnectStep::StartTls, 454, true)
                );
            }
            ConnectError::Broken { step, .. } | ConnectError::Timeout { step, .. } => {
                assert_eq!((step, is_rejected), (ConnectStep::Tls, false));
            }
            ConnectError::Tls(_) => assert!(!is_rejected),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_on_this_machine_needs_no_certificate() {
    // Its certificate, if it has one, is seldom one that an authority has signed.
    for login in ["", "user:password@"] {
        let server = SmtpServer::scripted(|step, line| match step {
            Step::Hello => Action::Reply("250-mail.test\r\n250-AUTH PLAIN\r\n250 STARTTLS"),
            _ if line.starts_with("STARTTLS") => Action::Reply("454 4.7.0 no certificate"),
            _ => Action::Continue,
        });
        let connected = client(&server, login).connect().await;
        assert!(connected.is_ok(), "{:?}", connected.err());
    }
}

/// Some servers repeat the login in their logs, and in other replies.
#[tokio::test(flavor = "multi_thread")]
async fn replies_show_no_secret_of_the_login() {
    let server = SmtpServer::scripted(|step, _| match step {
        Step::Greeting => Action::Reply("421 4.3.2 let-me-in again later"),
        _ => Action::Continue,
    });
    let error = client(&server, "ann:let-me-in@").connect().await.err();
    let error = error.expect("a rejection").to_string();
    assert!(error.ends_with("421 4.3.2 <hidden> again later"), "{error}");
    // AGFubgBsZXQtbWUtaW4= is the login in base64: NUL, ann, NUL, let-me-in.
    let server = SmtpServer::scripted(|step, _| match step {
        Step::Recipient => {
            Action::Reply("550 5.7.1 AGFubgBsZXQtbWUtaW4= with let-me-in may not send")
        }
        _ => Action::Continue,
    });
    let connected = client(&server, "ann:let-me-in@").connect().await;
    let outcome = send_message(&mut connected.expect("a connection"), "bob@example.com").await;
    let SendOutcome::Rejected(MessagePart::Recipient, reply) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(reply.text(), "5.7.1 <hidden> with <hidden> may not send");
}

/// The result of the message is known before, and must be recorded: a server that stalls then must not delay it.
#[tokio::test(flavor = "multi_thread")]
async fn rejection_is_known_before_the_connection_is_reset() {
    let server = SmtpServer::scripted(|step, line| match step {
        Step::Recipient if line.contains("ann@") => Action::Reply("450 4.2.1 busy"),
        Step::Reset => Action::Stall,
        _ => Action::Continue,
    });
    let client = client(&server, "");
    let mut mailer = Mailer::new(&client, "me@site.test", CancellationToken::new());
    let mut states = Vec::new();
    for typed in ["ann@example.com", "bob@example.com"] {
        mailer.connect().await.expect("a connection");
        let recipient = Email::parse(typed).expect("an address");
        let started = Instant::now();
        let sent = mailer.send(&recipient, MESSAGE, &[]).await;
        let sent = sent.expect("a result").expect("a connection");
        assert!(started.elapsed() < Duration::from_secs(3), "{typed}");
        states.push(sent.state);
    }
    assert_eq!(states, [DeliveryState::Deferred, DeliveryState::Accepted]);
    // The second message went over another connection.
    assert_eq!((server.connection_count(), server.received().len()), (2, 1));
}
