//! A mail server that does what a test says, at each step.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// A step of a conversation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    Greeting,
    Hello,
    LogIn,
    Mail,
    Recipient,
    Data,
    /// After the final dot.
    End,
    Reset,
    Quit,
}

/// What happens at a step.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// A reply, without its line break.
    Reply(&'static str),
    /// At [`Step::End`]: a reply, followed by the subject and the links of the message, as filters of content quote them.
    Quote(&'static str),
    /// At [`Step::End`]: a reply, followed by the lines of the message, as they were sent.
    QuoteLines(&'static str),
    /// The usual reply.
    Continue,
    /// The connection is closed.
    Cut,
    /// The connection is closed before the message is read.
    CutInMessage,
    /// The message is accepted, and the connection is closed instead of the reply.
    AcceptAndCut,
    /// The usual reply, after which nothing is read for a while.
    Pause(Duration),
    /// Nothing happens, until the client goes.
    Stall,
}

/// A message that was accepted.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) sender: String,
    pub(crate) recipient: String,
    /// The message, without the dots that SMTP adds.
    pub(crate) message: String,
}

type Script = dyn Fn(Step, &str) -> Action + Send + Sync;

/// A mail server on this machine.
pub(crate) struct SmtpServer {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    connections: Arc<Mutex<usize>>,
}

impl SmtpServer {
    /// Starts a server that accepts everything.
    pub(crate) fn start() -> Self {
        Self::scripted(|_, _| Action::Continue)
    }

    /// Starts a server that calls a function at each step, with the line of the client. At [`Step::End`], the line is
    /// the address of the recipient.
    pub(crate) fn scripted(script: impl Fn(Step, &str) -> Action + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Self::listening(listener, script)
    }

    /// Starts a server that acts at one step, if the line of the client has this part.
    pub(crate) fn acting(step: Step, part: &'static str, action: Action) -> Self {
        Self::scripted(move |at, line| match at == step && line.contains(part) {
            true => action.clone(),
            false => Action::Continue,
        })
    }

    /// Starts a server at an address, unless another one has it.
    pub(crate) fn at(address: SocketAddr) -> Option<Self> {
        let listener = TcpListener::bind(address).ok()?;
        Some(Self::listening(listener, |_, _| Action::Continue))
    }

    fn listening(
        listener: TcpListener,
        script: impl Fn(Step, &str) -> Action + Send + Sync + 'static,
    ) -> Self {
        let server = Self {
            address: listener.local_addr().expect("an address"),
            received: Arc::default(),
            connections: Arc::default(),
        };
        let script: Arc<Script> = Arc::new(script);
        let received = Arc::clone(&server.received);
        let connections = Arc::clone(&server.connections);
        // The threads end with the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                *connections.lock().expect("no panic") += 1;
                let (script, received) = (Arc::clone(&script), Arc::clone(&received));
                // An error means that the client has gone.
                thread::spawn(move || Conversation::new(stream, received).run(&*script));
            }
        });
        server
    }

    /// Returns the URL of the server, without a login.
    pub(crate) fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// Returns the messages that were accepted.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no panic").clone()
    }

    /// Returns the recipients of the messages that were accepted, in alphabetical order.
    pub(crate) fn recipients(&self) -> Vec<String> {
        let mut recipients: Vec<_> = self.received().into_iter().map(|it| it.recipient).collect();
        recipients.sort();
        recipients
    }

    /// Returns how many connections were opened.
    pub(crate) fn connection_count(&self) -> usize {
        *self.connections.lock().expect("no panic")
    }
}

struct Conversation {
    lines: BufReader<TcpStream>,
    out: TcpStream,
    received: Arc<Mutex<Vec<Received>>>,
    /// The sender and the recipient of the message, if they were accepted.
    sender: Option<String>,
    recipient: Option<String>,
}

impl Conversation {
    fn new(stream: TcpStream, received: Arc<Mutex<Vec<Received>>>) -> Self {
        stream.set_nodelay(true).expect("a socket");
        Self {
            out: stream.try_clone().expect("a socket"),
            lines: BufReader::new(stream),
            received,
            sender: None,
            recipient: None,
        }
    }

