//! Which texts are e-mail addresses, and which addresses are the same.

mod vectors;

use std::sync::LazyLock;

use landing::waitlist::{Email, InvalidEmail};
use proptest::prelude::*;
use regex::Regex;

/// WHATWG HTML, 4.10.5.1.5, word for word.
static WHATWG: LazyLock<Regex> = LazyLock::new(|| {
    let rule = r"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$";
    Regex::new(rule).expect("valid")
});

fn is_whatwg(text: &str) -> bool {
    WHATWG.is_match(text)
}

proptest! {
    #[test]
    fn accepts_browser_valid_addresses_within_the_length_limits(
        typed in r"[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~@ -]{0,12}@?[a-zA-Z0-9.-]{0,70}(\.[a-z-]{0,5})?",
    ) {
        let within = typed.trim().len() <= 254
            && typed.trim().split('@').next().is_some_and(|local| local.len() <= 64);
        prop_assert_eq!(Email::parse(&typed).is_ok(), is_whatwg(typed.trim()) && within);
    }

    #[test]
    fn ascii_text_follows_the_whatwg_rule(typed in r"[\x00-\x7f]{0,40}") {
        prop_assert_eq!(Email::parse(&typed).is_ok(), is_whatwg(typed.trim()));
    }

    #[test]
    fn keeps_the_address_as_typed_and_trims_spaces(
        address in r"[a-zA-Z0-9.+]{1,20}@[a-zA-Z0-9]{1,20}\.[a-zA-Z]{2,6}",
        before in "[ \t\n]{0,3}",
        after in "[ \t\n]{0,3}",
    ) {
        let email = Email::parse(&format!("{before}{address}{after}")).expect("valid");
        prop_assert_eq!(email.as_typed(), address);
    }

    #[test]
    fn ignores_letter_case_and_surrounding_spaces(
        address in r"[a-zA-Z0-9.+]{1,20}@[a-zA-Z0-9]{1,20}\.[a-zA-Z]{2,6}",
    ) {
        let key = |typed: &str| Email::parse(typed).expect("valid").key();
        prop_assert_eq!(key(&address), key(&format!(" {} ", address.to_uppercase())));
        prop_assert_eq!(key(&address), key(&address.to_lowercase()));
        prop_assert_eq!(key(&key(&address)), key(&address));
    }

    #[test]
    fn different_addresses_have_different_keys(
        one in r"[a-z0-9.+]{1,8}@[a-z]{1,4}\.com",
        other in r"[a-z0-9.+]{1,8}@[a-z]{1,4}\.com",
    ) {
        let key = |typed: &str| Email::parse(typed).expect("valid").key();
        prop_assert_eq!(key(&one) == key(&other), one == other);
    }
}

#[test]
fn length_limits_are_64_local_63_label_254_total() {
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
        Err(InvalidEmail::LocalPartTooLong)
    );
    assert_eq!(
        Email::parse(&format!("a@{}.co", "b".repeat(64))),
        Err(InvalidEmail::Domain)
    );
}

#[test]
fn debug_output_hides_the_address() {
    let email = Email::parse("ann@example.com").expect("valid");
    assert_eq!(format!("{email:?}"), "Email(…)");
}

#[test]
fn international_domains_keep_their_spelling_and_share_a_key() {
    for (typed, key) in [
        ("ann@bücher.example", "ann@xn--bcher-kva.example"),
        ("Ann@BÜCHER.Example", "ann@xn--bcher-kva.example"),
        ("ann@bu\u{308}cher.example", "ann@xn--bcher-kva.example"),
        ("ann@XN--BCHER-KVA.example", "ann@xn--bcher-kva.example"),
        ("ann@straße.example", "ann@xn--strae-oqa.example"),
        ("ann@例え.テスト", "ann@xn--r8jz45g.xn--zckzah"),
        ("ann@例え。テスト", "ann@xn--r8jz45g.xn--zckzah"),
        ("ann@ｅｘａｍｐｌｅ.com", "ann@example.com"),
        ("ann@مثال.إختبار", "ann@xn--mgbh0fb.xn--kgbechtv"),
        // Here the zero-width joiner changes the word (RFC 5892, A.2), so it is allowed.
        ("ann@क्\u{200d}ष.example", "ann@xn--11b2ezcw70k.example"),
    ] {
        let email = Email::parse(typed).unwrap_or_else(|error| panic!("{typed}: {error}"));
        assert_eq!(email.as_typed(), typed);
        assert_eq!(email.key(), key, "{typed}");
        assert_eq!(
            Email::parse(&email.key()).expect("an address").key(),
            email.key()
        );
    }
}

