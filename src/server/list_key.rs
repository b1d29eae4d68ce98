//! The key of the list. Codes are made with it, and links are read with it.

use std::sync::{Arc, OnceLock};

use crate::{
    mail::{PersonTokens, TokenPurpose},
    waitlist::{ListKey, StoreError, Waitlist},
};

/// Reads the key from the list once. Only a restore changes it, and servers must be stopped before one.
pub(super) struct ListKeyCache {
    list: Arc<dyn Waitlist>,
    key: OnceLock<ListKey>,
}

impl ListKeyCache {
    pub(super) fn new(list: Arc<dyn Waitlist>) -> Self {
        Self {
            list,
            key: OnceLock::new(),
        }
    }

    /// Returns the key.
    pub(super) async fn get(&self) -> Result<ListKey, StoreError> {
        match self.key.get() {
            Some(key) => Ok(*key),
            // Not one reader for all: if it waited in vain, the next one would begin to wait.
            None => {
                let list_key = self.list.list_key().await?;
                Ok(*self.key.get_or_init(|| list_key))
            }
        }
    }

    /// Returns what reads the tokens in links, and makes them.
    pub(super) async fn tokens(&self, purpose: TokenPurpose) -> Result<PersonTokens, StoreError> {
        Ok(PersonTokens::new(&self.get().await?, purpose))
    }
}
