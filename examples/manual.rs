//! `make manual`: writes the man pages and the completions of three shells to `target/manual`.

use std::{fs, io, path::Path};

use clap_complete::Shell;

fn main() -> io::Result<()> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/target/manual"));
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(landing::cli::command(), folder)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut landing::cli::command(), "landing", folder)?;
    }
    println!("wrote to {}:", folder.display());
    for entry in fs::read_dir(folder)? {
        println!("  {}", entry?.file_name().display());
    }
    Ok(())
}
