//! Corrupted files. A list opens with all its entries, or is rejected and left unchanged.

use std::fs;

use landing::waitlist::{SledWaitlist, Waitlist};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tempfile::TempDir;

use super::{copy_directory, directory_contents, entry, many_items::ManyItems};
use crate::process::write_locked;

const ENTRIES: u64 = 4_000;
/// Rounds of each kind of corruption.
const ROUNDS: u64 = 12;
/// The unit in which a disk loses data, in bytes.
const PAGE: usize = 4096;

/// Changes the bytes of the database.
type Corruption = fn(Vec<u8>, &mut StdRng) -> Vec<u8>;
const CORRUPTIONS: [Corruption; 4] = [flip_a_bit, zero_a_page, move_a_page, truncate];

#[tokio::test(flavor = "multi_thread")]
async fn damaged_list_opens_complete_or_is_rejected_unchanged() {
    let directory = TempDir::new().expect("a directory");
    let list = SledWaitlist::open(directory.path()).expect("the list opens");
    let people = (0..ENTRIES).map(|number| entry(&format!("{number}@example.com"), number));
    let joined = list.join_many(people.collect()).await;
    joined.expect("a response");
    drop(list);

    let mut rejected = 0;
    for (kind, corrupt) in CORRUPTIONS.into_iter().enumerate() {
        for seed in 0..ROUNDS {
            let damaged = TempDir::new().expect("a directory");
            copy_directory(directory.path(), damaged.path());
            let database = damaged.path().join("waitlist/db");
            let bytes = fs::read(&database).expect("readable");
            let bytes = corrupt(bytes, &mut StdRng::seed_from_u64(seed));
            write_locked(&database, &bytes);
            let before = directory_contents(damaged.path());
            match SledWaitlist::open(damaged.path()) {
                Ok(list) => assert_eq!(list.count(), ENTRIES, "corruption {kind}, seed {seed}"),
                Err(error) => {
                    rejected += 1;
                    assert!(error.to_string().contains("nothing was changed"), "{error}");
                    let unchanged = directory_contents(damaged.path()) == before;
                    assert!(unchanged, "corruption {kind}, seed {seed}: {error}");
                }
            }
        }
    }
    assert!(rejected > ROUNDS, "only {rejected} lists were rejected");
}

/// Returns the length without the zeros at the end.
fn used_len(bytes: &[u8]) -> usize {
    bytes.len() - bytes.iter().rev().take_while(|byte| **byte == 0).count()
}

fn flip_a_bit(mut bytes: Vec<u8>, random: &mut StdRng) -> Vec<u8> {
    let at = random.random_range(0..used_len(&bytes));
    bytes[at] ^= 1 << random.random_range(0..8);
    bytes
}

fn zero_a_page(mut bytes: Vec<u8>, random: &mut StdRng) -> Vec<u8> {
    let at = random.random_range(0..used_len(&bytes) / PAGE) * PAGE;
    bytes[at..at + PAGE].fill(0);
    bytes
}

fn move_a_page(mut bytes: Vec<u8>, random: &mut StdRng) -> Vec<u8> {
    let [from, to] = [(); 2].map(|()| random.random_range(0..used_len(&bytes) / PAGE) * PAGE);
    bytes.copy_within(from..from + PAGE, to);
    bytes
}

fn truncate(mut bytes: Vec<u8>, random: &mut StdRng) -> Vec<u8> {
    bytes.truncate(random.random_range(0..used_len(&bytes)));
    bytes
}
