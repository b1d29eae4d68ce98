//! What is an e-mail address, and what is the same one.

use landing::waitlist::{Email, InvalidEmail};
use proptest::prelude::*;

/// WHATWG HTML, 4.10.5.1.5, word for word.
const WHATWG: &str = r"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$";

fn is_whatwg(text: &str) -> bool {
    regex::Regex::new(WHATWG)
        .expect("WHATWG's own")
        .is_match(text)
}

proptest! {
    #[test]
    fn it_accepts_what_browsers_accept_within_the_lengths(
        typed in r"[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~@ -]{0,12}@?[a-zA-Z0-9.-]{0,70}(\.[a-z-]{0,5})?",
    ) {
        let within = typed.trim().len() <= 254
            && typed.trim().split('@').next().is_some_and(|local| local.len() <= 64);
        prop_assert_eq!(Email::parse(&typed).is_ok(), is_whatwg(typed.trim()) && within);
    }

    #[test]
    fn any_text_is_parsed_or_refused_by_the_same_rule(typed in any::<String>()) {
        prop_assert_eq!(Email::parse(&typed).is_ok(), is_whatwg(typed.trim()));
    }

    #[test]
    fn the_address_is_kept_as_typed_without_the_spaces_around_it(
        address in r"[a-zA-Z0-9.+]{1,20}@[a-zA-Z0-9]{1,20}\.[a-zA-Z]{2,6}",
        before in "[ \t\n]{0,3}",
        after in "[ \t\n]{0,3}",
    ) {
        let email = Email::parse(&format!("{before}{address}{after}")).expect("valid");
        prop_assert_eq!(email.as_typed(), address);
    }

    #[test]
    fn letter_case_and_spaces_make_no_other_address(
        address in r"[a-zA-Z0-9.+]{1,20}@[a-zA-Z0-9]{1,20}\.[a-zA-Z]{2,6}",
    ) {
        let key = |typed: &str| Email::parse(typed).expect("valid").key();
        prop_assert_eq!(key(&address), key(&format!(" {} ", address.to_uppercase())));
        prop_assert_eq!(key(&address), key(&address.to_lowercase()));
        prop_assert_eq!(key(&key(&address)), key(&address));
    }

    #[test]
    fn addresses_that_differ_in_more_have_different_keys(
        one in r"[a-z0-9.+]{1,8}@[a-z]{1,4}\.com",
        other in r"[a-z0-9.+]{1,8}@[a-z]{1,4}\.com",
    ) {
        let key = |typed: &str| Email::parse(typed).expect("valid").key();
        prop_assert_eq!(key(&one) == key(&other), one == other);
    }
}

#[test]
fn the_lengths_are_64_before_the_at_63_for_a_label_and_254_in_all() {
    let domain = |length: usize| {
        let label = format!("{}.", "b".repeat(63)).repeat(4);
        label[..length].trim_end_matches('.').to_owned()
    };
    let local = "a".repeat(64);
    assert!(Email::parse(&format!("{local}@{}", domain(189))).is_ok());
    assert_eq!(
        Email::parse(&format!("{local}@{}", domain(190))),
        Err(InvalidEmail::TooLong)
    );
    assert_eq!(
        Email::parse(&format!("{local}a@b.co")),
        Err(InvalidEmail::LocalTooLong)
    );
    assert_eq!(
        Email::parse(&format!("a@{}.co", "b".repeat(64))),
        Err(InvalidEmail::Domain)
    );
}

#[test]
fn debugging_never_shows_the_address() {
    let email = Email::parse("ann@example.com").expect("valid");
    assert_eq!(format!("{email:?}"), "Email(…)");
}
