//! Writes the e-mail for each person: of a message of the owner, which is sent by a command or by the server.

use std::time::SystemTime;

use uuid::Uuid;

use super::{
    compose::{ComposeError, MessageHeaders, compose, message_id},
    dkim::DkimSigner,
    person_token::{PersonTokens, TOKEN_MAX_LEN, TokenPurpose},
    template::{Placeholders, RenderedMessage, Template, TemplateProblem},
};
use crate::{
    config::{MailSettings, Origin},
    waitlist::{Email, ListKey, MessageId, Source, invite_link},
};

/// Writes the e-mails of a message.
#[derive(Clone, Debug)]
pub struct MessageWriter<'a> {
    /// The message.
    pub template: &'a Template,
    /// The id by which the ledger knows it.
    pub id: MessageId,
    /// The sender.
    pub settings: &'a MailSettings,
    /// The public URL of the site, for the links.
    pub origin: &'a Origin,
    /// The name of the product.
    pub product: &'a str,
    /// Signs the e-mails. Otherwise the mail server does.
    pub signer: Option<&'a DkimSigner>,
}

/// The e-mail for a person.
pub struct WrittenMessage {
    /// The e-mail.
    pub bytes: Vec<u8>,
    /// The token and perhaps the code of the person, which neither the log nor the ledger must get from a server that quotes
    /// the message.
    pub secrets: Vec<String>,
}

impl MessageWriter<'_> {
    /// Returns the text of the message for a person with this token, whose invited people have this source.
    pub fn render(&self, position: u64, token: &str, invited: &str) -> RenderedMessage {
        self.template.render(&Placeholders {
            product: self.product,
            position,
            invite_link: &invite_link(self.origin.as_str(), invited),
            unsubscribe: Some(&self.url(token)),
            postal_address: self.settings.postal_address.as_deref(),
        })
    }

    /// Checks the size of the message for people up to a position, also with the longest address.
    ///
    /// # Errors
    /// [`TemplateProblem::TooLongAsHtml`].
    pub fn check_size(&self, max_position: u64) -> Result<(), TemplateProblem> {
        let longest = "x".repeat(TOKEN_MAX_LEN);
        Template::check_size(&self.render(max_position, &longest, &longest))
    }

    /// Returns the token of a person's unsubscribe page.
    fn token(key: &ListKey, email: &Email) -> String {
        PersonTokens::new(key, TokenPurpose::Unsubscribe).token(email)
    }

    /// Returns the URL of a person's unsubscribe page.
    pub fn unsubscribe_url(&self, key: &ListKey, email: &Email) -> String {
        self.url(&Self::token(key, email))
    }

    fn url(&self, token: &str) -> String {
        format!("{}/unsubscribe/{token}", self.origin.as_str())
    }

    /// Writes the e-mail for a person on the list with this key.
    ///
    /// # Errors
    /// [`ComposeError`].
    pub fn write(
        &self,
        key: &ListKey,
        email: &Email,
        position: u64,
    ) -> Result<WrittenMessage, ComposeError> {
        let id = message_id(key, &self.id, email, &self.settings.from);
        self.write_with_id(key, email, position, &id)
    }

    /// Writes a copy of the e-mail that is not the person's own. Its id differs, because mail programs show only one e-mail
    /// with an id.
    ///
    /// # Errors
    /// [`ComposeError`].
    pub fn write_copy(&self, key: &ListKey, email: &Email) -> Result<WrittenMessage, ComposeError> {
        let id = Uuid::now_v7().simple();
        let id = format!("{id}@{}", self.settings.from.domain());
        self.write_with_id(key, email, 1, &id)
    }

    fn write_with_id(
        &self,
        key: &ListKey,
        email: &Email,
        position: u64,
        message_id: &str,
    ) -> Result<WrittenMessage, ComposeError> {
        let token = Self::token(key, email);
        let invited = Source::of_invited(key, email);
        let message = self.render(position, &token, invited.as_str());
        let headers = MessageHeaders {
            from: &self.settings.from,
            to: email,
            message_id,
            date: SystemTime::now(),
            host: self.origin.host(),
            unsubscribe: Some(&self.url(&token)),
            signer: self.signer,
        };
        let bytes = compose(&headers, &message)?;
        let secrets = vec![token];
        Ok(WrittenMessage { bytes, secrets })
    }
}
