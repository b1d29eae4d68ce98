//! A visit: what a browser requests, in the order and with the pauses of a person.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::{Method, Request, body::Bytes, http::request};
use rand::RngExt;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    browser::{Body, Browser, Target},
    site::SiteFiles,
};

/// Of this many visits, one is that of somebody who was here before.
const REPEAT_EVERY: u64 = 5;
/// Of this many visits, one ends with a sign-up.
const SIGN_UP_EVERY: u64 = 10;
/// How long a browser keeps connections after the visit, if the server does not close them.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// Milliseconds until the page is painted and idle, and its script loads the host of the islands.
const PAINT_MS: std::ops::Range<u64> = 50..250;
/// Milliseconds until the visitor scrolls.
const READ_MS: std::ops::Range<u64> = 500..3_000;
/// Milliseconds until the visitor has typed an address.
const TYPE_MS: std::ops::Range<u64> = 1_000..4_000;

/// A time that is measured. The names are those of the tables.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Metric {
    /// From the arrival of a first visitor to the last byte of the page: connecting and a late start count.
    Page,
    /// The same, of a visitor who has the page in the cache.
    PageAgain,
    /// From the moment in which the browser wants a file to its last byte: waiting for a connection counts.
    File,
    Count,
    SignUp,
    /// All that the visitor has waited for.
    Visit,
    /// How late the visitor started, because the load generator was busy.
    StartDelay,
}

impl Metric {
    pub(crate) const ALL: [Self; 7] = [
        Self::Page,
        Self::PageAgain,
        Self::File,
        Self::Count,
        Self::SignUp,
        Self::Visit,
        Self::StartDelay,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Page => "page, first visit",
            Self::PageAgain => "page, repeat visit",
            Self::File => "file",
            Self::Count => "count",
            Self::SignUp => "sign-up",
            Self::Visit => "all waits of a visit",
            Self::StartDelay => "start delay",
        }
    }
}

/// A measured time, with the status of the response, or an error.
pub(crate) struct Sample {
    pub(crate) metric: Metric,
    pub(crate) time: Duration,
    pub(crate) outcome: Result<u16, String>,
}

/// Keeps a list of the addresses that have signed up.
pub(crate) trait SignUps: Send + Sync {
    /// Notes that somebody is about to sign up. The server may store the address before the visitor knows.
    fn begin(&self, email: String);

    /// Notes that the server has said that the address is on the list.
    fn acknowledge(&self, email: String);
}

/// All visitors of a site.
pub(crate) struct Visitors {
    pub(crate) target: Arc<Target>,
    pub(crate) files: SiteFiles,
    /// The validator of the page that was sent last. Repeat visitors have it in their caches, as if they had seen the page a
    /// moment ago.
    etag: Mutex<Option<String>>,
    sign_ups: Option<Arc<dyn SignUps>>,
    number: AtomicU64,
    /// Distinguishes the addresses of this run.
    run: u64,
}

impl Visitors {
    pub(crate) fn new(
        target: Arc<Target>,
        files: SiteFiles,
        sign_ups: Option<Arc<dyn SignUps>>,
    ) -> Self {
        Self {
            target,
            files,
            etag: Mutex::default(),
            sign_ups,
            number: AtomicU64::new(0),
            run: rand::random(),
        }
    }

    /// Returns the requests of an average visit.
    pub(crate) fn requests_per_visit(&self) -> f64 {
        let first = 1.0 - 1.0 / REPEAT_EVERY as f64;
        // The page, its files, the count, and for some the sign-up with another count.
        1.0 + first * self.files.count() as f64 + 1.0 + 2.0 / SIGN_UP_EVERY as f64
    }

