//! The commands before the content of a message go out together, if the mail server supports it (RFC 2920).

use std::thread;

use landing::mail::{NotSent, SendOutcome};

use super::{
    smtp_faults::{STEP_TIMEOUT, client, send_message},
    smtp_server::{Action, SmtpServer, Step},
};

/// Each round trip to a relay on the internet takes tens of milliseconds.
#[tokio::test(flavor = "multi_thread")]
async fn commands_before_the_content_go_out_together_if_the_server_supports_it() {
    for (hello, is_accepted) in [
        ("250-mail.test\r\n250 PIPELINING", true),
        ("250 mail.test", false),
    ] {
        // A client that waits for each reply gives up.
        let server = SmtpServer::scripted(move |step, _| match step {
            Step::Hello => Action::Reply(hello),
            Step::Mail | Step::Recipient => Action::ContinueLater,
            _ => Action::Continue,
        });
        let mut connection = client(&server, "").connect().await.expect("a connection");
        let outcome = send_message(&mut connection, "ann@example.com").await;
        match is_accepted {
            true => assert!(matches!(outcome, SendOutcome::Accepted(_)), "{outcome:?}"),
            false => assert_eq!(outcome, SendOutcome::NotSent(NotSent::Timeout)),
        }
        assert_eq!(server.received().len(), usize::from(is_accepted));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_waits_for_the_content_of_a_rejected_message_does_not_get_it() {
    for rejected_at in [Step::Mail, Step::Recipient] {
        let server = SmtpServer::scripted(move |step, _| match step {
            Step::Data => Action::Reply("354 go on"),
            _ if step == rejected_at => Action::Reply("550 5.1.1 no such user"),
            _ => Action::Continue,
        });
        let mut connection = client(&server, "").connect().await.expect("a connection");
        let outcome = send_message(&mut connection, "ann@example.com").await;
        let SendOutcome::Rejected(_, reply) = outcome else {
            panic!("{rejected_at:?}: {outcome:?}");
        };
        assert_eq!(reply.to_string(), "550 5.1.1 no such user");
        // The server would take another command for a line of the message.
        assert!(!connection.is_usable());
        assert_eq!(server.received().len(), 0);
    }
}

/// A server may use the time of each reply, and send them together.
#[tokio::test(flavor = "multi_thread")]
async fn replies_that_come_together_have_the_time_of_all() {
    let server = SmtpServer::scripted(|step, _| {
        if matches!(step, Step::Mail | Step::Recipient | Step::Data) {
            thread::sleep(STEP_TIMEOUT / 2);
        }
        match step {
            Step::Mail | Step::Recipient => Action::ContinueLater,
            _ => Action::Continue,
        }
    });
    let mut connection = client(&server, "").connect().await.expect("a connection");
    let outcome = send_message(&mut connection, "ann@example.com").await;
    assert!(matches!(outcome, SendOutcome::Accepted(_)), "{outcome:?}");
}
