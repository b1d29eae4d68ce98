//! Builds the islands into the program, and gives the program and the wasm host the same build id.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

/// The sources of the site's files: the styles, the public files and the wasm host.
const SITE_SOURCES: [&str; 7] = [
    "Cargo.lock",
    "Cargo.toml",
    "public",
    "style",
    "src/island_host.rs",
    "src/lib.rs",
    "src/wire.rs",
];

/// Set by `make watch`: the directory from which the server reads the islands while it watches.
const ISLANDS_DIR: &str = "LANDING_ISLANDS_DIR";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::rustc-env=LANDING_BUILD=landing-build-{:016x}",
        site_build_id()
    );
    // The wasm host does not contain them.
    if env::var_os("CARGO_FEATURE_SSR").is_some() {
        println!("cargo::rustc-env=LANDING_VERSION={}", version());
        build_islands(&PathBuf::from(
            env::var_os("OUT_DIR").expect("cargo sets it"),
        ));
    }
}

/// Returns the version, and the commit if the Makefile knows it.
fn version() -> String {
    println!("cargo::rerun-if-env-changed=LANDING_COMMIT");
    let version = env!("CARGO_PKG_VERSION");
    match env::var("LANDING_COMMIT") {
        Ok(commit) if !commit.is_empty() => format!("{version} ({commit})"),
        _ => version.to_owned(),
    }
}

/// Returns an id that is equal in the wasm host and in the program if both come from one build.
fn site_build_id() -> u64 {
    let mut hasher = DefaultHasher::new();
    for source in SITE_SOURCES {
        println!("cargo::rerun-if-changed={source}");
        hash_path(Path::new(source), &mut hasher);
    }
    hasher.finish()
}

fn hash_path(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_dir() {
        for entry in sorted_entries(path) {
            hash_path(&entry, hasher);
        }
    } else {
        path.hash(hasher);
        fs::read(path).unwrap_or_default().hash(hasher);
    }
}

/// Runs `islands/build/build.mjs`, unless the islands have not changed since its last run.
fn build_islands(out_dir: &Path) {
    println!("cargo::rerun-if-env-changed={ISLANDS_DIR}");
    let is_debug = env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    let is_watching = is_debug && env::var_os(ISLANDS_DIR).is_some();
    let mut hasher = DefaultHasher::new();
    is_watching.hash(&mut hasher);
    // This script writes their table.
    hash_path(Path::new("build.rs"), &mut hasher);
    // Entry by entry: for the whole folder, cargo would scan node_modules at each build.
    for entry in sorted_entries(Path::new("islands")) {
        if !entry.ends_with("node_modules") {
            println!("cargo::rerun-if-changed={}", entry.display());
            hash_path(&entry, &mut hasher);
        }
    }
    // This script also runs after a change of the styles, and a build of the islands takes seconds.
    let hash = format!("{:016x}", hasher.finish());
    let hash_file = out_dir.join("islands.hash");
    if fs::read_to_string(&hash_file).is_ok_and(|built| built == hash) {
        return;
    }
    // If the build below fails, the next one must not take its output for complete.
    let _ = fs::remove_file(&hash_file);

    let islands = out_dir.join("islands");
    let status = Command::new("node")
        .arg("islands/build/build.mjs")
        // While it watches, the server uses the islands in this build only until it finds newer ones.
        .args(is_watching.then_some("--dev"))
        .arg(&islands)
        .status();
    let is_built = status.is_ok_and(|status| status.success());
    assert!(
        is_built,
        "building the islands failed: see above, or run `make setup` if npm packages are missing"
    );
    let table = island_table(&islands.join("assets"));
    fs::write(out_dir.join("islands.rs"), table).expect("OUT_DIR is writable");
    fs::write(hash_file, hash).expect("OUT_DIR is writable");
}

/// Returns the Rust source of a table of the scripts: name, content, gzip, brotli. And of the script in the head.
/// `src/server/assets.rs` includes it. Its paths are relative to it, so that the repository can be moved.
fn island_table(assets: &Path) -> String {
    let mut rows = String::new();
    let mut boot_script = String::new();
    for path in sorted_entries(assets) {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !name.ends_with(".js") {
            continue;
        }
        if name.starts_with("boot-") {
            boot_script.clone_from(&name);
        }
        let include = |suffix: &str| {
            format!(
                "include_bytes!({:?})",
                format!("islands/assets/{name}{suffix}")
            )
        };
        rows += &format!(
            "    ({name:?}, {}, {}, {}),\n",
            include(""),
            include(".gz"),
            include(".br")
        );
    }
    assert!(
        !boot_script.is_empty(),
        "islands/build/build.mjs wrote no boot script"
    );
    format!(
        "const BOOT_SCRIPT: &str = {boot_script:?};\n\
         const HEAD_SCRIPT: &str = include_str!(\"islands/head.js\");\n\
         type IslandFile = (&'static str, &'static [u8], &'static [u8], &'static [u8]);\n\
         static ISLAND_FILES: &[IslandFile] = &[\n{rows}];\n"
    )
}

fn sorted_entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