    /// Waits for the arrival of a visitor, and simulates the visit.
    pub(crate) async fn visit(&self, arrival: Instant) -> Vec<Sample> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        // Each visitor has an address: 127.1.0.1 and those after it.
        let address =
            Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 1)) + number as u32 % (1 << 23));
        let browser = Arc::new(Browser::new(Arc::clone(&self.target), address));
        sleep_until(arrival).await;
        let mut visit = Visit {
            visitors: self,
            browser,
            samples: Vec::new(),
            waited: Duration::ZERO,
        };
        visit.add(Metric::StartDelay, arrival.elapsed(), Ok(0));
        // An error ends the visit, as an error page does.
        if visit.run(number, arrival).await.is_some() {
            let waited = visit.waited;
            visit.add(Metric::Visit, waited, Ok(0));
        }
        let browser = visit.browser;
        tokio::spawn(async move {
            sleep(KEEP_ALIVE).await;
            drop(browser);
        });
        visit.samples
    }
}

struct Visit<'a> {
    visitors: &'a Visitors,
    browser: Arc<Browser>,
    samples: Vec<Sample>,
    /// The time that the visitor has waited for responses.
    waited: Duration,
}

impl Visit<'_> {
    /// Simulates the visit. Returns `None` after an error.
    async fn run(&mut self, number: u64, arrival: Instant) -> Option<()> {
        let files = &self.visitors.files;
        let is_repeat = number % REPEAT_EVERY == REPEAT_EVERY - 1;
        self.open_page(is_repeat, arrival).await?;
        // A browser that was here before has the files, whose names contain a hash.
        let [head, host, modules] = match is_repeat {
            true => [&[][..]; 3],
            false => [&files.head[..], &files.host, &files.modules],
        };
        self.load_files(head).await?;
        pause(PAINT_MS).await;
        self.load_files(host).await?;
        pause(READ_MS).await;
        self.load_files(modules).await?;
        self.read_count().await?;
        if number.is_multiple_of(SIGN_UP_EVERY) {
            pause(TYPE_MS).await;
            self.sign_up(number).await?;
            self.read_count().await?;
        }
        Some(())
    }

    async fn open_page(&mut self, is_repeat: bool, arrival: Instant) -> Option<()> {
        let visitors = self.visitors;
        let cached = || visitors.etag.lock().unwrap_or_else(PoisonError::into_inner);
        let etag = cached().clone().filter(|_| is_repeat);
        let mut request = self.request(Method::GET, "/", "navigate", "document");
        if let Some(etag) = &etag {
            request = request.header("if-none-match", etag);
        }
        let reply = self.browser.send(&with_body(request, "")).await;
        let metric = if is_repeat {
            Metric::PageAgain
        } else {
            Metric::Page
        };
        let outcome = match &reply {
            // The count on the page may have changed since.
            Ok(reply) if reply.status == 304 && etag.is_some() => Ok(304),
            Ok(reply) => expect(reply.status, 200),
            Err(error) => Err(error.to_string()),
        };
        let is_good = outcome.is_ok();
        self.waited += arrival.elapsed();
        self.add(metric, arrival.elapsed(), outcome);
        if let Some(etag) = reply.ok().and_then(|it| it.etag) {
            *cached() = Some(etag);
        }
        is_good.then_some(())
    }

    /// Loads files at the same time, as far as the connections of the browser allow.
    async fn load_files(&mut self, paths: &[String]) -> Option<()> {
        let wanted = Instant::now();
        let mut loading = JoinSet::new();
        for path in paths {
            let request = with_body(self.request(Method::GET, path, "no-cors", "script"), "");
            let browser = Arc::clone(&self.browser);
            loading.spawn(async move {
                let outcome = match browser.send(&request).await {
                    Ok(reply) => expect(reply.status, 200),
                    Err(error) => Err(error.to_string()),
                };
                (wanted.elapsed(), outcome)
            });
        }
        let mut is_good = true;
        while let Some(loaded) = loading.join_next().await {
            let (time, outcome) = loaded.ok()?;
            is_good &= outcome.is_ok();
            self.add(Metric::File, time, outcome);
        }
        self.waited += wanted.elapsed();
        is_good.then_some(())
    }

    async fn read_count(&mut self) -> Option<()> {
        let request = self.request(Method::GET, "/api/waitlist/count", "cors", "empty");
        let request = with_body(request, "");
        (self.call(Metric::Count, request, 200).await == Some(200)).then_some(())
    }

    async fn sign_up(&mut self, number: u64) -> Option<()> {
        let email = format!("{number}.{:x}@rehearsal.example", self.visitors.run);
        let request = self
            .request(Method::POST, "/api/waitlist", "cors", "empty")
            .header("content-type", "application/json")
            .header("origin", self.browser.origin());
        let request = with_body(request, format!(r#"{{"email":"{email}"}}"#));
        if let Some(sign_ups) = &self.visitors.sign_ups {
            sign_ups.begin(email.clone());
        }
        let status = self.call(Metric::SignUp, request, 201).await;
        // 409 promises as much, as the reply to a request that the browser has repeated.
        if let (Some(sign_ups), Some(201 | 409)) = (&self.visitors.sign_ups, status) {
            sign_ups.acknowledge(email);
        }
        (status == Some(201)).then_some(())
    }

    /// Sends a request. Another status than the expected one is an error. Returns the status, if there is a response.
    async fn call(&mut self, metric: Metric, request: Request<Body>, expected: u16) -> Option<u16> {
        let wanted = Instant::now();
        let reply = self.browser.send(&request).await;
        let status = reply.as_ref().ok().map(|reply| reply.status);
        let outcome = match reply {
            Ok(reply) => expect(reply.status, expected),
            Err(error) => Err(error.to_string()),
        };
        self.waited += wanted.elapsed();
        self.add(metric, wanted.elapsed(), outcome);
        status
    }

    /// Returns a request with headers as long as those of Chrome.
    fn request(&self, method: Method, path: &str, mode: &str, dest: &str) -> request::Builder {
        let origin = self.browser.origin();
        let (_, host) = origin.split_once("://").unwrap_or_default();
        let is_http2 = origin.starts_with("https");
        let accept = match dest {
            "document" => {
                "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
            }
            _ => "*/*",
        };
        let mut request = Request::builder().method(method);
        request = match is_http2 {
            true => request.uri(format!("{origin}{path}")),
            false => request
                .uri(path)
                .header("host", host)
                .header("connection", "keep-alive"),
        };
        let site = if dest == "document" {
            "cross-site"
        } else {
            "same-origin"
        };
        request
            .header("sec-ch-ua", r#""Chromium";v="142", "Not_A Brand";v="99""#)
            .header("sec-ch-ua-mobile", "?0")
            .header("sec-ch-ua-platform", r#""Windows""#)
            .header(
                "user-agent",
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
            )
            .header("accept", accept)
            .header("sec-fetch-site", site)
            .header("sec-fetch-mode", mode)
            .header("sec-fetch-dest", dest)
            .header("referer", format!("{origin}/"))
            .header("accept-encoding", "gzip, deflate, br, zstd")
            .header("accept-language", "en-GB,en;q=0.9")
    }

    fn add(&mut self, metric: Metric, time: Duration, outcome: Result<u16, String>) {
        let sample = Sample {
            metric,
            time,
            outcome,
        };
        self.samples.push(sample);
    }
}

fn expect(status: u16, expected: u16) -> Result<u16, String> {
    match status == expected {
        true => Ok(status),
        false => Err(format!("status {status}")),
    }
}

fn with_body(request: request::Builder, body: impl Into<Bytes>) -> Request<Body> {
    let request = request.body(Body::new(body.into()));
    request.expect("valid headers")
}

async fn pause(milliseconds: std::ops::Range<u64>) {
    let milliseconds = rand::rng().random_range(milliseconds);
    sleep(Duration::from_millis(milliseconds)).await;
}
