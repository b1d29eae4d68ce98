//! The attempts of the last 24 hours. All limits follow from them: the budget, the share of each client and each mailbox in it,
//! and the pauses of clients whose messages the mail server objects to.
//!
//! After a restart, the ledger still has the attempts, but not the clients. The history is at most as long as the budget.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::{Duration, SystemTime},
};

use super::kind::MessageKind;
use crate::{server::ClientKey, waitlist::AddressHash};

/// Maximum number of messages to a mailbox in 24 hours.
pub(super) const MAILBOX_MESSAGES_MAX: usize = 5;
/// The same for a person who has left. A stranger may sign that person up again and again. The first one may have come before
/// the person left.
pub(super) const SUPPRESSED_MESSAGES_MAX: usize = 2;
/// Number of bad addresses in 24 hours from which on a client must wait, if they are more than one in
/// [`BAD_ADDRESSES_DIVISOR`] of its messages: thousands of people may be behind one address, and some of them mistype theirs.
const BAD_ADDRESSES_MAX: u32 = 5;
const BAD_ADDRESSES_DIVISOR: u32 = 20;
/// The same for all clients together: a share of the budget, but at least this number. Providers block senders who write to
/// many addresses that do not exist.
const ALL_BAD_ADDRESSES_MIN: u32 = 20;

/// The first pause after trouble, and the longest one. The first ones are short, because some servers object to a recipient
/// with the codes of an objection to the sender, such as 4.7.1 for greylisting.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
pub(super) const LONGEST_CLIENT_PAUSE: Duration = Duration::from_secs(15 * 60);

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An attempt to send a message to a person.
#[derive(Clone, Copy)]
pub(super) struct DeliveryAttempt {
    pub(super) at: SystemTime,
    /// The message, the number of the delivery, and that of the attempt. The ledger and this process know an attempt by them.
    pub(super) number: (MessageKind, u32, u32),
    pub(super) recipient: AddressHash,
    /// `None` if another process has made the attempt, or this server before it was restarted.
    pub(super) by: Option<ClientKey>,
    pub(super) result: AttemptResult,
}

/// What counts of the result of an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AttemptResult {
    /// The mailbox has the message.
    Arrived,
    /// The mail server did not reply, so the mailbox may have it.
    Unknown,
    /// There is no such mailbox.
    BadAddress,
    /// The message was not sent because of the recipient, perhaps for now.
    Refused,
    /// The message was not sent because of something else: the mail server objects to it, or the connection broke.
    Trouble,
}

impl AttemptResult {
    pub(super) fn may_have_arrived(self) -> bool {
        matches!(self, Self::Arrived | Self::Unknown)
    }

    pub(super) fn is_trouble(self) -> bool {
        matches!(self, Self::Unknown | Self::Trouble)
    }
}

/// The attempts of the last 24 hours.
pub(super) struct History {
    per_day: u32,
    /// The oldest first.
    attempts: VecDeque<DeliveryAttempt>,
    /// The mailbox of each recipient, see [`hash_mailbox`](crate::waitlist::hash_mailbox). After a restart, it is unknown for
    /// people who have left the list.
    mailboxes: HashMap<AddressHash, AddressHash>,
}

/// What each client has used of the budget.
pub(super) struct Shares {
    clients: HashMap<ClientKey, Share>,
    /// The rest of the budget.
    left: u32,
    /// Number of bad addresses from which on a client must wait.
    bad_addresses_max: u32,
}

#[derive(Clone, Copy, Default)]
struct Share {
    attempts: u32,
    bad_addresses: u32,
    /// How many of the last attempts were trouble, and when the last one was.
    troubles: u32,
    last_at: Option<SystemTime>,
}

impl History {
    pub(super) fn new(per_day: u32) -> Self {
        Self {
            per_day,
            attempts: VecDeque::new(),
            mailboxes: HashMap::new(),
        }
    }

    /// Adds an attempt that was made a moment ago.
    pub(super) fn add(&mut self, attempt: DeliveryAttempt, mailbox: AddressHash) {
        self.mailboxes.insert(attempt.recipient, mailbox);
        self.attempts.push_back(attempt);
    }

    /// Replaces what is known of deliveries from the number `from` on by what the ledger says, which has those of other processes
    /// too. Keeps this process's own attempts, whose clients the ledger does not know.
    pub(super) fn merge(
        &mut self,
        kind: MessageKind,
        from: u32,
        ledger: Vec<DeliveryAttempt>,
        now: SystemTime,
    ) {
        let mut attempts: Vec<_> = self.attempts.drain(..).collect();
        let is_kept = |(other, number, _): (MessageKind, u32, u32)| other != kind || number < from;
        attempts.retain(|attempt| attempt.by.is_some() || is_kept(attempt.number));
        let own: HashSet<_> = attempts.iter().map(|attempt| attempt.number).collect();
        attempts.extend(ledger.into_iter().filter(|it| !own.contains(&it.number)));
        attempts.retain(|attempt| age(attempt.at, now) < DAY);
        attempts.sort_by_key(|attempt| attempt.at);
        // More than the budget say nothing more.
        let excess = attempts.len().saturating_sub(self.per_day as usize);
        self.attempts = attempts.split_off(excess).into();
        let recipients = self.recipients();
        self.mailboxes.retain(|it, _| recipients.contains(it));
    }

