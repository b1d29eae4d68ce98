//! The tokens of links that unsubscribe a person or confirm an address.
//!
//! A token is the encrypted address of a person, and one that confirms it has the time of the sign-up too. So a link works
//! for as long as the list has its key, also on a list that was restored from a backup, and no table of tokens is needed.
//! Without the key, nobody can read the address or make a token: it has a tag of 128 bits.

use std::{iter, time::SystemTime};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf,
    rand::{SecureRandom, SystemRandom},
};

use crate::waitlist::{Email, ListKey, unix_seconds};

/// An address is filled up to a multiple of this number of bytes, so that a token does not reveal its length.
const BLOCK_BYTES: usize = 64;
/// Maximum length of a token, in characters. An address has at most 254 bytes, and a time 20.
pub(super) const TOKEN_MAX_LEN: usize = (NONCE_LEN + 5 * BLOCK_BYTES + 16).div_ceil(3) * 4;

/// Maximum number of tries to read a token. Each leaves out one more mark at its end.
const TRIES_MAX: usize = 6;

/// What the person who has a token may do with it. Each purpose has its own key, so that no token serves two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TokenPurpose {
    /// Leave the list.
    Unsubscribe,
    /// Confirm the address.
    Confirm,
}

/// The person that a token names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TokenPerson {
    /// The address.
    pub email: Email,
    /// The sign-up for which the token was made, if it was made for one, in seconds since 1970.
    joined_at: Option<u64>,
}

impl TokenPerson {
    /// Returns whether the token is for a sign-up at this time. One that was made for an earlier sign-up is not: the person has
    /// left, or was erased.
    pub fn is_for(&self, joined_at: SystemTime) -> bool {
        self.joined_at
            .is_none_or(|it| it == unix_seconds(joined_at))
    }
}

/// Makes tokens, and reads them.
pub struct PersonTokens {
    key: LessSafeKey,
}

impl PersonTokens {
    /// Prepares tokens with the key of a list, from which that of the tokens is derived.
    pub fn new(key: &ListKey, purpose: TokenPurpose) -> Self {
        let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(key.as_bytes());
        let purpose: &[u8] = match purpose {
            TokenPurpose::Unsubscribe => b"landing unsubscribe",
            TokenPurpose::Confirm => b"landing confirm",
        };
        let info = [purpose];
        let derived = secret.expand(&info, &CHACHA20_POLY1305);
        let derived = derived.expect("the cipher has a short key");
        Self {
            key: LessSafeKey::new(UnboundKey::from(derived)),
        }
    }

    /// Returns a token for a person: at most 464 characters of `A-Z`, `a-z`, `0-9`, `-` and `_`.
    ///
    /// # Panics
    /// If the system has no random numbers.
    pub fn token(&self, email: &Email) -> String {
        self.seal(email.key())
    }

    /// Returns a token for one sign-up of a person, like [`token`](Self::token).
    pub fn token_for_sign_up(&self, email: &Email, joined_at: SystemTime) -> String {
        self.seal(format!("{}\n{}", email.key(), unix_seconds(joined_at)))
    }

    fn seal(&self, content: String) -> String {
        let mut nonce = [0; NONCE_LEN];
        let filled = SystemRandom::new().fill(&mut nonce);
        filled.expect("the system has random numbers");
        let mut content = content.into_bytes();
        content.resize(content.len().next_multiple_of(BLOCK_BYTES), 0);
        let sealed_with = Nonce::assume_unique_for_key(nonce);
        self.key
            .seal_in_place_append_tag(sealed_with, Aad::empty(), &mut content)
            .expect("a short content");
        BASE64.encode([&nonce[..], &content].concat())
    }

    /// Returns the person that a token names. Returns `None` if the token was not made with the key.
    pub fn person(&self, token: &str) -> Option<TokenPerson> {
        // A mail program may take the punctuation after a link for a part of it. A token may end with a mark too.
        let is_mark = |c: char| !c.is_ascii_alphanumeric();
        let tokens = iter::successors(Some(token), |it| it.strip_suffix(is_mark));
        tokens.take(TRIES_MAX).find_map(|it| self.open(it))
    }

    fn open(&self, token: &str) -> Option<TokenPerson> {
        if token.len() > TOKEN_MAX_LEN {
            return None;
        }
        let bytes = BASE64.decode(token).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.key.open_in_place(nonce, Aad::empty(), &mut sealed);
        let content = str::from_utf8(opened.ok()?).ok()?;
        let content = content.trim_end_matches('\0');
        // No address has a line break. Links of earlier versions have no time.
        let (address, joined_at) = content.split_once('\n').unwrap_or((content, ""));
        Some(TokenPerson {
            // Perhaps one of an earlier version, which is invalid today.
            email: address.to_owned().try_into().ok()?,
            joined_at: joined_at.parse().ok(),
        })
    }
}
