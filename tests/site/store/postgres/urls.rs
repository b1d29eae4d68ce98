//! The URL of a database: what is refused, and in which words; and what libpq takes. None of them has the
//! password in it.

use landing::waitlist::DatabaseUrl;
use tempfile::TempDir;

use super::{can_open, open, open_error};
use crate::postgres_server::{PostgresServer, SHARED_SERVER};

#[test]
fn errors_name_the_invalid_part_of_a_url() {
    for (url, named) in [
        ("mysql://owner:secret@host/list", "begins with postgres://"),
        ("postgres://owner:secret@", "no host"),
        (
            "postgres://owner:secret@host/list?sslmode=perhaps",
            "its sslmode is invalid",
        ),
        ("postgres://owner:se@cret@host/list", "%40"),
        ("postgres://owner:se/cret@host/list?sslmode=require", "%2F"),
        ("postgres://owner:se/c?ret@host/list?sslmode=require", "%2F"),
        (
            "postgres://owner:secret@host/list?sslrootcert=system&sslmode=require",
            "verify-full",
        ),
        (
            "postgres://owner:secret@host/list?pool=secret",
            "unknown option `pool`",
        ),
        ("postgres://owner:secret@host:port/list", "port"),
        (
            "postgres://owner:secret@host/list?sslmode=verify-full&sslrootcert=/no/such.pem",
            "/no/such.pem",
        ),
        (
            "postgres://owner:secret@host/list?sslmode=require&sslcert=/no/such.pem",
            "sslkey",
        ),
    ] {
        let message = open_error(url);
        assert!(message.contains(named), "{url}: {message}");
    }
}

/// The server of the tests has no TLS.
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
        let url: DatabaseUrl = url.parse().expect("a URL");
        assert_eq!(
            (url.to_string(), format!("{url:?}")),
            (shown.to_owned(), shown.to_owned())
        );
    }
}

#[test]
fn supports_or_rejects_each_libpq_option_by_name() {
    let url = SHARED_SERVER.create_database();
    let port = SHARED_SERVER.port;
    let there = url.rsplit('/').next().expect("a name");
    let login = url
        .split("://")
        .nth(1)
        .and_then(|rest| rest.split('@').next());
    let login = login.expect("who logs in");
    for good in [
        format!("{url}?target_session_attrs=primary"),
        format!("{url}?target_session_attrs=any"),
        format!("{url}?target_session_attrs=read-write"),
        format!(
            "{url}?gssencmode=prefer&client_encoding=UTF8&keepalives_count=3&connect_timeout=4"
        ),
        format!("postgres://{login}@no.such.host.example:{port}/{there}?hostaddr=127.0.0.1"),
        format!("postgres://{login}@/{there}?hostaddr=127.0.0.1&port={port}"),
        format!("postgres://{login}@/{there}?host=127.0.0.1&port={port}"),
        format!("postgres://{login}@127.0.0.1:{port}?dbname={there}"),
        format!("{url}?options=-cwork_mem%3D8MB"),
    ] {
        assert!(can_open(&good), "{good}: {}", open_error(&good));
    }
    for bad in [
        "target_session_attrs=standby",
        "target_session_attrs=read-only",
        "gssencmode=require",
        "client_encoding=LATIN1",
        "sslcrl=/etc/crl.pem",
        "sslpassword=secret",
        "requirepeer=postgres",
        "require_auth=scram-sha-256",
        "service=prod",
        "passfile=/root/.pgpass",
        "ssl_min_protocol_version=SSLv3",
    ] {
        let name = bad.split('=').next().expect("a name");
        let message = open_error(&format!("{url}?{bad}"));
        assert!(message.contains(name), "{bad}: {message}");
    }
    let list = open(
        &format!("{url}?application_name=the%20site")
            .parse()
            .expect("a URL"),
    );
    let named = "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'the site'";
    assert_eq!(SHARED_SERVER.sql("postgres", named), "t");
    drop(list);
}

/// libpq ignores sslmode there.
#[test]
fn unix_socket_works_with_any_sslmode() {
    let folder = TempDir::new().expect("a directory");
    let path = folder.path().display().to_string();
    std::fs::set_permissions(
        folder.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .expect("ours");
    let server = PostgresServer::with_settings(&[&format!("unix_socket_directories = '{path}'")]);
    let url = server.create_database();
    let socket = path.replace('/', "%2F");
    let url = url.replace("127.0.0.1", &socket);
    for mode in ["disable", "prefer", "require", "verify-full"] {
        assert!(can_open(&format!("{url}?sslmode={mode}")), "{mode}");
    }
}
