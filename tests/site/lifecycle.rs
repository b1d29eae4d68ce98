//! Starts the program with options and variables, and stops it.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Output},
    thread,
};

use tempfile::TempDir;

use crate::{
    fixtures::{parse_config, write_site},
    process::{Sandbox, ServerProcess, landing, wait_until},
};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn serves_with_and_without_the_serve_command() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.serve().count(), 0);
    let mut command = landing(sandbox.path());
    command.args(["serve", "--addr", "127.0.0.1:0"]);
    command.args(["--site-root", "site", "--data", "other"]);
    assert_eq!(ServerProcess::start(command).count(), 0);
    assert!(sandbox.path().join("data/waitlist").is_dir());
    assert!(sandbox.path().join("other/waitlist").is_dir());
}

#[test]
fn environment_variables_set_the_options() {
    let sandbox = Sandbox::new();
    let mut command = landing(sandbox.path());
    command.envs([
        ("LANDING_ADDR", "127.0.0.1:0"),
        ("LANDING_SITE_ROOT", "site"),
        ("LANDING_DATA", "by-environment"),
        ("LANDING_PRODUCT", "Butler"),
    ]);
    let page = ServerProcess::start(command).request("GET", "/", "");
    assert!(page.contains("Butler runs the business."));
    assert!(sandbox.path().join("by-environment/waitlist").is_dir());
}

#[test]
fn warns_of_variables_that_are_no_setting() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.envs([
        ("LANDING_TRUSTED_PROXYS", "127.0.0.1"),
        ("LANDING_DATA", "data"),
    ]);
    let log = ServerProcess::start(command).startup_log.join("\n");
    assert!(
        log.contains("LANDING_TRUSTED_PROXYS is not a setting"),
        "{log}"
    );
    assert_eq!(log.matches("is not a setting").count(), 1, "{log}");
}

/// Compose files and systemd units set a variable to an empty value when they leave an option at its default.
#[test]
fn empty_variables_count_as_unset() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    for option in documented_options() {
        command.env(variable(&option), "");
    }
    command.envs([("LANDING_DATA", ""), ("DATABASE_URL", "")]);
    command.env("LEPTOS_WATCH", "");
    let server = ServerProcess::start(command);
    let page = server.request("GET", "/", "");
    assert!(page.contains("Steward runs the business."), "{page}");
    assert!(!page.contains("'unsafe-inline'"), "{page:.2000}");
    // The same holds for the other commands.
    let mut count = landing(sandbox.path());
    let count = count.env("LANDING_STORE", "").arg("count").output();
    assert_eq!(count.expect("the program runs").stdout, b"0\n");
}

#[test]
fn options_override_the_environment() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.env("LANDING_PRODUCT", "Butler");
    command.args(["--product", "Valet"]);
    let page = ServerProcess::start(command).request("GET", "/", "");
    assert!(page.contains("Valet runs the business.") && !page.contains("Butler"));
}

#[test]
fn warns_once_about_an_unset_origin() {
    let sandbox = Sandbox::new();
    let startup_log = sandbox.serve().startup_log.clone();
    let [warning] = &startup_log[..] else {
        panic!("one line: {startup_log:?}");
    };
    assert!(warning.contains("WARN"), "{warning}");
    assert!(warning.contains("--origin is not set"), "{warning}");
    assert!(warning.contains("https://steward.example"), "{warning}");

    // Also without a warning: the default, if the owner chose it.
    for origin in ["https://bob.example", "https://steward.example"] {
        let mut by_option = sandbox.command();
        by_option.args(["--origin", origin]);
        let mut by_variable = sandbox.command();
        by_variable.env("LANDING_ORIGIN", origin);
        for command in [by_option, by_variable] {
            let startup_log = ServerProcess::start(command).startup_log.clone();
            assert!(startup_log.is_empty(), "{startup_log:?}");
        }
    }
}