    /// Returns the people of the attempts.
    pub(super) fn recipients(&self) -> HashSet<AddressHash> {
        self.attempts.iter().map(|it| it.recipient).collect()
    }

    /// Adds the mailboxes of people.
    pub(super) fn add_mailboxes(&mut self, mailboxes: Vec<(AddressHash, AddressHash)>) {
        self.mailboxes.extend(mailboxes);
    }

    /// Returns how long to wait until another message fits into the budget.
    pub(super) fn wait_for_budget(&mut self, now: SystemTime) -> Option<Duration> {
        self.attempts.retain(|attempt| age(attempt.at, now) < DAY);
        let excess = self.attempts.len().checked_sub(self.per_day as usize)?;
        let wait = DAY.saturating_sub(age(self.attempts[excess].at, now));
        Some(wait.max(Duration::from_secs(1)))
    }

    /// Returns what each client has used of the budget. It reads all attempts, which takes less than sending a message.
    pub(super) fn shares(&self) -> Shares {
        let mut clients = HashMap::<_, Share>::new();
        for attempt in &self.attempts {
            if let Some(by) = attempt.by {
                let share = clients.entry(by).or_default();
                share.attempts += 1;
                share.bad_addresses += u32::from(attempt.result == AttemptResult::BadAddress);
                let has_trouble = attempt.result.is_trouble();
                share.troubles = if has_trouble { share.troubles + 1 } else { 0 };
                share.last_at = Some(attempt.at);
            }
        }
        Shares {
            clients,
            left: self.per_day.saturating_sub(self.attempts.len() as u32),
            bad_addresses_max: match self.has_many_bad_addresses() {
                true => 1,
                false => BAD_ADDRESSES_MAX,
            },
        }
    }

    /// Returns whether there were too many addresses that do not exist. Then one of a client is too many.
    pub(super) fn has_many_bad_addresses(&self) -> bool {
        let attempts = self.attempts.iter();
        let bad = attempts.filter(|attempt| attempt.result == AttemptResult::BadAddress);
        let max = (self.per_day / BAD_ADDRESSES_DIVISOR).max(ALL_BAD_ADDRESSES_MIN);
        bad.count() >= max as usize
    }

    /// Returns how many clients of this process had trouble since its last message without.
    pub(super) fn clients_in_trouble(&self) -> usize {
        let own = self.attempts.iter().rev().filter(|it| it.by.is_some());
        let troubles = own.take_while(|attempt| attempt.result.is_trouble());
        troubles.map(|it| it.by).collect::<HashSet<_>>().len()
    }

    /// Returns whether a mailbox has had this number of codes. A stranger cannot cause welcomes.
    pub(super) fn has_had(&self, max: usize, mailbox: AddressHash, recipient: AddressHash) -> bool {
        let arrived = self.codes().filter(|attempt| {
            attempt.result.may_have_arrived()
                && (self.mailboxes.get(&attempt.recipient) == Some(&mailbox)
                    || attempt.recipient == recipient)
        });
        arrived.count() >= max
    }

    /// Returns whether there was an attempt to ask a person since a time.
    pub(super) fn has_since(&self, recipient: AddressHash, since: SystemTime) -> bool {
        self.codes()
            .any(|attempt| attempt.recipient == recipient && attempt.at >= since)
    }

    fn codes(&self) -> impl Iterator<Item = &DeliveryAttempt> {
        let attempts = self.attempts.iter();
        attempts.filter(|attempt| attempt.number.0 == MessageKind::Code)
    }
}

impl Shares {
    /// Returns how many messages a client has had, or `None` if it must wait: it has had as many as are left for
    /// everybody, has named too many addresses that do not exist, or had trouble a moment ago.
    pub(super) fn rank(&self, by: ClientKey, now: SystemTime) -> Option<u32> {
        let share = self.clients.get(&by).copied().unwrap_or_default();
        let is_careless = share.bad_addresses >= self.bad_addresses_max
            && share.bad_addresses * BAD_ADDRESSES_DIVISOR > share.attempts;
        let is_within_pause = |at| age(at, now) < pause_after(share.troubles);
        let waits = share.troubles > 0 && share.last_at.is_some_and(is_within_pause);
        (share.attempts < self.left && !is_careless && !waits).then_some(share.attempts)
    }
}

/// Returns the pause after this number of troubles in a row.
pub(super) fn pause_after(troubles: u32) -> Duration {
    doubled_pause(FIRST_PAUSE, troubles, LONGEST_CLIENT_PAUSE)
}

/// Returns the pause after something has failed this number of times: the first one, doubled each time, up to the longest.
pub(super) fn doubled_pause(first: Duration, times: u32, longest: Duration) -> Duration {
    let factor = 2_u32.saturating_pow(times.saturating_sub(1));
    first.saturating_mul(factor).min(longest)
}

/// Returns how long ago something was. The clocks of several instances differ, and a clock that was set back by hours must
/// give no other budget: a time less than a day in the future counts as now. A later time comes from a clock that was wrong,
/// and counts as long ago.
pub(super) fn age(then: SystemTime, now: SystemTime) -> Duration {
    match now.duration_since(then) {
        Ok(age) => age,
        Err(error) if error.duration() < DAY => Duration::ZERO,
        Err(_) => Duration::MAX,
    }
}
