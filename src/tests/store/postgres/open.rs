//! What is refused, and in which words. None of them has the password in it.

use std::process::{Command, Stdio};

use landing::waitlist::{DatabaseError, DatabaseUrl, Joined, PostgresWaitlist, Waitlist};

use super::{RUNTIME, open};
use crate::{
    postgres::{self, SHARED, Server},
    store::join,
};

/// What is told instead of opening.
fn refusal(url: &str) -> String {
    let told = match url.parse::<DatabaseUrl>() {
        Ok(url) => PostgresWaitlist::open_or_make(&url, RUNTIME.handle())
            .expect_err("it must be refused")
            .to_string(),
        Err(why) => why,
    };
    assert!(!told.contains("secret"), "{told}");
    told
}

fn is_opened(url: &str) -> bool {
    PostgresWaitlist::open_or_make(&url.parse().expect("a URL"), RUNTIME.handle()).is_ok()
}

#[test]
fn a_database_without_a_list_is_left_alone_unless_one_is_to_be_made() {
    let url = postgres::database();
    let told = PostgresWaitlist::open(&url, RUNTIME.handle()).expect_err("there is none");
    assert!(matches!(told, DatabaseError::NoList(_)), "{told}");
    drop(open(&url));
    assert_eq!(
        PostgresWaitlist::open(&url, RUNTIME.handle())
            .expect("there is one")
            .count(),
        0
    );
}

#[test]
fn what_is_wrong_with_a_url_is_told_by_its_name() {
    for (url, named) in [
        ("mysql://owner:secret@host/list", "begins with postgres://"),
        ("postgres://owner:secret@", "no host"),
        (
            "postgres://owner:secret@host/list?sslmode=perhaps",
            "its sslmode is none",
        ),
        ("postgres://owner:se@cret@host/list", "%40"),
        ("postgres://owner:se/cret@host/list?sslmode=require", "%2F"),
        (
            "postgres://owner:se/c?ret@host/list?sslmode=require",
            "port",
        ),
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
fn a_server_that_refuses_or_is_not_there_is_told_with_what_to_do() {
    let url = SHARED.database();
    let name = url.rsplit('/').next().expect("a name");
    let told = refusal(&url.replace("secret-of-the-tests", "secret-of-others"));
    assert!(told.contains("password authentication failed"), "{told}");
    let told = refusal(&SHARED.url("no_such_database"));
    assert!(
        told.contains("\"no_such_database\" does not exist"),
        "{told}"
    );
    let told = refusal(&url.replace(&SHARED.port.to_string(), "1"));
    assert!(
        told.contains("does not answer") && told.contains("refused"),
        "{told}"
    );

    let latin = "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0";
    SHARED.sql("postgres", latin);
    let told = refusal(&SHARED.url("latin"));
    assert!(
        told.contains("LATIN1") && told.contains("ENCODING 'UTF8'"),
        "{told}"
    );

    // As a standby is.
    SHARED.sql(
        "postgres",
        &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"),
    );
    let told = refusal(&url);
    assert!(told.contains("does not allow writes"), "{told}");
}

#[test]
fn a_list_of_a_newer_format_is_refused_by_its_number() {
    let database = SHARED.database();
    let name = database.rsplit('/').next().expect("a name");
    drop(open(&database.parse().expect("a URL")));
    SHARED.sql(name, "INSERT INTO waitlist_migrations (version) VALUES (7)");
    let told = refusal(&database);
    assert!(
        told.contains("format 7") && told.contains("reads format 1"),
        "{told}"
    );
}

/// One that was made by somebody who may.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_not_make_tables_can_serve_a_list_that_is_there() {
    let database = SHARED.database();
    let name = database.rsplit('/').next().expect("a name");
    SHARED.sql("postgres", &format!("CREATE USER {name} PASSWORD 'secret'"));
    let as_user = database.replace("owner:secret-of-the-tests", &format!("{name}:secret"));
    let told = refusal(&as_user);
    assert!(
        told.contains("permission denied") && told.contains("may do"),
        "{told}"
    );
    drop(open(&database.parse().expect("a URL")));
    SHARED.sql(
        name,
        &format!(
            "GRANT SELECT ON waitlist_migrations TO {name};
         GRANT SELECT, INSERT, DELETE ON waitlist_entries TO {name};
         GRANT SELECT, UPDATE ON waitlist_count TO {name}"
        ),
    );
    let list = open(&as_user.parse().expect("a URL"));
    assert_eq!(join(&list, "ann@example.com").await, Joined::New);
}

/// Else an answer would be no promise: the next crash of the database may take it back.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_waits_for_the_disk_also_where_the_database_would_not() {
    // It writes its log out of its own accord too, but not so often.
    let server = Server::with(&["wal_writer_delay = 10s", "synchronous_commit = off"]);
    let list = open(&server.database().parse().expect("a URL"));
    for number in 0..20 {
        join(&list, &format!("{number}@example.com")).await;
    }
    server.down("immediate");
    server.up();
    let listed = "SELECT count(*) FROM waitlist_entries";
    assert_eq!(server.sql("list0", listed), "20");
}

