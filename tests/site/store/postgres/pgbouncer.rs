//! PgBouncer in front of the database.

use std::{
    fs,
    net::TcpStream,
    process::{Child, Stdio},
};

use landing::waitlist::Joined;
use tempfile::TempDir;

use super::{is_opened, open, refusal};
use crate::{
    postgres_server::{PASSWORD, SHARED, free_port, unprivileged_command},
    process::wait_until,
    store::join,
};

struct Pooler {
    process: Child,
    url: String,
    _folder: TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pooler(mode: &str) -> Pooler {
    pooler_with(mode, "")
}

fn pooler_with(mode: &str, settings: &str) -> Pooler {
    let folder = TempDir::new().expect("a directory");
    fs::set_permissions(
        folder.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("ours");
    let port = free_port();
    let users = folder.path().join("users");
    fs::write(&users, format!("\"owner\" \"{PASSWORD}\"\n")).expect("writable");
    let file = folder.path().join("pgbouncer.ini");
    let text = format!(
        "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
         listen_port = {port}\nunix_socket_dir =\nauth_type = plain\nauth_file = {}\npool_mode = {mode}\n{settings}\n",
        SHARED.port,
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
    let url = SHARED.database();
    Pooler {
        process,
        url: url.replace(&format!(":{}/", SHARED.port), &format!(":{port}/")),
        _folder: folder,
    }
}

#[test]
fn a_pooler_by_transactions_is_refused_with_the_remedy() {
    for mode in ["transaction", "statement"] {
        let pooler = pooler(mode);
        for _ in 0..5 {
            let told = refusal(&pooler.url);
            assert!(told.contains("pool_mode = session"), "{mode}: {told}");
        }
    }
}

#[test]
fn a_pooler_by_transactions_is_refused_however_it_hands_out_connections() {
    for settings in [
        "server_round_robin = 1\ndefault_pool_size = 2\nmin_pool_size = 2",
        "server_round_robin = 1\ndefault_pool_size = 3\nmin_pool_size = 3",
        "default_pool_size = 1",
    ] {
        let pooler = pooler_with("transaction", settings);
        for _ in 0..3 {
            let told = refusal(&pooler.url);
            assert!(told.contains("pool_mode = session"), "{settings}: {told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_by_sessions_is_used() {
    let pooler = pooler("session");
    let list = open(&pooler.url.parse().expect("a URL"));
    assert_eq!(join(&list, "ann@example.com").await, Joined::New);
    let other = open(&pooler.url.parse().expect("a URL"));
    assert_eq!(join(&other, "ANN@example.com").await, Joined::AlreadyListed);
    assert!(is_opened(&pooler.url));
}
