//! PostgreSQL with Patroni and etcd, as `docs/instances.md` sets them up, on three machines.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command},
    thread::sleep,
    time::Duration,
};

use super::machine::Machine;
use crate::{
    postgres_server::{binaries, psql},
    process::wait_up_to,
    reverse_proxies::recipe_below,
};

/// The heading of the recipe.
pub(super) const HEADING: &str = "## Appendix: a database that fails over by itself\n";

/// The password of the database's superuser in the recipe.
const SUPERUSER_PASSWORD: &str = "SUPERUSER-PASSWORD";

/// Maximum time for Patroni to replace a primary, and to make the old one a standby. Longer than both take.
pub(super) const RECOVERY_TIMEOUT: Duration = Duration::from_secs(180);

/// Pause between two checks of the cluster.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Three machines. The first two have a database, and all have etcd.
pub(super) struct Cluster {
    machines: [Machine; 3],
    folder: PathBuf,
    children: Vec<Child>,
}

impl Cluster {
    /// Starts the cluster with its files in a folder.
    pub(super) fn start(folder: &Path) -> Self {
        let mut cluster = Self {
            machines: [1, 2, 3].map(Machine::start),
            folder: folder.to_owned(),
            children: Vec::new(),
        };
        for number in 1..=3 {
            cluster.boot(number);
        }
        cluster.wait_until_redundant();
        cluster
    }

    pub(super) fn machine(&self, number: usize) -> &Machine {
        &self.machines[number - 1]
    }

    /// Starts etcd and Patroni on a machine.
    pub(super) fn boot(&mut self, number: usize) {
        let folder = self.folder.display().to_string();
        let environment = self
            .adapt(number, &recipe_below(HEADING, "ini"))
            .replace("/var/lib/etcd", &format!("{folder}/etcd{number}"));
        let mut etcd = self.machine(number).command("etcd");
        etcd.envs(environment.lines().filter_map(|line| line.split_once('=')));
        self.spawn(number, "etcd", etcd);
        if number == 3 {
            return;
        }
        let config = self
            .adapt(number, &recipe_below(HEADING, "yaml"))
            .replace(
                "/usr/lib/postgresql/15/bin",
                &binaries().display().to_string(),
            )
            .replace("/var/lib/postgresql/15", &format!("{folder}/db{number}"))
            .replace("/var/run/postgresql", &format!("{folder}/db{number}"));
        let data = self.folder.join(format!("db{number}"));
        fs::create_dir_all(&data).expect("writable");
        let path = data.join("config.yml");
        fs::write(&path, config).expect("writable");
        let mut patroni = self.machine(number).command("/usr/bin/patroni");
        patroni.arg(path);
        self.spawn(number, "patroni", patroni);
    }

    /// Changes a recipe for the first machine into one for another machine, as the documentation says: it replaces the
    /// name and the address in all lines that do not list the machines.
    fn adapt(&self, number: usize, recipe: &str) -> String {
        let address = self.machine(number).address();
        let adapted = recipe.lines().map(|line| {
            if line.contains("10.0.0.12") {
                line.to_owned()
            } else {
                line.replace("db1", &format!("db{number}"))
                    .replace("10.0.0.11", &address)
            }
        });
        adapted.collect::<Vec<_>>().join("\n") + "\n"
    }

    fn spawn(&mut self, number: usize, name: &str, mut command: Command) {
        let log = self.folder.join(format!("{name}{number}.log"));
        let log = File::options().create(true).append(true).open(log);
        let log = log.expect("writable");
        command.stdout(log.try_clone().expect("a second handle"));
        let child = command.stderr(log).spawn();
        self.children.push(child.expect("the program starts"));
    }

    /// Kills all processes of a machine.
    pub(super) fn kill(&mut self, number: usize) {
        self.machine(number).kill();
        self.children
            .retain_mut(|child| child.try_wait().expect("a child process").is_none());
    }

