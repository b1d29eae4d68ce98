//! `landing manual` and `landing completions`: the manual pages and the shell completions of this program.

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap_complete::Shell;
use rustix::{fs::Mode, process::umask};

use super::{command, terminal::output::print_to_stdout};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  landing manual | man -l -
  landing manual --output ~/.local/share/man/man1")]
pub(super) struct ManualArgs {
    /// Directory in which to write the pages of all commands, instead of printing one page
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(super) fn print_manual(ManualArgs { output }: &ManualArgs) -> anyhow::Result<()> {
    let Some(directory) = output else {
        return print_to_stdout(|out| clap_mangen::Man::new(command()).render(out));
    };
    // Every user of the machine may read them.
    umask(Mode::WGRP | Mode::WOTH);
    let written =
        fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(command(), directory));
    written.with_context(|| format!("cannot write the manual pages to {}", directory.display()))
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  landing completions bash > ~/.local/share/bash-completion/completions/landing

  mkdir -p ~/.zfunc    # and in ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit; compinit
  landing completions zsh > ~/.zfunc/_landing

  mkdir -p ~/.config/fish/completions
  landing completions fish > ~/.config/fish/completions/landing.fish")]
pub(super) struct CompletionsArgs {
    shell: Shell,
}

pub(super) fn print_completions(CompletionsArgs { shell }: &CompletionsArgs) -> anyhow::Result<()> {
    // Collected first, because the generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut command(), "landing", &mut script);
    print_to_stdout(|out| out.write_all(&script))
}
