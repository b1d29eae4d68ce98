//! A database with a standby, of which the first is lost for good.

use super::{Clients, Copy};
use crate::postgres_server::Server;

#[test]
fn with_a_standby_that_is_waited_for_nobody_is_lost_when_the_first_database_is() {
    let first = Server::start();
    let name = "list0";
    let both = first.database();
    let standby = Server::standby_of(&first);
    // From now on nobody is answered before the standby has it.
    first.sql(
        "postgres",
        "ALTER SYSTEM SET synchronous_standby_names = '*'",
    );
    first.sql("postgres", "SELECT pg_reload_conf()");
    let both = both.replace(
        &format!(":{}/", first.port),
        &format!(":{},127.0.0.1:{}/", first.port, standby.port),
    );
    let copies = [(); 2].map(|()| Copy::start(&both));
    let clients = Clients::come(format!("http://{}", copies[0].addr));
    clients.wait_for_more("both are there");

    first.down("immediate");
    standby.promote();
    clients.wait_for_more("the standby is the first now");
    copies[1].wait_for("/readyz", "200");

    let told = clients.leave();
    assert!(
        told.statuses
            .keys()
            .all(|status| [201, 409, 503].contains(status)),
        "{:?}",
        told.statuses
    );
    let listed = told.is_kept_by(&standby, name);
    assert!(listed > 0);
}
