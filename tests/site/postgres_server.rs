//! A database server of the tests' own: in a temporary directory, by a user without rights, and never
//! another one.

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
use rand::RngExt;
use tempfile::TempDir;
use uuid::Uuid;

/// One for all tests that do it no harm. It goes with this process.
pub(crate) static SHARED_SERVER: LazyLock<PostgresServer> = LazyLock::new(PostgresServer::start);

pub(crate) const PASSWORD: &str = "secret-of-the-tests";

/// A server that listens on this machine alone. It is gone with its files when this is, or when this
/// process ends in whatever way.
pub(crate) struct PostgresServer {
    folder: PathBuf,
    pub(crate) port: u16,
    databases: AtomicU32,
    /// Waits for its input to end, and then cleans up.
    cleanup: Child,
}

impl PostgresServer {
    pub(crate) fn start() -> Self {
        Self::with_settings(&[])
    }

    /// A server with settings, a line each.
    pub(crate) fn with_settings(settings: &[&str]) -> Self {
        Self::in_folder(&env::temp_dir(), settings)
    }

    /// A server on the disk of a folder.
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

    /// One that copies all that another one does.
    pub(crate) fn standby_of(first: &Self) -> Self {
        Self::standby_in(&env::temp_dir(), free_port(), first)
    }

    /// One on the disk of a folder, and on a port, that copies all that another one does.
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

    /// Makes a standby the first one. It waits for no other, if the first one did not when it was copied.
    pub(crate) fn promote(&self) {
        assert_success(&self.run("pg_ctl", &["promote", "-w", "-D", "data"]));
    }

    fn create_directory(folder: &Path) -> Self {
        let folder = TempDir::new_in(folder).expect("a directory").keep();
        if let Some((user, group)) = unprivileged_ids() {
            chown(&folder, Some(user), Some(group)).expect("root may");
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

    /// A new database, as a URL says it.
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

    /// What a statement prints.
    pub(crate) fn sql(&self, database: &str, statement: &str) -> String {
        let url = self.url(database);
        let done = self.run("psql", &["-X", "-A", "-t", "-q", "-c", statement, &url]);
        assert_success(&done);
        String::from_utf8(done.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    pub(crate) fn up(&self) {
        let done = self.run("pg_ctl", &["start", "-w", "-D", "data", "-l", "log"]);
        assert!(done.status.success(), "{}", self.read("log"));
    }

    pub(crate) fn is_up(&self) -> bool {
        self.run("pg_ctl", &["status", "-D", "data"])
            .status
            .success()
    }

    /// Stops it: `smart`, `fast` or `immediate`.
    pub(crate) fn down(&self, mode: &str) {
        assert_success(&self.run("pg_ctl", &["stop", "-w", "-D", "data", "-m", mode]));
    }

    /// Its processes: the one that listens and those that serve.
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

    /// Writes a file into its directory, readable by it alone.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::write(&path, text).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
        if let Some((user, group)) = unprivileged_ids() {
            chown(&path, Some(user), Some(group)).expect("root may");
        }
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        let file = fs::OpenOptions::new()
            .append(true)
            .open(self.folder.join(name));
        let written = file.expect("it is there").write_all(text.as_bytes());
        written.expect("writable");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).expect("readable")
    }

    /// Runs one of its programs.
    pub(crate) fn run(&self, program: &str, args: &[&str]) -> Output {
        unprivileged_command(binaries().join(program))
            .args(args)
            .env("PGPASSWORD", PASSWORD)
            .current_dir(&self.folder)
            // What is left running must not keep who reads its output waiting.
            .stdin(Stdio::null())
            .output()
            .expect("it runs")
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.cleanup.stdin.take());
        let _ = self.cleanup.wait();
        // In a folder of somebody else's it could not remove its own.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Its arguments: the programs, and the directory. Ctrl-C in a terminal does not reach it.
const CLEANUP_SCRIPT: &str = r#"
    cat >/dev/null
    # A test may have stopped it in the middle.
    first=$(head -n 1 "$2/data/postmaster.pid")
    kill -CONT $first $(ps -o pid= --ppid "$first")
    "$1/pg_ctl" stop -w -D "$2/data" -m immediate
    rm -rf "$2"
"#;

/// A new, empty database of the shared server. With `CONFORMANCE_STORE`, which names a database of somebody's,
/// a new schema in that one, which is gone with this.
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
    /// Where it is, and its name.
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
    let done = Command::new(binaries().join("psql"))
        .args(["-X", "-q", "-c", statement, store])
        .env("PGOPTIONS", "-c client_min_messages=warning")
        .output();
    assert_success(&done.expect("psql runs"));
}

/// The newest server's programs: where Debian has them, or on the PATH.
fn binaries() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<_> = versions.flatten().map(|it| it.path().join("bin")).collect();
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

/// Whom to run as when this is root, whom PostgreSQL refuses.
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
    Some(ids("nobody").expect("every system has one"))
}

pub(crate) fn unprivileged_command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = unprivileged_ids() {
        command.uid(user).gid(group);
    }
    // In its words, not in those of the machine's language.
    command.env("LC_ALL", "C").current_dir("/");
    command
}

fn assert_success(done: &Output) {
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// Below those that the kernel gives to others meanwhile (32768 to 60999 on Linux).
pub(crate) fn free_port() -> u16 {
    loop {
        let port = rand::rng().random_range(20_000..30_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
