//! Builds the islands into the program, and marks the two halves of a build.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

/// What the files of the site are made from.
const SITE_SOURCES: [&str; 7] = [
    "Cargo.lock",
    "Cargo.toml",
    "public",
    "style",
    "src/island_host.rs",
    "src/lib.rs",
    "src/wire.rs",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::rustc-env=LANDING_BUILD=landing-build-{:016x}",
        hash_of_site_sources()
    );
    // The browser's half is compiled without them.
    if env::var_os("CARGO_FEATURE_SSR").is_some() {
        build_islands(&PathBuf::from(
            env::var_os("OUT_DIR").expect("cargo sets it"),
        ));
    }
}

/// The same number in the wasm host and in the program when both are of one build.
fn hash_of_site_sources() -> u64 {
    let mut hasher = DefaultHasher::new();
    for source in SITE_SOURCES {
        println!("cargo::rerun-if-changed={source}");
        hash(Path::new(source), &mut hasher);
    }
    hasher.finish()
}

fn hash(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_dir() {
        sorted(path).iter().for_each(|entry| hash(entry, hasher));
    } else {
        path.hash(hasher);
        fs::read(path).unwrap_or_default().hash(hasher);
    }
}

fn build_islands(out: &Path) {
    // Not the whole folder: cargo would look through node_modules each time.
    for entry in sorted(Path::new("islands")) {
        if !entry.ends_with("node_modules") {
            println!("cargo::rerun-if-changed={}", entry.display());
        }
    }
    let islands = out.join("islands");
    let built = Command::new("node")
        .arg("islands/build.mjs")
        .arg(&islands)
        .status();
    let built = built.is_ok_and(|status| status.success());
    assert!(
        built,
        "the islands can't be built; see above, and run `make setup` if npm packages are missing"
    );
    fs::write(out.join("islands.rs"), table(&islands.join("assets"))).expect("OUT_DIR is writable");
}

/// The scripts as a table for `server/assets.rs`: name, bytes, gzip, brotli.
fn table(assets: &Path) -> String {
    let mut rows = String::new();
    let mut boot = String::new();
    for path in sorted(assets) {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !name.ends_with(".js") {
            continue;
        }
        if name.starts_with("boot-") {
            boot.clone_from(&name);
        }
        let include = |suffix: &str| {
            format!(
                "include_bytes!({:?})",
                format!("{}{suffix}", path.display())
            )
        };
        rows += &format!(
            "    ({name:?}, {}, {}, {}),\n",
            include(""),
            include(".gz"),
            include(".br")
        );
    }
    assert!(!boot.is_empty(), "islands/build.mjs made no boot script");
    format!(
        "const BOOT: &str = {boot:?};\n\
         type IslandFile = (&'static str, &'static [u8], &'static [u8], &'static [u8]);\n\
         static ISLANDS: &[IslandFile] = &[\n{rows}];\n"
    )
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
