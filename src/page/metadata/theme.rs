//! The colours of the style sheet, for the places that CSS does not reach. They are read from `style/tokens.css`, so
//! they are defined only once.

use csscolorparser::parse_colors;

const TOKENS: &str = include_str!("../../../style/tokens.css");

/// Returns the page's colour schemes, as the value of `color-scheme`.
pub(crate) fn color_schemes() -> &'static str {
    declared_value(TOKENS, "color-scheme").expect(TOKENS_FORMAT)
}

/// Returns the background colour in the light and in the dark scheme, as `#rrggbb`.
///
/// # Panics
/// If the tokens have an unexpected format. They are compiled into the program, so a tested build never panics.
pub(crate) fn paper_colours() -> [(&'static str, String); 2] {
    let [light, dark] = light_dark(TOKENS, "--paper").expect(TOKENS_FORMAT);
    [("light", light), ("dark", dark)]
}

const TOKENS_FORMAT: &str =
    "style/tokens.css declares color-scheme, and --paper as light-dark(…, …)";

/// Returns both colours of a token that is declared as `light-dark(…, …)`.
fn light_dark(css: &str, token: &str) -> Option<[String; 2]> {
    let value = declared_value(css, token)?;
    let colours = value.strip_prefix("light-dark(")?.strip_suffix(')')?;
    let colours: Result<Vec<_>, _> = parse_colors(colours).collect();
    let hex = colours.ok()?.into_iter().map(|colour| colour.to_string());
    hex.collect::<Vec<_>>().try_into().ok()
}

/// Returns the value of the first declaration of a property.
fn declared_value<'a>(css: &'a str, property: &str) -> Option<&'a str> {
    css.split([';', '{', '}'])
        // A comment may precede the declaration.
        .filter_map(|part| part.rsplit("*/").next()?.split_once(':'))
        .find_map(|(name, value)| (name.trim() == property).then_some(value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_token_declared_in_any_position_and_format() {
        let css = "/* --a: light-dark(red; */ :root {\n  color-scheme: light dark;\n  /* The \
            paper. */\n  --a: light-dark(\n    oklch(100% 0 0),\n    rgb(0, 16, 255)\n  );\n  \
            --b: var(--a) }\n@media print { :root { --a: #fff } }";
        let colours = ["#ffffff", "#0010ff"].map(str::to_owned);
        assert_eq!(light_dark(css, "--a"), Some(colours));
        assert_eq!(declared_value(css, "color-scheme"), Some("light dark"));
        assert_eq!(declared_value(css, "--b"), Some("var(--a)"));
    }

    #[test]
    fn returns_none_for_an_invalid_colour_pair() {
        for value in ["#fff", "light-dark(#fff)", "light-dark(#fff, nonsense)", ""] {
            assert_eq!(
                light_dark(&format!("--a: {value};"), "--a"),
                None,
                "{value}"
            );
        }
        assert_eq!(light_dark("--ab: light-dark(#fff, #000);", "--a"), None);
    }

    #[test]
    fn parses_the_tokens_of_this_build() {
        assert_eq!(color_schemes(), "light dark");
        for (_, colour) in paper_colours() {
            assert!(colour.len() == 7 && colour.starts_with('#'), "{colour}");
        }
    }
}
