//! URLs of a database, and the options of libpq. `urls.txt` of the commands has those that are rejected.

use landing::waitlist::DatabaseUrl;
use tempfile::TempDir;

use super::{SharedDatabase, can_open, open_error, open_url};
use crate::postgres_server::{PostgresServer, SHARED_SERVER};

/// The shared server has no TLS.
#[test]
fn unusual_characters_in_a_url_do_not_disable_tls() {
    let port = SHARED_SERVER.port;
    for url in [
        format!("postgres://owner:a?secret@127.0.0.1:{port}/list?sslmode=require"),
        format!("postgres://owner:a?sslmode=disable&secret@127.0.0.1:{port}/list?sslmode=require"),
        format!("postgres://127.0.0.1:{port}/list?sslmode=require&application_name=a@b"),
        format!("postgres://owner:secret@127.0.0.1:{port}/list?ssl%6Dode=require"),
    ] {
        let message = open_error(&url);
        assert!(
            message.contains("server does not support TLS"),
            "{url}: {message}"
        );
    }
}

#[test]
fn display_omits_credentials() {
    for (url, shown) in [
        (
            "postgres://owner:secret@db.example/list?application_name=secret",
            "postgres://db.example:5432/list",
        ),
        (
            "postgresql://owner:secret@a:1,b:2,c:3/list",
            "postgres://a:1,b:2,c:3/list",
        ),
        (
            "postgres://owner:secret@%2Fvar%2Frun/list",
            "postgres:///var/run:5432/list",
        ),
    ] {
        let url: DatabaseUrl = url.parse().expect("a valid URL");
        assert_eq!(
            (url.to_string(), format!("{url:?}")),
            (shown.to_owned(), shown.to_owned())
        );
    }
}

#[test]
fn supports_options_of_libpq() {
    let SharedDatabase { name, url } = SharedDatabase::create();
    let port = SHARED_SERVER.port;
    let login = url
        .split("://")
        .nth(1)
        .and_then(|rest| rest.split('@').next());
    let login = login.expect("a user and a password");
    for supported in [
        format!("{url}?target_session_attrs=primary"),
        format!("{url}?target_session_attrs=any"),
        format!("{url}?target_session_attrs=read-write"),
        format!(
            "{url}?gssencmode=prefer&client_encoding=UTF8&keepalives_count=3&connect_timeout=4"
        ),
        format!("postgres://{login}@no.such.host.example:{port}/{name}?hostaddr=127.0.0.1"),
        format!("postgres://{login}@/{name}?hostaddr=127.0.0.1&port={port}"),
        format!("postgres://{login}@/{name}?host=127.0.0.1&port={port}"),
        format!("postgres://{login}@127.0.0.1:{port}?dbname={name}"),
        format!("{url}?options=-cwork_mem%3D8MB"),
    ] {
        assert!(
            can_open(&supported),
            "{supported}: {}",
            open_error(&supported)
        );
    }
    let list = open_url(&format!("{url}?application_name=the%20site"));
    let named = "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'the site'";
    assert_eq!(SHARED_SERVER.sql("postgres", named), "t");
    drop(list);
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
