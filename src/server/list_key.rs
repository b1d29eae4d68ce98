//! The key of the list, as it was a moment ago. Codes are made with it, and links are read with it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use super::limits::LIST_KEY_MAX_AGE;
use crate::{
    mail::{PersonTokens, TokenPurpose},
    waitlist::{ListKey, StoreError, Waitlist},
};

/// A cache of the key.
pub(super) struct ListKeyCache {
    list: Arc<dyn Waitlist>,
    cached: Mutex<Option<(Instant, ListKey)>>,
}

impl ListKeyCache {
    pub(super) fn new(list: Arc<dyn Waitlist>) -> Self {
        Self {
            list,
            cached: Mutex::default(),
        }
    }

    /// Returns the key as it was at most a second ago. Only restoring a backup into an empty list changes it.
    pub(super) async fn get(&self) -> Result<ListKey, StoreError> {
        let cached = *self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read_at, key)) = cached
            && read_at.elapsed() < LIST_KEY_MAX_AGE
        {
            return Ok(key);
        }
        let key = self.list.key().await?;
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        *cached = Some((Instant::now(), key));
        Ok(key)
    }

    /// Returns what reads the tokens in links, and makes them.
    pub(super) async fn tokens(&self, purpose: TokenPurpose) -> Result<PersonTokens, StoreError> {
        Ok(PersonTokens::new(&self.get().await?, purpose))
    }
}
