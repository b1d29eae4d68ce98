//! The release that is rehearsed, and the proxy in front of it.

use std::{
    fs::{self, File},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

/// Where `make build` puts the release.
pub(crate) const RELEASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/release");
/// The recipe for Caddy.
const DEPLOYMENT: &str = include_str!("../../../docs/deployment.md");
/// How long a program may take to start or to stop.
const START_STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// A directory with a copy of the release, so that a build does not disturb a run, and with the files of the run.
pub(crate) struct RunDirectory {
    directory: tempfile::TempDir,
    /// The processor of the server, and of the proxy.
    processor: Option<u32>,
}

impl RunDirectory {
    /// # Errors
    /// If there is no release, or the disk is full.
    pub(crate) fn new(release: &Path, processor: Option<u32>) -> anyhow::Result<Self> {
        // Beside it, because `/tmp` may be in memory.
        let directory = tempfile::Builder::new()
            .prefix("rehearsal-")
            .tempdir_in(release.join(".."))?;
        let copied = Command::new("cp")
            .args(["-r", "landing", "site"])
            .arg(directory.path())
            .current_dir(release)
            .status()?;
        ensure!(
            copied.success(),
            "no release in {}; run `make build`",
            release.display()
        );
        Ok(Self {
            directory,
            processor,
        })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns an owner's command.
    pub(crate) fn landing(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path("landing"));
        command.args(arguments).current_dir(self.directory.path());
        command.args(["--store", "data"]);
        command
    }

    /// Returns a command that runs on the processor of the server.
    fn pinned(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let Some(processor) = self.processor else {
            return Command::new(program);
        };
        let mut command = Command::new("taskset");
        command.args(["-c", &processor.to_string()]).arg(program);
        command
    }
}

/// A running program. Dropping it kills the process.
pub(crate) struct Program(Child);

impl Program {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Asks the program to stop, and waits until it has.
    ///
    /// # Errors
    /// If it does not stop.
    pub(crate) fn stop(&mut self) -> anyhow::Result<ExitStatus> {
        let kill = Command::new("kill").arg(self.id().to_string()).status()?;
        ensure!(kill.success(), "kill failed");
        let deadline = Instant::now() + START_STOP_TIMEOUT;
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "the program does not stop");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Holds the socket of the server, as systemd does.
pub(crate) struct SiteSocket(TcpListener);

impl SiteSocket {
    /// # Errors
    /// If there is no free port.
    pub(crate) fn bind() -> anyhow::Result<Self> {
        Ok(Self(TcpListener::bind("127.0.0.1:0")?))
    }

    /// # Errors
    /// If the socket is gone.
    pub(crate) fn addr(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.0.local_addr()?)
    }

    /// Starts the server, and returns once it serves. Its log goes to a file, as lines of each request cost time too.
    ///
    /// # Errors
    /// If it does not start.
    pub(crate) fn serve(
        &self,
        run_directory: &RunDirectory,
        log: &Path,
        options: &[&str],
    ) -> anyhow::Result<Program> {
        // Standard input is the only descriptor that can be passed on without unsafe code.
        let script = r#"LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&0 </dev/null"#;
        let mut shell = run_directory.pinned("sh");
        shell
            .args(["-c", script, "sh"])
            .arg(run_directory.path("landing"));
        shell.args(["serve", "--store", "data"]).args(options);
        shell.current_dir(run_directory.directory.path());
        shell.stdin(Stdio::from(OwnedFd::from(self.0.try_clone()?)));
        shell.stdout(Stdio::null()).stderr(File::create(log)?);
        let mut program = Program(shell.spawn().context("cannot start the server")?);
        wait_until(&mut program, "the server", || {
            fs::read_to_string(log).is_ok_and(|log| log.contains("serving on http"))
        })?;
        Ok(program)
    }
}

/// Caddy with the recipe of the documentation, on the processor of the server.
pub(crate) struct Caddy {
    pub(crate) program: Program,
    pub(crate) addr: SocketAddr,
    pub(crate) origin: String,
    /// Trusts the certificate of this proxy.
    pub(crate) tls: ClientConfig,
}

impl Caddy {
    /// # Errors
    /// If Caddy or openssl are missing, or Caddy does not start.
    pub(crate) fn start(
        run_directory: &RunDirectory,
        port: u16,
        server: SocketAddr,
    ) -> anyhow::Result<Self> {
        create_certificate(run_directory)?;
        let (_, recipe) = DEPLOYMENT
            .split_once("```caddyfile\n")
            .context("no recipe")?;
        let (recipe, _) = recipe.split_once("```").context("no end of the recipe")?;
        let recipe = recipe
            .replace("127.0.0.1:3000", &server.to_string())
            .replace(
                "steward.example {",
                &format!("localhost:{port} {{\n\ttls certificate.pem key.pem"),
            );
        let storage = run_directory.path("caddy").display().to_string();
        let global = format!(
            "{{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system {storage}\n}}\n"
        );
        fs::write(run_directory.path("Caddyfile"), global + &recipe)?;
        let mut caddy = run_directory.pinned("caddy");
        caddy.args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
        caddy.current_dir(run_directory.directory.path());
        caddy.env("HOME", run_directory.directory.path());
        caddy.stdin(Stdio::null()).stdout(Stdio::null());
        caddy.stderr(File::create(run_directory.path("caddy.log"))?);
        let mut program = Program(caddy.spawn().context("cannot start Caddy")?);
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
        wait_until(&mut program, "Caddy", || TcpStream::connect(addr).is_ok())?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(
            run_directory.path("certificate.pem"),
        )?)?;
        let mut tls =
            ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
                .with_safe_default_protocol_versions()?
                .with_root_certificates(roots)
                .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self {
            program,
            addr,
            origin: format!("https://localhost:{port}"),
            tls,
        })
    }
}

/// Returns a port that is free at the moment.
///
/// # Errors
/// If there is none.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Creates a certificate for localhost that is valid for this run.
fn create_certificate(run_directory: &RunDirectory) -> anyhow::Result<()> {
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
        ])
        // Otherwise it is the certificate of an authority, which a site cannot have.
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "certificate.pem"])
        .current_dir(run_directory.directory.path())
        .output()
        .context("cannot run openssl")?;
    ensure!(output.status.success(), "openssl failed: {output:?}");
    Ok(())
}

fn wait_until(
    program: &mut Program,
    name: &str,
    mut is_ready: impl FnMut() -> bool,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_STOP_TIMEOUT;
    while !is_ready() {
        if let Some(status) = program.0.try_wait()? {
            bail!("{name} has ended: {status}");
        }
        ensure!(Instant::now() < deadline, "{name} does not start");
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
