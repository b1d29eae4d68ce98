//! Messages to the people on the list.
//!
//! - `template`: [`Template`], a message in Markdown, and what it becomes for one person.
//! - `compose`: turns it into the bytes of an e-mail.
//! - `unsubscribe_token`: [`UnsubscribeTokens`], which name a person in a link without showing the address.
//! - `smtp`: the connection to the mail server.

mod compose;
mod smtp;
mod template;
mod unsubscribe_token;

pub use compose::{ComposeError, Envelope, compose, recipient_address};
pub use smtp::{
    ConnectError, ConnectProgress, ConnectStep, NotSent, SendOutcome, SmtpClient, SmtpConnection,
    SmtpReply, SmtpTimeouts, TlsSetupError,
};
pub use template::{Placeholders, RenderedMessage, Template, TemplateError, TemplateProblem};
pub use unsubscribe_token::UnsubscribeTokens;
