//! TLS options of the URL.

use std::process::{Command, Stdio};

use super::{can_open, open_error, open_url};
use crate::postgres_server::PostgresServer;

/// Creates keys and certificates with openssl: two authorities, and a certificate for localhost signed by the first.
fn create_certificates(server: &PostgresServer) {
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
        let status = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(folder)
            .stderr(Stdio::null())
            .status();
        assert!(status.expect("openssl runs").success(), "{arguments}");
    }
    // PostgreSQL accepts only private files that it owns.
    for name in ["server.key", "server.pem"] {
        let text = std::fs::read_to_string(folder.join(name)).expect("readable");
        server.write(&format!("data/{name}"), &text);
    }
}

/// Restarts a server with TLS and this key and certificate.
fn restart_with_tls(server: &PostgresServer, name: &str) {
    server.down("fast");
    server.append(
        "data/postgresql.conf",
        &format!("ssl = on\nssl_cert_file = '{name}.pem'\nssl_key_file = '{name}.key'\n"),
    );
    server.up();
}

#[test]
fn tls_follows_sslmode_and_sslrootcert() {
    let server = PostgresServer::start();
    create_certificates(&server);
    restart_with_tls(&server, "server");
    let by_address = server.create_database();
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let file = |name: &str| server.folder().join(name).display().to_string();
    let (trusted, another) = (file("authority.pem"), file("another.pem"));
    for (url, options, opens) in [
        (&by_address, "sslmode=disable", true),
        (&by_address, "sslmode=require", true),
        (&by_address, "sslmode=require&sslrootcert=TRUSTED", true),
        (&by_address, "sslmode=require&sslrootcert=ANOTHER", false),
        (&by_address, "sslmode=verify-ca&sslrootcert=TRUSTED", true),
        (&by_address, "sslmode=verify-ca&sslrootcert=ANOTHER", false),
        (
            &by_address,
            "sslmode=verify-full&sslrootcert=TRUSTED",
            false,
        ),
        (&by_name, "sslmode=verify-full&sslrootcert=TRUSTED", true),
        (&by_name, "sslmode=verify-full&sslrootcert=ANOTHER", false),
        (&by_name, "sslmode=verify-full", false),
        (&by_name, "sslrootcert=system", false),
    ] {
        let files = options
            .replace("TRUSTED", &trusted)
            .replace("ANOTHER", &another);
        assert_eq!(can_open(&format!("{url}?{files}")), opens, "{options}");
    }
    let url =
        format!("{by_name}?sslmode=verify-full&sslrootcert={trusted}&application_name=by-tls");
    let list = open_url(&url);
    let is_encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                        WHERE application_name = 'by-tls'";
    assert_eq!(server.sql("postgres", is_encrypted), "t");
    drop(list);
    let message = open_error(&format!(
        "{by_address}?sslmode=verify-full&sslrootcert={trusted}"
    ));
    assert!(
        message.contains("TLS") && message.contains("not valid for name"),
        "{message}"
    );
}
