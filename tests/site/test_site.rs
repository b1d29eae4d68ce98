//! Runs the site inside the test process, on a free port and with a new store.

use std::{fs, sync::Arc, time::Duration};

use landing::{
    mail::Template,
    server::{AppState, ConfirmationSender, bind, listen, serve},
    waitlist::{SledWaitlist, Waitlist},
};
use reqwest::{Client, RequestBuilder, Response, redirect::Policy};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    sync::Notify,
    task::spawn_blocking,
};

use crate::fixtures::parse_config;

/// No rate limit, unless a test sets one.
const UNLIMITED: &str = "--signups-per-minute=0";

/// Makes a test a trusted proxy. Only trusted proxies may use HTTP/2.
pub(crate) const TRUST_LOOPBACK: &str = "--trusted-proxies=127.0.0.0/8";

/// A running site. Dropping it removes its directories.
pub(crate) struct TestSite {
    origin: String,
    client: Client,
    stop: Arc<Notify>,
    /// That of the list, if the site has created it.
    directory: Option<TempDir>,
}

impl TestSite {
    /// Starts a site with an empty list and no rate limit.
    pub(crate) async fn start() -> Self {
        Self::with_options(&[UNLIMITED]).await
    }

    /// Starts a site with an empty list and these command-line options.
    pub(crate) async fn with_options(options: &[&str]) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let list = SledWaitlist::open(&directory.path().join("data")).expect("a new list opens");
        let mut site = Self::with_list(Arc::new(list), options).await;
        site.directory = Some(directory);
        site
    }

    /// Starts a site with this store and no rate limit.
    pub(crate) async fn with_store(list: impl Waitlist) -> Self {
        Self::with_store_and_options(list, &[UNLIMITED]).await
    }

    /// Starts a site with this store and these command-line options.
    pub(crate) async fn with_store_and_options(list: impl Waitlist, options: &[&str]) -> Self {
        Self::with_list(Arc::new(list), options).await
    }

    /// Starts a site with a list that the test uses too, and these command-line options.
    pub(crate) async fn with_list(list: Arc<dyn Waitlist>, options: &[&str]) -> Self {
        Self::serve(list, options, None).await
    }

    /// Starts a site with a list that the test uses too, and with this time between two sweeps.
    pub(crate) async fn with_sweeps(
        list: Arc<dyn Waitlist>,
        options: &[&str],
        sweep_interval: Duration,
    ) -> Self {
        Self::serve(list, options, Some(sweep_interval)).await
    }

    async fn serve(
        list: Arc<dyn Waitlist>,
        options: &[&str],
        sweep_interval: Option<Duration>,
    ) -> Self {
        let config = parse_config(options).expect("valid options");
        let shutdown_grace = Duration::from_secs(config.shutdown_grace);
        let settings = config.confirm_settings().expect("complete settings");
        let sender = settings.map(|settings| {
            let welcome = settings.welcome.as_deref().map(|file| {
                let text = fs::read_to_string(file).expect("a file");
                Template::parse("welcome.md", &text).expect("a message")
            });
            ConfirmationSender::new(settings, welcome)
        });
        let mut sender = sender.transpose().expect("settings that work");
        if let (Some(sender), Some(interval)) = (&mut sender, sweep_interval) {
            sender.sweep_interval = interval;
        }
        if let Some(sender) = &mut sender {
            sender.begin_welcome(&*list).await.expect("a message");
        }
        // It may read the list.
        let state = spawn_blocking(move || AppState::new(&config, list, sender));
        let state = state.await.expect("no panic");
        let socket = bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let listener = listen(socket).expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("a bound socket"));
        // Each notification is a signal. A second one would end the grace period.
        let stop = Arc::new(Notify::new());
        let signals = Arc::clone(&stop);
        tokio::spawn(serve(listener, state, shutdown_grace, async move || {
            signals.notified().await
        }));
        let client = Client::builder()
            .redirect(Policy::none())
            .build()
            .expect("a client");
        Self {
            origin,
            client,
            stop,
            directory: None,
        }
    }

    /// Stops the site, as SIGTERM does.
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.origin))
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.origin))
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = method.parse().expect("a method");
        self.client
            .request(method, format!("{}{path}", self.origin))
    }

    /// Opens a connection, for bytes that an HTTP client would not send.
    pub(crate) async fn connect(&self) -> TcpStream {
        let addr = self.origin.trim_start_matches("http://");
        TcpStream::connect(addr).await.expect("the server listens")
    }

    /// The same, from another address of this machine, such as `127.0.0.2`.
    pub(crate) async fn connect_from(&self, address: [u8; 4]) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind((address, 0).into())
            .expect("a loopback address");
        let addr = self.origin.trim_start_matches("http://");
        let addr = addr.parse().expect("an address and a port");
        socket.connect(addr).await.expect("the server listens")
    }

    /// Sends bytes, shuts down the sending side, and returns everything the server sends.
    pub(crate) async fn send_raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.expect("the server reads");
        stream.shutdown().await.expect("an open connection");
        let mut response = String::new();
        let read = stream.read_to_string(&mut response).await;
        read.expect("no reset");
        response
    }

    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Signs up through the API.
    pub(crate) async fn join(&self, email: &str) -> Response {
        let body = serde_json::json!({ "email": email });
        self.post("/api/waitlist")
            .json(&body)
            .send()
            .await
            .expect("a response")
    }

    /// Posts the form as a browser without JavaScript does.
    pub(crate) async fn post_form(&self, body: impl Into<reqwest::Body>) -> Response {
        let post = self
            .post("/")
            .header("content-type", "application/x-www-form-urlencoded");
        post.body(body).send().await.expect("a response")
    }

    pub(crate) async fn count(&self) -> u64 {
        let response = self
            .get("/api/waitlist/count")
            .send()
            .await
            .expect("a response");
        assert_eq!(response.status(), 200);
        let body: serde_json::Value = response.json().await.expect("JSON");
        body["count"].as_u64().expect("a number")
    }

    /// Returns the HTML of the landing page.
    pub(crate) async fn page(&self) -> String {
        self.get_text("/").await
    }

    /// Returns the body of a path that responds with 200.
    pub(crate) async fn get_text(&self, path: &str) -> String {
        let response = self.get(path).send().await.expect("a response");
        assert_eq!(response.status(), 200, "{path}");
        response.text().await.expect("text")
    }
}

/// Returns a client that uses HTTP/2 without TLS, as proxies do.
pub(crate) fn http2_client() -> Client {
    let client = Client::builder().http2_prior_knowledge();
    client.build().expect("a client")
}

/// Returns a header of a response, or an empty string if it is missing.
pub(crate) fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response
        .headers()
        .get(name)
        .map_or("", |value| value.to_str().expect("text"))
}
