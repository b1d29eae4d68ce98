//! URLs of a database, and the options of libpq. `urls.txt` of the commands has those that are rejected, and what is shown of them.

use landing::waitlist::DatabaseUrl;
use tempfile::TempDir;

use super::can_open;
use crate::postgres_server::PostgresServer;

#[test]
fn display_omits_credentials() {
    let url = "postgres://owner:secret@%2Fvar%2Frun/list";
    let url: DatabaseUrl = url.parse().expect("a valid URL");
    let shown = "postgres:///var/run:5432/list".to_owned();
    assert_eq!(
        (url.to_string(), format!("{url:?}")),
        (shown.clone(), shown)
    );
}

/// libpq ignores `sslmode` for Unix sockets.
#[test]
fn unix_socket_works_with_any_sslmode() {
    let folder = TempDir::new().expect("a directory");
    let path = folder.path().display().to_string();
    std::fs::set_permissions(
        folder.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .expect("permitted");
    let server = PostgresServer::with_settings(&[&format!("unix_socket_directories = '{path}'")]);
    let url = server.create_database();
    let socket = path.replace('/', "%2F");
    let url = url.replace("127.0.0.1", &socket);
    for mode in ["disable", "prefer", "require", "verify-full"] {
        assert!(can_open(&format!("{url}?sslmode={mode}")), "{mode}");
    }
}
