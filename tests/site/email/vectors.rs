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

/// WebKit's cases for a single address
/// (`LayoutTests/fast/forms/resources/ValidityState-typeMismatch-email.js`): whether it is valid there, and
/// whether it is valid here.
const WEBKIT: [(&str, bool, bool); 33] = [
    ("something@something.com", true, true),
    ("someone@localhost.localdomain", true, true),
    ("someone@127.0.0.1", true, true),
    ("a@b.b", true, true),
    ("a/b@domain.com", true, true),
    ("{}@domain.com", true, true),
    ("m*'!%@something.sa", true, true),
    ("tu!!7n7.ad##0!!!@company.ca", true, true),
    ("%@com.com", true, true),
    ("!#$%&'*+/=?^_`{|}~.-@com.com", true, true),
    (".wooly@example.com", true, true),
    ("wo..oly@example.com", true, true),
    ("someone@do-ma-in.com", true, true),
    ("somebody@example", true, true),
    // WHATWG has rejected hyphens at the ends of a label since 2013. These cases are older.
    ("ddjk-s-jk@asl-.com", true, false),
    ("someone@do-.com", true, false),
    ("somebody@-.com", true, false),
    ("invalid:email@example.com", false, false),
    ("@somewhere.com", false, false),
    ("example.com", false, false),
    ("@@example.com", false, false),
    ("a space@example.com", false, false),
    ("something@ex..ample.com", false, false),
    ("a\u{8}@c", false, false),
    ("someone@somewhere.com.", false, false),
    ("\"\"test\u{8}lah\"\"@example.com", false, false),
    ("\"testblah\"@example.com", false, false),
    ("someone@somewhere.com@", false, false),
    ("someone@somewhere_com", false, false),
    ("someone@some:where.com", false, false),
    (".", false, false),
    ("F/s/f/a@feo+re.com", false, false),
    (
        "some+long+email+address@some+host-weird-/looking.com",
        false,
        false,
    ),
];

#[test]
fn agrees_with_webkit_except_in_3_cases() {
    for (address, _, is_ours) in WEBKIT {
        assert_eq!(Email::parse(address).is_ok(), is_ours, "{address:?}");
    }
    let differences = WEBKIT.iter().filter(|(_, theirs, ours)| theirs != ours);
    assert_eq!(differences.count(), 3);
}
