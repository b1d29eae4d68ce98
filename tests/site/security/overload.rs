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
    waitlist::{JoinOutcome, StoreError, StoreFuture, Waitlist, WaitlistEntry},
};
use tokio::{sync::mpsc, time::timeout};
use tracing::subscriber::DefaultGuard;

use crate::{
    fixtures::{failing_store, immediate, stub_store},
    process::TEST_TIMEOUT,
    test_site::{TRUST_LOOPBACK, TestSite, http2_client},
};

/// A store with a fault in it.
pub(super) fn panicking_store() -> impl Waitlist {
    let join = |entry: WaitlistEntry| panic!("no panic may tell of {}", entry.email.as_typed());
    stub_store(join, || immediate(Ok(())))
}

/// What is logged, captured.
#[derive(Clone, Default)]
struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    /// Keeps what is logged on this thread.
    fn log() -> (Self, DefaultGuard) {
        let captured = Self::default();
        let writer = captured.clone();
        let log = tracing_subscriber::fmt().with_ansi(false);
        let log = log.with_writer(move || writer.clone()).finish();
        (captured, tracing::subscriber::set_default(log))
    }

    fn text(&self) -> String {
        let bytes = self.0.lock().expect("no panic").clone();
        String::from_utf8(bytes).expect("text")
    }
}

impl Write for CapturedLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Puts the hook back for the other tests of this process.
struct RestorePanicHook(Option<Hook>);

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

impl Drop for RestorePanicHook {
    fn drop(&mut self) {
        // A thread that panics may not.
        if let Some(hook) = self.0.take().filter(|_| !thread::panicking()) {
            panic::set_hook(hook);
        }
    }
}

/// All of it happens on the test's own thread, so its own log has all of it.
#[tokio::test]
async fn panic_is_one_500_logged_once_without_the_address() {
    let (captured, _log) = CapturedLog::log();
    let _usual = RestorePanicHook(Some(panic::take_hook()));
    log_panics();

    let site = TestSite::with_store(panicking_store()).await;
    let waiting = site.get("/api/waitlist/count").send();
    let response = site.join("ann@example.com").await;
    assert_eq!(response.status(), 500);
    assert_eq!(
        response.text().await.expect("text"),
        r#"{"error":"Something went wrong on our side."}"#
    );
    assert_eq!(waiting.await.expect("a response").status(), 200);
    assert_eq!(site.count().await, 7);
    let form = site
        .post("/")
        .header("content-type", "application/x-www-form-urlencoded");
    let response = form.body("email=ann%40example.com").send().await;
    assert_eq!(response.expect("a response").status(), 500);

    let log = captured.text();
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
async fn health_ignores_the_store_and_readiness_follows_it() {
    let site = TestSite::start().await;
    for path in ["/healthz", "/readyz"] {
        let response = site.get(path).send().await.expect("a response");
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.text().await.expect("text"), "OK", "{path}");
    }
    let site = TestSite::with_store(failing_store(StoreError::Stopped)).await;
    assert_eq!(site.get_text("/healthz").await, "OK");
    let response = site.get("/readyz").send().await.expect("a response");
    assert_eq!(response.status(), 503);
    assert_eq!(response.text().await.expect("text"), "Service Unavailable");
}

/// A store that says when it is asked, and never answers.
pub(super) fn hanging_store() -> (impl Waitlist, mpsc::UnboundedReceiver<()>) {
    let (asked, was_asked) = mpsc::unbounded_channel();
    let ask = move || asked.send(()).expect("the test waits for it");
    let ask_again = ask.clone();
    let join = move |_| {
        ask();
        Box::pin(pending()) as StoreFuture<'static, JoinOutcome>
    };
    let ready = move || {
        ask_again();
        Box::pin(pending()) as StoreFuture<'static, ()>
    };
    (stub_store(join, ready), was_asked)
}

#[tokio::test]
async fn logs_clients_that_disconnect_early_as_499() {
    let (captured, _log) = CapturedLog::log();
    let (list, mut was_asked) = hanging_store();
    // In HTTP/2, because a client of HTTP/1 that has gone is not missed before its response is there.
    let site = TestSite::with_store_and_options(list, &[TRUST_LOOPBACK]).await;
    let post = http2_client().post(format!("{}/api/waitlist", site.origin()));
    let post = post.json(&serde_json::json!({ "email": "ann@example.com" }));
    let waiting = tokio::spawn(post.send());
    was_asked.recv().await.expect("it is asked");
    waiting.abort();
    let line = async {
        while !captured
            .text()
            .contains("route=\"/api/waitlist\" status=499 ")
        {
            tokio::task::yield_now().await;
        }
    };
    timeout(TEST_TIMEOUT, line).await.expect("it has its line");
}
