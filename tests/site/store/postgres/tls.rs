//! TLS, as the URL asks for it.

use std::process::{Command, Stdio};

use super::{is_opened, open, refusal};
use crate::postgres_server::Server;

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
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
         -addext subjectAltName=DNS:localhost -keyout self.key -out self.pem",
    ] {
        let made = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(folder)
            .stderr(Stdio::null())
            .status();
        assert!(made.expect("openssl runs").success(), "{arguments}");
    }
    // To be the server's, and closed to others.
    for name in ["server.key", "server.pem", "self.key", "self.pem"] {
        let text = std::fs::read_to_string(folder.join(name)).expect("readable");
        server.write(&format!("data/{name}"), &text);
    }
}

/// Starts a server again, with TLS by this key and certificate.
fn encrypt(server: &Server, name: &str) {
    server.down("fast");
    server.append(
        "data/postgresql.conf",
        &format!("ssl = on\nssl_cert_file = '{name}.pem'\nssl_key_file = '{name}.key'\n"),
    );
    server.up();
}

#[test]
fn tls_is_as_strict_as_the_url_says() {
    let server = Server::start();
    certificates(&server);
    encrypt(&server, "server");
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

/// As `openssl req -x509` makes it: libpq takes it for its own authority.
#[test]
fn a_self_signed_certificate_is_trusted_when_it_is_the_root() {
    let server = Server::start();
    certificates(&server);
    encrypt(&server, "self");
    let by_address = server.database();
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let root = |name: &str| format!("sslrootcert={}", server.folder().join(name).display());
    for (url, mode, root, is_good) in [
        (&by_name, "verify-full", root("self.pem"), true),
        (&by_address, "verify-full", root("self.pem"), false),
        (&by_address, "verify-ca", root("self.pem"), true),
        (&by_address, "require", root("self.pem"), true),
        (&by_name, "verify-full", root("authority.pem"), false),
        (&by_name, "verify-ca", root("authority.pem"), false),
    ] {
        let url = format!("{url}?sslmode={mode}&{root}");
        assert_eq!(is_opened(&url), is_good, "{url}");
    }
}

#[test]
fn the_oldest_and_the_newest_version_of_tls_are_heeded() {
    let server = Server::start();
    certificates(&server);
    server.append(
        "data/postgresql.conf",
        "ssl_max_protocol_version = 'TLSv1.2'\n",
    );
    encrypt(&server, "server");
    let url = server.database();
    let is_good = |options: &str| is_opened(&format!("{url}?sslmode=require&{options}"));
    assert!(is_good("ssl_min_protocol_version=TLSv1.2"));
    assert!(is_good("ssl_min_protocol_version=TLSv1"));
    assert!(!is_good("ssl_min_protocol_version=TLSv1.3"));
    assert!(is_good("ssl_max_protocol_version=TLSv1.2"));
    let told = refusal(&format!("{url}?ssl_max_protocol_version=TLSv1.1"));
    assert!(told.contains("ssl_max_protocol_version"), "{told}");
}
