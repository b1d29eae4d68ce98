//! Whatever breaks, behind the balancer of the README.

use std::{
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{Clients, Copy};
use crate::{
    postgres_server::{Server, free_port},
    process::{signal, wait_until},
    reverse_proxies::{Proxy, haproxy, recipe},
};

/// Longer than an answer may take.
const PAUSE: Duration = Duration::from_secs(13);

/// The recipe over three copies, without its certificate, on a port.
fn balancer(folder: &TempDir, copies: &[Copy; 3], port: u16) -> Proxy {
    let recipe = recipe("haproxy")
        .replace(
            "bind :443 ssl crt /etc/haproxy/steward.example.pem alpn h2,http/1.1",
            &format!("bind 127.0.0.1:{port}"),
        )
        .replace("bind :80", &format!("bind 127.0.0.1:{}", free_port()));
    let addresses = copies.each_ref().map(|copy| copy.addr.as_str());
    Proxy::start(&mut haproxy(folder.path(), &recipe, addresses), port)
}

#[test]
fn whatever_breaks_nobody_is_lost_and_nobody_is_doubled() {
    let server = Server::start();
    let database = server.database();
    let mut copies = [(); 3].map(|()| Copy::start(&database));
    let (folder, port) = (TempDir::new().expect("a directory"), free_port());
    let _balancer = balancer(&folder, &copies, port);
    let clients = Clients::come(format!("http://127.0.0.1:{port}"));
    clients.wait_for_more("all is well");

    // A copy is killed, in the middle of what it does, and comes back.
    copies[1].running().signal("-KILL");
    clients.wait_for_more("a copy is gone");
    copies[1].start_again();
    clients.wait_for_more("it is back");

    // One hangs, and goes on.
    copies[0].running().signal("-STOP");
    clients.wait_for_more("a copy hangs");
    copies[0].running().signal("-CONT");

    // Another one is replaced by a new version.
    copies[2].running().signal("-TERM");
    assert_eq!(copies[2].ended(), Some(0));
    copies[2].start_again();
    clients.wait_for_more("it is new");

    // The database starts anew.
    for mode in ["fast", "immediate"] {
        server.down(mode);
        server.up();
        clients.wait_for_more(mode);
    }

    // It hangs.
    let before = copies.each_ref().map(|copy| copy.count());
    let stopped = server.processes();
    let paused = Instant::now();
    stopped.iter().for_each(|process| signal(*process, "-STOP"));
    for copy in &copies {
        copy.wait_for("/readyz", "503");
        assert_eq!(copy.status("/healthz"), "200");
    }
    let page = clients.get("/");
    thread::sleep(PAUSE.saturating_sub(paused.elapsed()));
    let known = copies.each_ref().map(|copy| copy.count());
    stopped.iter().for_each(|process| signal(*process, "-CONT"));
    assert!(page.contains("already on the list"), "the page is there");
    for (known, before) in known.iter().zip(before) {
        assert!(*known >= before, "with the last count that was known");
    }
    clients.wait_for_more("it has hung");
    for copy in &copies {
        copy.wait_for("/readyz", "200");
    }

    let told = clients.leave();
    let is_expected = |status: &u16| [201, 409, 503].contains(status);
    assert!(told.statuses.keys().all(is_expected), "{:?}", told.statuses);
    assert!(
        told.statuses.contains_key(&503),
        "nothing was put to the test"
    );
    let listed = told.is_kept_by(&server, "list0");
    for copy in &copies {
        wait_until("a copy counts everybody", || copy.count() == listed);
    }
}
