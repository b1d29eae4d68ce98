//! The messages on the control socket: a request is a line of JSON, and so is each part of a response.

use std::io;

use serde::{Deserialize, Serialize};

use super::{client::ControlClient, socket::Reply};
use crate::waitlist::{
    Compaction, CorrectOutcome, Delivery, DeliveryResult, DeliveryStart, Email, EntryStream,
    Erasure, JoinOutcome, Ledger, ListKey, Message, MessageId, OwnerList, PendingEvents, Selection,
    StoreFuture, Suppressions, Waitlist, WaitlistEntry,
};

/// Version of the protocol. A server and a command differ when the program was replaced while the server runs.
pub(super) const PROTOCOL_VERSION: u32 = 15;

/// A request.
#[derive(Deserialize, Serialize)]
pub(super) struct Request {
    pub(super) protocol: u32,
    pub(super) call: Call,
}

#[derive(Deserialize, Serialize)]
pub(super) enum Call {
    /// The response takes several lines: the number of entries, at most [`CALL_MAX`](crate::waitlist::CALL_MAX) entries in
    /// each line, and a line without entries.
    Entries(Selection),
    /// The response is what the method returns, as a [`Reply`].
    Method(Method),
}

/// Takes the methods of the traits, and makes three things of each: the request, the method of the client, which sends it,
/// and the call by the server. The arguments after `&` are sent as owned values.
macro_rules! methods {
    ($($interface:ident {
        $($method:ident($(&$key:ident: $borrowed:ty,)* $($value:ident: $owned:ty),*) -> $reply:ty;)*
        $(=> $($other:tt)*)?
    })*) => {
        /// A call of a method.
        #[expect(non_camel_case_types, reason = "each has the name of its method")]
        #[derive(Deserialize, Serialize)]
        pub(super) enum Method {
            $($($method($(<$borrowed as ToOwned>::Owned,)* $($owned),*),)*)*
        }

        $(impl $interface for ControlClient {
            $(fn $method(&self, $($key: &$borrowed,)* $($value: $owned),*) -> StoreFuture<'_, $reply> {
                self.call(request(Call::Method(Method::$method($($key.to_owned(),)* $($value),*))))
            })*
            $($($other)*)?
        })*

        /// Calls a method. Returns the line of the reply.
        pub(super) async fn respond(list: &dyn Waitlist, method: Method) -> io::Result<Vec<u8>> {
            match method {
                $($(Method::$method($($key,)* $($value),*) => {
                    to_line(&list.$method($(&$key,)* $($value),*).await)
                })*)*
            }
        }
    };
}

methods! {
    OwnerList {
        join_all(entries: Vec<WaitlistEntry>) -> Vec<JoinOutcome>;
        erase(&emails: [Email], erasure: Erasure) -> Vec<bool>;
        find(&emails: [Email],) -> Vec<Option<WaitlistEntry>>;
        list_key() -> ListKey;
        suppress(&emails: [Email],) -> Vec<bool>;
        lift(&emails: [Email],) -> Vec<bool>;
        suppressions() -> Suppressions;
        is_suppressed(&email: Email,) -> bool;
        correct(&old: Email, &new: Email,) -> CorrectOutcome;
        compact() -> Compaction;
        recount() -> i64;
        pending_events() -> Option<PendingEvents>;
        => fn entries(&self, selection: Selection) -> Reply<EntryStream> {
            self.read_entries(request(Call::Entries(selection)))
        }
    }
    Ledger {
        messages() -> Vec<Message>;
        add_message(message: Message) -> ();
        deliveries(&message: MessageId, from: u32) -> Vec<Delivery>;
        add_deliveries(&message: MessageId, known: u32, deliveries: Vec<Delivery>) -> bool;
        begin_deliveries(&message: MessageId, deliveries: Vec<DeliveryStart>) -> Vec<bool>;
        finish_deliveries(&message: MessageId, results: Vec<DeliveryResult>) -> ();
    }
}

/// Returns the line of a request.
fn request(call: Call) -> io::Result<Vec<u8>> {
    to_line(&Request {
        protocol: PROTOCOL_VERSION,
        call,
    })
}

/// Returns a line of JSON.
///
/// # Errors
/// If the value has a time before 1970, which serde does not write.
pub(super) fn to_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
