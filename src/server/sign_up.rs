//! The one sign-up behind both doors: the API, and the form that posts itself.

use std::time::SystemTime;

use super::ApiError;
use crate::waitlist::{Email, Entry, Joined, Waitlist};

/// Puts what was typed on the list and returns the address as it is kept.
///
/// # Errors
/// [`ApiError`]: not an address, on the list already, or the store can't answer.
pub async fn sign_up(list: &dyn Waitlist, typed: &str) -> Result<Email, ApiError> {
    let email = Email::parse(typed).map_err(ApiError::InvalidEmail)?;
    let entry = Entry {
        email: email.clone(),
        joined_at: SystemTime::now(),
    };
    match list.join(entry).await {
        Ok(Joined::New) => Ok(email),
        Ok(Joined::AlreadyListed) => Err(ApiError::AlreadyListed),
        Err(error) => Err(ApiError::Unavailable(error)),
    }
}
