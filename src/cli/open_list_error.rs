//! Errors of opening a list.

use std::{io, ops::RangeInclusive};

use thiserror::Error;

use super::store_location::StoreLocation;
use crate::waitlist::{PostgresOpenError, SledOpenError};

/// An error of opening a list.
#[derive(Debug, Error)]
pub(super) enum OpenListError {
    #[error(
        "there is no waitlist in {0}; choose its location with --store, or create it with `landing serve` or \
             `landing import`"
    )]
    Missing(StoreLocation),
    #[error(
        "{0} is a file, and a waitlist is a directory; to read an export or a backup, run `landing import` or `landing restore` with a new directory"
    )]
    File(StoreLocation),
    #[error("{location} belongs to user {uid}; run the command as that user{}", user_advice(*uid))]
    OtherUser { location: StoreLocation, uid: u32 },
    #[error("cannot read {location}: {error}{advice}", advice = read_advice(.error))]
    Unreadable {
        location: StoreLocation,
        error: io::Error,
    },
    #[error(transparent)]
    Sled(#[from] SledOpenError),
    #[error(transparent)]
    Postgres(#[from] PostgresOpenError),
    #[error("cannot start the runtime: {0}")]
    Runtime(io::Error),
}

/// The users that systemd makes for services with `DynamicUser=yes` while these run.
const DYNAMIC_USERS: RangeInclusive<u32> = 61184..=65519;
/// The user that owns the files of such a service while it is stopped, if the kernel maps users (`nobody`).
const UNMAPPED_USER: u32 = 65534;

/// Returns how to become a user who may not exist.
fn user_advice(uid: u32) -> &'static str {
    if DYNAMIC_USERS.contains(&uid) || uid == UNMAPPED_USER {
        ", or start the service, or use systemd-run if the user exists only while a service runs (DynamicUser=yes): \
         see \"Running the commands on a server\" in docs/owner.md"
    } else {
        ""
    }
}

fn read_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; run the command as the user that the server runs as",
        _ => "",
    }
}
