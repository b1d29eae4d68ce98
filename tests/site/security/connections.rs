//! Clients that are slow, greedy, or do not speak HTTP as it is written.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::test_site::Site;

/// Far beyond every limit: a test that waits so long has failed.
const FOR_EVER: Duration = Duration::from_secs(120);

/// Sends a byte a second, for as long as the other end listens, and returns what it answered.
async fn drip(mut stream: TcpStream, first: &str) -> String {
    stream.write_all(first.as_bytes()).await.expect("it reads");
    let (mut read, mut write) = stream.into_split();
    let mut answer = Vec::new();
    let drip = async {
        while write.write_all(b"a").await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    };
    let ended = async {
        // A reset is an end too.
        let _ = read.read_to_end(&mut answer).await;
    };
    timeout(FOR_EVER, async {
        tokio::select! {
            () = drip => {}
            () = ended => {}
        }
    })
    .await
    .expect("the server ends it");
    String::from_utf8(answer).expect("text")
}

#[tokio::test]
async fn a_head_that_does_not_end_is_not_waited_for() {
    let site = Site::start().await;
    let begun = "GET / HTTP/1.1\r\nHost: site\r\nX-Slow: ";
    // A second one is none the better for the first.
    let twice = format!("GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n{begun}");
    let (once, twice) = tokio::join!(
        drip(site.connect().await, begun),
        drip(site.connect().await, &twice),
    );
    assert!(once.starts_with("HTTP/1.1 408 "), "{once}");
    assert!(
        once.contains("nosniff") && once.contains("took too long"),
        "{once}"
    );
    assert!(twice.contains("\r\n\r\nOKHTTP/1.1 408 "), "{twice}");
}

#[tokio::test]
async fn who_has_asked_and_says_no_more_is_answered() {
    let site = Site::start().await;
    for _ in 0..20 {
        let said = site
            .answer_to(b"GET / HTTP/1.1\r\nHost: site\r\n\r\n")
            .await;
        assert!(
            said.starts_with("HTTP/1.1 200 ") && said.ends_with("</html>"),
            "{said:.100}"
        );
    }
}

#[tokio::test]
async fn who_says_nothing_is_let_go() {
    let site = Site::start().await;
    let mut silent = site.connect().await;
    let mut after_one = site.connect().await;
    assert!(is_served(&mut after_one).await);
    for stream in [&mut silent, &mut after_one] {
        let mut answer = Vec::new();
        let ended = timeout(FOR_EVER, stream.read_to_end(&mut answer)).await;
        // A reset is an end too.
        let _ = ended.expect("the server ends it");
        assert!(
            !String::from_utf8_lossy(&answer).contains(" 408 "),
            "it asked for nothing"
        );
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_is_408_at_both_doors() {
    let site = Site::start().await;
    let post = |path: &str, content_type: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: site\r\nContent-Type: {content_type}\r\n\
             Content-Length: 1000\r\n\r\n"
        )
    };
    let (api, form) = (
        post("/api/waitlist", "application/json"),
        post("/", "application/x-www-form-urlencoded"),
    );
    let (api, form) = tokio::join!(
        drip(site.connect().await, &api),
        drip(site.connect().await, &form),
    );
    assert!(api.starts_with("HTTP/1.1 408 "), "{api}");
    assert!(api.contains("took too long to arrive"), "{api}");
    assert!(form.starts_with("HTTP/1.1 408 "), "{form}");
    assert!(form.contains("Please try again."), "{form}");
    assert_eq!(site.count().await, 0);
}

#[tokio::test]
async fn who_does_not_read_the_answers_is_let_go() {
    let site = Site::start().await;
    let mut greedy = site.connect().await;
    let request = b"GET / HTTP/1.1\r\nHost: site\r\n\r\n";
    let ended = timeout(FOR_EVER, async {
        // More pages are asked for than fit into all buffers on the way.
        while greedy.write_all(request).await.is_ok() {}
    });
    ended.await.expect("the server ends it");
}

