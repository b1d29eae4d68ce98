//! A list moves to a database while people sign up, with the documented steps.

use std::process::{Command, Stdio};

use super::{Clients, Instance};
use crate::{
    postgres_server::{FIRST_DATABASE, PostgresServer},
    process::Sandbox,
};

/// Runs `landing export | landing import`.
fn export_and_import(from: &str, to: &str) {
    let landing = |store: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
        command.env_clear().env("LANDING_STORE", store);
        command
    };
    let export = landing(from).arg("export").stdout(Stdio::piped()).spawn();
    let mut export = export.expect("the program starts");
    let out = export.stdout.take().expect("standard output is piped");
    let imported = landing(to).arg("import").stdin(out).output();
    assert!(export.wait().expect("the program ends").success());
    let imported = imported.expect("the program runs");
    assert!(
        imported.status.success(),
        "{}",
        String::from_utf8_lossy(&imported.stderr)
    );
}

#[test]
fn live_migration_to_a_database_loses_no_sign_up() {
    let sandbox = Sandbox::new();
    let mut old = sandbox.serve();
    let directory = format!("sled:{}", sandbox.path().join("data").display());
    let clients = Clients::start(format!("http://{}", old.addr));
    clients.wait_for_sign_ups("in the directory");

    let server = PostgresServer::start();
    let database = server.create_database();
    let instance = Instance::start(&database);
    export_and_import(&directory, &database);
    clients.wait_for_sign_ups("still in the directory");
    clients.switch_to(format!("http://{}", instance.addr));
    clients.wait_for_sign_ups("in the database");
    old.signal("-TERM");
    assert_eq!(old.wait_for_exit(), Some(0));
    export_and_import(&directory, &database);

    let outcomes = clients.finish();
    assert_eq!(
        outcomes.statuses.keys().collect::<Vec<_>>(),
        [&201],
        "no client notices the migration"
    );
    assert_eq!(
        outcomes.assert_stored_in(&server, FIRST_DATABASE),
        outcomes.acknowledged.len() as u64
    );
}
