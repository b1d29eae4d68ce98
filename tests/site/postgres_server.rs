//! Runs a PostgreSQL server for the tests, in a temporary directory and as an unprivileged user.

use std::{
    env, fs,
    io::Write,
    net::TcpListener,
    ops::Deref,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use landing::waitlist::DatabaseUrl;
use tempfile::TempDir;
use uuid::Uuid;

/// The server for all tests that do not disturb it. It is removed when this process exits.
pub(crate) static SHARED_SERVER: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::with_settings(&["max_connections = 400"]));

pub(crate) const PASSWORD: &str = "secret-of-the-tests";

/// Name of the first database that [`PostgresServer::create_database`] creates on a server.
pub(crate) const FIRST_DATABASE: &str = "list0";

/// Returns a file system in memory if it has room for the databases of all tests, about 4 GB. On a disk, creating their
/// files takes a tenth of the time of all tests.
fn memory_or_temp_dir() -> PathBuf {
    const NEEDED_BYTES: u64 = 8 << 30;
    let memory = Path::new("/dev/shm");
    let room = rustix::fs::statvfs(memory).map_or(0, |it| it.f_bavail * it.f_frsize);
    if room > NEEDED_BYTES {
        memory.to_owned()
    } else {
        env::temp_dir()
    }
}

/// A server that listens only on the loopback address. It is stopped and its files are removed when this
/// value is dropped, or when this process exits for any reason.
pub(crate) struct PostgresServer {
    folder: PathBuf,
    pub(crate) port: u16,
    databases: AtomicU32,
    /// A shell that waits until its standard input is closed, and then cleans up.
    cleanup: Child,
}

impl PostgresServer {
    pub(crate) fn start() -> Self {
        Self::with_settings(&[])
    }

    /// Starts a server with these lines in its configuration.
    pub(crate) fn with_settings(settings: &[&str]) -> Self {
        Self::in_folder(&memory_or_temp_dir(), settings)
    }

    /// Starts a server with its files in a folder.
    pub(crate) fn in_folder(folder: &Path, settings: &[&str]) -> Self {
        let server = Self::create_directory(folder);
        server.write("password", PASSWORD);
        assert_success(&server.run(
            "initdb",
            &[
                "--username=owner",
                "--pwfile=password",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
                "data",
            ],
        ));
        server.configure(settings);
        server.up();
        server
    }

    /// Starts a standby of another server.
    pub(crate) fn standby_of(first: &Self) -> Self {
        Self::standby_in(&memory_or_temp_dir(), free_port(), first)
    }

    /// Starts a standby of another server, with its files in a folder and on this port.
    pub(crate) fn standby_in(folder: &Path, port: u16, first: &Self) -> Self {
        let mut server = Self::create_directory(folder);
        server.port = port;
        let from = first.url("postgres");
        assert_success(&server.run(
            "pg_basebackup",
            &["-R", "-c", "fast", "-D", "data", "-d", &from, "--no-sync"],
        ));
        server.configure(&[]);
        server.up();
        server
    }

    /// Makes a standby the primary. It has the settings that the primary had when the standby was created,
    /// such as `synchronous_standby_names`.
    pub(crate) fn promote(&self) {
        assert_success(&self.run("pg_ctl", &["promote", "-w", "-D", "data"]));
    }

