//! The values of a list: the hashes of addresses, and the texts of messages. The transcripts `sources.txt` and
//! `send-templates.txt` have sources and the ids of messages.

use std::time::UNIX_EPOCH;

use landing::waitlist::{ListKey, Message, ServerReply, Suppressions};

use super::{email, ledger::id};

#[test]
fn hashes_depend_on_the_key_and_not_on_the_spelling() {
    let key = |byte| ListKey::from_slice(&[byte; 32]).expect("32 bytes");
    let hash = |byte, typed: &str| key(byte).hash(email(typed).key());
    assert_eq!(hash(1, "Ann@EXAMPLE.com"), hash(1, "ann@example.com"));
    assert_ne!(hash(1, "ann@example.com"), hash(2, "ann@example.com"));
    assert_ne!(hash(1, "ann@example.com"), hash(1, "bob@example.com"));
    // `printf ann@example.com | openssl dgst -sha256 -mac HMAC -macopt hexkey:01…01 | head -c 32`
    let expected = 0x4028_8d83_57fd_f0ec_2f4c_b5db_1c3b_82c5_u128.to_be_bytes();
    assert_eq!(hash(1, "ann@example.com").as_bytes(), expected);
    assert_ne!(ListKey::generate(), ListKey::generate());
    assert_eq!(ListKey::from_slice(&[1; 31]), None);
}

#[test]
fn debug_output_shows_neither_keys_nor_hashes() {
    let key = ListKey::from_slice(&[65; 32]).expect("32 bytes");
    let hash = key.hash("ann@example.com");
    let mut suppressions = Suppressions::new(key);
    suppressions.suppress(hash);
    assert_eq!(
        format!("{key:?} {hash:?} {suppressions:?}"),
        "ListKey(…) AddressHash(…) Suppressions(1)"
    );
}

#[test]
fn long_texts_are_cut_between_characters() {
    let text = "é".repeat(500);
    let message = Message::new(id("launch"), UNIX_EPOCH, &text);
    assert_eq!(message.subject(), &text[..200]);
    assert_eq!(ServerReply::new(554, &text).text(), &text[..200]);
}
