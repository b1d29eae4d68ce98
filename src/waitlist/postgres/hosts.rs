//! The order in which addresses of a database are tried.

use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

/// The position of a host in the URL, and one of its addresses. A socket of this machine has no address.
pub(super) type Address = (usize, Option<IpAddr>);

/// The addresses that worked and failed last, shared by everything that connects to the hosts of a URL.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// The address that worked last. It is tried first.
    last: Mutex<Option<Address>>,
    /// The address that did not respond to a statement. It is tried last.
    suspect: Mutex<Option<Address>>,
}

impl Hosts {
    /// Records that an address did not respond.
    pub(super) fn mark_suspect(&self, address: Address) {
        *self.suspect.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }

    /// Records that an address works.
    pub(super) fn mark_working(&self, address: Address) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }

    /// Returns whether another address has worked since this one was connected to.
    pub(super) fn prefers_another(&self, address: Address) -> bool {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last != address)
    }

    /// Returns the address to try first and the address to try last.
    pub(super) fn preference(&self) -> (Option<Address>, Option<Address>) {
        let suspect = *self.suspect.lock().unwrap_or_else(PoisonError::into_inner);
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        (last.filter(|last| suspect != Some(*last)), suspect)
    }
}
