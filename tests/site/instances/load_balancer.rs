//! Failures of instances and of the database, behind the load balancer of the documentation.

use std::{
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{
    Instance, check_list,
    recorder::{BALANCER, Recorder},
    resume, suspend,
};
use crate::{
    postgres_server::{FIRST_DATABASE, PostgresServer, free_port},
    process::wait_until,
    reverse_proxies::{ProxyProcess, haproxy, recipe},
};

/// Longer than HAProxy waits for an instance.
const HANG_DURATION: Duration = Duration::from_secs(13);

/// Starts HAProxy on a port, with the documented configuration, three instances and no TLS.
pub(super) fn balancer(folder: &TempDir, instances: &[Instance; 3], port: u16) -> ProxyProcess {
    let recipe = recipe("haproxy")
        .replace(
            "bind :443 ssl crt /etc/haproxy/steward.example.pem alpn h2,http/1.1",
            &format!("bind 127.0.0.1:{port}"),
        )
        .replace("bind :80", &format!("bind 127.0.0.1:{}", free_port()));
    let addresses = instances.each_ref().map(|instance| instance.addr.as_str());
    ProxyProcess::start(&mut haproxy(folder.path(), &recipe, addresses), port)
}

#[test]
fn no_failure_loses_or_duplicates_a_sign_up() {
    let server = PostgresServer::start();
    let database = server.create_database();
    let mut instances = [(); 3].map(|()| Instance::start(&database));
    let (folder, port) = (TempDir::new().expect("a directory"), free_port());
    let _balancer = balancer(&folder, &instances, port);
    let origin = format!("http://127.0.0.1:{port}");
    let clients = Recorder::start(vec![(BALANCER, origin.clone())], &database);
    clients.wait_for_sign_ups("without a failure");

    // An instance is killed and starts again.
    instances[1].running().signal("-KILL");
    clients.wait_for_sign_ups("with a killed instance");
    instances[1].restart();
    clients.wait_for_sign_ups("after the restart of the killed instance");

    // An instance hangs and continues.
    instances[0].running().signal("-STOP");
    clients.wait_for_sign_ups("with a hanging instance");
    instances[0].running().signal("-CONT");

    // An instance is restarted, as for an update.
    instances[2].running().signal("-TERM");
    assert_eq!(instances[2].wait_for_exit(), Some(0));
    instances[2].restart();
    clients.wait_for_sign_ups("with a restarted instance");

    // The database restarts.
    for mode in ["fast", "immediate"] {
        server.down(mode);
        server.up();
        clients.wait_for_sign_ups(mode);
    }

    // The database hangs.
    let before = instances.each_ref().map(|instance| instance.count());
    let paused = Instant::now();
    let suspended = suspend(&server);
    for instance in &instances {
        instance.wait_for("/readyz", "503");
        assert_eq!(instance.status("/healthz"), "200");
    }
    let page = Runtime::new().expect("a runtime").block_on(async {
        let response = reqwest::get(&origin).await.expect("a response");
        response.text().await.expect("a page")
    });
    thread::sleep(HANG_DURATION.saturating_sub(paused.elapsed()));
    let known = instances.each_ref().map(|instance| instance.count());
    resume(&suspended);
    assert!(
        page.contains("already on the list"),
        "the page is served during the outage"
    );
    for (known, before) in known.iter().zip(before) {
        assert!(*known >= before, "the last known count is served");
    }
    clients.wait_for_sign_ups("after the database hung");
    for instance in &instances {
        instance.wait_for("/readyz", "200");
    }

    check_list(&clients, &instances, |it| server.sql(FIRST_DATABASE, it));
    let statuses = clients.finish();
    assert!(statuses.contains_key(&503), "no client noticed the outage");
}

/// By then, a load balancer has sent them to another instance, and the people may have been erased.
#[test]
fn sign_ups_that_were_given_up_while_an_instance_hung_have_no_effect() {
    let server = PostgresServer::start();
    let instance = Instance::start(&server.create_database());
    assert_eq!(instance.running().join("ann@example.com"), "201");

    // The instance waits for the database with the first one, so the others wait in its queue.
    let suspended = suspend(&server);
    let waiting = ["bob", "cem", "dan"].map(|name| {
        let sent = instance.running().send(&sign_up(name));
        wait_until("it waits", || instance.running().is_idle());
        sent
    });
    instance.running().suspend();
    // These do not reach it, and are closed.
    for number in 0..50 {
        drop(instance.running().send(&sign_up(&number.to_string())));
    }
    thread::sleep(HANG_DURATION);
    resume(&suspended);
    instance.running().signal("-CONT");
    instance.wait_for("/readyz", "200");
    assert_eq!(instance.running().join("eve@example.com"), "201");

    let list = server.sql(
        FIRST_DATABASE,
        "SELECT email FROM waitlist_entries ORDER BY 1",
    );
    // The database may execute Bob's statement, which it had before.
    let list: Vec<_> = list.lines().filter(|it| *it != "bob@example.com").collect();
    assert_eq!(list, ["ann@example.com", "eve@example.com"]);
    drop(waiting);
}

/// The visitor may have joined through another instance meanwhile, and left.
#[test]
fn sign_up_whose_visitor_has_gone_has_no_effect() {
    let server = PostgresServer::start();
    let instance = Instance::start(&server.create_database());
    assert_eq!(instance.running().join("ann@example.com"), "201");
    let suspended = suspend(&server);
    // The instance waits for the database with the first one, so the other waits in its queue.
    let mut waiting = ["bob", "cem"].map(|name| {
        let sent = instance.running().send(&sign_up(name));
        wait_until("it waits", || instance.running().is_idle());
        Some(sent)
    });
    drop(waiting[1].take());
    instance
        .running()
        .send("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    wait_until("the server notices", || instance.running().is_idle());
    resume(&suspended);
    assert_eq!(instance.running().join("eve@example.com"), "201");
    let list = server.sql(
        FIRST_DATABASE,
        "SELECT email FROM waitlist_entries ORDER BY 1",
    );
    assert!(!list.contains("cem@example.com"), "{list}");
    assert!(list.contains("eve@example.com"), "{list}");
    drop(waiting);
}

/// Returns a request that adds an address to the list.
fn sign_up(name: &str) -> String {
    let body = format!(r#"{{"email":"{name}@example.com"}}"#);
    let length = body.len();
    format!(
        "POST /api/waitlist HTTP/1.1\r\nhost: steward.test\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}
