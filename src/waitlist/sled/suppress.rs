//! The suppressions of the committer, which it appends to the list like entries.

use super::{
    super::suppression::{AddressHash, Departure},
    committer::SledCommitter,
    error::or_exit,
    items::{RecordItem, StoredDeparture},
};

impl SledCommitter {
    /// Suppresses an address, unless it is suppressed.
    pub(super) fn suppress(&mut self, address: &str) {
        let hash = self.contents.suppressions.key().hash(address);
        if !self.contents.suppressions.contains_hash(hash) {
            self.append(RecordItem::Suppressed(hash));
        }
    }

    /// Suppresses an address, unless somebody has it who is on the list and awaits no confirmation. Returns whether it is
    /// suppressed.
    pub(super) fn suppress_unlisted(&mut self, address: &str) -> bool {
        let number = self.contents.people.get(address);
        let is_member = number.is_some_and(|it| !or_exit(self.person(it)).awaits_confirmation());
        if !is_member {
            self.suppress(address);
        }
        !is_member
    }

    /// Returns the suppression of an address, if there is one. A list without suppressions computes no hash.
    pub(super) fn find_suppression(&self, address: &str) -> Option<AddressHash> {
        let suppressions = &self.contents.suppressions;
        if suppressions.is_empty() {
            return None;
        }
        let hash = suppressions.key().hash(address);
        suppressions.contains_hash(hash).then_some(hash)
    }

    /// Lifts a suppression.
    pub(super) fn lift(&mut self, suppression: Option<AddressHash>) {
        if let Some(hash) = suppression {
            self.append(RecordItem::Lifted(hash));
        }
    }

    /// Lifts the suppression of an address. Returns whether it is on the list.
    pub(super) fn lift_address(&mut self, address: &str) -> bool {
        self.lift(self.find_suppression(address));
        self.contents.people.contains(address)
    }

    pub(super) fn add_departure(&mut self, departure: &Departure) {
        self.append(RecordItem::Departure(StoredDeparture::from(departure)));
    }
}
