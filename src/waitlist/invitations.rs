//! Invitations: each person has a link, and its code is the source of the people who join by it.
//!
//! Nothing else is stored. A code is a keyed hash of the person's address, so only the owner of the list can test whose it
//! is. It stays when the person is erased.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use super::{
    email::Email,
    entry::{Source, WaitlistEntry},
    mailbox::hash_mailbox,
    suppression::ListKey,
};

/// What the source of an invited person begins with. The code follows, in 16 hexadecimal digits.
const PREFIX: &str = "invite-";

/// The code of a person's link. By chance, two of a million people share one in one of 10^7 lists.
type InviteCode = u64;

/// Returns the link whose visitors have this source, to the site at this origin.
pub fn invite_link(origin: &str, source: &str) -> String {
    format!("{origin}/?ref={source}")
}

impl Source {
    /// Returns the source of the people who join by the link of a person.
    pub fn of_invited(key: &ListKey, inviter: &Email) -> Self {
        Self::from_stored(&format!("{PREFIX}{:016x}", invite_code(key, inviter)))
    }

    /// Returns whether the source has the form of a code.
    pub fn is_invitation(&self) -> bool {
        self.invite_code().is_some()
    }

    /// Returns the source in a parameter of a link, which may have got a punctuation mark at its end.
    pub fn from_parameter(text: &str) -> Option<Self> {
        let code = text.get(..PREFIX.len() + 16).and_then(|it| it.parse().ok());
        code.filter(Self::is_invitation)
            .or_else(|| text.parse().ok())
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
    /// Computes the standings of a list with this key, from its entries in their order.
    ///
    /// # Errors
    /// Those of the entries.
    pub fn read<E>(
        key: ListKey,
        entries: impl Iterator<Item = Result<WaitlistEntry, E>>,
    ) -> Result<Self, E> {
        let mut people = Vec::new();
        // Of each entry that counts: since when, the mailbox, and the code of the inviter.
        let mut counted = Vec::new();
        for entry in entries {
            let entry = entry?;
            let mailbox = hash_mailbox(&key, &entry.email);
            people.push((invite_code(&key, &entry.email), mailbox));
            if !entry.awaits_confirmation() {
                let inviter = entry.source.as_ref().and_then(Source::invite_code);
                let since = entry.confirmed_at.unwrap_or(entry.joined_at);
                counted.push((since, mailbox, inviter));
            }
        }
        counted.sort_by_key(|(since, ..)| *since);
        let mailboxes: HashMap<_, _> = people.iter().copied().collect();
        let (mut seen, mut invitations) = (HashSet::new(), HashMap::new());
        for (_, mailbox, inviter) in counted {
            if seen.insert(mailbox)
                && let Some(inviter) = inviter
                && mailboxes.get(&inviter) != Some(&mailbox)
            {
                *invitations.entry(inviter).or_default() += 1;
            }
        }
        people.sort_by_cached_key(|(code, _)| Reverse(invitations.get(code).copied()));
        let codes = people.into_iter().map(|(code, _)| code);
        Ok(Self {
            key,
            places: codes.zip(1..).collect(),
            invitations,
        })
    }

    /// Returns the number of people who have joined by the link of a person. It counts only people who have confirmed their
    /// address, unless the site did not ask them to, and of the people on the list who share a mailbox only the one who was the
    /// first to. The person's own mailbox does not count.
    pub fn invitations(&self, email: &Email) -> u64 {
        let code = invite_code(&self.key, email);
        self.invitations.get(&code).copied().unwrap_or_default()
    }

    /// Returns the place of a person, from 1, or `None` if the person was not on the list when it was read.
    pub fn place(&self, email: &Email) -> Option<u64> {
        let code = invite_code(&self.key, email);
        self.places.get(&code).copied()
    }
}

fn invite_code(key: &ListKey, email: &Email) -> InviteCode {
    // No address has a line break, so this input never equals an address.
    let hash = key.hash(format!("invite\n{}", email.key()));
    let bytes = hash.as_bytes().iter().take(size_of::<InviteCode>());
    bytes.fold(0, |code, byte| code << 8 | InviteCode::from(*byte))
}
