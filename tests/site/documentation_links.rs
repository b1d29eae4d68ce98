//! Checks the documentation: the files and the headings of its links exist, and the files that it names. The shell reads its
//! settings.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use regex::Regex;

const PAGES: [&str; 4] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
];

#[test]
fn relative_links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages: Vec<PathBuf> = PAGES.iter().map(|page| root.join(page)).collect();
    let docs = fs::read_dir(root.join("docs")).expect("readable");
    pages.extend(docs.flatten().map(|page| page.path()));
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("valid");
    let mut links = 0;
    for page in &pages {
        let text = without_code_blocks(&fs::read_to_string(page).expect("readable"));
        for found in link.captures_iter(&text) {
            let target = &found[1];
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = match path {
                "" => page.clone(),
                path => page.parent().expect("a folder").join(path),
            };
            assert!(path.exists(), "{}: {target} does not exist", page.display());
            assert!(
                heading.is_empty() || has_heading(&path, heading),
                "{}: {target} has no such heading",
                page.display()
            );
        }
    }
    assert!(links > 50, "{links} links");
}

/// Such as the tests in `docs/security.md`.
#[test]
fn named_files_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = Regex::new(r"`([\w./-]+/[\w.-]+\.(?:rs|txt|tsx?|json|mjs))`").expect("valid");
    let pages = fs::read_dir(root.join("docs")).expect("readable").flatten();
    let pages = pages.map(|page| page.path());
    for page in pages.chain(PAGES.map(|page| root.join(page))) {
        let text = fs::read_to_string(&page).expect("readable");
        for found in name.captures_iter(&text) {
            let folders = ["", "tests/site", "src/server"].map(|it| root.join(it));
            let exists = folders.iter().any(|it| it.join(&found[1]).is_file());
            assert!(exists, "{}: {}", page.display(), &found[1]);
        }
    }
}

/// The commands of the documentation load `/etc/landing.env` into a shell, and a line that it cannot read ends them.
#[test]
fn settings_can_be_loaded_into_a_shell() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let line = Regex::new("^[A-Z_]+=").expect("valid");
    let mut blocks = 0;
    for page in fs::read_dir(docs).expect("readable").flatten() {
        let text = fs::read_to_string(page.path()).expect("readable");
        let code = text.split("```").skip(1).step_by(2);
        let code = code.filter_map(|block| block.split_once('\n').map(|(_, code)| code));
        for settings in code.filter(|code| code.lines().all(|it| line.is_match(it))) {
            let script = format!("set -eu\n{settings}");
            let output = Command::new("sh").args(["-c", &script]).output();
            let output = output.expect("sh runs");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && errors.is_empty(),
                "{settings}{errors}"
            );
            blocks += 1;
        }
    }
    assert!(blocks >= 3, "{blocks} blocks");
}

fn without_code_blocks(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// Returns whether a page has a heading with this anchor, as GitHub derives anchors: small letters, hyphens for
/// spaces, and no punctuation.
fn has_heading(page: &Path, anchor: &str) -> bool {
    let text = fs::read_to_string(page).expect("readable");
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let derived: String = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        derived == anchor
    })
}
