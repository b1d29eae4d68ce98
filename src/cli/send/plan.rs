//! The people who get a message, and how many others do not, and why.

use std::time::SystemTime;

use anyhow::bail;
use serde::Serialize;

use crate::cli::{
    delivery_counts::Counts, terminal::output::counted, waitlist_handle::WaitlistHandle,
};
use crate::exit::print_stderr;
use crate::waitlist::{CALL_MAX, Delivery, DeliveryState, Email, MessageId};

/// A person who gets the message.
#[derive(Clone, Debug)]
pub(super) struct Recipient {
    /// The number of the delivery in the ledger.
    pub(super) number: u32,
    /// The delivery before this command begins it.
    pub(super) delivery: Delivery,
    /// The address and the time of the sign-up, or `None` if the person has left the list.
    pub(super) sign_up: Option<(Email, SystemTime)>,
    /// The position on the list, from 1.
    pub(super) position: u64,
}

impl Recipient {
    /// Returns the address, unless the person has left the list.
    pub(super) fn email(&self) -> Option<&Email> {
        self.sign_up.as_ref().map(|(email, _)| email)
    }
}

/// Why a person does not get the message.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SkipReason {
    HadIt,
    Refused,
    Undeliverable,
    Suppressed,
    Unconfirmed,
    Unknown,
    Waiting,
    UnderWay,
}

impl SkipReason {
    const ALL: [Self; 8] = [
        Self::HadIt,
        Self::Refused,
        Self::Undeliverable,
        Self::Suppressed,
        Self::Unconfirmed,
        Self::Unknown,
        Self::Waiting,
        Self::UnderWay,
    ];

    /// Returns the description.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::HadIt => "had the message, or may have had it",
            Self::Refused => "refused by the mail server",
            Self::Undeliverable => "left out, because their mailbox does not exist",
            Self::Suppressed => "left out, because they are suppressed",
            Self::Unconfirmed => "left out, because they have not confirmed their address",
            Self::Unknown => {
                "with an unknown result, not sent again: --resend-unknown sends to them"
            }
            Self::Waiting => {
                "waiting, chosen by an earlier send: --continue sends to them, and --abandon gives them up"
            }
            Self::UnderWay => {
                "being sent by another command, or by one that was killed less than 20 minutes ago"
            }
        }
    }
}

/// The people who get the message.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) recipients: Vec<Recipient>,
    /// The number of deliveries in the ledger.
    pub(super) known: u32,
    /// People on the list who match the selection.
    pub(super) selected: u64,
    /// The people who do not get the message. Those whose result is unknown are also among [`SkipReason::HadIt`].
    pub(super) skipped: Counts<SkipReason>,
}

impl Plan {
    /// Prepares a plan without recipients.
    pub(super) fn new(deliveries: &[Delivery], resends_unknown: bool) -> anyhow::Result<Self> {
        let count = |state| {
            let in_state = deliveries.iter().filter(|it| it.status.state == state);
            in_state.count() as u64
        };
        let mut skipped = Counts::new(SkipReason::ALL);
        skipped.add(SkipReason::UnderWay, count(DeliveryState::Sending));
        if !resends_unknown {
            skipped.add(SkipReason::Unknown, count(DeliveryState::Unknown));
        }
        let known = u32::try_from(deliveries.len())?;
        Ok(Self {
            recipients: Vec::new(),
            known,
            selected: 0,
            skipped,
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
        let mut known = self.known;
        for part in new.chunks(CALL_MAX) {
            if !list.call(|list| list.add_deliveries(id, known, part.to_vec()))? {
                bail!(
                    "another command is sending {id}; wait until it is done, and run this one again"
                );
            }
            known += part.len() as u32;
        }
        Ok(std::mem::take(&mut self.recipients))
    }

    /// Returns the recipients who are on the list.
    pub(super) fn people(&self) -> impl Iterator<Item = &Recipient> {
        self.recipients.iter().filter(|it| it.sign_up.is_some())
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
        let skipped = SkipReason::ALL.map(|reason| (self.skipped.get(reason), reason.text()));
        let skipped = skipped.into_iter().filter(|(count, _)| *count > 0);
        reasons.extend(skipped.map(|(count, text)| format!("{count} {text}")));
        reasons.join("; ")
    }

    /// Prints who else has perhaps not had the message, and how to write to those who should.
    pub(super) fn print_notes(&self) {
        use SkipReason::{Suppressed, Unconfirmed, Undeliverable, Unknown, Waiting};
        for reason in [Undeliverable, Suppressed, Unconfirmed, Unknown, Waiting] {
            let count = self.skipped.get(reason);
            if count > 0 {
                print_stderr(&format!("{count} {}", reason.text()));
            }
        }
    }
}