    /// Makes each commit wait for these standbys. An empty list makes none wait.
    ///
    /// Running sessions apply the setting some time later.
    pub(crate) fn set_synchronous_standby(&self, names: &str) {
        let setting = format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'");
        self.sql("postgres", &setting);
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    fn create_directory(folder: &Path) -> Self {
        let folder = TempDir::new_in(folder).expect("a directory").keep();
        if let Some((user, group)) = unprivileged_ids() {
            chown(&folder, Some(user), Some(group)).expect("permitted to root");
        }
        let cleanup = unprivileged_command("sh")
            .args(["-c", CLEANUP_SCRIPT, "keeper"])
            .args([&binaries(), &folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        Self {
            port: free_port(),
            databases: AtomicU32::new(0),
            cleanup: cleanup.expect("a shell"),
            folder,
        }
    }

    fn configure(&self, settings: &[&str]) {
        let own = format!(
            "port = {}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n",
            self.port
        );
        self.append("data/postgresql.conf", &(own + &settings.join("\n") + "\n"));
    }

    /// Creates a database and returns its URL. The name of the first one on a server is [`FIRST_DATABASE`].
    pub(crate) fn create_database(&self) -> String {
        let name = format!("list{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!(
            "postgres://owner:{PASSWORD}@127.0.0.1:{}/{database}",
            self.port
        )
    }

    /// Runs a statement and returns what it prints.
    pub(crate) fn sql(&self, database: &str, statement: &str) -> String {
        let url = self.url(database);
        let output = self.run("psql", &["-X", "-A", "-t", "-q", "-c", statement, &url]);
        assert_success(&output);
        String::from_utf8(output.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    pub(crate) fn up(&self) {
        let output = self.run("pg_ctl", &["start", "-w", "-D", "data", "-l", "log"]);
        assert!(output.status.success(), "{}", self.read("log"));
    }

    pub(crate) fn is_up(&self) -> bool {
        self.run("pg_ctl", &["status", "-D", "data"])
            .status
            .success()
    }

    /// Stops the server in a mode of `pg_ctl`: `smart`, `fast` or `immediate`.
    pub(crate) fn down(&self, mode: &str) {
        assert_success(&self.run("pg_ctl", &["stop", "-w", "-D", "data", "-m", mode]));
    }

    /// Returns the IDs of the postmaster and of its children.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let postmaster = self.read("data/postmaster.pid");
        let postmaster: u32 = postmaster
            .lines()
            .next()
            .expect("a line")
            .parse()
            .expect("a pid");
        let children = Command::new("ps")
            .args(["-o", "pid=", "--ppid", &postmaster.to_string()])
            .output()
            .expect("ps runs");
        let children = String::from_utf8(children.stdout).expect("text");
        let children = children
            .split_whitespace()
            .map(|pid| pid.parse().expect("a pid"));
        std::iter::once(postmaster).chain(children).collect()
    }

    /// Writes a file into the server's directory, readable only by the server.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::write(&path, text).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permitted");
        if let Some((user, group)) = unprivileged_ids() {
            chown(&path, Some(user), Some(group)).expect("permitted to root");
        }
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        let file = fs::OpenOptions::new()
            .append(true)
            .open(self.folder.join(name));
        let written = file.expect("the file exists").write_all(text.as_bytes());
        written.expect("writable");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).expect("readable")
    }

    /// Runs one of PostgreSQL's programs.
    pub(crate) fn run(&self, program: &str, args: &[&str]) -> Output {
        unprivileged_command(binaries().join(program))
            .args(args)
            .env("PGPASSWORD", PASSWORD)
            .current_dir(&self.folder)
            // A server that keeps running must not inherit the standard input of the tests.
            .stdin(Stdio::null())
            .output()
            .expect("the program runs")
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.cleanup.stdin.take());
        let _ = self.cleanup.wait();
        // The cleanup cannot remove a folder whose parent belongs to another user.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Stops the server and removes its files. `$1` is the directory of PostgreSQL's programs, `$2` the folder of
/// the server. The script runs in a new process group, so Ctrl-C in a terminal does not interrupt it.
const CLEANUP_SCRIPT: &str = r#"
    cat >/dev/null
    # A test may have stopped the server with SIGSTOP.
    first=$(head -n 1 "$2/data/postmaster.pid")
    kill -CONT $first $(ps -o pid= --ppid "$first")
    "$1/pg_ctl" stop -w -D "$2/data" -m immediate
    rm -rf "$2"
"#;

/// Returns a new, empty database on the shared server. If `CONFORMANCE_STORE` is the URL of a database,
/// returns a new schema in that database instead, which is dropped with the returned value.
pub(crate) fn test_database() -> TestDatabase {
    let Some(store) = env::var("CONFORMANCE_STORE").ok() else {
        let url = SHARED_SERVER.create_database().parse().expect("a URL");
        return TestDatabase { url, schema: None };
    };
    let schema = format!("landing_test_{}", Uuid::now_v7().simple());
    run_psql(&store, &format!("CREATE SCHEMA {schema}"));
    let separator = if store.contains('?') { '&' } else { '?' };
    let url = format!("{store}{separator}options=-csearch_path%3D{schema}");
    TestDatabase {
        url: url.parse().expect("a URL"),
        schema: Some((store, schema)),
    }
}

pub(crate) struct TestDatabase {
    url: DatabaseUrl,
    /// The URL of the database that has the schema, and the schema's name.
    schema: Option<(String, String)>,
}

impl Deref for TestDatabase {
    type Target = DatabaseUrl;

    fn deref(&self) -> &DatabaseUrl {
        &self.url
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Some((store, schema)) = &self.schema {
            run_psql(store, &format!("DROP SCHEMA {schema} CASCADE"));
        }
    }
}

fn run_psql(store: &str, statement: &str) {
    assert_success(&psql(store, statement));
}

/// Runs a statement in the database with this URL.
pub(crate) fn psql(url: &str, statement: &str) -> Output {
    let output = Command::new(binaries().join("psql"))
        .args(["-X", "-A", "-t", "-q", "-c", statement, url])
        .env("PGOPTIONS", "-c client_min_messages=warning")
        .output();
    output.expect("psql runs")
}

/// Returns the directory of PostgreSQL's programs: the newest version where Debian installs them, or the one
/// on PATH.
pub(crate) fn binaries() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<_> = versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .collect();
    versions.retain(|folder| folder.join("initdb").exists());
    versions.sort();
    let on_path = || {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).find(|folder| folder.join("initdb").exists())
    };
    versions
        .pop()
        .or_else(on_path)
        .expect("PostgreSQL; run `.ci/setup test`")
}

/// Returns the IDs of the user and group to run PostgreSQL as. It refuses to run as root.
fn unprivileged_ids() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("readable");
    let ids = |name: &str| {
        let line = users
            .lines()
            .find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    Some(ids("nobody").expect("a user named nobody"))
}

pub(crate) fn unprivileged_command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = unprivileged_ids() {
        command.uid(user).gid(group);
    }
    // The tests expect English messages.
    command.env("LC_ALL", "C").current_dir("/");
    command
}

fn assert_success(output: &Output) {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Returns a free port, another one each time. It is below the range from which the kernel assigns ports to other
/// sockets (32768 to 60999 on Linux), so that no connection of another test takes it before it is used.
pub(crate) fn free_port() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    loop {
        let candidate = std::process::id() + CALLS.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(20_000 + candidate % 10_000).expect("below 30,000");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