    /// Returns the number of the machine whose database accepts writes, according to Patroni, if there is one. An old
    /// primary that continues says so too, until it knows of the new one.
    pub(super) fn primary(&self) -> Option<usize> {
        let mut primaries = (1..=2).filter(|number| self.has_role(*number, "primary"));
        primaries.next().filter(|_| primaries.next().is_none())
    }

    /// Waits until one database is the primary, and the other one its synchronous standby. Returns the number of the
    /// primary's machine.
    pub(super) fn wait_until_redundant(&self) -> usize {
        let mut primary = 0;
        wait_up_to(RECOVERY_TIMEOUT, "the standby is synchronous", || {
            sleep(CHECK_INTERVAL);
            self.primary().is_some_and(|number| {
                primary = number;
                self.has_role(3 - number, "sync")
            })
        });
        primary
    }

    /// Waits until the database of another machine is the primary.
    pub(super) fn wait_until_replaced(&self, number: usize) {
        wait_up_to(RECOVERY_TIMEOUT, "the standby is promoted", || {
            sleep(CHECK_INTERVAL);
            self.primary() == Some(3 - number)
        });
    }

    /// Waits until Patroni on a machine has decided three times that its database must not become the primary, although
    /// there is none.
    pub(super) fn wait_until_not_promoted(&self, number: usize) {
        let decisions = || {
            let log = self.log("patroni", number);
            log.matches("not the healthiest node").count()
        };
        let target = decisions() + 3;
        wait_up_to(
            RECOVERY_TIMEOUT,
            "the stale standby stays a standby",
            || {
                sleep(CHECK_INTERVAL);
                assert_eq!(self.primary(), None, "a stale standby is the primary");
                decisions() >= target
            },
        );
    }

    /// Asks Patroni on a machine whether its database has a role, as HAProxy does.
    fn has_role(&self, number: usize, role: &str) -> bool {
        let address = format!("{}:8008", self.machine(number).address());
        let ask = || -> std::io::Result<String> {
            let limit = Duration::from_secs(1);
            let address = address.parse().expect("an address");
            let mut stream = TcpStream::connect_timeout(&address, limit)?;
            stream.set_read_timeout(Some(limit))?;
            write!(stream, "OPTIONS /{role} HTTP/1.0\r\n\r\n")?;
            let mut response = String::new();
            stream.read_to_string(&mut response)?;
            Ok(response)
        };
        ask().is_ok_and(|response| response.split(' ').nth(1) == Some("200"))
    }

    /// Returns the URL of a database for a user, with both machines.
    pub(super) fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!(
            "postgres://{user}:{password}@10.0.0.11,10.0.0.12/{database}?target_session_attrs=read-write"
        )
    }

    /// Runs a statement as the superuser on the primary, and returns what it prints. An old primary that does not know
    /// of the new one accepts connections too, so this asks Patroni.
    pub(super) fn sql(&self, database: &str, statement: &str) -> String {
        let mut primary = None;
        wait_up_to(RECOVERY_TIMEOUT, "there is a primary", || {
            primary = self.primary();
            primary.is_some()
        });
        let host = self.machine(primary.expect("it was awaited")).address();
        let url = format!("postgres://postgres:{SUPERUSER_PASSWORD}@{host}/{database}");
        let output = psql(&url, statement);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let text = String::from_utf8(output.stdout).expect("text");
        text.trim().to_owned()
    }

    fn log(&self, program: &str, number: usize) -> String {
        let log = fs::read(self.folder.join(format!("{program}{number}.log")));
        String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
    }

    /// Prints the ends of all logs.
    fn print_logs(&self) {
        for number in 1..=3 {
            for program in ["etcd", "patroni"] {
                let log = self.log(program, number);
                let lines: Vec<_> = log.lines().collect();
                let end = lines[lines.len().saturating_sub(60)..].join("\n");
                println!("--- {program} of db{number}:\n{end}");
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.print_logs();
        }
        for number in 1..=3 {
            self.machine(number).kill();
        }
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}
