//! Published test vectors for e-mail addresses, with every case in which this parser differs, and the reason.

use std::collections::BTreeSet;

use landing::waitlist::Email;

/// The test set of is_email 3.05 by Dominic Sayers and Michael Rushton (github.com/dominicsayers/isemail,
/// `test/tests.xml`; © 2014 Dominic Sayers, BSD licence). Each line has a number, a category, a diagnosis and
/// an address. Control characters are written as their pictures (␀ to ␡).
const ISEMAIL: &str = include_str!("isemail.tsv");

/// The categories below is_email's own threshold for "valid": usable with SMTP.
const VALID: [&str; 3] = [
    "ISEMAIL_VALID_CATEGORY",
    "ISEMAIL_DNSWARN",
    "ISEMAIL_RFC5321",
];

/// The differences by reason: whether this parser accepts the addresses, and their numbers.
const DIFFERENCES: [(&str, bool, &[u16]); 4] = [
    // A dot at either end of the local part. WHATWG allows it, "a willful violation of RFC 5322".
    ("dots", true, &[15, 16]),
    // Browsers reject quoted local parts, and mail providers do not offer them.
    ("quoted local parts", false, &[42, 43, 45, 46, 48, 55]),
    // Nobody keeps an address without a domain for long.
    ("address literals", false, &[61, 68, 72, 75, 77, 79, 81]),
    // White space around the address is removed, as browsers do in an email field.
    (
        "white space around it",
        true,
        &[
            88, 89, 99, 127, 128, 132, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152,
            153, 154, 155, 156, 157, 158,
        ],
    ),
];

#[test]
fn agrees_with_is_email_except_in_39_known_cases() {
    let (mut cases, mut only_ours, mut only_theirs) = (0, BTreeSet::new(), BTreeSet::new());
    for line in ISEMAIL.lines() {
        let [number, category, _, address] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not four columns: {line}");
        };
        cases += 1;
        let number: u16 = number.parse().expect("a number");
        let (is_ours, is_theirs) = (
            Email::parse(&decode_control_pictures(address)).is_ok(),
            VALID.contains(&category),
        );
        if is_ours && !is_theirs {
            only_ours.insert(number);
        }
        if is_theirs && !is_ours {
            only_theirs.insert(number);
        }
    }
    assert_eq!(cases, 164);
    let known = |is_ours| {
        let reasons = DIFFERENCES
            .iter()
            .filter(move |(_, ours, _)| *ours == is_ours);
        reasons
            .flat_map(|(_, _, numbers)| *numbers)
            .copied()
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(only_ours, known(true), "accepted only here");
    assert_eq!(only_theirs, known(false), "accepted only by is_email");
}

/// Replaces the pictures of control characters by the characters.
fn decode_control_pictures(address: &str) -> String {
    let character = |c: char| match c {
        '\u{2400}'..='\u{241f}' => char::from(c as u8),
        '\u{2421}' => '\u{7f}',
        c => c,
    };
    address.chars().map(character).collect()
}
