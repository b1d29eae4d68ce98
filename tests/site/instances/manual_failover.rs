//! A database with a synchronous standby, whose primary is lost.

use super::{Clients, Instance};
use crate::postgres_server::{FIRST_DATABASE, PostgresServer};

#[test]
fn failover_to_a_synchronous_standby_loses_no_sign_up() {
    let primary = PostgresServer::start();
    let both = primary.create_database();
    let standby = PostgresServer::standby_of(&primary);
    primary.set_synchronous_standby("*");
    let both = both.replace(
        &format!(":{}/", primary.port),
        &format!(":{},127.0.0.1:{}/", primary.port, standby.port),
    );
    let instances = [(); 2].map(|()| Instance::start(&both));
    let clients = Clients::start(format!("http://{}", instances[0].addr));
    clients.wait_for_sign_ups("with the primary");

    primary.down("immediate");
    standby.promote();
    clients.wait_for_sign_ups("with the promoted standby");
    instances[1].wait_for("/readyz", "200");

    let outcomes = clients.finish();
    assert!(
        outcomes
            .statuses
            .keys()
            .all(|status| [201, 409, 503].contains(status)),
        "{:?}",
        outcomes.statuses
    );
    let listed = outcomes.assert_stored_in(&standby, FIRST_DATABASE);
    assert!(listed > 0);
}
