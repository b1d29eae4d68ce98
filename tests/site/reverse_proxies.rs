//! Runs the recipes for reverse proxies in `docs/deployment.md`, each with the real proxy and a self-signed
//! certificate.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{
    postgres_server::free_port,
    process::{Sandbox, ServerProcess, landing, restart_under_requests, wait_until},
    socket_activation::{ONE_SOCKET, activated},
};

/// A running proxy. Dropping it kills the process.
pub(crate) struct ProxyProcess(Child);

impl ProxyProcess {
    /// Starts a proxy and waits until it listens on a port of the loopback address.
    pub(crate) fn start(command: &mut Command, port: u16) -> Self {
        Self::start_at(command, ("127.0.0.1", port))
    }

    /// Starts a proxy and waits until it listens at an address.
    pub(crate) fn start_at(command: &mut Command, address: (&str, u16)) -> Self {
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut proxy = Self(command.spawn().expect("the proxy starts"));
        wait_until("the proxy listens", || {
            let ended = proxy.0.try_wait().expect("a child process");
            assert!(ended.is_none(), "the proxy has exited");
            TcpStream::connect(address).is_ok()
        });
        proxy
    }
}

impl Drop for ProxyProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The pages that have recipes.
const PAGES: &str = concat!(
    include_str!("../../docs/deployment.md"),
    include_str!("../../docs/instances.md")
);

/// Returns the first code block in a language from the pages that have recipes.
pub(crate) fn recipe(language: &str) -> String {
    recipe_below("", language)
}

/// Like [`recipe`], but the first code block below a heading.
pub(crate) fn recipe_below(heading: &str, language: &str) -> String {
    let (_, section) = PAGES.split_once(heading).expect("a heading");
    let (_, block) = section
        .split_once(&format!("```{language}\n"))
        .expect("a recipe");
    let (block, _) = block.split_once("```").expect("an end of the block");
    block.to_owned()
}

/// Creates a key and a certificate for localhost.
fn create_certificate(folder: &Path) {
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
                     -keyout key.pem -out certificate.pem";
    let made = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stderr(Stdio::null())
        .status();
    assert!(made.expect("openssl runs").success());
}

/// Sends a request through the proxy from the address `from`. Returns the status and the HTTP version.
fn curl(port: u16, from: &str, arguments: &[&str]) -> (String, String) {
    let output = Command::new("curl")
        .args("--silent --insecure --output /dev/null --max-time 30 --interface".split(' '))
        .args([from, "--write-out", "%{http_code} %{http_version}"])
        .args(arguments)
        .arg(format!("https://localhost:{port}/api/waitlist"))
        .output()
        .expect("curl runs");
    let stdout = String::from_utf8(output.stdout).expect("text");
    let (status, version) = stdout.split_once(' ').expect("two words");
    (status.to_owned(), version.to_owned())
}

