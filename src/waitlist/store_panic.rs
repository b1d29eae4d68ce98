//! Ends the process when a store panics. After any other panic, [`locked`] keeps mutexes usable.

use std::{
    panic,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use tokio::{task::futures::TaskLocalFuture, task_local};

use crate::exit::{EXIT_FAILURE, print_and_exit};

/// Name of the thread of a store's committer.
pub(super) const COMMITTER_THREAD_NAME: &str = "committer";

task_local! {
    /// Marks a task as part of a store.
    static STORE_TASK: ();
}

/// Marks a task as part of a store, for [`exit_on_store_panic`].
pub(super) fn store_task<F: Future>(task: F) -> TaskLocalFuture<(), F> {
    STORE_TASK.scope((), task)
}

/// Installs a panic hook that ends the process when a thread or a task of a store panics.
///
/// If a thread of sled dies, callers that wait for a write would wait forever. Without the committer, nobody could
/// sign up. The service manager restarts the process.
pub fn exit_on_store_panic() {
    let previous_hook = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let thread = thread::current();
        let name = thread.name().unwrap_or_default();
        if name == COMMITTER_THREAD_NAME
            || name.starts_with("sled-io-")
            || STORE_TASK.try_with(|()| ()).is_ok()
        {
            // Not through the log, which may be written too late.
            let location = panic.location().map(ToString::to_string);
            print_and_exit(
                &format!(
                    "internal error in the store at {}; the program stops, and every acknowledged sign-up is kept; \
                     start it again",
                    location.as_deref().unwrap_or("an unknown location")
                ),
                EXIT_FAILURE,
            );
        }
        previous_hook(panic);
    }));
}

/// Locks a mutex, also after a thread has panicked with the lock. For values that are whole after each step.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
