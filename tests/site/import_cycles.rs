//! Enforces that no modules of `src` import each other in a circle.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use syn::{UseTree, visit::Visit};

/// The path of a module in this crate.
type Module = Vec<String>;

/// Adds the modules below a folder, with their parsed files. A `mod.rs` is the module of its folder.
fn read_modules(folder: &Path, module: &[String], modules: &mut BTreeMap<Module, syn::File>) {
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        let below = [module, &[name.clone().into_owned()]].concat();
        if path.is_dir() {
            read_modules(&path, &below, modules);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let module = match &*name {
                "mod" | "lib" => module.to_vec(),
                _ => below,
            };
            let code = fs::read_to_string(&path).expect("readable");
            modules.insert(module, syn::parse_file(&code).expect("valid Rust"));
        }
    }
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
}

/// Returns the module that a path of a module leads to, if it leads into this crate.
fn target(
    module: &Module,
    path: &[String],
    modules: &BTreeMap<Module, syn::File>,
) -> Option<Module> {
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

/// A `mod.rs` may use the modules below it, which it declares.
#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut modules = BTreeMap::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    read_modules(&source, &[], &mut modules);
    modules.remove(&vec!["main".to_owned()]);
    let mut imports: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, file) in &modules {
        let mut paths = Paths::default();
        paths.visit_file(file);
        let targets = paths.0.iter();
        let targets = targets.filter_map(|path| target(module, path, &modules));
        let targets = targets.filter(|target| !target.starts_with(module));
        imports.insert(module, targets.collect());
    }
    let count: usize = imports.values().map(BTreeSet::len).sum();
    assert!(count > 300, "only {count} imports were found");
    // A module is in no circle if it imports none of the others, or none of them imports it.
    while let Some(module) = imports
        .iter()
        .find(|(module, targets)| {
            targets.iter().all(|target| !imports.contains_key(target))
                || !imports.values().any(|targets| targets.contains(**module))
        })
        .map(|(module, _)| *module)
    {
        imports.remove(module);
    }
    let in_circles: Vec<_> = imports
        .iter()
        .flat_map(|(module, targets)| targets.iter().map(move |target| (module, target)))
        .filter(|(_, target)| imports.contains_key(target))
        .map(|(module, target)| format!("{} -> {}", module.join("::"), target.join("::")))
        .collect();
    assert!(in_circles.is_empty(), "{in_circles:#?}");
}
