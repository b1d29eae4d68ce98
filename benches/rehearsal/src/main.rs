//! `make rehearse` and `make soak`: whole visits to the release, as an open loop.

mod browser;
mod environment;
mod expected_list;
mod load;
mod owner;
mod process;
mod rate_profile;
mod rehearse;
mod samples;
mod server;
mod site;
mod soak;
mod visit;

use std::process::ExitCode;

use clap::Parser;

#[derive(clap::Parser)]
enum Arguments {
    /// Measure the visits per second that one processor can serve
    Rehearse(rehearse::RehearseArgs),
    /// Use the site for an hour
    Soak(soak::SoakArgs),
}

fn main() -> ExitCode {
    let result = match Arguments::parse() {
        Arguments::Rehearse(args) => rehearse::run(&args),
        Arguments::Soak(args) => soak::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
