//! Several hosts, one of which hangs.

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use landing::waitlist::{JoinOutcome, Waitlist};
use tokio::time::sleep;

use super::{ProxiedDatabase, open_url, run_concurrently, within_timeout};
use crate::{
    postgres_server::{PostgresServer, SHARED_SERVER},
    store::{entry, join},
};

/// Returns the URL of a new database with a second host, before or after the healthy one. The second host accepts
/// connections and sends nothing.
fn url_with_hanging_host(is_first: bool) -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let hanging = listener.local_addr().expect("the listener is bound");
    let healthy = format!("127.0.0.1:{}", SHARED_SERVER.port);
    let both = if is_first {
        format!("{hanging},{healthy}")
    } else {
        format!("{healthy},{hanging}")
    };
    let url = SHARED_SERVER.create_database().replace(&healthy, &both);
    (listener, url)
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_host_does_not_block_the_healthy_one() {
    run_concurrently(0..8, async |round| {
        let (_hanging, url) = url_with_hanging_host(round % 2 == 0);
        for options in ["", "?load_balance_hosts=disable"] {
            let list = open_url(&format!("{url}{options}"));
            let ann = format!("ann{options}@example.com").replace(['?', '='], "-");
            assert_eq!(join(&list, &ann).await, JoinOutcome::New, "round {round}");
        }
    })
    .await;
}

/// While the healthy host is down, each attempt leaves a login that hangs at the other one. These keep their permits, and
/// must not use up those of the healthy host.
#[tokio::test(flavor = "multi_thread")]
async fn hanging_host_uses_up_no_connections_to_another() {
    let server = PostgresServer::start();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let hanging = listener.local_addr().expect("the listener is bound");
    let healthy = format!("127.0.0.1:{}", server.port);
    let url = server.create_database();
    let url = url.replace(&healthy, &format!("{hanging},{healthy}"));
    let list = Arc::new(open_url(&format!("{url}?connect_timeout=1")));
    assert_eq!(join(&*list, "ann@example.com").await, JoinOutcome::New);
    let visitors = Arc::clone(&list);
    let visits = tokio::spawn(async move {
        loop {
            let _ = visitors.join(entry("bob@example.com", 1)).await;
            sleep(Duration::from_millis(100)).await;
        }
    });
    let logins = Arc::new(Mutex::new(Vec::new()));
    let accepted = Arc::clone(&logins);
    thread::spawn(move || {
        for login in listener.incoming() {
            accepted.lock().expect("no panic").push(login);
        }
    });
    server.down("immediate");
    let count = || logins.lock().expect("no panic").len();
    // Until no permit is left.
    let mut known = 0;
    while known < 4 || count() > known {
        known = count();
        thread::sleep(Duration::from_secs(3));
    }
    server.up();
    let mut count = list.watch_count();
    within_timeout(count.wait_for(|count| *count == 2)).await;
    visits.abort();
}

/// The host accepts the login, and does not respond to the statements after it.
#[tokio::test(flavor = "multi_thread")]
async fn host_hanging_at_a_statement_does_not_block_the_healthy_one() {
    let proxy = ProxiedDatabase::create("entries = entries").await;
    let healthy = format!("127.0.0.1:{}", SHARED_SERVER.port);
    let both = format!("127.0.0.1:{},{healthy}", proxy.port);
    let url = proxy.database.url.replace(&healthy, &both);
    let list = open_url(&format!("{url}?load_balance_hosts=disable"));
    proxy.drop_all_responses();
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
    assert!(proxy.faults() > 0, "the test injected no fault");
}

/// The standby was promoted, and the first server does not know it. It still serves reads, and its commits wait for the
/// standby.
#[tokio::test(flavor = "multi_thread")]
async fn replaced_server_does_not_serve_the_count() {
    let replaced = PostgresServer::start();
    let url = replaced.create_database();
    let standby = PostgresServer::standby_of(&replaced);
    replaced.set_synchronous_standby("*");
    let hosts = |first: u16, second: u16| {
        let hosts = format!(":{first},127.0.0.1:{second}/");
        let url = url.replace(&format!(":{}/", replaced.port), &hosts);
        format!("{url}?load_balance_hosts=disable")
    };
    let list = open_url(&hosts(replaced.port, standby.port));
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
    standby.promote();
    assert_eq!(join(&list, "bob@example.com").await, JoinOutcome::New);
    let other = open_url(&hosts(standby.port, replaced.port));
    assert_eq!(join(&other, "carl@example.com").await, JoinOutcome::New);
    let mut count = list.watch_count();
    within_timeout(count.wait_for(|count| *count == 3)).await;
}

/// Starts `landing count`.
fn start_count(url: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().env("DATABASE_URL", url).arg("count");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// Waits for `landing count`, which must print 0, and returns its standard error.
fn assert_counts_0(count: Child) -> String {
    let count = count.wait_with_output().expect("the program ends");
    let stderr = String::from_utf8_lossy(&count.stderr).into_owned();
    assert_eq!(count.stdout, b"0\n", "{stderr}");
    stderr
}

#[test]
fn command_uses_the_healthy_host() {
    let (_hanging, url) = url_with_hanging_host(true);
    drop(open_url(&url));
    for count in [(); 6].map(|()| start_count(&url)) {
        assert_counts_0(count);
    }
}

#[test]
fn command_waits_for_a_starting_database() {
    let server = PostgresServer::start();
    let url = server.create_database();
    drop(open_url(&url));
    server.down("fast");
    let count = start_count(&url);
    // Within a second the first attempt has failed, and the command still retries.
    thread::sleep(Duration::from_secs(1));
    server.up();
    let stderr = assert_counts_0(count);
    assert_eq!(stderr.matches("does not respond").count(), 1, "{stderr}");
    assert!(stderr.contains("retrying for up to 15 s"), "{stderr}");
    assert!(!stderr.contains("secret"), "{stderr}");
}
