//! The program itself: its command line, its life and its death.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Output},
    thread,
};

use tempfile::TempDir;

use crate::{
    fixtures::{parse, write_site},
    process::{Place, Running, wait_until},
};

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn alone_it_serves_and_as_landing_serve_too() {
    let place = Place::new();
    assert_eq!(place.serve().count(), r#"{"count":0}"#);
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command
        .current_dir(place.path())
        .args(["serve", "--addr", "127.0.0.1:0"]);
    command.args(["--site-root", "site", "--data", "other"]);
    assert_eq!(Running::start(command).count(), r#"{"count":0}"#);
    assert!(place.path().join("data/waitlist").is_dir());
    assert!(place.path().join("other/waitlist").is_dir());
}

#[test]
fn the_environment_says_the_same_as_the_options() {
    let place = Place::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.current_dir(place.path()).env_clear().envs([
        ("LANDING_ADDR", "127.0.0.1:0"),
        ("LANDING_SITE_ROOT", "site"),
        ("LANDING_DATA", "by-environment"),
        ("LANDING_PRODUCT", "Butler"),
    ]);
    let page = Running::start(command).ask("GET", "/", "");
    assert!(page.contains("Butler runs the business."));
    assert!(place.path().join("by-environment/waitlist").is_dir());
}

/// As a Compose file or a unit writes them that leaves a setting to its default.
#[test]
fn an_empty_variable_counts_as_unset() {
    let place = Place::new();
    let mut command = place.command();
    for name in OPTIONS {
        command.env(variable(name), "");
    }
    command.envs([("LANDING_DATA", ""), ("DATABASE_URL", "")]);
    command.env("LEPTOS_WATCH", "");
    let server = Running::start(command);
    let page = server.ask("GET", "/", "");
    assert!(page.contains("Steward runs the business."), "{page}");
    assert!(!page.contains("'unsafe-inline'"), "{page:.2000}");
    // Also for the other commands.
    let mut count = Command::new(env!("CARGO_BIN_EXE_landing"));
    let count = count.current_dir(place.path()).env_clear();
    let count = count.env("LANDING_STORE", "").arg("count").output();
    assert_eq!(count.expect("it runs").stdout, b"0\n");
}

#[test]
fn an_option_wins_over_the_environment() {
    let place = Place::new();
    let mut command = place.command();
    command.env("LANDING_PRODUCT", "Butler");
    command.args(["--product", "Valet"]);
    let page = Running::start(command).ask("GET", "/", "");
    assert!(page.contains("Valet runs the business.") && !page.contains("Butler"));
}

#[test]
fn an_origin_that_is_not_set_is_warned_of_once() {
    let place = Place::new();
    let said = place.serve().said.clone();
    let [warning] = &said[..] else {
        panic!("one line: {said:?}");
    };
    assert!(warning.contains("WARN"), "{warning}");
    assert!(warning.contains("--origin is not set"), "{warning}");
    assert!(warning.contains("https://steward.example"), "{warning}");

    let mut command = place.command();
    command.args(["--origin", "https://bob.example"]);
    let said = Running::start(command).said.clone();
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn it_finds_its_files_beside_itself_from_any_folder() {
    let place = Place::new();
    let program = place.path().join("landing");
    fs::copy(env!("CARGO_BIN_EXE_landing"), &program).expect("it can be copied");
    let elsewhere = TempDir::new().expect("a directory");
    let mut command = Command::new(program);
    command
        .env_clear()
        .current_dir(elsewhere.path())
        .args(["--addr", "127.0.0.1:0"]);
    assert!(
        Running::start(command)
            .ask("GET", "/", "")
            .starts_with("HTTP/1.1 200")
    );
}

#[test]
fn missing_files_and_files_of_another_build_are_told() {
    let place = Place::new();
    let run = |place: &Place| {
        let output = place.command().output().expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        told(&output)
    };
    fs::remove_dir_all(place.path().join("site")).expect("removable");
    let missing = run(&place);
    assert!(missing.contains("files are missing in site"), "{missing}");
    assert!(missing.contains("--site-root"), "{missing}");

    write_site(&place.path().join("site"), "landing-build-0000000000000000");
    let other = run(&place);
    assert!(other.contains("belong to another build"), "{other}");
}

#[test]
fn a_second_server_on_the_same_data_says_so_and_exits() {
    let place = Place::new();
    let first = place.serve();
    let output = place.command().output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let told = told(&output);
    assert!(told.contains("data is in use by process"), "{told}");
    assert!(told.contains(&first.child.id().to_string()), "{told}");
}

/// The service manager starts it again; until then the log says why there is no site.
#[test]
fn a_copy_without_its_database_waits_for_it_and_then_says_so_and_exits() {
    let place = Place::new();
    let mut command = place.command();
    command.env("DATABASE_URL", "postgres://owner:secret@127.0.0.1:1/list");
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let told = told(&output);
    assert!(told.contains("127.0.0.1:1/list does not answer"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}

#[test]
fn a_port_that_is_taken_is_told_with_the_way_out() {
    let place = Place::new();
    let first = place.serve();
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command
        .current_dir(place.path())
        .args(["--data", "other", "--site-root", "site"]);
    let output = command
        .args(["--addr", &first.addr])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told(&output).contains("choose another with --addr"),
        "{}",
        told(&output)
    );
}

#[test]
fn sigterm_and_ctrl_c_finish_the_request_under_way_and_exit_0() {
    for signal in ["-TERM", "-INT"] {
        let place = Place::new();
        let mut server = place.serve();
        let body = r#"{"email":"ann@example.com"}"#;
        let mut half = TcpStream::connect(&server.addr).expect("it listens");
        write!(
            half,
            "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
            body.len(),
            &body[..10]
        )
        .expect("it reads");
        // It has begun this request once it answers a later one.
        server.count();
        server.signal(signal);
        // It no longer listens, but finishes what is under way.
        wait_until("it no longer listens", || {
            TcpStream::connect(&server.addr).is_err()
        });
        write!(half, "{}", &body[10..]).expect("it still reads");
        let answer = std::io::read_to_string(half).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 201"), "{signal}: {answer}");
        assert_eq!(server.ended(), Some(0), "{signal}");
        assert_eq!(place.serve().count(), r#"{"count":1}"#, "{signal}");
    }
}

#[test]
fn a_wrong_value_is_refused_at_start_by_name() {
    let wrong = [
        ("--addr", "localhost"),
        ("--addr", "127.0.0.1:99999"),
        ("--origin", "steward.example"),
        ("--origin", "https://steward.example/path"),
        ("--origin", "ftp://steward.example"),
        ("--product", " "),
        ("--contact", "nobody"),
        ("--contact", "a b@example.com"),
        ("--social", "javascript:alert(1)"),
        ("--privacy-url", "privacy.html"),
        ("--terms-url", "mailto:"),
        ("--support-url", ""),
        ("--signups-per-minute", "1.5"),
        ("--signups-per-minute", "many"),
        ("--trusted-proxies", "proxy.example"),
        ("--trusted-proxies", "10.0.0.0/33"),
        ("--trusted-proxies", "10.0.0.1,"),
        ("--trusted-proxies", "::ffff:127.0.0.0/95"),
        ("--trusted-proxies", "::ffff:0:0/80"),
        ("--proxy-header", "x-real-ip"),
        ("--max-connections", "0"),
        ("--max-connections", "1000001"),
        ("--shutdown-grace", "1m"),
        ("--log", "xml"),
    ];
    for (option, value) in wrong {
        let error = parse(&[option, value])
            .expect_err("it is wrong")
            .to_string();
        assert!(error.contains(option), "{option} {value}: {error}");

        if value.is_empty() {
            // A variable that is empty counts as unset.
            continue;
        }
        let variable = variable(&option[2..]);
        let output = Command::new(env!("CARGO_BIN_EXE_landing"))
            .env_clear()
            .env(&variable, value)
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{variable}={value}");
        assert!(
            told(&output).contains(option),
            "{variable}={value}: {}",
            told(&output)
        );
    }
}

/// The options of the server.
const OPTIONS: [&str; 16] = [
    "addr",
    "store",
    "site-root",
    "origin",
    "product",
    "contact",
    "social",
    "privacy-url",
    "terms-url",
    "support-url",
    "signups-per-minute",
    "trusted-proxies",
    "proxy-header",
    "max-connections",
    "shutdown-grace",
    "log",
];

/// The environment variable of an option.
fn variable(option: &str) -> String {
    format!("LANDING_{}", option.replace('-', "_").to_uppercase())
}

#[test]
fn help_names_every_option_with_its_variable() {
    let output = Command::new(env!("CARGO_BIN_EXE_landing"))
        .arg("--help")
        .output();
    let help = String::from_utf8_lossy(&output.expect("it runs").stdout).into_owned();
    for option in OPTIONS {
        assert!(help.contains(&format!("--{option} ")), "{option}: {help}");
        assert!(help.contains(&variable(option)), "{option}: {help}");
    }
}

/// A database that answers a login with an error of this code.
fn refusing_database(code: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("it connects");
            let fields = format!("SFATAL\0VFATAL\0C{code}\0Mgo away\0\0");
            let length = (fields.len() + 4) as u32;
            let mut login = [0; 1024];
            let _ = stream.read(&mut login);
            let _ = stream.write_all(b"E");
            let _ = stream.write_all(&length.to_be_bytes());
            let _ = stream.write_all(fields.as_bytes());
        }
    });
    format!("postgres://owner:secret@{addr}/list?sslmode=disable")
}

#[test]
fn a_database_with_a_malformed_error_code_is_reported() {
    for code in ["", "4", "42", "é", "1é2"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
        command.args(["count", "--store", &refusing_database(code)]);
        let output = command.env_clear().output().expect("it runs");
        let told = told(&output);
        assert_eq!(output.status.code(), Some(1), "{code}: {told}");
        assert!(told.contains("127.0.0.1:"), "{code}: {told}");
        assert!(!told.contains("panicked"), "{code}: {told}");
    }
}
