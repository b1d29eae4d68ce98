//! The URL of a database: what is refused, and in which words; and what libpq takes. None of them has the
//! password in it.

use landing::waitlist::DatabaseUrl;
use tempfile::TempDir;

use super::{is_opened, open, refusal};
use crate::postgres_server::{SHARED, Server};

#[test]
fn what_is_wrong_with_a_url_is_told_by_its_name() {
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
        let told = refusal(url);
        assert!(told.contains(named), "{url}: {told}");
    }
}

/// The server of the tests has no TLS.
#[test]
fn tls_is_required_also_when_the_password_or_an_option_has_unusual_characters() {
    let port = SHARED.port;
    for url in [
        format!("postgres://owner:a?secret@127.0.0.1:{port}/list?sslmode=require"),
        format!("postgres://owner:a?sslmode=disable&secret@127.0.0.1:{port}/list?sslmode=require"),
        format!("postgres://127.0.0.1:{port}/list?sslmode=require&application_name=a@b"),
        format!("postgres://owner:secret@127.0.0.1:{port}/list?ssl%6Dode=require"),
    ] {
        let told = refusal(&url);
        assert!(
            told.contains("server does not support TLS"),
            "{url}: {told}"
        );
    }
}

#[test]
fn a_url_is_shown_without_who_logs_in() {
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
fn what_libpq_promises_is_kept_or_refused_by_name() {
    let url = SHARED.database();
    let port = SHARED.port;
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
        assert!(is_opened(&good), "{good}: {}", refusal(&good));
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
        let told = refusal(&format!("{url}?{bad}"));
        assert!(told.contains(name), "{bad}: {told}");
    }
    let list = open(
        &format!("{url}?application_name=the%20site")
            .parse()
            .expect("a URL"),
    );
    let named = "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'the site'";
    assert_eq!(SHARED.sql("postgres", named), "t");
    drop(list);
}

/// libpq ignores sslmode there.
#[test]
fn a_socket_of_this_machine_is_used_whatever_sslmode_says() {
    let folder = TempDir::new().expect("a directory");
    let path = folder.path().display().to_string();
    std::fs::set_permissions(
        folder.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .expect("ours");
    let server = Server::with(&[&format!("unix_socket_directories = '{path}'")]);
    let url = server.database();
    let socket = path.replace('/', "%2F");
    let url = url.replace("127.0.0.1", &socket);
    for mode in ["disable", "prefer", "require", "verify-full"] {
        assert!(is_opened(&format!("{url}?sslmode={mode}")), "{mode}");
    }
}
