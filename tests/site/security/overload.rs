//! More than the site can take, and faults of its own.

use std::{
    future::pending,
    io::{self, Write},
    panic::{self, PanicHookInfo},
    sync::{Arc, Mutex},
    thread,
};

use landing::{
    cli::log_panics,
    waitlist::{Answer, Entry, Joined, StoreError, Waitlist},
};
use tokio::{sync::mpsc, time::timeout};
use tracing::subscriber::DefaultGuard;

use crate::{
    fixtures::{at_once, down, stand_in},
    process::A_WHILE,
    test_site::{Site, TRUSTED, http2},
};

/// A store with a fault in it.
pub(super) fn panicking() -> impl Waitlist {
    let join = |entry: Entry| panic!("no panic may tell of {}", entry.email.as_typed());
    stand_in(join, || at_once(Ok(())))
}

/// What is logged, kept.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// Keeps what is logged on this thread.
    fn log() -> (Self, DefaultGuard) {
        let kept = Self::default();
        let writer = kept.clone();
        let log = tracing_subscriber::fmt().with_ansi(false);
        let log = log.with_writer(move || writer.clone()).finish();
        (kept, tracing::subscriber::set_default(log))
    }

    fn text(&self) -> String {
        let bytes = self.0.lock().expect("no panic").clone();
        String::from_utf8(bytes).expect("text")
    }
}

impl Write for Kept {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Puts the hook back for the other tests of this process.
struct UsualHook(Option<Hook>);

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

impl Drop for UsualHook {
    fn drop(&mut self) {
        // A thread that panics may not.
        if let Some(hook) = self.0.take().filter(|_| !thread::panicking()) {
            panic::set_hook(hook);
        }
    }
}

/// All of it happens on the test's own thread, so its own log has all of it.
#[tokio::test]
async fn a_fault_is_a_500_for_that_request_alone_logged_once_and_without_the_address() {
    let (kept, _log) = Kept::log();
    let _usual = UsualHook(Some(panic::take_hook()));
    log_panics();

    let site = Site::over(panicking()).await;
    let waiting = site.get("/api/waitlist/count").send();
    let answer = site.join("ann@example.com").await;
    assert_eq!(answer.status(), 500);
    assert_eq!(
        answer.text().await.expect("text"),
        r#"{"error":"Something went wrong on our side."}"#
    );
    assert_eq!(waiting.await.expect("an answer").status(), 200);
    assert_eq!(site.count().await, 7);
    let form = site
        .post("/")
        .header("content-type", "application/x-www-form-urlencoded");
    let answer = form.body("email=ann%40example.com").send().await;
    assert_eq!(answer.expect("an answer").status(), 500);

    let log = kept.text();
    let faults: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(faults.len(), 2, "one for each request: {log}");
    for fault in faults {
        assert!(
            fault.contains("a fault of this program at tests/site/security/overload.rs:"),
            "{fault}"
        );
    }
    assert!(!log.contains("ann") && !log.contains("no panic"), "{log}");
}

#[tokio::test]
async fn the_process_is_alive_whatever_the_store_does_and_ready_when_it_answers() {
    let site = Site::start().await;
    for path in ["/healthz", "/readyz"] {
        let answer = site.get(path).send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.headers()["cache-control"], "no-store");
        assert_eq!(answer.text().await.expect("text"), "OK", "{path}");
    }
    let site = Site::over(down(StoreError::Stopped)).await;
    assert_eq!(site.text("/healthz").await, "OK");
    let answer = site.get("/readyz").send().await.expect("an answer");
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.text().await.expect("text"), "Service Unavailable");
}

/// A store that says when it is asked, and never answers.
pub(super) fn silent() -> (impl Waitlist, mpsc::UnboundedReceiver<()>) {
    let (asked, was_asked) = mpsc::unbounded_channel();
    let ask = move || asked.send(()).expect("the test waits for it");
    let ask_again = ask.clone();
    let join = move |_| {
        ask();
        Box::pin(pending()) as Answer<'static, Joined>
    };
    let ready = move || {
        ask_again();
        Box::pin(pending()) as Answer<'static, ()>
    };
    (stand_in(join, ready), was_asked)
}

#[tokio::test]
async fn a_client_that_goes_away_before_its_answer_has_its_line_too() {
    let (kept, _log) = Kept::log();
    let (list, mut was_asked) = silent();
    // In HTTP/2, because a client of HTTP/1 that has gone is not missed before its answer is there.
    let site = Site::over_with(list, &[TRUSTED]).await;
    let post = http2().post(format!("{}/api/waitlist", site.origin()));
    let post = post.json(&serde_json::json!({ "email": "ann@example.com" }));
    let waiting = tokio::spawn(post.send());
    was_asked.recv().await.expect("it is asked");
    waiting.abort();
    let line = async {
        while !kept.text().contains("route=\"/api/waitlist\" status=499 ") {
            tokio::task::yield_now().await;
        }
    };
    timeout(A_WHILE, line).await.expect("it has its line");
}
