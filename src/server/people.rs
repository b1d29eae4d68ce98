//! The people on the list, as a request sees them.

use std::{
    sync::{Arc, Weak},
    time::{Duration, SystemTime},
};

use tokio::time::{Instant, timeout, timeout_at};

use super::{
    ClientKey, RequestError,
    confirmation::{Confirmation, ConfirmationSender, Promise},
    limits::STORE_TIMEOUT,
    list_key::ListKeyCache,
    standings::StandingsCache,
};
use crate::{
    mail::CODE_LEN,
    waitlist::{
        Email, JoinOutcome, Source, StoreError, Waitlist, WaitlistEntry, for_visitor, invite_link,
    },
    wire::Invitation,
};

/// Longest time that a response waits for the person's place.
const STANDINGS_TIMEOUT: Duration = Duration::from_secs(2);

/// The list, and what the server does with the people on it.
pub(super) struct People {
    pub(super) list: Arc<dyn Waitlist>,
    /// `None` if people need not confirm their address.
    pub(super) confirmation: Option<Confirmation>,
    pub(super) key: Arc<ListKeyCache>,
    standings: Arc<StandingsCache>,
    /// The origin of the links by which people invite others, if the site shows them.
    invite_origin: Option<String>,
}

/// A visitor who sends a form.
#[derive(Clone)]
pub(super) struct Visitor {
    pub(super) client: ClientKey,
    /// Where the visitor comes from.
    pub(super) source: Option<Source>,
}

impl People {
    pub(super) fn new(
        list: Arc<dyn Waitlist>,
        sender: Option<ConfirmationSender>,
        invite_origin: Option<String>,
    ) -> Self {
        let key = Arc::new(ListKeyCache::new(Arc::clone(&list)));
        let standings = StandingsCache::new(Arc::clone(&list), Arc::clone(&key));
        let confirmation = sender.map(|sender| {
            let (key, standings) = (Arc::clone(&key), Arc::clone(&standings));
            Confirmation::new(sender, Arc::clone(&list), key, standings)
        });
        Self {
            list,
            confirmation,
            key,
            standings,
            invite_origin,
        }
    }

    /// Adds an address to the list, and returns it as parsed. If people are to confirm their address, asks for that, also if
    /// the address was on the list before. The list says durably that the site must ask, before this returns.
    ///
    /// # Errors
    /// [`RequestError::InvalidEmail`], [`RequestError::AlreadyListed`], and [`RequestError::Unavailable`] if the store fails.
    pub(super) async fn sign_up(
        self: &Arc<Self>,
        email: &str,
        Visitor { client, source }: Visitor,
    ) -> Result<Email, RequestError> {
        let email = Email::parse(email).map_err(RequestError::InvalidEmail)?;
        let now = SystemTime::now();
        let entry = WaitlistEntry {
            source,
            asked_at: self.confirmation.as_ref().map(|_| now),
            ..WaitlistEntry::new(email.clone(), now)
        };
        let people = Arc::clone(self);
        // Dropped with this request. After the visitor has gone, a sign-up that waits for the store must have no effect: the
        // visitor may have joined again elsewhere, and left.
        let visitor = Arc::new(());
        let waiting = Arc::downgrade(&visitor);
        let calls = async move {
            let (is_new, promise) = people.join(entry, &waiting).await?;
            if let Some(confirmation) = &people.confirmation {
                confirmation.ask(&email, client, promise);
            }
            is_new.then_some(email).ok_or(RequestError::AlreadyListed)
        };
        let joined = within_deadline(calls).await;
        drop(visitor);
        joined
    }

    /// Adds an entry to the list, unless its visitor has gone. Returns whether it is new, and what the site has promised the
    /// person.
    async fn join(
        &self,
        entry: WaitlistEntry,
        visitor: &Weak<()>,
    ) -> Result<(bool, Promise), StoreError> {
        loop {
            let join = async || self.list.join(entry.clone()).await;
            let joined = for_visitor(Weak::clone(visitor), join()).await?;
            let is_new = joined == JoinOutcome::New;
            let promise = match &self.confirmation {
                None => Promise::NotNeeded,
                Some(_) if is_new => Promise::Renewed,
                Some(confirmation) => confirmation.promise_again(&entry.email).await?,
            };
            // Another instance has just erased it.
            if promise != Promise::NotListed {
                return Ok((is_new, promise));
            }
        }
    }

    /// Confirms an address by the code that was sent to it, and returns it as parsed. A code can be guessed, so each counts
    /// towards the five tries for an address, and towards the limit of the client.
    ///
    /// # Errors
    /// [`RequestError::InvalidEmail`], [`RequestError::MalformedCode`], [`RequestError::WrongCode`],
    /// [`RequestError::CodeLocked`], and [`RequestError::Unavailable`] if the store fails.
    pub(super) async fn confirm_by_code(
        self: &Arc<Self>,
        email: &str,
        code: &str,
    ) -> Result<Email, RequestError> {
        let email = Email::parse(email).map_err(RequestError::InvalidEmail)?;
        // People write `123 456` and `123-456`. The script of the page finds the code in a pasted sentence, too.
        let code: String = code.chars().filter(char::is_ascii_digit).collect();
        if code.len() != CODE_LEN {
            return Err(RequestError::MalformedCode);
        }
        let people = Arc::clone(self);
        within_deadline(async move {
            let confirmation = people.confirmation.as_ref();
            let confirmation = confirmation.ok_or(RequestError::NotFound)?;
            confirmation.confirm_by_code(&email, &code).await?;
            Ok(email)
        })
        .await
    }

    /// Returns the link by which a person on the list invites others, and the person's place in line. Returns `None` if the
    /// site does not show them, or if the list cannot be read in the rest of the time of a request of this moment.
    pub(super) async fn invitation(
        &self,
        email: &Email,
        requested_at: Instant,
    ) -> Option<Invitation> {
        let origin = self.invite_origin.as_ref()?;
        let until = requested_at + STORE_TIMEOUT;
        let until = until.min(Instant::now() + STANDINGS_TIMEOUT);
        let key = timeout_at(until, self.key.get()).await.ok()?.ok()?;
        let source = Source::of_invited(&key, email);
        Some(Invitation {
            link: invite_link(origin, source.as_str()),
            place: self.standings.place(email, until).await?,
        })
    }
}

/// Makes all calls of the store that a request needs, within [`STORE_TIMEOUT`]. Each has its own limit, and several
/// would add up to more than a proxy waits. A visitor who closes the page ends the request, and not the calls: after a sign-up
/// was stored, the message must follow, and an unsubscribe must take effect.
///
/// # Errors
/// Those of the calls, [`StoreError::TimedOut`], and [`RequestError::Panicked`].
pub(super) async fn within_deadline<T: Send + 'static>(
    calls: impl Future<Output = Result<T, RequestError>> + Send + 'static,
) -> Result<T, RequestError> {
    let result = tokio::spawn(timeout(STORE_TIMEOUT, calls)).await;
    let result = result.map_err(|_| RequestError::Panicked)?;
    result.unwrap_or(Err(StoreError::TimedOut.into()))
}
