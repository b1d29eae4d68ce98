//! Several hosts, of which one hangs.

use std::{net::TcpListener, process::Command, thread, time::Duration};

use landing::waitlist::JoinOutcome;

use super::{fault_proxy::FaultProxy, open};
use crate::{
    postgres_server::{PostgresServer, SHARED_SERVER},
    store::join,
};

/// A host that accepts connections and says nothing, before or after the good one in a URL.
fn url_with_hanging_host(is_first: bool) -> (TcpListener, String) {
    let hangs = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let other = hangs.local_addr().expect("it is bound");
    let good = format!("127.0.0.1:{}", SHARED_SERVER.port);
    let both = if is_first {
        format!("{other},{good}")
    } else {
        format!("{good},{other}")
    };
    (hangs, SHARED_SERVER.create_database().replace(&good, &both))
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_host_does_not_block_the_healthy_one() {
    for turn in 0..8 {
        let (_hangs, url) = url_with_hanging_host(turn % 2 == 0);
        for options in ["", "?load_balance_hosts=disable"] {
            let list = open(&format!("{url}{options}").parse().expect("a URL"));
            let ann = format!("ann{options}@example.com").replace(['?', '='], "-");
            assert_eq!(join(&list, &ann).await, JoinOutcome::New, "turn {turn}");
        }
    }
}

/// It lets us log in, and does not answer what comes then.
#[tokio::test(flavor = "multi_thread")]
async fn host_hanging_at_a_statement_does_not_block_the_healthy_one() {
    let proxy = FaultProxy::to_new_database("entries = entries").await;
    let (hanging, good) = (proxy.port, SHARED_SERVER.port);
    let url = proxy
        .both
        .replace("HOSTS", &format!("127.0.0.1:{hanging},127.0.0.1:{good}"));
    let list = open(
        &format!("{url}?load_balance_hosts=disable")
            .parse()
            .expect("a URL"),
    );
    proxy.drop_all_responses();
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
    assert!(proxy.faults() > 0, "nothing was put to the test");
}

#[test]
fn command_uses_the_healthy_host() {
    let (_hangs, url) = url_with_hanging_host(true);
    drop(open(&url.parse().expect("a URL")));
    for _ in 0..6 {
        let count = Command::new(env!("CARGO_BIN_EXE_landing"))
            .env_clear()
            .env("DATABASE_URL", &url)
            .arg("count")
            .output()
            .expect("it runs");
        let stderr = String::from_utf8_lossy(&count.stderr);
        assert_eq!(count.stdout, b"0\n", "{stderr}");
    }
}

#[test]
fn command_waits_for_a_starting_database() {
    let server = PostgresServer::start();
    let url = server.create_database();
    drop(open(&url.parse().expect("a URL")));
    server.down("fast");
    let count = Command::new(env!("CARGO_BIN_EXE_landing"))
        .env_clear()
        .env("DATABASE_URL", &url)
        .arg("count")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    // It has tried by then, and has not given up.
    thread::sleep(Duration::from_secs(1));
    server.up();
    let count = count.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&count.stderr);
    assert_eq!(count.stdout, b"0\n", "{stderr}");
    assert_eq!(stderr.matches("does not answer").count(), 1, "{stderr}");
    assert!(stderr.contains("Trying for 15 seconds"), "{stderr}");
    assert!(!stderr.contains("secret"), "{stderr}");
}
