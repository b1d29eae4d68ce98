//! The part of a page's head that decides what the page loads, and when: the fonts and the boot script.

use leptos::prelude::*;

use super::{Files, metadata::MANIFEST_PATH};

/// The script in the head (`islands/head.ts`), and what it loads.
///
/// The preload links and the boot script are in templates. Otherwise the browser would request the files before the
/// script runs, and on a slow line they delay the first paint.
pub(super) fn loader(files: &Files, has_islands: bool) -> impl IntoView + use<> {
    let font_links = || -> Vec<_> {
        let paths = files.font_paths.iter();
        paths.map(|path| preload_font(path)).collect()
    };
    view! {
        <template id="fonts">{font_links()}</template>
        {has_islands.then(|| view! { <template id="boot">{boot_script(files)}</template> })}
        <script inner_html=files.head_script.clone()></script>
        <noscript>{font_links()}</noscript>
    }
}

/// Preloads a font. `style/fonts.mjs` puts the fonts that phones do not need into `/fonts/wide/`, and explains
/// why.
fn preload_font(path: &str) -> impl IntoView + use<> {
    let media = path
        .starts_with("/fonts/wide/")
        .then_some("(width >= 45rem)");
    let href = path.to_owned();
    view! {
        <link rel="preload" href=href r#as="font" type="font/woff2" media=media crossorigin/>
    }
}

/// Loads the islands.
fn boot_script(files: &Files) -> impl IntoView + use<> {
    view! {
        <script
            type="module"
            async
            fetchpriority="low"
            src=files.boot_path.clone()
            data-host=files.host_js_path.clone()
            data-wasm=files.host_wasm_path.clone()
            data-manifest=files.hashed_path(MANIFEST_PATH).to_owned()
        ></script>
    }
}
