//! The error of a connection that was closed to make room for others. It reaches the reader of a body.

use std::{error::Error, fmt, io, iter};

/// A read or a write fails, because the connection must make room for others.
#[derive(Debug)]
pub(super) struct Evicted;

impl Evicted {
    /// Returns whether this error, or one that caused it, is an eviction.
    pub(super) fn caused(error: &(dyn Error + 'static)) -> bool {
        iter::successors(Some(error), |&error| error.source()).any(|error| {
            let inner = error
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref);
            inner.is_some_and(|inner| inner.is::<Self>())
        })
    }
}

impl fmt::Display for Evicted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closed to make room for other connections")
    }
}

impl Error for Evicted {}
