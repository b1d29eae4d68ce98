//! A mail server cannot keep a message without end.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use landing::{
    mail::{Mailer, NotSent, SendOutcome, SmtpTimeouts},
    waitlist::{DeliveryState, Email},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    smtp_faults::{MESSAGE, STEP_TIMEOUT, TIMEOUTS, client_with_timeouts},
    smtp_server::{Action, SmtpServer, Step},
};

/// The limit of a step is not that of a message, which may go over a slow line.
#[tokio::test(flavor = "multi_thread")]
async fn message_may_take_longer_than_a_step_to_write() {
    let server = SmtpServer::acting(Step::Data, "", Action::Pause(STEP_TIMEOUT * 3));
    let timeouts = SmtpTimeouts {
        accept: Duration::from_secs(60),
        ..TIMEOUTS
    };
    let client = client_with_timeouts(&server, "", timeouts);
    let mut connection = client.connect().await.expect("a connection");
    // More than the system takes off the program's hands.
    let message = "Subject: hi\r\n\r\n".to_owned() + &"a line of the message\r\n".repeat(2 << 20);
    let never = CancellationToken::new();
    let sent = connection.send(
        "me@site.test",
        "ann@example.com",
        message.as_bytes(),
        &[],
        &never,
    );
    let outcome = sent.await;
    assert!(matches!(outcome, SendOutcome::Accepted(_)), "{outcome:?}");
}

/// A delivery that has begun must end before other commands take it for unknown. So it is not tried again at once either, as
/// after a connection that the server has closed since the last message.
#[tokio::test(flavor = "multi_thread")]
async fn message_that_takes_too_long_to_write_is_not_sent() {
    let is_slow = AtomicBool::new(false);
    let server = SmtpServer::scripted(move |step, _| {
        is_slow.fetch_or(step == Step::End, Ordering::SeqCst);
        let is_command = matches!(step, Step::Mail | Step::Recipient | Step::Data);
        if is_command && is_slow.load(Ordering::SeqCst) {
            thread::sleep(STEP_TIMEOUT / 2);
        }
        Action::Continue
    });
    let timeouts = SmtpTimeouts {
        write: STEP_TIMEOUT,
        ..TIMEOUTS
    };
    let client = client_with_timeouts(&server, "", timeouts);
    let mut mailer = Mailer::new(&client, "me@site.test", CancellationToken::new());
    let recipient = Email::parse("ann@example.com").expect("an address");
    let mut results = Vec::new();
    for _ in 0..2 {
        mailer.connect().await.expect("a connection");
        let sent = mailer.send(&recipient, MESSAGE, &[]).await;
        let status = sent.expect("a result").expect("a connection");
        results.push((status.state, status.reply.is_some()));
    }
    // No server has replied to the second one, so the ledger keeps no reply.
    assert_eq!(
        results,
        [
            (DeliveryState::Accepted, true),
            (DeliveryState::Deferred, false)
        ]
    );
    assert_eq!(server.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn message_under_way_is_given_up_until_its_end_is_written() {
    for (at, is_given_up) in [
        (Step::Mail, true),
        (Step::Recipient, true),
        (Step::Data, true),
        (Step::End, false),
    ] {
        let (stalled, mut stall) = mpsc::unbounded_channel();
        let server = SmtpServer::scripted(move |step, _| {
            if step != at {
                return Action::Continue;
            }
            // The test may be over.
            let _ = stalled.send(());
            Action::Stall
        });
        // The client must not give up before.
        let timeouts = SmtpTimeouts {
            step: Duration::from_secs(30),
            ..TIMEOUTS
        };
        let client = client_with_timeouts(&server, "", timeouts);
        let mut connection = client.connect().await.expect("a connection");
        let give_up = CancellationToken::new();
        let outcome = connection.send("me@site.test", "ann@example.com", MESSAGE, &[], &give_up);
        let give_up = async {
            stall.recv().await.expect("the server stalls");
            give_up.cancel();
        };
        let (outcome, ()) = tokio::join!(outcome, give_up);
        let expected = match is_given_up {
            true => SendOutcome::NotSent(NotSent::Stopped),
            false => SendOutcome::Unknown,
        };
        assert_eq!(outcome, expected, "{at:?}");
    }
}
