//! The parts a test server is built from: a configuration and a store.

use std::time::{Duration, SystemTime};

use clap::Parser;
use landing::{
    config::Config,
    waitlist::{
        Compaction, CorrectOutcome, Delivery, DeliveryResult, DeliveryStart, Email, EntryStream,
        Erasure, Event, Fact, JoinOutcome, Ledger, ListKey, Message, MessageId, OwnerList,
        PendingEvents, Selection, StoreError, StoreFuture, Suppressions, Waitlist, WaitlistEntry,
    },
};
use tokio::{sync::watch, time::sleep};
use uuid::Uuid;

/// Parses the options of a command line into a configuration.
pub(crate) fn parse_config(options: &[&str]) -> Result<Config, clap::Error> {
    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        config: Config,
    }
    Ok(Cli::try_parse_from([&["landing"], options].concat())?.config)
}

/// Returns a store that counts seven entries and cannot list them. `join` and `ready` produce its results.
pub(crate) fn stub_store(
    join: impl Fn(WaitlistEntry) -> StoreFuture<'static, JoinOutcome> + Send + Sync + 'static,
    ready: impl Fn() -> StoreFuture<'static, ()> + Send + Sync + 'static,
) -> impl Waitlist {
    StubStore {
        join,
        ready,
        read_time: None,
    }
}

/// Returns a store with nobody on the list, which takes this long for each read.
#[allow(
    dead_code,
    reason = "the fuzz targets share this file and do not use it"
)]
pub(crate) fn slow_store(read_time: Duration) -> impl Waitlist {
    StubStore {
        join: |_| immediate(Ok(JoinOutcome::New)),
        ready: || immediate(Ok(())),
        read_time: Some(read_time),
    }
}

/// The key of [`slow_store`].
pub(crate) const SLOW_STORE_KEY: [u8; 32] = [7; 32];

/// Returns a future that is ready with a result.
pub(crate) fn immediate<T: Send + 'static>(
    result: Result<T, StoreError>,
) -> StoreFuture<'static, T> {
    Box::pin(std::future::ready(result))
}

struct StubStore<J, R> {
    join: J,
    ready: R,
    /// How long a read takes. Without it, reads fail.
    read_time: Option<Duration>,
}

impl<J, R> StubStore<J, R> {
    fn read<T: Send + 'static>(&self, result: T) -> StoreFuture<'static, T> {
        match self.read_time {
            None => immediate(Err(StoreError::Stopped)),
            Some(time) => Box::pin(async move {
                sleep(time).await;
                Ok(result)
            }),
        }
    }
}

/// Calls that always fail.
macro_rules! failing_calls {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $(_: $argument),*) -> StoreFuture<'_, $result> {
            immediate(Err(StoreError::Stopped))
        })*
    };
}

impl<J: Send + Sync + 'static, R: Send + Sync + 'static> Ledger for StubStore<J, R> {
    failing_calls! {
        messages() -> Vec<Message>;
        add_message(Message) -> ();
        deliveries(&MessageId, u32) -> Vec<Delivery>;
        add_deliveries(&MessageId, u32, Vec<Delivery>) -> bool;
        begin_deliveries(&MessageId, Vec<DeliveryStart>) -> Vec<bool>;
        finish_deliveries(&MessageId, Vec<DeliveryResult>) -> ();
    }
}

impl<J: Send + Sync + 'static, R: Send + Sync + 'static> OwnerList for StubStore<J, R> {
    failing_calls! {
        join_all(Vec<WaitlistEntry>) -> Vec<JoinOutcome>;
        erase(&[Email], Erasure) -> Vec<bool>;
        suppress(&[Email]) -> Vec<bool>;
        lift(&[Email]) -> Vec<bool>;
        suppressions() -> Suppressions;
        correct(&Email, &Email) -> CorrectOutcome;
        is_suppressed(&Email) -> bool;
        compact() -> Compaction;
        pending_events() -> Option<PendingEvents>;
    }

    fn list_key(&self) -> StoreFuture<'_, ListKey> {
        self.read(ListKey::from_slice(&SLOW_STORE_KEY).expect("32 bytes"))
    }

    fn find(&self, emails: &[Email]) -> StoreFuture<'_, Vec<Option<WaitlistEntry>>> {
        self.read(vec![None; emails.len()])
    }

    fn entries(&self, _: Selection) -> Result<EntryStream, StoreError> {
        Err(StoreError::Unreadable)
    }
}

impl<J, R> Waitlist for StubStore<J, R>
where
    J: Fn(WaitlistEntry) -> StoreFuture<'static, JoinOutcome> + Send + Sync + 'static,
    R: Fn() -> StoreFuture<'static, ()> + Send + Sync + 'static,
{
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        (self.join)(entry)
    }

    failing_calls! {
        add_fact(&Email, SystemTime, Fact) -> bool;
        record_events(bool) -> ();
        events_after(u64) -> Option<Vec<(u64, Event)>>;
        finish_events(Vec<(u64, Uuid)>) -> ();
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        (self.ready)()
    }

    fn count(&self) -> u64 {
        7
    }

    fn watch_count(&self) -> watch::Receiver<u64> {
        watch::channel(7).1
    }
}

/// Returns a store whose every operation fails.
#[allow(
    dead_code,
    reason = "the fuzz targets share this file and do not use it"
)]
pub(crate) fn failing_store(error: StoreError) -> impl Waitlist {
    let ready_error = error.clone();
    stub_store(
        move |_| immediate(Err(error.clone())),
        move || immediate(Err(ready_error.clone())),
    )
}
