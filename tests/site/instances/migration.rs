//! A list is moved while people sign up, step by step as the README has it.

use std::process::{Command, Stdio};

use super::{Clients, Copy};
use crate::{postgres_server::Server, process::Place};

/// `landing export | landing import`
fn carry(from: &str, to: &str) {
    let landing = |store: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
        command.env_clear().env("LANDING_STORE", store);
        command
    };
    let export = landing(from).arg("export").stdout(Stdio::piped()).spawn();
    let mut export = export.expect("it starts");
    let out = export.stdout.take().expect("it is piped");
    let imported = landing(to).arg("import").stdin(out).output();
    assert!(export.wait().expect("it ends").success());
    let imported = imported.expect("it runs");
    assert!(
        imported.status.success(),
        "{}",
        String::from_utf8_lossy(&imported.stderr)
    );
}

#[test]
fn a_list_is_moved_into_a_database_while_people_sign_up_and_nobody_is_lost() {
    let place = Place::new();
    let mut old = place.serve();
    let here = format!("sled:{}", place.path().join("data").display());
    let clients = Clients::come(format!("http://{}", old.addr));
    clients.wait_for_more("in the directory");

    let server = Server::start();
    let database = server.database();
    let copy = Copy::start(&database);
    carry(&here, &database);
    clients.wait_for_more("still in the directory");
    clients.go_to(format!("http://{}", copy.addr));
    clients.wait_for_more("in the database");
    old.signal("-TERM");
    assert_eq!(old.ended(), Some(0));
    carry(&here, &database);

    let told = clients.leave();
    assert_eq!(
        told.statuses.keys().collect::<Vec<_>>(),
        [&201],
        "nobody notices"
    );
    assert_eq!(
        told.is_kept_by(&server, "list0"),
        told.acknowledged.len() as u64
    );
}
