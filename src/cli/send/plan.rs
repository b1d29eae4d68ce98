//! The people who get a message, and how many others do not, and why.

use anyhow::bail;
use serde_json::{Value, json};

use crate::cli::{terminal::output::counted, waitlist_handle::WaitlistHandle};
use crate::exit::print_stderr;
use crate::waitlist::{Delivery, DeliveryState, Email, MessageId};

/// A person who gets the message.
#[derive(Clone, Debug)]
pub(super) struct Recipient {
    /// The number of the delivery in the ledger.
    pub(super) number: u32,
    /// The delivery before this command begins it.
    pub(super) delivery: Delivery,
    /// The address, or `None` if the person has left the list.
    pub(super) email: Option<Email>,
    /// The position on the list, from 1.
    pub(super) position: u64,
}

/// Why a person on the list does not get the message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SkipReason {
    HadIt,
    Refused,
    Undeliverable,
    Suppressed,
    Unconfirmed,
}

impl SkipReason {
    /// All reasons, with their names in JSON and their descriptions, in the order in which they are reported.
    const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::HadIt, "had_it", "had the message, or may have had it"),
        (Self::Refused, "refused", "refused by the mail server"),
        (
            Self::Undeliverable,
            "undeliverable",
            "left out, because their mailbox does not exist",
        ),
        (
            Self::Suppressed,
            "suppressed",
            "left out, because they are suppressed",
        ),
        (
            Self::Unconfirmed,
            "unconfirmed",
            "left out, because they have not confirmed their address",
        ),
    ];

    /// Returns the description.
    pub(super) fn text(self) -> &'static str {
        Self::ALL[self as usize].2
    }
}

/// How many people do not get the message, for each reason.
#[derive(Debug, Default)]
pub(super) struct SkipCounts([u64; SkipReason::ALL.len()]);

impl SkipCounts {
    pub(super) fn add(&mut self, reason: SkipReason) {
        self.0[reason as usize] += 1;
    }

    /// Returns the name of each reason, its description, and the number of people.
    fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let reasons = SkipReason::ALL.iter();
        reasons.map(|(reason, name, text)| (*name, *text, self.0[*reason as usize]))
    }
}

/// The people who get the message.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) recipients: Vec<Recipient>,
    /// The number of deliveries in the ledger.
    known: u32,
    /// The number of the next delivery that is not in the ledger yet.
    pub(super) next: u32,
    /// People on the list who match the selection.
    pub(super) selected: u64,
    /// Those of them who do not get the message.
    pub(super) skipped: SkipCounts,
    /// People on the list who were chosen by an earlier send, have not had the message, and do not get it now.
    pub(super) waiting: u64,
    /// Deliveries of which nobody knows whether they were sent.
    unknown: u64,
    /// Deliveries that another command is sending, or was when it was killed.
    pub(super) under_way: u64,
}

impl Plan {
    /// Prepares a plan without recipients. The states `resend` are sent again.
    pub(super) fn new(deliveries: &[Delivery], resend: &[DeliveryState]) -> anyhow::Result<Self> {
        let count = |state| {
            let in_state = deliveries.iter().filter(|it| it.status.state == state);
            in_state.count() as u64
        };
        let known = u32::try_from(deliveries.len())?;
        Ok(Self {
            recipients: Vec::new(),
            known,
            next: known,
            selected: 0,
            skipped: SkipCounts::default(),
            waiting: 0,
            unknown: match resend.contains(&DeliveryState::Unknown) {
                true => 0,
                false => count(DeliveryState::Unknown),
            },
            under_way: count(DeliveryState::Sending),
        })
    }

    /// Records the new recipients in the ledger, and takes all of them.
    pub(super) fn record(
        &mut self,
        list: &WaitlistHandle,
        id: &MessageId,
    ) -> anyhow::Result<Vec<Recipient>> {
        let new = self.recipients.iter().filter(|it| it.number >= self.known);
        let new: Vec<_> = new.map(|it| it.delivery.clone()).collect();
        if !new.is_empty() && !list.add_deliveries(id, self.known, &new)? {
            bail!("another command is sending {id}; wait until it is done, and run this one again");
        }
        Ok(std::mem::take(&mut self.recipients))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.recipients.is_empty()
    }

    /// Returns the recipients who are on the list.
    pub(super) fn people(&self) -> impl Iterator<Item = &Recipient> {
        self.recipients.iter().filter(|it| it.email.is_some())
    }

    /// Returns the position of the last person on the list who gets the message.
    pub(super) fn max_position(&self) -> u64 {
        let positions = self.recipients.iter().map(|it| it.position);
        positions.max().unwrap_or_default()
    }

    /// Describes the recipients, such as `100 of 5000 people`.
    pub(super) fn describe(&self) -> String {
        let count = self.people().count();
        let selected = counted(self.selected, "person", "people");
        format!("{count} of {selected}")
    }

    /// Says why nobody gets the message.
    pub(super) fn why_empty(&self) -> String {
        let mut reasons = vec![format!("{} selected", self.selected)];
        let skipped = self.skipped.iter().map(|(_, text, count)| (text, count));
        let others = [
            (
                "unknown: --resend-unknown sends to them again",
                self.unknown,
            ),
            (
                "waiting, chosen by an earlier send: --continue sends to them",
                self.waiting,
            ),
            (
                "being sent by another command, or by one that was killed less than 20 minutes ago",
                self.under_way,
            ),
        ];
        for (text, count) in skipped.chain(others).filter(|(_, count)| *count > 0) {
            reasons.push(format!("{count} {text}"));
        }
        reasons.join("; ")
    }

    /// Prints who else has not had the message for certain, and how to write to them.
    pub(super) fn print_notes(&self) {
        let undeliverable = self.skipped.0[SkipReason::Undeliverable as usize];
        if undeliverable > 0 {
            let text = SkipReason::Undeliverable.text();
            print_stderr(&format!("{undeliverable} {text}"));
        }
        if self.unknown > 0 {
            print_stderr(&format!(
                "{} earlier results are unknown, and are not sent again: --resend-unknown sends to them",
                self.unknown
            ));
        }
        if self.waiting > 0 {
            print_stderr(&format!(
                "{} chosen by an earlier send still wait: --continue sends to them, and --abandon gives them up",
                self.waiting
            ));
        }
    }

    /// Returns the numbers of the plan, and the addresses of the recipients.
    pub(super) fn to_json(&self) -> Value {
        let addresses = self.people().filter_map(|person| person.email.as_ref());
        let mut json = json!({
            "recipients": self.people().count(),
            "addresses": addresses.map(Email::as_typed).collect::<Vec<_>>(),
            "selected": self.selected,
            "unknown": self.unknown,
            "waiting": self.waiting,
            "under_way": self.under_way,
        });
        for (name, _, count) in self.skipped.iter() {
            json[name] = count.into();
        }
        json
    }
}
