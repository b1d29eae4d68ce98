//! The lines of a response.

use serde::Serialize;

use super::protocol::ErrorMessage;
use crate::{cli::list_error::ListError, waitlist::StoreError};

/// Returns the message for the owner, with advice.
pub(super) fn error_message(error: StoreError) -> ErrorMessage {
    ListError::from(error).into()
}

pub(super) fn to_line(reply: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(reply).unwrap_or_default();
    line.push(b'\n');
    line
}