/// Signs up through the proxy from the address `from`, with a forged `X-Forwarded-For`. Returns the status.
fn join(port: u16, from: &str, email: &str, forged: &str) -> String {
    let body = format!(r#"{{"email":"{email}"}}"#);
    let mut arguments = vec!["--data", &body];
    let fields = [
        "Content-Type: application/json",
        &format!("Origin: https://localhost:{port}"),
        "Sec-Fetch-Site: same-origin",
        &format!("X-Forwarded-For: {forged}"),
    ];
    arguments.extend(fields.iter().flat_map(|field| ["--header", field]));
    curl(port, from, &arguments).0
}

/// Starts a proxy in front of the program and checks the recipe. `adapt` turns the recipe into a command that
/// uses the ports of the test.
fn assert_recipe_works(adapt: impl FnOnce(&Sandbox, &str, u16) -> Command) {
    let sandbox = Sandbox::new();
    create_certificate(sandbox.path());
    let port = free_port();
    // The options that the documentation gives beside the recipes.
    let origin = format!("--origin=https://localhost:{port}");
    let options = [
        "--trusted-proxies=127.0.0.1",
        "--signups-per-minute=2",
        &origin,
    ];
    let server = sandbox.serve_with(&options);
    let mut command = adapt(&sandbox, &server.addr, port);
    let _proxy = ProxyProcess::start(command.current_dir(sandbox.path()), port);

    let (status, version) = curl(port, "127.0.0.2", &[]);
    assert_eq!((status.as_str(), version.as_str()), ("405", "2"), "a GET");
    // The site upgrades no connection. The proxy must not wait for it to.
    let upgrade = ["--http1.1", "-HConnection: Upgrade", "-HUpgrade: other"];
    let (status, _) = curl(port, "127.0.0.2", &upgrade);
    assert_eq!(status, "405", "an upgrade");
    // It ends no connection that others share, and is not sent again.
    let malformed = ["--http1.1", "--request-target", "/?q=\""];
    let (status, _) = curl(port, "127.0.0.2", &malformed);
    assert_eq!(status, "400", "a malformed request");
    for (from, email, status) in [
        ("127.0.0.2", "one@example.com", "201"),
        ("127.0.0.2", "one@example.com", "409"),
        // The rate limit sees the client's real address, not the forged one.
        ("127.0.0.2", "two@example.com", "429"),
        ("127.0.0.3", "three@example.com", "201"),
    ] {
        let forged = format!("203.0.113.{}", email.len());
        assert_eq!(join(port, from, email, &forged), status, "{from} {email}");
    }
    let headers = head(&format!("https://localhost:{port}/"));
    for header in [
        "strict-transport-security: max-age=63072000",
        "content-security-policy: ",
    ] {
        assert_eq!(headers.matches(header).count(), 1, "{header}: {headers}");
    }
    assert!(
        !headers.contains("caddy") && !headers.contains("nginx/"),
        "{headers}"
    );
    // A proxy that asked for gzip would send the page with the tag of its gzip. The page may change between two requests,
    // because people have signed up a moment ago.
    let etag = |url: String| {
        let headers = head(&url);
        let etag = headers.lines().find(|line| line.starts_with("etag: "));
        etag.map(str::to_owned).expect("a tag")
    };
    wait_until("the proxy sends the tag of the site", || {
        etag(format!("https://localhost:{port}/")) == etag(format!("http://{}/", server.addr))
    });
}

/// Returns the headers of a page, in lower case, for a client that names no encoding.
fn head(url: &str) -> String {
    let mut curl = Command::new("curl");
    let curl = curl
        .args(["--silent", "--insecure", "--head", url])
        .output();
    let headers = String::from_utf8(curl.expect("curl runs").stdout);
    headers.expect("text").to_lowercase()
}

/// Returns Caddy with the recipe, in front of the program at `addr`.
fn caddy(sandbox: &Sandbox, addr: &str, port: u16) -> Command {
    let recipe = recipe("caddyfile").replace("127.0.0.1:3000", addr).replace(
        "steward.example {",
        &format!("localhost:{port} {{\n\ttls certificate.pem key.pem"),
    );
    let here = format!(
        "{{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system {}\n}}\n",
        sandbox.path().display()
    );
    fs::write(sandbox.path().join("Caddyfile"), here + &recipe).expect("writable");
    let mut caddy = Command::new("caddy");
    caddy.args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
    caddy.env("HOME", sandbox.path());
    caddy
}

/// As in Debian's nginx.conf. Each visitor takes two: nginx's own default of 512 is too low for 300.
const NGINX_CONNECTIONS: usize = 768;

/// Returns nginx with the recipe, in front of the program at `addr`.
fn nginx(sandbox: &Sandbox, addr: &str, port: u16) -> Command {
    let folder = sandbox.path().display().to_string();
    let lines = recipe("nginx");
    // The machine of the tests may have no IPv6.
    let lines = lines.split_inclusive('\n');
    let recipe = lines
        .filter(|line| !line.contains("[::]"))
        .collect::<String>()
        .replace("127.0.0.1:3000", addr)
        .replace("steward.example", "localhost")
        .replace("/etc/ssl/localhost", &folder)
        .replace("listen 443 ", &format!("listen 127.0.0.1:{port} "))
        .replace("listen 80;", &format!("listen 127.0.0.1:{};", free_port()));
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {folder}/{name};"));
    // One process: the workers of a master that is killed would stay.
    let here = format!(
        "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;\n\
         events {{ worker_connections {NGINX_CONNECTIONS}; }}\n\
         http {{ access_log off; {}\n{recipe}\n}}",
        temporary.concat()
    );
    fs::write(sandbox.path().join("nginx.conf"), here).expect("writable");
    let mut nginx = Command::new("/usr/sbin/nginx");
    nginx.args(["-p", &folder, "-c", "nginx.conf"]);
    nginx
}

#[test]
fn caddy_recipe_works() {
    assert_recipe_works(caddy);
}

#[test]
fn nginx_recipe_works() {
    assert_recipe_works(nginx);
}

/// The people of a crowd, and how many of them sign up at the same time.
const CROWD: usize = 300;
const SIGN_UPS: usize = 120;

/// A crowd behind one address opens the page through a proxy, each visitor with an own connection, and signs up. All of
/// them are served.
fn assert_crowd_is_served(proxy: impl FnOnce(&Sandbox, &str, u16) -> Command) {
    let sandbox = Sandbox::new();
    create_certificate(sandbox.path());
    let port = free_port();
    let origin = format!("--origin=https://localhost:{port}");
    let server = sandbox.serve_with(&["--trusted-proxies=127.0.0.1", &origin]);
    let mut command = proxy(&sandbox, &server.addr, port);
    let _proxy = ProxyProcess::start(command.current_dir(sandbox.path()), port);
    let common = "insecure\ninterface = \"127.0.0.2\"\nmax-time = 60\noutput = \"/dev/null\"\n\
                  write-out = \"%{http_code}\\n\"\n";
    let origin = format!("https://localhost:{port}");
    let page = format!("{common}url = \"{origin}/\"\n");
    let sign_ups = (0..SIGN_UPS).map(|number| {
        format!(
            "{common}url = \"{origin}/api/waitlist\"\nheader = \"Content-Type: application/json\"\n\
             data = \"{{\\\"email\\\":\\\"{number}@example.com\\\"}}\"\n"
        )
    });
    for (requests, status) in [(vec![page; CROWD], "200"), (sign_ups.collect(), "201")] {
        let count = requests.len();
        fs::write(sandbox.path().join("requests"), requests.join("next\n")).expect("writable");
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--parallel"])
            .args(["--parallel-immediate", "--parallel-max", "300"])
            .args(["--config", "requests"])
            .current_dir(sandbox.path())
            .output()
            .expect("curl runs");
        let statuses = String::from_utf8_lossy(&output.stdout);
        let served = statuses.lines().filter(|line| *line == status).count();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(served, count, "{statuses}{errors}");
    }
}

#[test]
fn crowd_behind_one_address_is_served_through_each_proxy() {
    assert_crowd_is_served(caddy);
    assert_crowd_is_served(nginx);
    assert_crowd_is_served(recipe_haproxy);
}

/// Requests the page fifty times a second through a proxy while the program restarts twice. `start` starts it at the
/// same address each time. No request may fail.
fn assert_no_request_fails(
    sandbox: &Sandbox,
    start: impl Fn() -> ServerProcess,
    proxy: impl FnOnce(&Sandbox, &str, u16) -> Command,
) {
    create_certificate(sandbox.path());
    let port = free_port();
    let server = start();
    let mut command = proxy(sandbox, &server.addr, port);
    let _proxy = ProxyProcess::start(command.current_dir(sandbox.path()), port);
    restart_under_requests(server, start, || assert_eq!(curl_page(port), "200"));
}

/// Returns the status of a request for the page on a new connection.
fn curl_page(port: u16) -> String {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--insecure", "--output", "/dev/null"]);
    curl.args(["--write-out", "%{http_code}", "--max-time", "30"]);
    let output = curl.arg(format!("https://localhost:{port}/")).output();
    String::from_utf8(output.expect("curl runs").stdout).expect("text")
}

#[test]
fn restart_with_socket_activation_fails_no_request_behind_a_proxy() {
    for proxy in [caddy, nginx] {
        let sandbox = Sandbox::new();
        let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let start = || {
            let socket = socket.try_clone().expect("a second handle");
            let mut command = activated(&sandbox, socket, ONE_SOCKET);
            command.args(["--trusted-proxies", "127.0.0.1"]);
            ServerProcess::start(command)
        };
        assert_no_request_fails(&sandbox, start, proxy);
    }
}

/// `lb_try_duration` bridges the gap.
#[test]
fn restart_without_socket_activation_fails_no_request_behind_caddy() {
    let sandbox = Sandbox::new();
    let addr = format!("127.0.0.1:{}", free_port());
    let start = || {
        let mut command = landing(sandbox.path());
        command.args(["--addr", &addr]);
        command.args(["--trusted-proxies", "127.0.0.1"]);
        ServerProcess::start(command)
    };
    assert_no_request_fails(&sandbox, start, caddy);
}

#[test]
fn haproxy_recipe_works() {
    assert_recipe_works(recipe_haproxy);
}

/// Returns HAProxy with the recipe, in front of the program at `addr`.
fn recipe_haproxy(sandbox: &Sandbox, addr: &str, port: u16) -> Command {
    let file = |name: &str| fs::read_to_string(sandbox.path().join(name)).expect("readable");
    let both = file("certificate.pem") + &file("key.pem");
    fs::write(sandbox.path().join("both.pem"), both).expect("writable");
    let recipe = recipe("haproxy")
        .replace("bind :443 ", &format!("bind 127.0.0.1:{port} "))
        .replace("/etc/haproxy/steward.example.pem", "both.pem")
        .replace("bind :80", &format!("bind 127.0.0.1:{}", free_port()));
    haproxy(sandbox.path(), &recipe, [addr; 3])
}

/// Returns HAProxy with a recipe, whose three instances are at these addresses.
pub(crate) fn haproxy(folder: &Path, recipe: &str, instances: [&str; 3]) -> Command {
    let mut recipe = recipe.to_owned();
    for (number, instance) in (1..).zip(instances) {
        recipe = recipe.replace(&format!("10.0.0.{number}:3000"), instance);
    }
    fs::write(folder.join("haproxy.cfg"), recipe).expect("writable");
    let mut haproxy = Command::new("/usr/sbin/haproxy");
    haproxy
        .args(["-db", "-f", "haproxy.cfg"])
        .current_dir(folder);
    haproxy
}
