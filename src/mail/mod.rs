//! Messages to the people on the list.
//!
//! - `template`: [`Template`], a message in Markdown, and what it becomes for one person.
//! - `message_writer`: [`MessageWriter`], which writes the e-mail of a message for each person.
//! - `compose`: turns it into the bytes of an e-mail.
//! - `person_token`: [`PersonTokens`], which name a person in a link without showing the address.
//! - `code_message`: the message that asks a person to confirm the address, and its code.
//! - `dkim`: [`DkimSigner`], which signs an e-mail.
//! - `smtp`: the connection to the mail server.
//! - `mailer`: [`Mailer`], which sends one message after another.
//! - `setup_error`: [`MailSetupError`], why no mail can be sent with the settings.

mod code_message;
mod compose;
mod dkim;
mod mailer;
mod message_writer;
mod person_token;
mod setup_error;
mod smtp;
mod template;

pub use code_message::{CODE_LEN, confirmation_code, confirmation_message};
pub use compose::{ComposeError, MessageHeaders, compose, message_id, recipient_address};
pub use dkim::DkimSigner;
pub use mailer::{Mailer, is_deferred_by_objection};
pub use message_writer::{MessageWriter, WrittenMessage};
pub use person_token::{PersonTokens, TokenPerson, TokenPurpose};
pub use setup_error::{DkimKeyError, MailSetupError};
pub use smtp::{
    ConnectError, ConnectStep, MessagePart, NotSent, SendOutcome, SmtpClient, SmtpConnection,
    SmtpTimeouts,
};
pub use template::{Placeholders, RenderedMessage, Template, TemplateError, TemplateProblem};