    fn run(mut self, script: &Script) -> Option<()> {
        self.act(script(Step::Greeting, ""), "220 mail.test ESMTP")?;
        loop {
            let line = self.read_line()?;
            let command = line
                .split([' ', ':'])
                .next()
                .unwrap_or_default()
                .to_ascii_uppercase();
            let address = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
            let (step, reply) = match &*command {
                "EHLO" => (
                    Step::Hello,
                    "250-mail.test\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME",
                ),
                "AUTH" => (Step::LogIn, "235 2.7.0 welcome"),
                "MAIL" => (Step::Mail, "250 2.1.0 ok"),
                "RCPT" if self.sender.is_none() => {
                    self.reply("503 5.5.1 no sender")?;
                    continue;
                }
                "RCPT" => (Step::Recipient, "250 2.1.5 ok"),
                "DATA" => {
                    self.receive(script, &line)?;
                    continue;
                }
                "RSET" => (Step::Reset, "250 2.0.0 ok"),
                "QUIT" => {
                    self.act(script(Step::Quit, &line), "221 2.0.0 bye")?;
                    return None;
                }
                _ => (Step::Reset, "502 5.5.2 unknown command"),
            };
            let action = script(step, &line);
            let accepted = matches!(action, Action::Continue).then_some(address);
            match step {
                Step::Mail => (self.sender, self.recipient) = (accepted, None),
                Step::Recipient => self.recipient = accepted,
                Step::Reset => (self.sender, self.recipient) = (None, None),
                _ => {}
            }
            self.act(action, reply)?;
        }
    }

    /// Receives a message.
    fn receive(&mut self, script: &Script, line: &str) -> Option<()> {
        let action = script(Step::Data, line);
        if let Action::Reply(reply) = action {
            return self.reply(reply);
        }
        let (Some(sender), Some(recipient)) = (self.sender.take(), self.recipient.take()) else {
            return self.reply("554 5.5.1 no valid recipients");
        };
        let cuts = matches!(action, Action::CutInMessage);
        self.act(if cuts { Action::Continue } else { action }, "354 go on")?;
        if cuts {
            return None;
        }
        let mut message = String::new();
        loop {
            let line = self.read_line()?;
            if line == "." {
                break;
            }
            message.push_str(line.strip_prefix('.').unwrap_or(&line));
            message.push_str("\r\n");
        }
        let action = script(Step::End, &recipient);
        if let Action::Quote(reply) = action {
            let text = message.replace("=\r\n", "");
            let is_quoted =
                |line: &&str| line.starts_with("Subject: ") || line.contains("https://");
            let quoted: Vec<_> = text.lines().filter(is_quoted).take(2).collect();
            return self.reply(&format!("{reply} {}", quoted.join(" ")));
        }
        if let Action::QuoteLines(reply) = action {
            let (_, body) = message.split_once("\r\n\r\n").expect("a message");
            let quoted: Vec<_> = body.lines().collect();
            return self.reply(&format!("{reply} {:.1500}", quoted.join(" ")));
        }
        if matches!(action, Action::Continue | Action::AcceptAndCut) {
            self.received.lock().expect("no panic").push(Received {
                sender,
                recipient,
                message,
            });
        }
        self.act(action, "250 2.0.0 queued")
    }

    /// Returns `None` if the conversation ends.
    fn act(&mut self, action: Action, usual_reply: &str) -> Option<()> {
        match action {
            Action::Continue => self.reply(usual_reply),
            Action::Reply(reply) | Action::Quote(reply) | Action::QuoteLines(reply) => {
                self.reply(reply)?;
                // 421 ends the connection.
                (!reply.starts_with("421")).then_some(())
            }
            Action::Pause(length) => {
                self.reply(usual_reply)?;
                thread::sleep(length);
                Some(())
            }
            Action::Cut | Action::CutInMessage | Action::AcceptAndCut => None,
            Action::Stall => {
                let mut rest = Vec::new();
                let _ = std::io::Read::read_to_end(&mut self.lines, &mut rest);
                None
            }
        }
    }

    fn reply(&mut self, reply: &str) -> Option<()> {
        write!(self.out, "{reply}\r\n").ok()
    }

    fn read_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.lines.read_line(&mut line).ok()?;
        (length > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    }
}
