//! `landing serve --check`: checks the settings, the address and a database, and changes nothing.
//!
//! A list in a directory is not opened: while a server runs, it has the list, and a start examines a copy of it first.

use std::path::Path;

use anyhow::{Context, bail};

use super::{
    control::ControlClient, send::read_template, server_socket::ServerSocket,
    store_location::StoreLocation, terminal::output::print_to_stdout,
};
use crate::{
    config::Config,
    server::{ConfirmationSender, WebhookSender},
    waitlist::SledWaitlist,
};

/// Checks the list and the address, in the order of a start. Prints what it used.
///
/// # Errors
/// The error that the start would end with.
pub(super) fn run(
    store: &StoreLocation,
    config: &Config,
    inherited: Option<ServerSocket>,
) -> anyhow::Result<()> {
    read_senders(config)?;
    // `landing send` needs them, also if nobody is asked to confirm.
    if config.mail.is_set() {
        let checked = config.mail.settings().map_err(anyhow::Error::from);
        checked.map_err(InvalidSettings)?;
    }
    let (confirm_settings, webhook) = (config.confirm_settings()?, config.webhook.settings()?);
    store.warn_of_other_owner();
    let list = match store {
        StoreLocation::Directory(data) => {
            find_list(data).with_context(|| format!("cannot read {store}"))?
        }
        StoreLocation::Database(_) => check_database(store)?,
    };
    let address = match inherited {
        Some(_) => "the socket of the service manager".to_owned(),
        None => check_address(config, store, list)?,
    };
    print_to_stdout(|out| {
        writeln!(out, "waitlist: {store}, {list}")?;
        writeln!(out, "address: {address}")?;
        writeln!(out, "origin: {}", config.origin_or_default())?;
        if let Some(settings) = confirm_settings {
            writeln!(
                out,
                "confirmations: from {} by {}",
                settings.mail.from.mailbox(),
                settings.mail.smtp
            )?;
            if let Some(file) = settings.welcome {
                writeln!(out, "welcome: {}", file.display())?;
            }
        }
        if let Some(webhook) = webhook {
            writeln!(out, "webhook: {}", webhook.origin)?;
        }
        writeln!(out, "the settings are valid; nothing was changed")
    })
}

/// Settings of the server that are invalid or incomplete. A restart does not help, so the exit code is 2.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub(super) struct InvalidSettings(anyhow::Error);

/// What a start needs besides the list: to ask people for a confirmation and to welcome them, and to report them.
pub(super) type Senders = (Option<ConfirmationSender>, Option<WebhookSender>);

/// Reads and checks the settings of messages and of the webhook.
pub(super) fn read_senders(config: &Config) -> Result<Senders, InvalidSettings> {
    let read = || {
        let webhook = config.webhook.settings()?.map(WebhookSender::new);
        Ok((confirmation_sender(config)?, webhook.transpose()?))
    };
    read().map_err(InvalidSettings)
}

fn confirmation_sender(config: &Config) -> anyhow::Result<Option<ConfirmationSender>> {
    let Some(settings) = config.confirm_settings()? else {
        return Ok(None);
    };
    let welcome = settings.welcome.as_deref().map(read_template).transpose();
    let welcome = welcome.context("--welcome (LANDING_WELCOME)")?;
    Ok(Some(ConfirmationSender::new(settings, welcome)?))
}

const FOUND: &str = "found";
const SERVED: &str = "in use by a running server";
const MISSING: &str = "no list yet; `landing serve` creates it";

/// Looks for a list in a directory. Returns what to print.
fn find_list(data: &Path) -> anyhow::Result<&'static str> {
    Ok(if ControlClient::find(data)?.is_some() {
        SERVED
    } else if SledWaitlist::exists_in(data)? {
        FOUND
    } else {
        MISSING
    })
}

/// Connects to a database, looks for the list, and checks the privileges of the user in the URL.
/// Returns what to print.
fn check_database(store: &StoreLocation) -> anyhow::Result<&'static str> {
    let state = match store.open_if_exists().context("cannot use the waitlist")? {
        Some(_) => FOUND,
        None => MISSING,
    };
    if !store.has_privileges()? {
        bail!(
            "the user of {store} may not read and change all tables whose names begin with waitlist_, or create them; \
             grant SELECT, INSERT, UPDATE and DELETE, or start the server as the user who owns the tables"
        );
    }
    Ok(state)
}

/// Checks whether the address is free. Returns what to print.
///
/// An address in use is an error, unless it may be in use by the server that the owner is about to restart: one that
/// serves the same list, or any one that uses a database, because several servers can share that.
fn check_address(config: &Config, store: &StoreLocation, list: &str) -> anyhow::Result<String> {
    let addr = config.addr;
    let may_be_ours = list == SERVED || matches!(store, StoreLocation::Database(_));
    match ServerSocket::bind(addr) {
        Ok(_) => Ok(format!("{addr}, free")),
        Err(error) if error.is_address_in_use() && may_be_ours => Ok(format!(
            "{addr}, in use; stop the running server before the new one starts"
        )),
        Err(error) if error.is_address_in_use() => {
            bail!("{error}; if systemd holds it for a socket, check with --addr 127.0.0.1:0")
        }
        Err(error) => Err(error.into()),
    }
}
