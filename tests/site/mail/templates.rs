//! The text of messages. `send-templates.txt` of the commands has their front matter and their errors.

use landing::mail::{Placeholders, RenderedMessage, Template};

const UNSUBSCRIBE: &str = "https://steward.example/unsubscribe/abc";

const VALUES: Placeholders<'_> = Placeholders {
    product: "Steward",
    invite_link: "https://steward.example/?ref=invite-0123456789abcdef",
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
