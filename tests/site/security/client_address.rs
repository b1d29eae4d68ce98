//! The client address of a request, with and without trusted proxies.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use landing::server::{ClientKey, TrustedProxies};

use crate::fixtures::parse_config;

/// Returns the client address of a request from `peer` with these lines of a header.
fn client(options: &[&str], peer: &str, header: &str, lines: &[&str]) -> String {
    let config = parse_config(options).expect("valid options");
    let proxies = TrustedProxies(config.trusted_proxies);
    let mut headers = HeaderMap::new();
    for line in lines {
        let name = HeaderName::try_from(header).expect("a name");
        headers.append(name, HeaderValue::from_str(line).expect("a value"));
    }
    let peer = peer.parse().expect("an address");
    proxies.client_address(peer, &headers).to_string()
}

const TRUSTED_PROXIES: &str = "--trusted-proxies=127.0.0.1,10.0.0.0/8,fd00::/8";

#[test]
fn uses_the_peer_address_without_a_trusted_proxy() {
    for header in ["x-forwarded-for", "forwarded", "x-real-ip"] {
        for options in [&[][..], &["--trusted-proxies=10.0.0.0/8"]] {
            for lines in [&[][..], &["203.0.113.7"], &["for=203.0.113.7"]] {
                let client = client(options, "192.0.2.1", header, lines);
                assert_eq!(client, "192.0.2.1", "{header} {options:?} {lines:?}");
            }
        }
    }
}

#[test]
fn uses_the_right_most_untrusted_address() {
    let cases: [(&[&str], &str); 16] = [
        (&[], "10.0.0.1"),
        (&["203.0.113.7"], "203.0.113.7"),
        (&["203.0.113.7, 10.0.0.2,10.9.9.9"], "203.0.113.7"),
        (&["203.0.113.7", "10.0.0.2"], "203.0.113.7"),
        // The client wrote everything to the left.
        (&["1.1.1.1, 203.0.113.7"], "203.0.113.7"),
        (&["10.0.0.5, 203.0.113.7"], "203.0.113.7"),
        (
            &["1.1.1.1", "2.2.2.2, 203.0.113.7, 10.0.0.2"],
            "203.0.113.7",
        ),
        (&["nonsense, 203.0.113.7"], "203.0.113.7"),
        // A client inside the trusted network.
        (&["10.1.1.1, 10.0.0.2"], "10.1.1.1"),
        // A proxy that named no address counts as the client.
        (&["203.0.113.7, unknown"], "10.0.0.1"),
        (&["203.0.113.7, unknown, 10.0.0.2"], "10.0.0.2"),
        (&["203.0.113.7, , "], "203.0.113.7"),
        (&["203.0.113.7:4711"], "203.0.113.7"),
        (&["2001:db8::7"], "2001:db8::7"),
        (&["[2001:db8::7]:4711"], "2001:db8::7"),
        (&["::ffff:203.0.113.7, ::ffff:10.0.0.2"], "203.0.113.7"),
    ];
    for (lines, expected) in cases {
        let client = client(&[TRUSTED_PROXIES], "10.0.0.1", "x-forwarded-for", lines);
        assert_eq!(client, expected, "{lines:?}");
    }
}

#[test]
fn ipv4_mapped_networks_match_ipv4_addresses() {
    for (network, is_trusted) in [
        ("::ffff:10.0.0.0/104", true),
        ("::ffff:a00:0/104", true),
        ("::ffff:10.0.0.1/128", true),
        ("::ffff:0.0.0.0/96", true),
        ("::ffff:127.0.0.0/104", false),
        ("::/0", false),
    ] {
        let trust = format!("--trusted-proxies={network}");
        for peer in ["10.0.0.1", "::ffff:10.0.0.1"] {
            let client = client(&[&trust], peer, "x-forwarded-for", &["203.0.113.7"]);
            let expected = if is_trusted {
                "203.0.113.7"
            } else {
                "10.0.0.1"
            };
            assert_eq!(client, expected, "{network} {peer}");
        }
    }
}

/// They come from the client.
#[test]
fn other_headers_of_proxies_do_not_count() {
    for header in ["forwarded", "x-real-ip"] {
        let lines = ["for=203.0.113.7", "203.0.113.7"];
        let client = client(&[TRUSTED_PROXIES], "10.0.0.1", header, &lines);
        assert_eq!(client, "10.0.0.1", "{header}");
    }
}

#[test]
fn client_is_an_ipv4_address_or_an_ipv6_64_network() {
    let client = |address: &str| ClientKey::from(address.parse::<IpAddr>().expect("an address"));
    for (one, other, is_same) in [
        ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false),
        ("192.0.2.1", "::ffff:192.0.2.1", true),
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true),
        ("2001:db8::1", "2001:db8:0:1::1", false),
        ("::1", "127.0.0.1", false),
    ] {
        assert_eq!(client(one) == client(other), is_same, "{one} {other}");
    }
}