#[test]
fn warns_of_a_database_that_does_not_sync() {
    let server = Server::with(&["fsync = off"]);
    let list = open(&server.database().parse().expect("a URL"));
    let warning = list.warning().expect("a warning");
    assert!(warning.contains("fsync = off"), "{warning}");
    assert_eq!(open(&postgres::database()).warning(), None);
}

/// Makes keys and certificates with openssl: an authority's, and one for localhost of it.
fn certificates(server: &Server) {
    let folder = server.folder();
    for arguments in [
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority \
         -keyout authority.key -out authority.pem",
        "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
         -addext subjectAltName=DNS:localhost -keyout server.key -out server.csr",
        "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -days 2 -copy_extensions copy \
         -out server.pem",
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=another \
         -keyout another.key -out another.pem",
    ] {
        let made = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(folder)
            .stderr(Stdio::null())
            .status();
        assert!(made.expect("openssl runs").success(), "{arguments}");
    }
    // To be the server's, and closed to others.
    for name in ["server.key", "server.pem"] {
        let text = std::fs::read_to_string(folder.join(name)).expect("readable");
        server.write(&format!("data/{name}"), &text);
    }
}

#[test]
fn tls_is_as_strict_as_the_url_says() {
    let server = Server::start();
    certificates(&server);
    server.down("fast");
    server.append(
        "data/postgresql.conf",
        "ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'\n",
    );
    server.up();
    let by_address = server.database();
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let file = |name: &str| server.folder().join(name).display().to_string();
    let (trusted, another) = (file("authority.pem"), file("another.pem"));
    for (url, options, is_good) in [
        (&by_address, "sslmode=disable".to_owned(), true),
        (&by_address, "sslmode=require".to_owned(), true),
        (
            &by_address,
            format!("sslmode=require&sslrootcert={trusted}"),
            true,
        ),
        (
            &by_address,
            format!("sslmode=require&sslrootcert={another}"),
            false,
        ),
        (
            &by_address,
            format!("sslmode=verify-ca&sslrootcert={trusted}"),
            true,
        ),
        (
            &by_address,
            format!("sslmode=verify-ca&sslrootcert={another}"),
            false,
        ),
        (
            &by_address,
            format!("sslmode=verify-full&sslrootcert={trusted}"),
            false,
        ),
        (
            &by_name,
            format!("sslmode=verify-full&sslrootcert={trusted}"),
            true,
        ),
        (
            &by_name,
            format!("sslmode=verify-full&sslrootcert={another}"),
            false,
        ),
        (&by_name, "sslmode=verify-full".to_owned(), false),
        (&by_name, "sslrootcert=system".to_owned(), false),
    ] {
        assert_eq!(is_opened(&format!("{url}?{options}")), is_good, "{options}");
    }
    let list =
        format!("{by_name}?sslmode=verify-full&sslrootcert={trusted}&application_name=by-tls");
    let list = open(&list.parse().expect("a URL"));
    let is_encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                        WHERE application_name = 'by-tls'";
    assert_eq!(server.sql("postgres", is_encrypted), "t");
    drop(list);
    let told = refusal(&format!(
        "{by_address}?sslmode=verify-full&sslrootcert={trusted}"
    ));
    assert!(
        told.contains("TLS") && told.contains("not valid for name"),
        "{told}"
    );
}
