//! Enforces the layers of the code: which modules and libraries a module may use.

use std::{
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

/// The layers from the top down, as in the table of `src/lib.rs`. A module is a file or a folder of `src`. It
/// may use modules of its layer and of the layers below.
const LAYERS: [&[&str]; 5] = [
    &["main", "cli"],
    &["server"],
    &["page", "mail"],
    &["waitlist"],
    &["copy", "wire", "config", "exit"],
];

/// The libraries that each module must not use, and modules of lower layers that it must not use either.
const FORBIDDEN: [(&str, &[&str]); 10] = [
    (
        "mail",
        &[
            "crate::page",
            "leptos",
            "axum",
            "sled",
            "tokio_postgres",
            "clap",
        ],
    ),
    ("main", &["leptos", "axum", "sled"]),
    ("cli", &["sled::", "tokio_postgres"]),
    ("cli/control", &["crate::config", "axum"]),
    ("server", &["sled", "Sled", "postgres", "clap"]),
    (
        "page",
        &["crate::waitlist", "crate::config", "axum", "sled"],
    ),
    (
        "waitlist",
        &[
            "crate::copy",
            "crate::wire",
            "crate::config",
            "leptos",
            "axum",
            "clap",
        ],
    ),
    ("copy", &["leptos", "axum", "sled", "clap", "tokio"]),
    ("wire", &["leptos", "axum", "sled", "clap", "tokio"]),
    ("config", &["leptos", "axum", "sled", "postgres", "tokio"]),
];

/// Returns the files below a folder with their code, without line comments.
fn source_files(folder: &Path, extensions: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        if path.ends_with("node_modules") {
            continue;
        }
        if path.is_dir() {
            found.extend(source_files(&path, extensions));
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

/// Returns whether `code` names a library, or a module of this crate given as `crate::module`.
fn names(code: &str, name: &str) -> bool {
    match name.strip_prefix("crate::") {
        Some("") => code.contains("crate::"),
        Some(module) => modules_used(code).iter().any(|used| used == module),
        None => Regex::new(&format!(r"\b{name}"))
            .expect("valid")
            .is_match(code),
    }
}

/// Returns the modules of this crate that `code` names, alone or in a group.
fn modules_used(code: &str) -> Vec<String> {
    let alone = Regex::new(r"\bcrate::(\w+)").expect("valid");
    let group = Regex::new(r"\bcrate::\{([^;]*)\};").expect("valid");
    let inner = Regex::new(r"\{[^{}]*\}").expect("valid");
    let mut used: Vec<String> = alone
        .captures_iter(code)
        .map(|found| found[1].into())
        .collect();
    for found in group.captures_iter(code) {
        let mut list = found[1].to_owned();
        while inner.is_match(&list) {
            list = inner.replace_all(&list, "").into_owned();
        }
        used.extend(
            list.split(',')
                .map(|item| item.trim().split("::").next().unwrap_or("").into()),
        );
    }
    used
}

#[test]
fn finds_single_and_grouped_imports() {
    let code = "use crate::{\n    app,\n    page::{Page, Site, deep::{A, b}},\n};\nuse crate::wire::Count;";
    assert_eq!(modules_used(code), ["wire", "app", "page", ""]);
}

/// Returns the files of a module with their code.
fn module_files(name: &str) -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let file = source.join(format!("{name}.rs")).display().to_string();
    let folder = source.join(name).display().to_string() + "/";
    let mut files = source_files(&source, &[".rs"]);
    files.retain(|(path, _)| *path == file || path.starts_with(&folder));
    assert!(
        !files.is_empty(),
        "no module {name}; update the tables in this file"
    );
    files
}

#[test]
fn modules_use_no_layer_above_their_own() {
    for (index, layer) in LAYERS.iter().enumerate() {
        let above: Vec<_> = LAYERS[..index].concat();
        for (path, code) in layer.iter().flat_map(|name| module_files(name)) {
            for name in &above {
                assert!(
                    !names(&code, &format!("crate::{name}")),
                    "{path} uses {name}"
                );
            }
        }
    }
}

#[test]
fn modules_use_no_forbidden_module_or_library() {
    for (name, forbidden) in FORBIDDEN {
        for (path, code) in module_files(name) {
            for word in forbidden {
                assert!(!names(&code, word), "{path} uses {word}");
            }
        }
    }
}

#[test]
fn layers_cover_every_module() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let known = [LAYERS.concat(), vec!["lib"]].concat();
    for entry in fs::read_dir(source).expect("readable").flatten() {
        let path = entry.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        assert!(known.contains(&&*name), "{name} is in no layer");
    }
}

/// Returns the folders of the islands: each has a component of its name.
fn island_folders() -> Vec<PathBuf> {
    let islands = Path::new(env!("CARGO_MANIFEST_DIR")).join("islands");
    let entries = fs::read_dir(islands).expect("readable").flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).collect();
    folders.retain(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        folder.join(format!("{name}.tsx")).is_file()
    });
    folders
}

#[test]
fn islands_import_neither_each_other_nor_boot() {
    let folders = island_folders();
    assert!(!folders.is_empty(), "no islands");
    for folder in folders {
        for (path, code) in source_files(&folder, &[".ts", ".tsx"]) {
            for line in code
                .lines()
                .filter(|line| line.contains(" from \"..") || line.contains("import(\".."))
            {
                let allowed = [
                    "bindings/",
                    "api-client",
                    "hydrate",
                    // A part of the form, which is loaded after a sign-up.
                    "invitation/",
                    "test/",
                    "toast-store",
                    "use-section-in-view",
                ];
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
fn end_to_end_tests_import_no_product_code() {
    let end2end = Path::new(env!("CARGO_MANIFEST_DIR")).join("end2end");
    for (path, code) in source_files(&end2end, &[".ts"]) {
        for name in ["/src/", "/islands/"] {
            assert!(
                !code.contains(&format!("..{name}")),
                "{path} imports from {name}"
            );
        }
    }
}
