//! The keys of the list, as they were a moment ago. The links in messages are read with them.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use super::limits::LIST_KEYS_MAX_AGE;
use crate::{
    mail::{PersonTokens, TokenPurpose},
    waitlist::{ListKey, StoreError, Waitlist},
};

/// A cache of the keys.
pub(super) struct ListKeys {
    list: Arc<dyn Waitlist>,
    cached: Mutex<Option<(Instant, Arc<[ListKey]>)>>,
}

impl ListKeys {
    pub(super) fn new(list: Arc<dyn Waitlist>) -> Self {
        Self {
            list,
            cached: Mutex::default(),
        }
    }

    /// Returns the key. A backup may have been restored into an empty list a moment ago.
    pub(super) async fn get(&self) -> Result<Arc<[ListKey]>, StoreError> {
        let cached = self
            .cached
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let is_fresh = |read_at: Instant| read_at.elapsed() < LIST_KEYS_MAX_AGE;
        if let Some((read_at, keys)) = cached
            && is_fresh(read_at)
        {
            return Ok(keys);
        }
        let keys: Arc<[ListKey]> = Arc::new([self.list.key().await?]);
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        *cached = Some((Instant::now(), Arc::clone(&keys)));
        Ok(keys)
    }

    /// Returns what reads the tokens in links, and makes them.
    pub(super) async fn tokens(&self, purpose: TokenPurpose) -> Result<PersonTokens, StoreError> {
        Ok(PersonTokens::new(&self.get().await?, purpose))
    }
}
