//! Who must be on the list, and who must not: what the server has acknowledged, and what the owner has done.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::visit::SignUps;

/// The addresses that the list is compared with.
#[derive(Default)]
pub(crate) struct ExpectedList(Mutex<Addresses>);

#[derive(Clone, Default)]
pub(crate) struct Addresses {
    /// Acknowledged, and not erased since.
    listed: BTreeSet<String>,
    erased: BTreeSet<String>,
    /// Sign-ups without a response. The address may or may not be listed.
    uncertain: BTreeSet<String>,
}

/// How a list differs from the expected one, in addresses.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Differences {
    /// Acknowledged, and not on the list.
    pub(crate) lost: usize,
    /// On the list more than once.
    pub(crate) duplicated: usize,
    /// Erased, and on the list.
    pub(crate) resurrected: usize,
    /// On the list, and nobody has signed up with them.
    pub(crate) unknown: usize,
}

impl ExpectedList {
    fn addresses(&self) -> MutexGuard<'_, Addresses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the addresses as they are expected at this moment.
    pub(crate) fn snapshot(&self) -> Addresses {
        self.addresses().clone()
    }

    pub(crate) fn add_imported(&self, emails: impl IntoIterator<Item = String>) {
        self.addresses().listed.extend(emails);
    }

    /// Returns some addresses that are on the list: every `step`th.
    pub(crate) fn choose(&self, count: usize) -> Vec<String> {
        let addresses = self.addresses();
        let step = (addresses.listed.len() / count).max(1);
        let chosen = addresses.listed.iter().step_by(step).take(count);
        chosen.cloned().collect()
    }

    pub(crate) fn set_erased(&self, emails: Vec<String>) {
        let mut addresses = self.addresses();
        for email in emails {
            addresses.listed.remove(&email);
            addresses.erased.insert(email);
        }
    }
}

impl SignUps for ExpectedList {
    fn begin(&self, email: String) {
        self.addresses().uncertain.insert(email);
    }

    fn acknowledge(&self, email: String) {
        let mut addresses = self.addresses();
        addresses.uncertain.remove(&email);
        addresses.listed.insert(email);
    }
}

impl Addresses {
    pub(crate) fn count(&self) -> usize {
        self.listed.len()
    }

    pub(crate) fn erased(&self) -> usize {
        self.erased.len()
    }

    /// Compares a list with the expected one. `later` is the expected one after the list was read: it may have people who signed up
    /// while it was read.
    pub(crate) fn compare(&self, later: &Self, list: &[String]) -> Differences {
        let mut numbers = BTreeMap::<&str, usize>::new();
        for email in list {
            *numbers.entry(email).or_default() += 1;
        }
        let is_listed = |email: &&String| numbers.contains_key(email.as_str());
        let is_known = |email: &str| {
            [&later.listed, &later.erased, &later.uncertain]
                .iter()
                .any(|it| it.contains(email))
        };
        Differences {
            lost: self.listed.iter().filter(|it| !is_listed(it)).count(),
            duplicated: numbers.values().filter(|number| **number > 1).count(),
            resurrected: self.erased.iter().filter(is_listed).count(),
            unknown: numbers.keys().filter(|email| !is_known(email)).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emails(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// Ann and Bob have signed up, Dan was erased, and nobody knows about Eve.
    fn expected() -> Addresses {
        let expected = ExpectedList::default();
        for email in ["ann", "bob", "eve"] {
            expected.begin(email.into());
        }
        for email in ["ann", "bob"] {
            expected.acknowledge(email.into());
        }
        expected.add_imported(emails("dan"));
        expected.set_erased(emails("dan"));
        expected.snapshot()
    }

    fn compare(list: &str) -> Differences {
        expected().compare(&expected(), &emails(list))
    }

    #[test]
    fn accepts_a_right_list() {
        assert_eq!(compare("ann bob"), Differences::default());
        assert_eq!(compare("eve bob ann"), Differences::default());
    }

    #[test]
    fn finds_planted_faults() {
        assert_eq!(compare("ann").lost, 1);
        assert_eq!(compare("ann bob ann").duplicated, 1);
        assert_eq!(compare("ann bob dan").resurrected, 1);
        assert_eq!(compare("ann bob sue").unknown, 1);
    }

    /// The server stores a sign-up before the visitor reads the response.
    #[test]
    fn accepts_a_sign_up_whose_response_is_on_the_way() {
        let expected = ExpectedList::default();
        expected.begin("ann".into());
        let now = expected.snapshot();
        assert_eq!(now.compare(&now, &emails("ann")), Differences::default());
    }

    #[test]
    fn accepts_a_sign_up_while_the_list_was_read() {
        let before = expected();
        let mut later = before.clone();
        later.listed.insert("sue".into());
        for list in ["ann bob", "ann bob sue"] {
            assert_eq!(
                before.compare(&later, &emails(list)),
                Differences::default()
            );
        }
    }
}
