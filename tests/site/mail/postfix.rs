//! Messages over a real mail server: Postfix, with TLS and a login. Its instance is the test's own, in a temporary
//! directory.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

use crate::{
    postgres_server::free_port,
    process::{self, wait_until},
};

/// A running Postfix. It accepts mail for example.com from users who have logged in.
struct Postfix {
    directory: TempDir,
    /// With STARTTLS.
    submission: u16,
    /// With TLS from the first byte.
    tls: u16,
}

/// Returns a command that runs as root, which Postfix needs.
fn as_root(program: &str) -> Command {
    if rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.args(["-n", program]);
    command
}

fn succeed(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    output
}

impl Postfix {
    fn start() -> Self {
        let directory = TempDir::new().expect("a directory");
        let postfix = Self {
            submission: free_port(),
            tls: free_port(),
            directory,
        };
        let path = postfix.path("");
        // Postfix's own users must get in.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("writable");
        postfix.write_certificate();
        postfix.write_config();
        let mut password = as_root("sh");
        let sasldb = postfix.path("sasldb2");
        let script = format!(
            "echo secret@word | saslpasswd2 -p -c -u mail.test -f '{0}' owner && chmod 644 '{0}'",
            sasldb.display()
        );
        succeed(password.args(["-c", &script]));
        let script = format!(
            "mkdir '{0}/queue' '{0}/data' '{0}/mail' && chown postfix '{0}/data' && chown nobody '{0}/mail'
             postfix -c '{0}' start",
            path.display()
        );
        succeed(as_root("sh").args(["-c", &script]));
        postfix
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes an authority, and its certificate for localhost.
    fn write_certificate(&self) {
        let script = "
            openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=Test authority' \
                -keyout ca.key -out ca.pem
            openssl req -newkey rsa:2048 -nodes -subj '/CN=localhost' -keyout key.pem -out request.pem
            printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' > names
            openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -days 2 -extfile names -out cert.pem";
        succeed(
            Command::new("sh")
                .args(["-ec", script])
                .current_dir(self.path("")),
        );
    }

    fn write_config(&self) {
        let directory = self.path("").display().to_string();
        let main = format!(
            "compatibility_level = 3.6
queue_directory = {directory}/queue
data_directory = {directory}/data
maillog_file = {directory}/log
maillog_file_prefixes = {directory}
myhostname = mail.test
mydestination =
inet_interfaces = 127.0.0.1
mynetworks =
virtual_mailbox_domains = example.com
virtual_mailbox_base = {directory}/mail
virtual_mailbox_maps = static:all/
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
smtpd_tls_cert_file = {directory}/cert.pem
smtpd_tls_key_file = {directory}/key.pem
smtpd_tls_security_level = encrypt
smtpd_tls_auth_only = yes
smtpd_sasl_auth_enable = yes
cyrus_sasl_config_path = {directory}/sasl
smtpd_sasl_local_domain = mail.test
smtpd_relay_restrictions = permit_sasl_authenticated, reject
smtpd_recipient_restrictions = check_recipient_access texthash:{directory}/access
smtputf8_enable = yes
"
        );
        fs::write(self.path("main.cf"), main).expect("writable");
        let access = "nobody@example.com 550 5.1.1 no such user\n";
        fs::write(self.path("access"), access).expect("writable");
        let master = format!(
            "127.0.0.1:{} inet n - n - - smtpd
127.0.0.1:{} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
",
            self.submission, self.tls
        );
        fs::write(self.path("master.cf"), master).expect("writable");
        fs::create_dir(self.path("sasl")).expect("writable");
        let sasl = format!(
            "pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: {directory}/sasldb2\nmech_list: PLAIN LOGIN\n"
        );
        fs::write(self.path("sasl/smtpd.conf"), sasl).expect("writable");
    }

    /// Returns the messages that were delivered.
    fn delivered(&self) -> Vec<PathBuf> {
        let new = self.path("mail/all/new");
        let files = fs::read_dir(new).into_iter().flatten().flatten();
        files.map(|file| file.path()).collect()
    }
}

impl Drop for Postfix {
    fn drop(&mut self) {
        let stopped = as_root("postfix")
            .arg("-c")
            .arg(self.path(""))
            .arg("stop")
            .output();
        // The files belong to Postfix's users.
        let removed = as_root("rm")
            .arg("-rf")
            .arg(self.path("queue"))
            .arg(self.path("mail"))
            .output();
        drop((stopped, removed));
    }
}

/// Runs `landing` with the settings of a mail server. The arguments are separated by spaces.
fn landing(directory: &Path, authority: &Path, smtp: &str, args: &str) -> (bool, String) {
    let mut command = process::landing(directory);
    command.args(args.split(' ')).envs([
        ("SSL_CERT_FILE", authority.to_str().expect("text")),
        ("LANDING_SMTP", smtp),
        ("LANDING_MAIL_FROM", "Steward ✉ <hello@steward.test>"),
        ("LANDING_ORIGIN", "https://steward.test"),
    ]);
    let output = command.output().expect("the program runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    (output.status.success(), text)
}

#[test]
fn messages_arrive_over_tls_with_a_login() {
    let postfix = Postfix::start();
    let (directory, authority) = (TempDir::new().expect("a directory"), postfix.path("ca.pem"));
    let directory = directory.path();
    let people = "ann@example.com\nbob@example.com\nnobody@example.com\n";
    fs::write(directory.join("people.csv"), people).expect("writable");
    let message = "---\nsubject: We are open ✨ with a subject that is longer than one line of a header may be, by far\n---\n\
                   .A line that begins with a dot\n\nשלום {position}, and a link: <https://steward.test/a>.\n";
    fs::write(directory.join("launch.md"), message).expect("writable");
    let run = |smtp: &str, args: &str| landing(directory, &authority, smtp, args);
    assert!(run("", "import people.csv").0);

    let login = "owner%40mail.test:secret%40word";
    let starttls = format!("smtp://{login}@localhost:{}", postfix.submission);
    let tls = format!("smtps://{login}@localhost:{}", postfix.tls);
    let (_, report) = run(&starttls, "mail-check");
    for part in [
        "encrypted with TLSv1.3; the certificate is valid",
        "logged in",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let (is_success, out) = run(&starttls, "send launch.md --next 1 --yes --skip-link-check");
    assert_eq!((is_success, &*out), (true, "1 accepted\n"));
    let (is_success, out) = run(&tls, "send launch.md --all --yes --skip-link-check");
    assert_eq!((is_success, &*out), (true, "1 accepted, 1 refused\n"));
    let (_, listed) = run(&tls, "messages launch");
    assert_eq!(
        listed,
        "refused   nobody@example.com  550 5.1.1 <address> Recipient address rejected: no such user\n"
    );

    wait_until("two messages are delivered", || {
        postfix.delivered().len() == 2
    });
    for file in postfix.delivered() {
        // Python's parser finds defects that programs forgive.
        let script = "
import email, email.policy, sys
message = email.message_from_binary_file(open(sys.argv[1], 'rb'), policy=email.policy.SMTP)
defects = [defect for part in message.walk() for defect in part.defects]
defects += [defect for header in message.values() for defect in header.defects]
assert not defects, defects
assert message['Subject'].startswith('We are open ✨ with'), message['Subject']
assert message['From'] == 'Steward ✉ <hello@steward.test>', message['From']
text = message.get_body(('plain',)).get_content()
assert '\\n.A line' in '\\n' + text and 'שלום' in text, text
assert '<html lang=\"en\">' in message.get_body(('html',)).get_content()
assert message['List-Unsubscribe'].count('https://') == 1";
        succeed(as_root("python3").args(["-c", script]).arg(&file));
    }

    let wrong = starttls.replace("secret", "wrong");
    let (is_success, error) = run(
        &wrong,
        "send launch.md --all --yes --skip-link-check --resend-unknown",
    );
    assert!(
        is_success && error.starts_with("nobody to send to"),
        "{error}"
    );
    let (is_success, report) = run(&wrong, "mail-check");
    assert!(
        !is_success && report.contains("the server rejects the user or the password: 535 5.7.8"),
        "{report}"
    );
    assert!(
        !report.contains("wrong%40word") && !report.contains("wrong@word"),
        "{report}"
    );
    let without_login = format!("smtp://localhost:{}", postfix.submission);
    fs::write(directory.join("again.md"), message).expect("writable");
    let (is_success, out) = run(
        &without_login,
        "send again.md --next 1 --new-message --yes --skip-link-check",
    );
    assert!(!is_success && out.contains("0 accepted"), "{out}");
    let (_, report) = landing(directory, Path::new("/etc/hostname"), &tls, "mail-check");
    let is_unknown = report.contains("of an authority that this system does not know");
    let are_missing = report.contains("no certificates of authorities");
    assert!(is_unknown || are_missing, "{report}");
    // The certificate is for localhost.
    let other_name = tls.replace("@localhost", "@127.0.0.2");
    let (_, report) = run(&other_name, "mail-check");
    assert!(
        report.contains("cannot connect") || report.contains("write the name in --smtp"),
        "{report}"
    );
}
