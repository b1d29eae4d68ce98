//! `landing health`: asks the running server whether visitors can sign up, for the health check of a container.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use hyper::{Method, StatusCode};

use super::{link_check::request, wait_for};
use crate::config::{DEFAULT_ADDR, parse_addr};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing health --addr 127.0.0.1:3000

The exit code is 0 if the server responds to /readyz with 200, and 1 otherwise.")]
pub(super) struct HealthArgs {
    /// Address and port on which the server listens
    #[arg(long, env = "LANDING_ADDR", value_name = "IP:PORT", default_value = DEFAULT_ADDR, value_parser = parse_addr)]
    addr: SocketAddr,
}

pub(super) fn run(HealthArgs { addr }: &HealthArgs) -> anyhow::Result<()> {
    // The address of a server that listens on all addresses leads to this machine.
    let response = wait_for(request(&format!("http://{addr}/readyz"), Method::GET, None));
    let response = response.with_context(|| format!("no healthy server at {addr}"))?;
    match response.status() {
        StatusCode::OK => Ok(()),
        status @ StatusCode::SERVICE_UNAVAILABLE => {
            bail!("the server at {addr} cannot store sign-ups ({status}); see its log")
        }
        status => bail!("the server at {addr} is another program: it responds with {status}"),
    }
}
