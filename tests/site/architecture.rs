//! Enforces the layers of the code: which modules and libraries a module may use, and that no modules import each other in a
//! circle.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;
use syn::{UseTree, visit::Visit};

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

/// The path of a module in this crate.
type Module = Vec<String>;

/// A module, without those below it.
struct Source {
    code: String,
    /// The modules that it names.
    imports: BTreeSet<Module>,
}

/// Returns the modules of `src`. A `mod.rs` is the module of its folder.
fn read_modules() -> BTreeMap<Module, Source> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let prefix = format!("{}/", folder.display());
    let files = source_files(&folder, &[".rs"]).into_iter();
    let files: BTreeMap<_, _> = files
        .map(|(path, code)| {
            let name = path.trim_start_matches(&prefix).trim_end_matches(".rs");
            let name = name.trim_end_matches("/mod").split('/');
            let module = name.filter(|it| *it != "lib").map(str::to_owned);
            (module.collect::<Module>(), code)
        })
        .collect();
    let sources = files.iter().map(|(module, code)| {
        let mut paths = Paths::default();
        paths.visit_file(&syn::parse_file(code).expect("valid Rust"));
        let imports = paths.0.iter();
        let imports = imports.filter_map(|path| target(module, path, &files));
        let (code, imports) = (code.clone(), imports.collect());
        (module.clone(), Source { code, imports })
    });
    sources.collect()
}

/// Collects the paths that a file names.
#[derive(Default)]
struct Paths(Vec<Vec<String>>);

impl Paths {
    fn add_tree(&mut self, prefix: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_tree(&with(&path.ident), &path.tree),
            UseTree::Name(name) => self.0.push(with(&name.ident)),
            UseTree::Rename(rename) => self.0.push(with(&rename.ident)),
            UseTree::Glob(_) => self.0.push(prefix.to_vec()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(prefix, tree);
                }
            }
        }
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.add_tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments = path.segments.iter().map(|it| it.ident.to_string());
        self.0.push(segments.collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, used: &'a syn::Macro) {
        let path = Regex::new(r"\bcrate( :: \w+)+").expect("valid");
        let tokens = used.tokens.to_string();
        let paths = path.find_iter(&tokens).map(|it| it.as_str().split(" :: "));
        self.0
            .extend(paths.map(|it| it.map(str::to_owned).collect()));
    }
}

/// Returns the module that a path of a module leads to, if it leads into this crate.
fn target(module: &Module, path: &[String], modules: &BTreeMap<Module, String>) -> Option<Module> {
    let (mut base, mut rest) = (module.clone(), path);
    while let Some((first, others)) = rest.split_first() {
        match &**first {
            "crate" => base.clear(),
            "self" => {}
            "super" => drop(base.pop()),
            _ => break,
        }
        rest = others;
    }
    let is_relative = rest.len() == path.len();
    let mut found = base;
    for name in rest {
        let below = [&found[..], std::slice::from_ref(name)].concat();
        if !modules.contains_key(&below) {
            break;
        }
        found = below;
    }
    // A library, or an item of this file.
    (!is_relative || found != *module).then_some(found)
}

/// Returns the number of a module's layer.
fn layer(module: &Module) -> usize {
    let name = &*module[0];
    let layer = LAYERS.iter().position(|it| it.contains(&name));
    layer.unwrap_or_else(|| panic!("{name} is in no layer"))
}

#[test]
fn modules_use_no_layer_above_their_own() {
    let mut modules = read_modules();
    // It declares all others.
    modules.remove(&Module::new());
    for (module, source) in &modules {
        for used in source.imports.iter().filter(|it| !it.is_empty()) {
            assert!(layer(module) <= layer(used), "{module:?} uses {used:?}");
        }
    }
}

#[test]
fn modules_use_no_forbidden_module_or_library() {
    let modules = read_modules();
    for (name, forbidden) in FORBIDDEN {
        let parent: Vec<_> = name.split('/').map(str::to_owned).collect();
        let sources = modules.iter().filter(|(it, _)| it.starts_with(&parent));
        assert!(sources.clone().count() > 0, "no module {name}");
        for (module, source) in sources {
            for word in forbidden {
                let is_used = match word.strip_prefix("crate::") {
                    Some(other) => {
                        let mut used = source.imports.iter();
                        used.any(|it| it.first().is_some_and(|it| it == other))
                    }
                    None => {
                        let library = Regex::new(&format!(r"\b{word}")).expect("valid");
                        library.is_match(&source.code)
                    }
                };
                assert!(!is_used, "{module:?} uses {word}");
            }
        }
    }
}

/// A `mod.rs` may use the modules below it, which it declares.
#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut imports = read_modules();
    for (module, source) in &mut imports {
        source.imports.retain(|target| !target.starts_with(module));
    }
    let count: usize = imports.values().map(|it| it.imports.len()).sum();
    assert!(count > 300, "only {count} imports were found");
    // A module is in no circle if it imports none of the others, or none of them imports it.
    while let Some(module) = imports
        .iter()
        .find(|(module, source)| {
            let mut targets = source.imports.iter();
            targets.all(|target| !imports.contains_key(target))
                || !imports.values().any(|it| it.imports.contains(*module))
        })
        .map(|(module, _)| module.clone())
    {
        imports.remove(&module);
    }
    let in_circles: Vec<_> = imports
        .iter()
        .flat_map(|(module, source)| source.imports.iter().map(move |target| (module, target)))
        .filter(|(_, target)| imports.contains_key(*target))
        .map(|(module, target)| format!("{} -> {}", module.join("::"), target.join("::")))
        .collect();
    assert!(in_circles.is_empty(), "{in_circles:#?}");
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
