//! The host of a request (RFC 9112 and RFC 9113): there is one, and it is valid.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::test_site::{TRUST_LOOPBACK, TestSite};

/// RFC 9112, 3.2: one valid `Host`. A proxy could otherwise route the request by another host than this server.
#[tokio::test]
async fn requests_without_one_valid_host_are_400() {
    let site = TestSite::start().await;
    let cases = [
        ("HTTP/1.1", "", 400),
        ("HTTP/1.0", "", 200),
        ("HTTP/1.1", "Host: site\r\nHost: site\r\n", 400),
        ("HTTP/1.0", "Host: site\r\nHost: other\r\n", 400),
        ("HTTP/1.0", "Host: a b\r\n", 400),
    ];
    for (version, hosts, status) in cases {
        let request = format!("GET /healthz {version}\r\n{hosts}\r\n");
        assert_status(&site, &request, status).await;
    }
    let invalid = [
        "",
        "a b",
        "###",
        "a/b",
        "a,b",
        "user@site",
        "site:x",
        "[::1",
        "[site]",
        "::1",
        "a\u{e4}b",
        "a?b",
        "-%",
    ];
    let valid = [
        "site",
        "Site.Example",
        "site:",
        "site:3000",
        "127.0.0.1:80",
        "[::1]",
        "[::1]:3000",
        "a_b",
        "xn--bcher-kva.example",
        "site.",
    ];
    let hosts = invalid
        .map(|it| (it, 400))
        .into_iter()
        .chain(valid.map(|it| (it, 200)));
    for (host, status) in hosts {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_status(&site, &request, status).await;
    }
    for (target, status) in [
        ("http://other:80/healthz", 200),
        ("http://user@other/healthz", 400),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: site\r\n\r\n");
        assert_status(&site, &request, status).await;
    }
}

async fn assert_status(site: &TestSite, request: &str, status: u16) {
    let response = site.send_raw(request.as_bytes()).await;
    let actual = response.split(' ').nth(1);
    assert_eq!(
        actual,
        Some(&*status.to_string()),
        "{request:?}: {response:.200}"
    );
}

/// RFC 9113, 8.3.1.
#[tokio::test]
async fn http_2_requests_without_one_authority_are_400() {
    let site = TestSite::with_options(&[TRUST_LOOPBACK]).await;
    // `GET /`, with these fields after it: a literal `:authority` or `host` each.
    let field = |name: &[u8], value: &str| {
        let length = u8::try_from(value.len()).expect("a short value");
        [name, &[length], value.as_bytes()].concat()
    };
    let authority = |value| field(b"\x41", value);
    let host = |value| field(b"\0\x04host", value);
    // In HPACK, 0x88 is the status 200, and 0x8c the status 400.
    for (case, fields, status) in [
        ("authority", authority("site"), 0x88),
        (
            "both",
            [authority("site:80"), host("SITE:80")].concat(),
            0x88,
        ),
        ("host", host("site"), 0x88),
        ("none", Vec::new(), 0x8c),
        (
            "different",
            [authority("site"), host("other")].concat(),
            0x8c,
        ),
        (
            "two hosts",
            [authority("site"), host("site"), host("site")].concat(),
            0x8c,
        ),
        ("invalid", authority("a,b"), 0x8c),
    ] {
        let headers = [&b"\x82\x86\x84"[..], &fields].concat();
        let length = u8::try_from(headers.len()).expect("a short block");
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let frame = [&[0, 0, length, 1, 5, 0, 0, 0, 1], &headers[..]].concat();
        let mut stream = site.connect().await;
        stream
            .write_all(&[&preface[..], &frame].concat())
            .await
            .expect("it reads");
        let first = loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.expect("a frame");
            let length = usize::from(head[1]) << 8 | usize::from(head[2]);
            let mut payload = vec![0; length];
            stream.read_exact(&mut payload).await.expect("its end");
            if head[3] == 1 {
                break payload[0];
            }
        };
        assert_eq!(first, status, "{case}");
    }
}
