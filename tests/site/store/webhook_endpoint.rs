//! An endpoint for webhooks, which does what a test says. It checks each signature with the reference library of Standard
//! Webhooks.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use standardwebhooks::Webhook;

/// The secret of the webhooks in tests.
pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// What the endpoint does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Sends this status, without a body.
    Status(u16),
    /// Sends these bytes.
    Raw(String),
    /// Sends nothing, and keeps the connection open.
    Hang,
    /// Closes the connection.
    Cut,
    /// Sends a head with this status, and a body without end.
    Endless(u16),
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) at: Instant,
    pub(crate) head: String,
    pub(crate) id: String,
    pub(crate) body: Value,
    /// The reply to it.
    pub(crate) reply: Reply,
}

impl Received {
    /// Returns what happened to whom, such as `person.joined ann@example.com`.
    pub(crate) fn what(&self) -> String {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let (kind, email) = (&self.body["type"], &self.body["data"]["email"]);
        format!("{} {}", text(kind), text(email))
    }

    pub(crate) fn is_accepted(&self) -> bool {
        matches!(
            self.reply,
            Reply::Status(200..300) | Reply::Endless(200..300)
        )
    }
}

type Script = Arc<dyn Fn(&str) -> Reply + Send + Sync>;

/// A running endpoint.
pub(crate) struct Endpoint {
    port: u16,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Endpoint {
    /// Starts an endpoint that accepts everything.
    pub(crate) fn start() -> Self {
        Self::scripted(|_| Reply::Status(204))
    }

    /// Starts an endpoint with a script, which gets what a request says ([`Received::what`]).
    pub(crate) fn scripted(script: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0", script)
    }

    /// The same, at an address.
    pub(crate) fn at(addr: &str, script: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(addr).expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let received = Arc::<Mutex<Vec<_>>>::default();
        let log = Arc::clone(&received);
        let script: Script = Arc::new(script);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, script) = (Arc::clone(&log), Arc::clone(&script));
                thread::spawn(move || serve(stream, &script, &log));
            }
        });
        Self { port, received }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hooks/path-of-the-tests", self.port)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received
            .lock()
            .expect("all requests are valid")
            .clone()
    }

    /// Returns what the requests say that the endpoint has accepted.
    pub(crate) fn accepted(&self) -> Vec<String> {
        let accepted = self.received().into_iter().filter(Received::is_accepted);
        accepted.map(|it| it.what()).collect()
    }
}

/// Serves the requests of a connection. Panics, which the next look at the log finds, if a request is invalid.
fn serve(stream: TcpStream, script: &Script, log: &Mutex<Vec<Received>>) {
    let mut writer = stream.try_clone().expect("a socket");
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let len = head.split("content-length: ").nth(1);
        let len = len.and_then(|it| it.lines().next()?.parse().ok());
        let mut body = vec![0; len.expect("a length")];
        if reader.read_exact(&mut body).is_err() {
            // The sender was killed.
            return;
        }
        let mut log = log.lock().expect("all requests are valid");
        let mut received = verify(head, &body);
        let reply = script(&received.what());
        received.reply = reply.clone();
        log.push(received);
        drop(log);
        match reply {
            Reply::Status(status) => {
                let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: 0\r\n\r\n");
                let _ = writer.write_all(head.as_bytes());
            }
            Reply::Raw(bytes) => drop(writer.write_all(bytes.as_bytes())),
            Reply::Cut => return,
            Reply::Hang => thread::sleep(Duration::from_secs(3600)),
            Reply::Endless(status) => {
                let head = format!("HTTP/1.1 {status} Status\r\n\r\n");
                let mut sent = writer.write_all(head.as_bytes());
                while sent.is_ok() {
                    sent = writer.write_all(&[b'x'; 4096]);
                }
                return;
            }
        }
    }
}

fn verify(head: String, body: &[u8]) -> Received {
    assert!(
        head.starts_with("POST /hooks/path-of-the-tests HTTP/1.1\r\n"),
        "{head}"
    );
    let mut headers = HeaderMap::new();
    for line in head.lines().skip(1).take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").expect("a header");
        let name: HeaderName = name.parse().expect("a name");
        headers.insert(name, HeaderValue::from_str(value).expect("a value"));
    }
    let webhook = Webhook::new(SECRET).expect("a secret");
    webhook.verify(body, &headers).expect("a valid signature");
    Received {
        at: Instant::now(),
        id: headers["webhook-id"].to_str().expect("text").to_owned(),
        body: serde_json::from_slice(body).expect("JSON"),
        head,
        reply: Reply::Cut,
    }
}