#[tokio::test]
async fn bodies_are_counted_as_they_come_whatever_their_head_says() {
    let site = Site::start().await;
    let head = "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\n";
    // Said to be large: not waited for.
    let said = site
        .answer_to(format!("{head}Content-Length: 4097\r\n\r\n").as_bytes())
        .await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    let expects = format!("{head}Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n");
    let said = site.answer_to(expects.as_bytes()).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    // Without a length, and large: the answer comes although more was being sent.
    let chunk = format!("400\r\n{}\r\n", " ".repeat(1024));
    let body = format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        chunk.repeat(40)
    );
    let said = site.answer_to(body.as_bytes()).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    // Smaller than said.
    let broken = format!("{head}Content-Length: 100\r\n\r\n{{\"email\":\"ann@example.com\"}}");
    let said = site.answer_to(broken.as_bytes()).await;
    assert!(
        said.is_empty() || said.starts_with("HTTP/1.1 400 "),
        "{said}"
    );
    // Two lengths, or two ways to say it: which one is meant could be read in two ways.
    for framing in [
        "Content-Length: 28\r\nContent-Length: 5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 28\r\nTransfer-Encoding: gzip\r\n",
    ] {
        let body = format!("{head}{framing}\r\n{{\"email\":\"ann@example.com\"}}");
        let said = site.answer_to(body.as_bytes()).await;
        assert!(
            said.is_empty() || said.starts_with("HTTP/1.1 400 "),
            "{framing}{said}"
        );
    }
    assert_eq!(site.count().await, 0);
}

#[tokio::test]
async fn heads_and_urls_have_a_size() {
    let site = Site::start().await;
    let get =
        |path: &str, headers: &str| format!("GET {path} HTTP/1.1\r\nHost: site\r\n{headers}\r\n");
    let path = |length: usize| format!("/{}", "a".repeat(length - 1));
    let cases = [
        (get(&path(2048), ""), "404"),
        (get(&path(2049), ""), "414"),
        (get(&format!("/?{}", "a".repeat(2048)), ""), "414"),
        (get("/", &format!("X: {}\r\n", "a".repeat(8000))), "200"),
        (get("/", &format!("X: {}\r\n", "a".repeat(20_000))), "431"),
        (get("/", &"X: a\r\n".repeat(101)), "431"),
        ("nonsense\r\n\r\n".into(), "400"),
        ("GET / HTTP/1.1\r\n\r\n".into(), "400"),
        (get("/", "Host: other\r\n"), "400"),
        ("GET / HTTP/1.0\r\n\r\n".into(), "200"),
        ("TRACE / HTTP/1.1\r\nHost: site\r\n\r\n".into(), "405"),
        (get("/../../../../etc/passwd", ""), "404"),
        (get("/pkg/..%2f..%2fdata/waitlist", ""), "404"),
        (get("/%2e%2e/%2e%2e/etc/passwd", ""), "404"),
        (get("//etc/passwd", ""), "404"),
        (get("/", "X: a\r\n Folded: b\r\n"), "400"),
        (get("/", "X : a\r\n"), "400"),
    ];
    for (request, status) in cases {
        let said = site.answer_to(request.as_bytes()).await;
        let said_status = said.split(' ').nth(1);
        assert_eq!(said_status, Some(status), "{request:.60}: {said:.100}");
    }
}

/// Whether a kept connection is served.
async fn is_served(stream: &mut TcpStream) -> bool {
    let request = b"GET /healthz HTTP/1.1\r\nHost: site\r\n\r\n";
    let mut answer = [0; 12];
    let asked = stream.write_all(request).await.is_ok();
    let served = asked && stream.read_exact(&mut answer).await.is_ok();
    // The rest of it.
    let mut rest = Vec::new();
    while served && !rest.ends_with(b"\r\n\r\nOK") {
        rest.push(stream.read_u8().await.expect("the rest"));
    }
    served && &answer == b"HTTP/1.1 200"
}

#[tokio::test]
async fn one_client_has_a_hundred_connections_and_a_trusted_proxy_more() {
    for (options, most) in [(&[][..], 100), (&["--trusted-proxies=127.0.0.0/8"], 150)] {
        let site = Site::with(options).await;
        let mut served = Vec::new();
        for _ in 0..most {
            let mut stream = site.connect().await;
            assert!(is_served(&mut stream).await, "{options:?}");
            served.push(stream);
        }
        let one_more = is_served(&mut site.connect().await).await;
        assert_eq!(one_more, !options.is_empty());
        drop(served.pop());
        // Its place is free once the server has seen it go.
        timeout(FOR_EVER, async {
            while !is_served(&mut site.connect().await).await {}
        })
        .await
        .expect("there is a place");
        assert!(
            is_served(&mut served[0]).await,
            "the others are as they were"
        );
    }
}

#[tokio::test]
async fn when_all_places_are_taken_the_next_waits_for_one() {
    let site = Site::with(&["--max-connections=2"]).await;
    let (mut first, mut second) = (site.connect().await, site.connect().await);
    assert!(is_served(&mut first).await && is_served(&mut second).await);
    let mut third = site.connect().await;
    let mut waiting = tokio::spawn(async move { is_served(&mut third).await });
    for _ in 0..20 {
        assert!(is_served(&mut first).await);
        assert!(!waiting.is_finished());
    }
    drop(second);
    let served = timeout(FOR_EVER, &mut waiting)
        .await
        .expect("its turn comes");
    assert!(served.expect("no panic"));
}
