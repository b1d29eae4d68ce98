//! Errors of opening a list.

use std::io;

use thiserror::Error;

use super::store_location::StoreLocation;
use crate::waitlist::{PostgresOpenError, SledOpenError};

/// An error of opening a list.
#[derive(Debug, Error)]
pub(super) enum OpenListError {
    #[error(
        "there is no waitlist in {0}; choose its location with --store, or create it with `landing serve`, \
         `landing import` or `landing add`"
    )]
    Missing(StoreLocation),
    #[error(
        "{0} is a file, and a waitlist is a directory; to read an export or a backup, run `landing import` or `landing restore` with a new directory"
    )]
    File(StoreLocation),
    #[error(
        "{location} belongs to user {uid}; run the command as that user: see \"Running the commands on a server\" in docs/owner.md"
    )]
    OtherUser { location: StoreLocation, uid: u32 },
    #[error(
        "cannot read {location}: {error}; run the command as the user that the server runs as, or check the disk"
    )]
    Unreadable {
        location: StoreLocation,
        error: io::Error,
    },
    #[error(transparent)]
    Sled(#[from] SledOpenError),
    #[error(transparent)]
    Postgres(#[from] PostgresOpenError),
}
