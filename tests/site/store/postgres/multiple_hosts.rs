//! Several hosts, of which one hangs.

use std::{net::TcpListener, process::Command, thread, time::Duration};

use landing::waitlist::Joined;

use super::{fault_proxy::Wire, open};
use crate::{
    postgres_server::{SHARED, Server},
    store::join,
};

/// A host that accepts connections and says nothing, before or after the good one in a URL.
fn with_a_host_that_hangs(is_first: bool) -> (TcpListener, String) {
    let hangs = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let other = hangs.local_addr().expect("it is bound");
    let good = format!("127.0.0.1:{}", SHARED.port);
    let both = if is_first {
        format!("{other},{good}")
    } else {
        format!("{good},{other}")
    };
    (hangs, SHARED.database().replace(&good, &both))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_hangs_does_not_starve_the_healthy_one() {
    for turn in 0..8 {
        let (_hangs, url) = with_a_host_that_hangs(turn % 2 == 0);
        for options in ["", "?load_balance_hosts=disable"] {
            let list = open(&format!("{url}{options}").parse().expect("a URL"));
            let ann = format!("ann{options}@example.com").replace(['?', '='], "-");
            assert_eq!(join(&list, &ann).await, Joined::New, "turn {turn}");
        }
    }
}

/// It lets us log in, and does not answer what comes then.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_hangs_at_a_statement_does_not_starve_the_healthy_one() {
    let wire = Wire::to_new_database("entries = entries").await;
    let (hanging, good) = (wire.port, SHARED.port);
    let url = wire
        .both
        .replace("HOSTS", &format!("127.0.0.1:{hanging},127.0.0.1:{good}"));
    let list = open(
        &format!("{url}?load_balance_hosts=disable")
            .parse()
            .expect("a URL"),
    );
    wire.mute_all();
    assert_eq!(join(&list, "ann@example.com").await, Joined::New);
    assert!(wire.cuts() > 0, "nothing was put to the test");
}

#[test]
fn a_command_uses_the_healthy_host_too() {
    let (_hangs, url) = with_a_host_that_hangs(true);
    drop(open(&url.parse().expect("a URL")));
    for _ in 0..6 {
        let count = Command::new(env!("CARGO_BIN_EXE_landing"))
            .env_clear()
            .env("DATABASE_URL", &url)
            .arg("count")
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&count.stderr);
        assert_eq!(count.stdout, b"0\n", "{told}");
    }
}

#[test]
fn a_command_waits_for_a_database_that_starts() {
    let server = Server::start();
    let url = server.database();
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
    let told = String::from_utf8_lossy(&count.stderr);
    assert_eq!(count.stdout, b"0\n", "{told}");
    assert_eq!(told.matches("does not answer").count(), 1, "{told}");
    assert!(told.contains("Trying for 15 seconds"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}