#[test]
fn ignores_invisible_characters_around_an_address() {
    let rule = r"^[\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]$";
    let rule = Regex::new(rule).expect("valid");
    for c in '\0'..=char::MAX {
        let parsed = Email::parse(&format!("{c} ann@example.com {c}"));
        let is_ignored = parsed.is_ok_and(|email| email.as_typed() == "ann@example.com");
        let expected = rule.is_match(c.encode_utf8(&mut [0; 4]));
        assert_eq!(is_ignored, expected, "U+{:04X}", u32::from(c));
    }
    assert_eq!(Email::parse("\u{feff} \u{2800}"), Err(InvalidEmail::Empty));
}

/// Unicode's invisible characters and white space, control characters, private use, and letters and symbols that are drawn
/// empty.
#[test]
fn rejects_every_invisible_character() {
    let rule = r"^[\p{Cc}\p{Cf}\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800\uE000-\uF8FF\uFFF0-\uFFFF\x{13441}\x{13442}\x{16FE4}\x{1D159}\x{F0000}-\x{F00FF}\x{10FF00}-\x{10FFFF}]$";
    let rule = Regex::new(rule).expect("valid");
    for c in ('\0'..=char::MAX).filter(|c| rule.is_match(c.encode_utf8(&mut [0; 4]))) {
        for typed in [
            format!("a{c}nn@example.com"),
            format!("ann{c}@example.com"),
            format!("ann@{c}.com"),
            format!("ann@exa{c}mple.com"),
            format!("ann@bü{c}cher.com"),
            format!("ann@example.com{c}m"),
            format!("ann@한국{c}어.kr"),
            format!("ann@क{c}ष.example"),
        ] {
            let parsed = Email::parse(&typed);
            assert!(parsed.is_err(), "U+{:04X} in {typed:?}", u32::from(c));
        }
    }
}

#[test]
fn rejects_characters_that_stand_for_others() {
    // Letters before the @ must be ASCII, as in a browser. Few servers accept others (RFC 6531).
    assert_eq!(
        Email::parse("änn@example.com"),
        Err(InvalidEmail::LocalPart)
    );
    // UTS 46 maps single characters to forbidden text, such as "a/c", "@", ".." and "1.".
    for domain in [
        "℀.com",
        "a＠b.com",
        "a‥b.com",
        "⒈com..de",
        "-ü.com",
        "ü-.com",
        "xn--ü.com",
    ] {
        let parsed = Email::parse(&format!("ann@{domain}"));
        assert_eq!(parsed, Err(InvalidEmail::Domain), "{domain}");
    }
}

#[test]
fn length_limits_apply_to_unicode_and_punycode() {
    // A label has at most 63 octets in Punycode.
    let label = |letters: usize| "例".repeat(letters);
    assert!(Email::parse(&format!("a@{}.jp", label(10))).is_ok());
    assert_eq!(
        Email::parse(&format!("a@{}.jp", label(60))),
        Err(InvalidEmail::Domain)
    );
    let many = format!("a@{}jp", "ü.".repeat(80));
    assert!(many.len() < 254);
    assert_eq!(Email::parse(&many), Err(InvalidEmail::TooLong));
    let long = format!("a@{}jp", "例.".repeat(70));
    assert!(long.chars().count() < 254 && long.len() > 254);
    assert_eq!(Email::parse(&long), Err(InvalidEmail::TooLong));
}
