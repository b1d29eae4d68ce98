//! Builds the site's files into the program: the wasm host of the islands by cargo and wasm-bindgen, the scripts, styles
//! and public files by `islands/build/build.mjs`.
//!
//! Every build has the same files, whether cargo, cargo-leptos or a test starts it, except that of `cargo leptos watch`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use wasm_bindgen_cli_support::Bindgen;

/// `cargo leptos watch` sets it. Then the files are neither minified nor compressed, and the program builds them again
/// after a change (`src/server/site_files.rs`).
const WATCH: &str = "LEPTOS_WATCH";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rustc-env=LANDING_VERSION={}", version());
    println!("cargo::rerun-if-env-changed={WATCH}");
    // `public` and `style` as a whole: a new file in them is part of the site. npm writes the last one when it has installed.
    for source in [
        "build.rs",
        "Cargo.lock",
        "Cargo.toml",
        "public",
        "style",
        "islands/node_modules/.package-lock.json",
    ] {
        println!("cargo::rerun-if-changed={source}");
    }
    watch_sources(Path::new("islands"));
    let host = out.join("host");
    build_host(&out, &host);
    let site = out.join("site");
    let is_watching = env::var_os(WATCH).is_some();
    if is_watching {
        println!("cargo::rustc-env=LANDING_WATCHED_BUILD={}", out.display());
    }
    let mut build = Command::new("node");
    build.arg("islands/build/build.mjs");
    build.args(is_watching.then_some("--dev"));
    run(build.arg(&host).arg(&site));
    fs::write(out.join("site.rs"), file_table(&site)).expect("OUT_DIR is writable");
    fs::write(out.join("islands_copy.rs"), islands_copy()).expect("OUT_DIR is writable");
}

/// Returns the version, and the commit if this is the build of a package.
fn version() -> String {
    println!("cargo::rerun-if-env-changed=LANDING_COMMIT");
    let version = env!("CARGO_PKG_VERSION");
    match env::var("LANDING_COMMIT") {
        Ok(commit) if !commit.is_empty() => format!("{version} ({commit})"),
        _ => version.to_owned(),
    }
}

/// Makes cargo build the program again after a change of a file, but not of a test. A new island is noticed by its style.
fn watch_sources(path: &Path) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_test = name.contains(".test.") || ["test", "vitest.config.ts"].contains(&&*name);
    if is_test || name == "node_modules" {
        return;
    }
    if path.is_dir() {
        sorted_entries(path).iter().for_each(|it| watch_sources(it));
    } else {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Compiles the wasm host, and writes its glue for the browser beside it.
fn build_host(out: &Path, host: &Path) {
    // Another directory than that of this build, which cargo has locked. cargo-leptos uses it too. It is shared by all
    // profiles: the host is always built for production.
    let target = out
        .ancestors()
        .nth(4)
        .expect("target/PROFILE/build/NAME/out");
    let front = target.join("front");
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    cargo.args(["build", "--quiet", "--locked", "--package", "island-host"]);
    cargo.args(["--profile", "wasm-release", "--target", WASM_TARGET]);
    cargo.arg("--target-dir").arg(&front);
    // They are meant for programs of this machine, or come from clippy.
    for variable in [
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTFLAGS",
        "RUSTC_WORKSPACE_WRAPPER",
    ] {
        cargo.env_remove(variable);
    }
    run(&mut cargo);
    let wasm = front
        .join(WASM_TARGET)
        .join("wasm-release/island_host.wasm");
    let mut bindgen = Bindgen::new();
    let bindgen = bindgen.input_path(wasm).out_name("host").typescript(false);
    let bindgen = bindgen.omit_default_module_path(true).web(true);
    let written = bindgen.and_then(|bindgen| bindgen.generate(host));
    written.expect("the host is a module of the same version of wasm-bindgen");
}

const WASM_TARGET: &str = "wasm32-unknown-unknown";

fn run(command: &mut Command) {
    let status = command
        .status()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}; run `.ci/setup`"));
    assert!(
        status.success(),
        "{command:?} failed: see above; run `.ci/setup` if a tool or a package is missing"
    );
}

/// Returns the Rust source of a table of the files: URL path, content, gzip, brotli. `src/server/assets.rs` includes
/// it. Its paths are relative to OUT_DIR, so that the repository can be moved.
///
/// # Panics
///
/// If a name has a character that a URL would have to encode: the server compares paths byte by byte.
fn file_table(site: &Path) -> String {
    let mut rows = String::new();
    for file in files(&site.join("files")) {
        let path = file.strip_prefix(site).expect("a file of the site");
        let path = path.to_string_lossy();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._".contains(&byte);
        assert!(
            path.bytes().all(is_plain),
            "{path:?} of the site: rename it to ASCII letters, digits, '-', '.' and '_'"
        );
        let mut compressed_from = [".gz", ".br"]
            .into_iter()
            .filter_map(|it| path.strip_suffix(it));
        if compressed_from.any(|it| site.join(it).exists()) {
            continue;
        }
        let include = |suffix: &str| format!("include_bytes!(\"site/{path}{suffix}\")");
        let compressed = |suffix: &str| match site.join(format!("{path}{suffix}")).exists() {
            true => format!("Some({})", include(suffix)),
            false => "None".to_owned(),
        };
        let (gzip, brotli) = (compressed(".gz"), compressed(".br"));
        let url_path = path.trim_start_matches("files");
        rows += &format!("    ({url_path:?}, {}, {gzip}, {brotli}),\n", include(""));
    }
    format!(
        "const SITE: &str = include_str!(\"site/site.json\");\n\
         type SiteFile = (&'static str, &'static [u8], Option<&'static [u8]>, Option<&'static [u8]>);\n\
         static FILES: &[SiteFile] = &[\n{rows}];\n"
    )
}

/// Returns a constant for each text of the islands, so that the server can use the same texts. `src/copy/islands.rs` includes them.
fn islands_copy() -> String {
    let folders = sorted_entries(Path::new("islands")).into_iter();
    let modules = folders.filter_map(|folder| {
        let json = fs::read_to_string(folder.join("copy.json")).ok()?;
        let copy: serde_json::Value = serde_json::from_str(&json).expect("copy.json is JSON");
        let texts = copy.as_object().into_iter().flatten();
        let texts = texts.filter_map(|(name, text)| Some((name, text.as_str()?)));
        let texts: String = texts
            .map(|(name, text)| format!("#[doc = {text:?}]\npub const {name}: &str = {text:?};\n"))
            .collect();
        let island = folder.file_name()?.to_string_lossy().replace('-', "_");
        Some(format!(
            "/// `{}`\npub mod {island} {{\n{texts}}}\n",
            folder.join("copy.json").display()
        ))
    });
    modules.collect()
}

/// Returns the files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = sorted_entries(directory).into_iter();
    let found = entries.flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    found.collect()
}

fn sorted_entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
