//! The style sheets: all raw values are tokens, and the colours of the browser's own bars are those of the page.

use std::{fs, path::Path};

use regex::Regex;
use serde_json::Value;

use crate::test_site::TestSite;

/// Returns the style sheets by name, without comments.
fn sheets() -> Vec<(String, String)> {
    let comment = Regex::new(r"(?s)/\*.*?\*/").expect("valid");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("style");
    let files = fs::read_dir(folder).expect("readable").flatten();
    files
        .map(|file| {
            let css = fs::read_to_string(file.path()).expect("readable");
            let name = file.file_name().to_string_lossy().into_owned();
            (name, comment.replace_all(&css, "").into_owned())
        })
        .collect()
}

/// Returns the declarations of a sheet, without the conditions of at-rules, in which custom properties are
/// not allowed.
fn declarations(css: &str) -> Vec<String> {
    let condition = Regex::new(r"(?s)@(media|container|import|layer)[^{;]*[{;]").expect("valid");
    let declaration = Regex::new(r"(?s)[\w-]+\s*:\s[^;{}]*;").expect("valid");
    let css = condition.replace_all(css, "");
    declaration
        .find_iter(&css)
        .map(|found| found.as_str().into())
        .collect()
}

/// Matches the values that only tokens may have: absolute and viewport lengths, times, colours, opacities and
/// type settings. (`em`, `ch`, `fr` and percent are relative to the element itself.)
fn raw_value() -> Regex {
    Regex::new(
        r"(?ix) \d(px|pt|rem|vw|vi|vh|ms|s)\b | \#[0-9a-f]{3,8}\b
        | \b(oklch|oklab|lch|lab|rgba?|hsla?|hwb|color|color-mix|light-dark|cubic-bezier|steps)\(
        | \b(line-height|letter-spacing|font-weight):\s*-?[\d.]*[1-9]\d*(em)?;
        | \bopacity:\s*0?\.\d+;
        | [\s,(](white|black|gr[ae]y|red|green|blue|canvas|canvastext)[\s,;)]",
    )
    .expect("valid")
}

#[test]
fn recognises_raw_values() {
    for css in [
        "margin: 2px;",
        "margin: calc(1rem + 3em);",
        "transition: opacity 0.2s;",
        "color: #fff;",
        "color: oklch(50% 0 0);",
        "border: var(--hair) solid black;",
        "line-height: 1.4;",
        "letter-spacing: -0.02em;",
        "opacity: 0.62;",
    ] {
        assert!(raw_value().is_match(css), "{css}");
    }
    for css in [
        "margin: 0.5em;",
        "padding: 0 0 2ch 100%;",
        "color: var(--white);",
        "transition: opacity var(--quick);",
        "white-space: nowrap;",
        "opacity: 0;",
        "line-height: var(--leading-snug);",
        "grid-template: 1fr auto / 1fr;",
    ] {
        assert!(!raw_value().is_match(css), "{css}");
    }
}

#[test]
fn colours_sizes_and_durations_are_tokens() {
    let sheets = sheets();
    assert!(sheets.len() > 15, "the sheets are found");
    for (name, css) in sheets {
        // `fonts.css` is generated and holds the metrics of the fonts.
        if name == "tokens.css" || name == "fonts.css" {
            continue;
        }
        for declaration in declarations(&css) {
            assert!(
                !raw_value().is_match(&declaration),
                "{name}: {declaration} belongs in tokens.css"
            );
        }
    }
}

#[test]
fn tokens_are_declared_and_used() {
    let all: String = sheets().into_iter().map(|(_, css)| css).collect();
    let names = |pattern: &str| -> Vec<String> {
        let regex = Regex::new(pattern).expect("valid");
        let mut found: Vec<String> = regex
            .captures_iter(&all)
            .map(|name| name[1].into())
            .collect();
        found.sort();
        found.dedup();
        // Radix declares these.
        found.retain(|name| !name.starts_with("--radix"));
        found
    };
    assert_eq!(
        names(r"(--[\w-]+)\s*:"),
        names(r"var\((--[\w-]+)"),
        "declared on the left, used on the right"
    );
}

/// Returns the values of a colour in sRGB, light and dark.
fn colours(name: &str) -> [String; 2] {
    let tokens = include_str!("../../style/tokens.css");
    let colour = r"\w+\([^)]+\)|#\w+";
    let colours = format!(r"--{name}:\s*light-dark\(\s*({colour}),\s*({colour})");
    let colours = Regex::new(&colours).expect("valid").captures(tokens);
    let colours = colours.expect("a colour");
    [1, 2].map(|scheme| {
        let colour = csscolorparser::parse(&colours[scheme]).expect("a colour");
        let [red, green, blue, _] = colour.to_rgba8();
        format!("#{red:02x}{green:02x}{blue:02x}")
    })
}

#[test]
fn messages_have_the_colours_of_the_page() {
    let html = include_str!("../../src/mail/template/html.rs");
    let known = ["paper", "ink", "muted", "line"].map(colours).concat();
    for other in Regex::new("#[0-9a-f]{6}").expect("valid").find_iter(html) {
        assert!(known.iter().any(|it| it == other.as_str()), "{other:?}");
    }
}

#[tokio::test]
async fn theme_colour_matches_the_page_background() {
    let [light, dark] = colours("paper");
    let site = TestSite::start().await;
    let nothing = site.get("/nothing").send().await.expect("a response");
    for page in [site.page().await, nothing.text().await.expect("text")] {
        for (scheme, colour) in [("light", &light), ("dark", &dark)] {
            let meta = format!(
                "<meta name=\"theme-color\" content=\"{colour}\" media=\"(prefers-color-scheme: {scheme})\">"
            );
            assert!(page.contains(&meta), "{meta}: {page}");
        }
    }
    // As in `http/head.txt`.
    let tokens = include_str!("../../style/tokens.css");
    assert!(tokens.contains("color-scheme: light dark;"));
    let manifest = site.get_text("/site.webmanifest").await;
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["theme_color"], light);
    assert_eq!(manifest["background_color"], light);
}
