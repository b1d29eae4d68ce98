//! `landing health`, for the health check of a container.

use super::{send_failures::fake_site, stderr, with_server};
use crate::postgres_server::free_port;

#[test]
fn succeeds_while_the_server_stores_sign_ups() {
    let mut cli = with_server();
    let addr = cli.server.as_ref().expect("a server").addr.clone();
    cli.run(&["health", "--addr", &addr]).success();
    // As in a container.
    let all_addresses = addr.replace("127.0.0.1", "0.0.0.0");
    cli.run(&["health", "--addr", &all_addresses]).success();
    cli.server = None;
    cli.assert_fails(
        &["health", "--addr", &addr],
        format!("no healthy server at {addr}"),
    );
}

#[test]
fn reads_the_address_from_the_variable_of_the_server() {
    let cli = with_server();
    let addr = cli.server.as_ref().expect("a server").addr.clone();
    let mut command = cli.landing();
    command.arg("health").env("LANDING_ADDR", &addr);
    assert!(command.status().expect("the program runs").success());
    let unused = format!("127.0.0.1:{}", free_port());
    command.env("LANDING_ADDR", unused);
    assert_eq!(command.status().expect("the program runs").code(), Some(1));
}

#[test]
fn fails_if_the_store_does_or_another_program_responds() {
    for (status, expected) in [
        ("503 Service Unavailable", "cannot store sign-ups"),
        ("404 Not Found", "another program"),
        ("not HTTP", "no healthy server"),
    ] {
        let origin = fake_site(status);
        let addr = origin.trim_start_matches("http://");
        let cli = super::without_server();
        let error = stderr(&cli.run(&["health", "--addr", addr]).code(1));
        assert!(error.contains(expected), "{status}: {error}");
    }
}