#[test]
fn finds_site_files_next_to_the_executable() {
    let sandbox = Sandbox::new();
    let program = sandbox.path().join("landing");
    // By another process: a program cannot be started while a process that another test starts has it open for writing.
    let copied = Command::new("cp")
        .args([Path::new(env!("CARGO_BIN_EXE_landing")), &program])
        .status();
    assert!(copied.expect("cp runs").success());
    let elsewhere = TempDir::new().expect("a directory");
    let mut command = Command::new(program);
    command
        .env_clear()
        .current_dir(elsewhere.path())
        .args(["--addr", "127.0.0.1:0"]);
    assert!(
        ServerProcess::start(command)
            .request("GET", "/", "")
            .starts_with("HTTP/1.1 200")
    );
}

#[test]
fn reports_missing_files_and_files_of_another_build() {
    let sandbox = Sandbox::new();
    let run = |sandbox: &Sandbox| {
        let output = sandbox.command().output().expect("the program runs");
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    fs::remove_dir_all(sandbox.path().join("site")).expect("removable");
    let missing = run(&sandbox);
    assert!(missing.contains("files are missing in site"), "{missing}");
    assert!(missing.contains("--site-root"), "{missing}");

    write_site(
        &sandbox.path().join("site"),
        "landing-build-0000000000000000",
    );
    let other = run(&sandbox);
    assert!(other.contains("belong to another build"), "{other}");
}

#[test]
fn second_server_on_the_same_data_exits_with_an_error() {
    let sandbox = Sandbox::new();
    let first = sandbox.serve();
    let second = sandbox.command().output().expect("the program runs");
    assert_eq!(second.status.code(), Some(1));
    let message = stderr(&second);
    assert!(message.contains("data is in use by process"), "{message}");
    assert!(message.contains(&first.child.id().to_string()), "{message}");

    // The control socket still belongs to the first server.
    let count = landing(sandbox.path()).arg("count").output();
    let count = count.expect("the program runs");
    assert_eq!(
        (stderr(&count), count.status.code()),
        (String::new(), Some(0))
    );
    assert_eq!(count.stdout, b"0\n");
}

/// The service manager restarts the server. Until then the log says why there is no site.
#[test]
fn exits_with_an_error_when_the_database_stays_unreachable() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.env("DATABASE_URL", "postgres://owner:secret@127.0.0.1:1/list");
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let stderr = stderr(&output);
    assert!(
        stderr.contains("127.0.0.1:1/list does not respond"),
        "{stderr}"
    );
    assert!(!stderr.contains("secret"), "{stderr}");
}

