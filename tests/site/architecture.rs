//! Who may use whom: the layers of the code, held.

use std::{fs, path::Path};

/// What the files of a module may never name, from the bottom layer up. A module is a file or a
/// folder of `src`.
const NEVER: [(&str, &[&str]); 11] = [
    (
        "copy",
        &["crate::", "leptos", "axum", "sled", "clap", "tokio"],
    ),
    (
        "wire",
        &[
            "crate::app",
            "crate::server",
            "crate::waitlist",
            "leptos",
            "axum",
            "sled",
        ],
    ),
    (
        "config",
        &[
            "crate::app",
            "crate::server",
            "crate::waitlist",
            "leptos",
            "axum",
            "sled",
        ],
    ),
    ("waitlist", &["axum", "leptos", "crate::", "clap"]),
    (
        "island",
        &[
            "crate::waitlist",
            "crate::server",
            "crate::api",
            "crate::config",
            "axum",
        ],
    ),
    (
        "sections",
        &[
            "crate::waitlist",
            "crate::server",
            "crate::api",
            "crate::config",
            "axum",
        ],
    ),
    (
        "app",
        &[
            "crate::waitlist",
            "crate::server",
            "crate::api",
            "crate::config",
            "axum",
        ],
    ),
    ("api", &["sled", "Sled", "postgres", "clap", "crate::cli"]),
    (
        "server",
        &["sled", "Sled", "postgres", "clap", "crate::cli"],
    ),
    (
        "host",
        &["leptos", "crate::app", "crate::copy", "crate::config"],
    ),
    ("main", &["leptos", "axum", "sled"]),
];

/// The files of `folder` with their code, comments left out.
fn code(folder: &Path, extensions: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        if path.ends_with("node_modules") {
            continue;
        }
        if path.is_dir() {
            found.extend(code(&path, extensions));
        } else if extensions
            .iter()
            .any(|end| path.to_string_lossy().ends_with(end))
        {
            let text = fs::read_to_string(&path).expect("readable");
            let lines = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            found.push((
                path.display().to_string(),
                lines.collect::<Vec<_>>().join("\n"),
            ));
        }
    }
    found
}

/// Whether `name` stands in `code` as a word of its own.
fn names(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[test]
fn a_module_uses_only_what_lies_below_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = code(&source, &[".rs"]);
    for (module, never) in NEVER {
        let file = source.join(format!("{module}.rs")).display().to_string();
        let folder = source.join(module).display().to_string() + "/";
        let of_module = files
            .iter()
            .filter(|(path, _)| *path == file || path.starts_with(&folder));
        let mut seen = 0;
        for (path, code) in of_module {
            seen += 1;
            for name in never {
                assert!(!names(code, name), "{path} names {name}");
            }
        }
        assert!(
            seen > 0,
            "there is no module {module}; the table is out of date"
        );
    }
}

#[test]
fn an_island_uses_no_other_island_and_neither_boot_nor_registry() {
    let islands = Path::new(env!("CARGO_MANIFEST_DIR")).join("islands");
    for folder in ["demo-terminal", "waitlist-form", "contact-links", "toaster"] {
        for (path, code) in code(&islands.join(folder), &[".ts", ".tsx"]) {
            for line in code.lines().filter(|line| line.contains(" from \"..")) {
                let allowed = ["bindings/", "query", "toast-store", "visible", "test/"];
                let from = line.rsplit("../").next().unwrap_or_default();
                assert!(
                    allowed.iter().any(|name| from.starts_with(name)),
                    "{path}: {line}"
                );
            }
        }
    }
}

#[test]
fn the_end_to_end_tests_know_the_site_only_from_outside() {
    let end2end = Path::new(env!("CARGO_MANIFEST_DIR")).join("end2end");
    for (path, code) in code(&end2end, &[".ts"]) {
        for name in ["/src/", "/islands/"] {
            assert!(
                !code.contains(&format!("..{name}")),
                "{path} imports from {name}"
            );
        }
    }
}
