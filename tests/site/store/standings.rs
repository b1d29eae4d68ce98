//! The people who count for an inviter, and the line that follows from it.

use std::{
    convert::Infallible,
    time::{Duration, UNIX_EPOCH},
};

use landing::waitlist::{ListKey, Source, Standings, WaitlistEntry, hash_mailbox};
use proptest::prelude::*;

use super::email;

/// A list whose people join one after another.
struct List {
    key: ListKey,
    entries: Vec<WaitlistEntry>,
}

impl List {
    fn new() -> Self {
        Self {
            key: ListKey::generate(),
            entries: Vec::new(),
        }
    }

    /// Adds a person with an inviter, or an empty one. The person has confirmed, has not, or was not asked to.
    fn add(&mut self, address: &str, inviter: &str, confirmed: Option<bool>) -> &mut Self {
        let at = UNIX_EPOCH + Duration::from_secs(self.entries.len() as u64);
        let inviter = (!inviter.is_empty()).then(|| email(inviter));
        self.entries.push(WaitlistEntry {
            source: inviter.map(|it| Source::of_invited(&self.key, &it)),
            asked_at: confirmed.map(|_| at),
            confirmed_at: confirmed.filter(|it| *it).map(|_| at),
            ..WaitlistEntry::new(email(address), at)
        });
        self
    }

    fn standings(&self) -> Standings {
        let entries = self.entries.iter().cloned().map(Ok::<_, Infallible>);
        Standings::read(self.key, entries).expect("no error")
    }

    fn invitations(&self, address: &str) -> u64 {
        self.standings().invitations(&email(address))
    }
}

/// What `line_follows_the_rule` does not generate.
#[test]
fn person_counts_once_and_only_for_others() {
    for (inviter, joined, expected) in [
        ("ANN@A.test", &["bob@b.test"] as &[_], 1),
        ("ann@a.test", &["bob@gmail.com", "b.o.b@googlemail.com"], 1),
        ("ann@a.test", &["bob@b.test", "bob@c.test"], 2),
        // A domain of one's own with a catch-all mailbox: nobody outside can know.
        ("ann@a.test", &["x1@a.test", "x2@a.test"], 2),
    ] {
        let mut list = List::new();
        list.add(&inviter.to_lowercase(), "", Some(true));
        for address in joined {
            list.add(address, inviter, None);
        }
        assert_eq!(list.invitations(inviter), expected, "{inviter}: {joined:?}");
    }
}

/// A stranger has typed the second address in before, which its owner confirms later.
#[test]
fn address_that_is_confirmed_later_takes_no_count_away() {
    let mut list = List::new();
    list.add("mallory@m.test", "", Some(true));
    list.add("ann@a.test", "", Some(true));
    list.add("bob+1@b.test", "mallory@m.test", Some(true));
    list.entries[2].confirmed_at = Some(UNIX_EPOCH + Duration::from_secs(60));
    list.add("bob@b.test", "ann@a.test", Some(true));
    assert_eq!(list.invitations("ann@a.test"), 1);
    assert_eq!(list.invitations("mallory@m.test"), 0);
}

#[test]
fn code_differs_by_list_and_names_nobody() {
    let (one, other) = (ListKey::generate(), ListKey::generate());
    let ann = Source::of_invited(&one, &email("ann@a.test"));
    assert_eq!(ann, Source::of_invited(&one, &email("ANN@a.test")));
    assert_ne!(ann, Source::of_invited(&other, &email("ann@a.test")));
    assert!(
        ann.is_invitation() && ann.as_str().parse() == Ok(ann.clone()),
        "{ann}"
    );
    for text in [
        "invite-",
        "invite-1",
        "invite-0123456789abcdeg",
        "invite-00123456789abcdef",
        "hn",
    ] {
        let source: Source = text.parse().expect("a source");
        assert!(!source.is_invitation(), "{text}");
    }
}

/// A person: a number for the address, a tag, the number of an inviter, and whether the person has confirmed.
type Person = (u8, Option<u8>, Option<u8>, Option<bool>);

proptest! {
    /// The line is that of a slow count by the rule.
    #[test]
    fn line_follows_the_rule(people in proptest::collection::vec(any::<Person>(), 0..40)) {
        let mut list = List::new();
        let address = |number: u8, tag: Option<u8>| match tag {
            Some(tag) => format!("p{}+{}@a.test", number % 16, tag % 2),
            None => format!("p{}@a.test", number % 16),
        };
        for (number, tag, inviter, confirmed) in people {
            let address = address(number, tag);
            // A list has each address once.
            if list.entries.iter().all(|it| it.email.as_typed() != address) {
                let inviter = inviter.map(|it| format!("p{}@a.test", it % 16)).unwrap_or_default();
                list.add(&address, &inviter, confirmed);
            }
        }
        let mailbox = |entry: &WaitlistEntry| hash_mailbox(&list.key, &entry.email);
        let counts = |at: usize| {
            let entry = &list.entries[at];
            let mut before = list.entries[..at].iter().filter(|it| !it.awaits_confirmation());
            !entry.awaits_confirmation() && before.all(|it| mailbox(it) != mailbox(entry))
        };
        let invitations = |inviter: &WaitlistEntry| {
            let code = Some(Source::of_invited(&list.key, &inviter.email));
            let invited = (0..list.entries.len()).filter(|at| counts(*at));
            let invited = invited.map(|at| &list.entries[at]);
            invited.filter(|it| it.source == code && mailbox(it) != mailbox(inviter)).count() as u64
        };
        let standings = list.standings();
        for (at, entry) in list.entries.iter().enumerate() {
            let own = invitations(entry);
            prop_assert_eq!(standings.invitations(&entry.email), own);
            let before = list.entries.iter().enumerate().filter(|(other_at, other)| {
                let other = invitations(other);
                other > own || other == own && *other_at < at
            });
            prop_assert_eq!(standings.place(&entry.email), Some(before.count() as u64 + 1));
        }
    }
}