#[test]
fn reports_a_port_in_use_and_suggests_addr() {
    let sandbox = Sandbox::new();
    let first = sandbox.serve();
    let mut command = landing(sandbox.path());
    command.args(["--data", "other", "--site-root", "site"]);
    let output = command
        .args(["--addr", &first.addr])
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("choose another address with --addr"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn sigterm_and_sigint_finish_open_requests_and_exit_0() {
    for signal in ["-TERM", "-INT"] {
        let sandbox = Sandbox::new();
        let mut server = sandbox.serve();
        let body = r#"{"email":"ann@example.com"}"#;
        let mut half = TcpStream::connect(&server.addr).expect("the server listens");
        write!(
            half,
            "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
            body.len(),
            &body[..10]
        )
        .expect("the server reads");
        // Once the server responds to a later request, it has started to read this one.
        server.count();
        server.signal(signal);
        wait_until("the server no longer listens", || {
            TcpStream::connect(&server.addr).is_err()
        });
        write!(half, "{}", &body[10..]).expect("the server still reads");
        let response = std::io::read_to_string(half).expect("a response");
        assert!(response.starts_with("HTTP/1.1 201"), "{signal}: {response}");
        assert_eq!(server.wait_for_exit(), Some(0), "{signal}");
        assert_eq!(sandbox.serve().count(), 1, "{signal}");
    }
}

#[test]
fn rejects_invalid_option_values_by_name() {
    let sandbox = Sandbox::new();
    let invalid = [
        ("--addr", "localhost"),
        ("--addr", "4600"),
        ("--addr", "steward.example:80"),
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
        ("--log-level", "trace"),
        ("--hsts", "on"),
    ];
    for (option, value) in invalid {
        let error = parse_config(&[option, value])
            .expect_err("an invalid value")
            .to_string();
        assert!(error.contains(option), "{option} {value}: {error}");

        if value.is_empty() {
            // An empty variable counts as unset.
            continue;
        }
        let variable = variable(&option[2..]);
        let output = landing(sandbox.path())
            .env(&variable, value)
            .output()
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(2), "{variable}={value}");
        let error = stderr(&output);
        let named = format!("error: {variable}={value}: ");
        assert!(
            error.starts_with(&named) && !error.contains(&format!("{option} ")),
            "{error}"
        );
    }
}

/// A variable is only named if it is at fault.
#[test]
fn invalid_option_is_named_although_its_variable_is_set() {
    let sandbox = Sandbox::new();
    let output = landing(sandbox.path())
        .env("LANDING_ADDR", "127.0.0.1:0")
        .args(["serve", "--addr", "4600"])
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(error.contains("'4600' for '--addr <IP:PORT>'"), "{error}");
    assert!(!error.contains("LANDING_ADDR"), "{error}");
}

#[test]
fn invalid_addresses_come_with_their_remedy() {
    for (addr, remedy) in [
        ("4600", "write 127.0.0.1:4600, or 0.0.0.0:4600"),
        (":4600", "write 127.0.0.1:4600, or 0.0.0.0:4600"),
        ("localhost", "missing the port; write 127.0.0.1:3000"),
        ("192.0.2.1", "missing the port; write 192.0.2.1:3000"),
        ("::1", "missing the port; write [::1]:3000"),
        ("[::1]", "missing the port; write [::1]:3000"),
        ("localhost:http", "the port must be a number"),
        ("127.0.0.1:99999", "the port must be a number"),
        ("steward.example:80", "expected an IP address and a port"),
    ] {
        let error = parse_config(&["--addr", addr]).expect_err("an invalid value");
        let error = error.to_string();
        assert!(error.contains(remedy), "{addr}: {error}");
    }
    let config = parse_config(&["--addr", "localhost:4601"]).expect("a valid value");
    assert_eq!(config.addr.to_string(), "127.0.0.1:4601");
}

/// Returns the options of the server, as the README lists them.
fn documented_options() -> Vec<String> {
    let readme = include_str!("../../README.md");
    let rows = readme.lines().filter_map(|line| line.strip_prefix("| `--"));
    let cells = rows.filter_map(|row| row.split_once(" |"));
    let options = cells.flat_map(|(cell, _)| cell.split(", `--"));
    options
        .map(|option| option.trim_end_matches('`').to_owned())
        .collect()
}

/// Returns the environment variable that sets an option.
fn variable(option: &str) -> String {
    format!("LANDING_{}", option.replace('-', "_").to_uppercase())
}

#[test]
fn readme_lists_every_option_and_help_its_variable() {
    let output = landing(Sandbox::new().path()).arg("--help").output();
    let help = String::from_utf8_lossy(&output.expect("the program runs").stdout).into_owned();
    let lines = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("--"));
    let mut in_help: Vec<_> = lines
        .filter_map(|line| line.split_once(" <").map(|(option, _)| option))
        .collect();
    let mut documented = documented_options();
    in_help.sort_unstable();
    documented.sort_unstable();
    assert_eq!(documented, in_help);
    for option in documented {
        assert!(help.contains(&variable(&option)), "{option}: {help}");
    }
}

/// Starts a fake database that rejects each login with an error of this code. Returns its URL.
fn rejecting_database(code: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("a bound socket");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
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
fn reports_a_malformed_database_error_code() {
    let sandbox = Sandbox::new();
    let assert_reported = |code: &'static str| {
        let mut command = landing(sandbox.path());
        command.args(["count", "--store", &rejecting_database(code)]);
        let output = command.output().expect("the program runs");
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{code}: {stderr}");
        assert!(stderr.contains("127.0.0.1:"), "{code}: {stderr}");
        assert!(!stderr.contains("panicked"), "{code}: {stderr}");
    };
    // Each command retries for 15 seconds.
    thread::scope(|scope| {
        for code in ["", "4", "42", "é", "1é2"] {
            scope.spawn(move || assert_reported(code));
        }
    });
}
