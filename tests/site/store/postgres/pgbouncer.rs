//! PgBouncer in front of the database.

use std::{
    fs,
    net::TcpStream,
    process::{Child, Stdio},
};

use landing::waitlist::JoinOutcome;
use tempfile::TempDir;

use super::{can_open, open_error, open_url};
use crate::{
    postgres_server::{PASSWORD, SHARED_SERVER, free_port, unprivileged_command},
    process::wait_until,
    store::join,
};

struct PgBouncer {
    process: Child,
    url: String,
    _folder: TempDir,
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn start_pgbouncer(mode: &str, settings: &str) -> PgBouncer {
    let folder = TempDir::new().expect("a directory");
    fs::set_permissions(
        folder.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("permitted");
    let port = free_port();
    let users = folder.path().join("users");
    fs::write(&users, format!("\"owner\" \"{PASSWORD}\"\n")).expect("writable");
    let file = folder.path().join("pgbouncer.ini");
    let text = format!(
        "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
         listen_port = {port}\nunix_socket_dir =\nauth_type = plain\nauth_file = {}\npool_mode = {mode}\n{settings}\n",
        SHARED_SERVER.port,
        users.display(),
    );
    fs::write(&file, text).expect("writable");
    let process = unprivileged_command("pgbouncer")
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("PgBouncer; run `.ci/setup test`");
    wait_until("PgBouncer listens", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let url = SHARED_SERVER.create_database();
    PgBouncer {
        process,
        url: url.replace(&format!(":{}/", SHARED_SERVER.port), &format!(":{port}/")),
        _folder: folder,
    }
}

#[test]
fn rejects_other_pooling_for_any_pool_size_with_advice() {
    for (mode, settings) in [
        ("statement", ""),
        ("transaction", ""),
        (
            "transaction",
            "server_round_robin = 1\ndefault_pool_size = 2\nmin_pool_size = 2",
        ),
        (
            "transaction",
            "server_round_robin = 1\ndefault_pool_size = 3\nmin_pool_size = 3",
        ),
        ("transaction", "default_pool_size = 1"),
    ] {
        let pgbouncer = start_pgbouncer(mode, settings);
        for _ in 0..5 {
            let message = open_error(&pgbouncer.url);
            let is_advised = message.contains("pool_mode = session");
            assert!(is_advised, "{mode} {settings}: {message}");
        }
    }
}

/// They may have the schema of the list.
#[test]
fn rejects_a_pooler_that_drops_the_options_of_the_url() {
    let pgbouncer = start_pgbouncer("session", "ignore_startup_parameters = options");
    let message = open_error(&format!("{}?options=-csearch_path%3Dlists", pgbouncer.url));
    assert!(message.contains("ALTER ROLE"), "{message}");
    assert!(can_open(&pgbouncer.url));
}

#[tokio::test(flavor = "multi_thread")]
async fn accepts_session_pooling() {
    let pgbouncer = start_pgbouncer("session", "");
    let list = open_url(&pgbouncer.url);
    assert_eq!(join(&list, "ann@example.com").await, JoinOutcome::New);
    let other = open_url(&pgbouncer.url);
    assert_eq!(
        join(&other, "ANN@example.com").await,
        JoinOutcome::AlreadyListed
    );
    assert!(can_open(&pgbouncer.url));
}
