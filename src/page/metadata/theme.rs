//! The colours of the style sheet, for the places that CSS does not reach.
//!
//! A test compares them with `style/tokens.css`.

/// The page's colour schemes, as the value of `color-scheme`.
pub(crate) const COLOR_SCHEMES: &str = "light dark";

/// The background of the page in each scheme: `--paper` in sRGB.
pub(crate) const PAPER: [(&str, &str); 2] = [("light", "#faf9f4"), ("dark", "#0f1015")];
