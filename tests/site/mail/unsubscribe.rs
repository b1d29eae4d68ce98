//! The way out: the page of the unsubscribe link, and one-click unsubscribing (RFC 8058).

use landing::{
    mail::UnsubscribeTokens,
    waitlist::{Email, ListKey},
};

fn key(byte: u8) -> ListKey {
    ListKey::from_slice(&[byte; 32]).expect("32 bytes")
}

fn email(typed: &str) -> Email {
    Email::parse(typed).expect("an address")
}

#[test]
fn token_names_a_person_only_to_the_list_that_made_it() {
    let (tokens, others) = (
        UnsubscribeTokens::new(&[key(1)]),
        UnsubscribeTokens::new(&[key(2)]),
    );
    let both = UnsubscribeTokens::new(&[key(2), key(1)]);
    for typed in [
        "ann@example.com",
        "Ann@EXAMPLE.com",
        &format!("{}@example.com", "x".repeat(64)),
    ] {
        let token = tokens.token(&email(typed)).expect("a token");
        let person = |tokens: &UnsubscribeTokens| tokens.person(&token).map(|it| it.key());
        assert_eq!(person(&tokens), Some(email(typed).key()));
        assert_eq!(person(&both), Some(email(typed).key()));
        assert_eq!(person(&others), None);
        assert!(
            token
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        );
        assert!(!token.contains("example"), "{token}");
        // Every character counts.
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert_eq!(tokens.person(&changed), None, "{at}");
        }
        assert_eq!(tokens.person(&token[..token.len() - 1]), None);
    }
    let short = tokens.token(&email("a@b.co")).map(|it| it.len());
    let long = tokens
        .token(&email("a.longer.address@example.com"))
        .map(|it| it.len());
    assert_eq!(
        short, long,
        "the length of a token reveals that of the address"
    );
    for garbage in ["", "x", "%", &"A".repeat(10_000), "ann@example.com"] {
        assert_eq!(tokens.person(garbage), None);
    }
    assert_eq!(
        UnsubscribeTokens::new(&[]).token(&email("ann@example.com")),
        None
    );
}
