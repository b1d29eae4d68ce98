//! The text of messages.

use landing::mail::{Placeholders, RenderedMessage, Template};

const UNSUBSCRIBE: &str = "https://steward.example/unsubscribe/abc";

const VALUES: Placeholders<'_> = Placeholders {
    product: "Steward",
    position: 42,
    unsubscribe: Some(UNSUBSCRIBE),
    postal_address: Some("Steward, 1 Main Street, Springfield"),
};

fn render(body: &str) -> RenderedMessage {
    let template = Template::parse("launch.md", &format!("---\nsubject: Hi\n---\n{body}"));
    template
        .unwrap_or_else(|error| panic!("{error}"))
        .render(&VALUES)
}

fn error(text: &str) -> String {
    let parsed = Template::parse("launch.md", text);
    parsed
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

#[test]
fn message_has_a_text_and_an_html_form() {
    let markdown = "# We are *open*\r\n\r\nYou are number {position} on the list of {product}.\r\n\
         [Create your account](https://steward.example/start).\r\n\r\n- one\n- two\n\n> quoted\n\n```\nlet {x} = <1>;\n```\n";
    let RenderedMessage { text, html, .. } = render(markdown);
    let filled = markdown
        .replace("\r\n", "\n")
        .replace("{position}", "42")
        .replace("{product}", "Steward");
    let footer = "\n\
         -- \n\
         You get this message because you joined the waitlist of Steward.\n\
         Steward, 1 Main Street, Springfield\n\
         Unsubscribe: https://steward.example/unsubscribe/abc\n";
    assert_eq!(text, filled + footer);
    for part in [
        "<title>Hi</title>",
        "<h1>We are <em>open</em></h1>",
        "You are number 42 on the list of Steward.",
        "<a href=\"https://steward.example/start\">Create your account</a>",
        "<li>one</li>",
        "let {x} = &lt;1&gt;;",
        "Steward, 1 Main Street, Springfield",
        "<a href=\"https://steward.example/unsubscribe/abc\"",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    // Nothing is loaded, and nothing reveals when the message is read.
    for part in ["src=", "<img", "url(", "<link", "<script", "@import"] {
        assert!(!html.contains(part), "{part}: {html}");
    }
}

#[test]
fn placeholders_are_filled_everywhere_and_escaped_in_html() {
    let text = "---\nsubject: Hi\n---\n{product} `{product}` [x](https://x.example/?p={product}&n={position})";
    let template = Template::parse("launch.md", text);
    let values = Placeholders {
        product: "<A> & {position}",
        ..VALUES
    };
    let template = template.unwrap_or_else(|error| panic!("{error}"));
    let RenderedMessage { text, html, .. } = template.render(&values);
    let filled =
        "<A> & {position} `<A> & {position}` [x](https://x.example/?p=<A> & {position}&n=42)";
    assert!(text.starts_with(filled), "{text}");
    let escaped = "<p>&lt;A&gt; &amp; {position} <code>&lt;A&gt; &amp; {position}</code> \
         <a href=\"https://x.example/?p=&lt;A&gt; &amp; {position}&amp;n=42\">x</a></p>";
    assert!(html.contains(escaped), "{html}");
}

#[test]
fn unsubscribe_link_is_in_the_message_once() {
    for body in ["Leave: {unsubscribe}", "[Leave]({unsubscribe})", "Hello"] {
        let RenderedMessage { text, html, .. } = render(body);
        assert_eq!(text.matches(UNSUBSCRIBE).count(), 1, "{text}");
        assert_eq!(
            html.matches(&format!("href=\"{}\"", UNSUBSCRIBE)).count(),
            1,
            "{html}"
        );
    }
}

#[test]
fn subject_and_id_are_in_the_front_matter() {
    let parse = |name: &str, text: &str| {
        let template = Template::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
        (template.id().to_string(), template.render(&VALUES).subject)
    };
    for text in [
        "---\nsubject: {product} is open\n---\nHi",
        "\u{feff}---\r\nsubject: \"{product} is open\"\r\n---\r\nHi",
        "\n\n---\n# a comment\n\nsubject:'{product} is open'\n---\nHi",
    ] {
        assert_eq!(
            parse("mail/We are open.md", text),
            ("we-are-open".into(), "Steward is open".into())
        );
    }
    for (name, id) in [
        ("news.1", "news-1"),
        ("news.1.md", "news-1"),
        ("news.txt", "news"),
    ] {
        assert_eq!(parse(name, "---\nsubject: Hi\n---\nHi").0, id);
    }
    let with_id = "---\nid: beta-2\nsubject: Hi {position}\n---\nHi";
    assert_eq!(parse("x.md", with_id), ("beta-2".into(), "Hi 42".into()));
}

#[test]
fn errors_name_the_line_and_the_remedy() {
    let with_body = |body: &str| error(&format!("---\nsubject: Hi\n---\n{body}"));
    for (message, part) in [
        (
            error("Hello"),
            "line 1: the front matter is missing; begin the file with",
        ),
        (error(""), "line 1: the front matter is missing"),
        (
            error("+++\nsubject = \"Hi\"\n+++\nHi"),
            "line 1: the front matter is missing; begin the file with",
        ),
        (
            error("---\nsubject: Hi\n"),
            "line 2: the front matter does not end",
        ),
        (
            error("---\nid: a\n---\nHi"),
            "line 3: the subject is missing",
        ),
        (
            error("---\nsubject:\n---\nHi"),
            "line 2: the subject is missing",
        ),
        (
            error("---\nsubject: Hi\nfrom: me\n---\nHi"),
            "line 3: unknown key \"from\"",
        ),
        (
            error("---\nsubject: Hi\nsubject: Ho\n---\nHi"),
            "line 3: the front matter has subject twice",
        ),
        (
            error("---\nsubject: Hi\nid: A b\n---\nHi"),
            "line 3: invalid id \"A b\"",
        ),
        (
            error("---\nsubject: Hi {name}\n---\nHi"),
            "line 2: unknown placeholder {name}; the placeholders are {product}, {position}, {unsubscribe}",
        ),
        (
            error("---\nsubject: a\u{7}b\n---\nHi"),
            "line 2: the message has control characters",
        ),
        (
            error("---\nsubject: Hi\n---\n \n"),
            "line 4: the message is empty",
        ),
        (
            error(&"x".repeat(70_000)),
            "line 1: the file is longer than 65536 bytes",
        ),
        (
            with_body("One\n\nDear {name},"),
            "line 6: unknown placeholder {name}",
        ),
        (
            with_body("Dear {First Name},"),
            "line 4: unknown placeholder {First Name}",
        ),
        (
            with_body("{{product}}"),
            "line 4: unknown placeholder {; the placeholders are",
        ),
        (
            with_body("Dear {first*name*}"),
            "line 4: unknown placeholder {; the placeholders are",
        ),
        (with_body("[a]({url})"), "line 4: unknown placeholder {url}"),
        (
            with_body("[a](https://x.example/?u={unsubscribe})"),
            "line 4: {unsubscribe} is a whole link",
        ),
        (
            with_body("[a](mailto:x@x.example?body={unsubscribe})"),
            "line 4: {unsubscribe} is a whole link",
        ),
        (
            error("---\nsubject: Hi {unsubscribe}\n---\nHi"),
            "line 2: a subject cannot have {unsubscribe}",
        ),
        (
            with_body("One\n\u{1b}[2J"),
            "line 5: the message has control characters",
        ),
        (
            with_body("One\n\nTwo&#1;three"),
            "line 6: the message has control characters",
        ),
        (
            with_body("[a]: https://x.example"),
            "line 4: the message is empty",
        ),
        (with_body("```\n```"), "line 4: the message is empty"),
        (
            with_body("![logo](https://x.example/a.png)"),
            "line 4: images are not supported",
        ),
        (
            with_body("One\n\n<b>two</b>"),
            "line 6: HTML is not supported",
        ),
        (with_body("<div>\n</div>"), "line 4: HTML is not supported"),
        (
            with_body("[a](/start)"),
            "line 4: a link must begin with https:",
        ),
        (
            with_body("[a](javascript:alert)"),
            "line 4: a link must begin with https:",
        ),
    ] {
        assert!(message.starts_with(part), "{part}: {message}");
    }
    let no_id = Template::parse("…/.md", "---\nsubject: Hi\n---\nHi");
    assert!(no_id.is_err_and(|error| error.to_string().contains("gives no id")));
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_message_or_an_error_with_a_line(body in "\\PC{0,200}", lines in proptest::collection::vec("[-> *_#`{}\\[\\]()<>!a-z0-9.\\\\]{0,20}", 0..20)) {
        let text = format!("---\nsubject: Hi\n---\n{body}\n{}", lines.join("\n"));
        match Template::parse("launch.md", &text) {
            Ok(template) => {
                let message = template.render(&VALUES);
                assert!(message.html.ends_with("</html>\n"));
                assert!(message.text.contains(UNSUBSCRIBE));
            }
            Err(error) => assert!(error.line <= text.matches('\n').count() + 1),
        }
    }
}
