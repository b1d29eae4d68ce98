//! Invitations: each person has a link, and its code is the source of the people who join by it.
//!
//! Nothing is stored for that. The code is a keyed hash of the person's address, so it says nothing about the person, and one of
//! somebody who was erased names nobody.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use super::{
    email::Email,
    entry::{Source, WaitlistEntry},
    mailbox::hash_mailbox,
    suppression::{AddressHash, ListKey},
};

/// What the source of an invited person begins with. The code follows, in 16 hexadecimal digits.
const PREFIX: &str = "invite-";

/// The code of a person's link. By chance, two of a million people share one in one of 10^7 lists.
type InviteCode = u64;

fn invite_code(key: &ListKey, email: &Email) -> InviteCode {
    // No address has a line break, so this input never equals an address.
    let hash = key.hash(format!("invite\n{}", email.key()));
    let bytes = hash.as_bytes().iter().take(size_of::<InviteCode>());
    bytes.fold(0, |code, byte| code << 8 | InviteCode::from(*byte))
}

/// Returns the link by which a person invites others to the site at this origin.
pub fn invite_link(origin: &str, key: &ListKey, email: &Email) -> String {
    format!("{origin}/?ref={}", Source::of_invited(key, email))
}

impl Source {
    /// Returns the source of the people who join by the link of a person.
    pub fn of_invited(key: &ListKey, inviter: &Email) -> Self {
        Self::from_stored(&format!("{PREFIX}{:016x}", invite_code(key, inviter)))
    }

    /// Returns whether somebody's link leads to this source.
    pub fn is_invitation(&self) -> bool {
        self.invite_code().is_some()
    }

    fn invite_code(&self) -> Option<InviteCode> {
        let digits = self.as_str().strip_prefix(PREFIX)?;
        let code = InviteCode::from_str_radix(digits, 16).ok();
        code.filter(|code| format!("{code:016x}") == digits)
    }
}

/// The line in which people wait, at the time when the list was read: people who have invited more come first, and of those
/// who have invited as many, people who joined earlier.
pub struct Standings {
    key: ListKey,
    /// The number of people invited, of each inviter.
    invitations: HashMap<InviteCode, u64>,
    /// The place of each person, from 1.
    places: HashMap<InviteCode, u64>,
}

impl Standings {
    /// Returns the number of people who have joined by the link of a person. It counts only people who have confirmed their
    /// address, unless the site did not ask them to, and of the people on the list who share a mailbox only the first one. The
    /// person's own mailbox does not count.
    pub fn invitations(&self, email: &Email) -> u64 {
        let code = invite_code(&self.key, email);
        self.invitations.get(&code).copied().unwrap_or_default()
    }

    /// Returns the place of a person, from 1, or `None` if the person has joined since.
    pub fn place(&self, email: &Email) -> Option<u64> {
        let code = invite_code(&self.key, email);
        self.places.get(&code).copied()
    }
}

/// Takes the entries of a list, in their order, and computes the standings.
pub struct StandingsReader {
    key: ListKey,
    people: Vec<(InviteCode, AddressHash)>,
    /// The mailboxes of the people who count.
    mailboxes: HashSet<AddressHash>,
    /// The mailboxes that have joined by a link.
    invited: HashMap<InviteCode, HashSet<AddressHash>>,
}

impl StandingsReader {
    /// Starts with an empty list that has this key.
    pub fn new(key: ListKey) -> Self {
        Self {
            key,
            people: Vec::new(),
            mailboxes: HashSet::new(),
            invited: HashMap::new(),
        }
    }

    /// Takes the next entry.
    pub fn add(&mut self, entry: &WaitlistEntry) {
        let mailbox = hash_mailbox(&self.key, &entry.email);
        self.people
            .push((invite_code(&self.key, &entry.email), mailbox));
        let counts = !entry.awaits_confirmation() && self.mailboxes.insert(mailbox);
        let inviter = entry.source.as_ref().and_then(Source::invite_code);
        if let (true, Some(inviter)) = (counts, inviter) {
            self.invited.entry(inviter).or_default().insert(mailbox);
        }
    }

    /// Returns the standings.
    pub fn finish(mut self) -> Standings {
        let mut invitations = HashMap::new();
        for (code, mailbox) in &self.people {
            let Some(invited) = self.invited.get_mut(code) else {
                continue;
            };
            invited.remove(mailbox);
            if !invited.is_empty() {
                invitations.insert(*code, invited.len() as u64);
            }
        }
        let mut line = self.people;
        line.sort_by_cached_key(|(code, _)| Reverse(invitations.get(code).copied()));
        let codes = line.into_iter().map(|(code, _)| code);
        Standings {
            key: self.key,
            invitations,
            places: codes.zip(1..).collect(),
        }
    }
}
