//! Stores that panic or hang, and clients that disconnect.

use std::{
    future::pending,
    io::{self, Write},
    panic::{self, PanicHookInfo},
    sync::{Arc, LazyLock, Mutex},
    thread,
};

use landing::{
    cli::log_panics,
    waitlist::{JoinOutcome, StoreError, StoreFuture, Waitlist, WaitlistEntry},
};
use tokio::{sync::mpsc, time::timeout};
use tracing::{Dispatch, subscriber::DefaultGuard};

use crate::{
    fixtures::{failing_store, immediate, stub_store},
    process::TEST_TIMEOUT,
    test_site::{TRUST_LOOPBACK, TestSite, header, http2_client},
};

/// Returns a store whose `join` panics, with the address in the message.
fn panicking_store() -> impl Waitlist {
    let join = |entry: WaitlistEntry| panic!("no log may contain {}", entry.email.as_typed());
    stub_store(join, || immediate(Ok(())))
}

/// The log of one thread, kept in memory.
#[derive(Clone, Default)]
pub(crate) struct CapturedLog(Arc<Mutex<Vec<u8>>>);

/// With a single subscriber, tracing asks the thread that logs a line first whether anybody wants such lines. That may
/// be the thread of a test without a subscriber, and then the line is never logged. With two, it asks both.
static SECOND_SUBSCRIBER: LazyLock<Dispatch> =
    LazyLock::new(|| Dispatch::new(tracing_subscriber::fmt().with_writer(io::sink).finish()));

impl CapturedLog {
    /// Captures the log of this thread until the guard is dropped.
    ///
    /// A test with a current-thread runtime runs its site on this thread.
    pub(crate) fn start() -> (Self, DefaultGuard) {
        LazyLock::force(&SECOND_SUBSCRIBER);
        let captured = Self::default();
        let writer = captured.clone();
        let log = tracing_subscriber::fmt();
        let log = log.with_writer(move || writer.clone()).finish();
        (captured, tracing::subscriber::set_default(log))
    }

    pub(crate) fn text(&self) -> String {
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

/// Restores the panic hook for the other tests of this process.
struct RestorePanicHook(Option<Hook>);

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

impl Drop for RestorePanicHook {
    fn drop(&mut self) {
        // `set_hook` panics on a panicking thread.
        if let Some(hook) = self.0.take().filter(|_| !thread::panicking()) {
            panic::set_hook(hook);
        }
    }
}

#[tokio::test]
async fn panic_is_one_500_logged_once_without_the_address() {
    let (captured, _log) = CapturedLog::start();
    let _restore = RestorePanicHook(Some(panic::take_hook()));
    log_panics();

    let site = TestSite::with_store(panicking_store()).await;
    let count = site.get("/api/waitlist/count").send();
    let response = site.join("ann@example.com").await;
    assert_eq!(response.status(), 500);
    let healthy = site.get("/healthz").send().await.expect("a response");
    for name in [
        "content-security-policy",
        "x-content-type-options",
        "strict-transport-security",
    ] {
        assert_eq!(header(&response, name), header(&healthy, name));
    }
    assert_eq!(
        response.text().await.expect("text"),
        r#"{"error":"Something went wrong on our side."}"#
    );
    assert_eq!(count.await.expect("a response").status(), 200);
    assert_eq!(site.count().await, 7);
    let form = site
        .post("/")
        .header("content-type", "application/x-www-form-urlencoded");
    let form = form.header("accept", "text/html");
    let response = form.body("email=ann%40example.com").send().await;
    let response = response.expect("a response");
    assert_eq!(response.status(), 500);
    let page = response.text().await.expect("text");
    assert!(
        page.contains("Failed to add to waitlist. Please try again."),
        "{page}"
    );

    let log = captured.text();
    let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(errors.len(), 2, "one for each request: {log}");
    for error in errors {
        assert!(
            error.contains("internal error at tests/site/security/overload.rs:"),
            "{error}"
        );
    }
    assert!(!log.contains("ann") && !log.contains("no log may"), "{log}");
}

#[tokio::test]
async fn health_ignores_the_store_and_readiness_follows_it() {
    let site = TestSite::with_store(failing_store(StoreError::Stopped)).await;
    assert_eq!(site.get_text("/healthz").await, "OK");
    let response = site.get("/readyz").send().await.expect("a response");
    assert_eq!(response.status(), 503);
    assert_eq!(response.text().await.expect("text"), "Service Unavailable");
}

/// Returns a store that never responds, and a receiver of one message for each call.
pub(super) fn hanging_store() -> (impl Waitlist, mpsc::UnboundedReceiver<()>) {
    let (sender, calls) = mpsc::unbounded_channel();
    let report_join = move || sender.send(()).expect("the test holds the receiver");
    let report_ready = report_join.clone();
    let join = move |_| {
        report_join();
        Box::pin(pending()) as StoreFuture<'static, JoinOutcome>
    };
    let ready = move || {
        report_ready();
        Box::pin(pending()) as StoreFuture<'static, ()>
    };
    (stub_store(join, ready), calls)
}

/// A load balancer may have tried another instance meanwhile. What the visitor learned there must hold, so the sign-up is
/// abandoned.
#[tokio::test]
async fn logs_clients_that_disconnect_early_as_499() {
    for client in [reqwest::Client::new(), http2_client()] {
        let (captured, _log) = CapturedLog::start();
        let (list, mut calls) = hanging_store();
        let site = TestSite::with_store_and_options(list, &[TRUST_LOOPBACK]).await;
        let post = client.post(format!("{}/api/waitlist", site.origin()));
        let post = post.json(&serde_json::json!({ "email": "ann@example.com" }));
        let client = tokio::spawn(post.send());
        calls.recv().await.expect("the site calls the store");
        client.abort();
        let answered = async {
            while !captured.text().contains("route=\"/api/waitlist\"") {
                tokio::task::yield_now().await;
            }
        };
        let answered = timeout(TEST_TIMEOUT, answered).await;
        answered.expect("a line in the log");
        assert!(
            captured.text().contains("status=499 "),
            "{}",
            captured.text()
        );
    }
}
