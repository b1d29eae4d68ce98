//! Writes the e-mail for each person.

use std::time::SystemTime;

use uuid::Uuid;

use crate::{
    config::{MailSettings, Origin},
    mail::{
        ComposeError, DkimSigner, MessageHeaders, PersonTokens, Placeholders, RenderedMessage,
        Template, compose, message_id,
    },
    waitlist::{Email, ListKey},
};

/// Length of the token of a person whose address has 65 to 128 bytes.
const LONG_TOKEN_LEN: usize = 208;

/// Writes the e-mails of a message.
pub(super) struct MessageWriter<'a> {
    pub(super) template: &'a Template,
    pub(super) settings: &'a MailSettings,
    pub(super) origin: &'a Origin,
    pub(super) product: &'a str,
    pub(super) tokens: PersonTokens,
    pub(super) key: ListKey,
    pub(super) signer: Option<DkimSigner>,
}

/// The e-mail for a person.
pub(super) struct WrittenMessage {
    pub(super) bytes: Vec<u8>,
    /// The token of the person, which the ledger must not get from a server that quotes the message.
    pub(super) token: String,
}

impl MessageWriter<'_> {
    /// Returns the text of the message for a person.
    pub(super) fn render(&self, position: u64, unsubscribe: &str) -> RenderedMessage {
        self.template.render(&Placeholders {
            product: self.product,
            position,
            unsubscribe: Some(unsubscribe),
            postal_address: self.settings.postal_address.as_deref(),
        })
    }

    /// Returns the URL of a person's unsubscribe page.
    pub(super) fn unsubscribe_url(&self, email: &Email) -> Option<String> {
        Some(self.url(&self.tokens.token(email)?))
    }

    /// Returns a URL as long as that of a person with a long address.
    pub(super) fn sample_url(&self) -> String {
        self.url(&"x".repeat(LONG_TOKEN_LEN))
    }

    fn url(&self, token: &str) -> String {
        format!("{}/unsubscribe/{token}", self.origin.as_str())
    }

    /// Writes the e-mail for a person.
    ///
    /// # Errors
    /// [`ComposeError`].
    pub(super) fn write(
        &self,
        email: &Email,
        position: u64,
    ) -> Result<WrittenMessage, ComposeError> {
        let id = message_id(&self.key, self.template.id(), email, &self.settings.from);
        self.write_with_id(email, position, &id)
    }

    /// Writes a copy of the e-mail that is not the person's own. Its id differs, because mail programs show only one e-mail
    /// with an id.
    ///
    /// # Errors
    /// [`ComposeError`].
    pub(super) fn write_copy(&self, email: &Email) -> Result<WrittenMessage, ComposeError> {
        let id = Uuid::now_v7().simple();
        self.write_with_id(email, 1, &format!("{id}@{}", self.settings.from.domain()))
    }

    fn write_with_id(
        &self,
        email: &Email,
        position: u64,
        message_id: &str,
    ) -> Result<WrittenMessage, ComposeError> {
        let token = self.tokens.token(email).ok_or(ComposeError::NoToken)?;
        let unsubscribe = self.url(&token);
        let message = self.render(position, &unsubscribe);
        let headers = MessageHeaders {
            from: &self.settings.from,
            to: email,
            message_id,
            date: SystemTime::now(),
            host: self.origin.host(),
            unsubscribe: Some(&unsubscribe),
            signer: self.signer.as_ref(),
        };
        let bytes = compose(&headers, &message)?;
        Ok(WrittenMessage { bytes, token })
    }
}
