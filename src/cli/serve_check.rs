//! `landing serve --check`: checks what a start needs, and changes nothing.
//!
//! A copy in memory is read instead of the list, because sled writes to every list that it opens.

use std::{
    fs, io,
    path::{Path, PathBuf, absolute},
};

use anyhow::{Context, anyhow, bail};
use rustix::fs::{Access, access};

use super::{
    control::ControlClient, server_socket::ServerSocket, store_location::StoreLocation,
    terminal::output::print_to_stdout,
};
use crate::{
    config::Config,
    server::ConfirmationSender,
    waitlist::{SledOpenError, SledWaitlist},
};

/// What a check found at the location of the list.
enum ListState {
    /// A list that nothing uses.
    Found,
    /// A list that a server uses.
    Served,
    /// A list that a command uses.
    InUse,
    /// No list. The server creates it.
    Missing,
}

/// Checks the list, the address and the rights of this user, in the order of a start. Prints what
/// it used.
///
/// # Errors
/// The error that the start would end with.
pub(super) fn run(
    store: &StoreLocation,
    config: &Config,
    inherited: Option<ServerSocket>,
) -> anyhow::Result<()> {
    let confirm_settings = config.confirm_settings()?;
    if let Some(settings) = &confirm_settings {
        ConfirmationSender::new(settings.clone())?;
    }
    store.warn_of_other_owner();
    let list = match store {
        StoreLocation::Directory(data) => check_directory(data)?,
        StoreLocation::Database(_) => check_database(store)?,
    };
    let address = match inherited {
        Some(_) => "the socket of the service manager".to_owned(),
        None => check_address(config, store, &list)?,
    };
    let origin = config.origin.clone().unwrap_or_default();
    let location = match store {
        StoreLocation::Directory(data) => absolute_path(data).display().to_string(),
        StoreLocation::Database(_) => store.to_string(),
    };
    let list = match list {
        ListState::Found => "found",
        ListState::Served => "in use by a running server",
        ListState::InUse => "in use by another process; a start waits for it",
        ListState::Missing => "no list yet; `landing serve` creates it",
    };
    print_to_stdout(|out| {
        writeln!(out, "waitlist: {location}, {list}")?;
        writeln!(out, "address: {address}")?;
        writeln!(out, "origin: {}", origin.as_str())?;
        if let Some(settings) = confirm_settings {
            let mail = settings.mail;
            writeln!(
                out,
                "confirmations: from {} by {}",
                mail.from.mailbox(),
                mail.smtp
            )?;
        }
        writeln!(out, "the server can start; nothing was changed")
    })
}

fn absolute_path(path: &Path) -> PathBuf {
    // This fails only without a current directory.
    absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Checks a data directory, and that this user may read and write everything in it.
fn check_directory(data: &Path) -> anyhow::Result<ListState> {
    let parent = existing_ancestor(data)?;
    let served = ControlClient::find(data).map_err(|error| no_access(data, &error))?;
    if served.is_some() {
        return Ok(ListState::Served);
    }
    SledWaitlist::check_room(&parent)?;
    let exists = SledWaitlist::exists_in(data).map_err(|error| no_access(data, &error))?;
    if !exists {
        check_access(&parent, Access::WRITE_OK | Access::EXEC_OK)?;
        return Ok(ListState::Missing);
    }
    check_tree(data)?;
    let scratch =
        tempfile::tempdir().context("cannot write to the directory of temporary files")?;
    match SledWaitlist::check(data, scratch.path()) {
        Ok(()) => Ok(ListState::Found),
        Err(SledOpenError::InUse { .. }) => Ok(ListState::InUse),
        Err(error) => Err(error.into()),
    }
}

/// Returns the data directory, or the directory in which the server would create it.
fn existing_ancestor(data: &Path) -> anyhow::Result<PathBuf> {
    let data = absolute_path(data);
    for ancestor in data.ancestors() {
        match fs::metadata(ancestor) {
            Ok(metadata) if metadata.is_dir() => return Ok(ancestor.to_owned()),
            Ok(_) => bail!(
                "{} is a file, not a directory; choose another location with --store",
                ancestor.display()
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            Err(error) => return Err(no_access(ancestor, &error)),
        }
    }
    Err(anyhow!("there is no directory above {}", data.display()))
}

/// Checks the access to a directory and everything in it. Sockets and unfinished copies are in it too, and the server
/// replaces them.
fn check_tree(directory: &Path) -> anyhow::Result<()> {
    let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    check_access(directory, all)?;
    let entries = fs::read_dir(directory).map_err(|error| no_access(directory, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| no_access(directory, &error))?;
        let kind = entry.file_type();
        let kind = kind.map_err(|error| no_access(&entry.path(), &error))?;
        if kind.is_dir() {
            check_tree(&entry.path())?;
        } else if kind.is_file() {
            check_access(&entry.path(), Access::READ_OK | Access::WRITE_OK)?;
        }
    }
    Ok(())
}

fn check_access(path: &Path, rights: Access) -> anyhow::Result<()> {
    access(path, rights).map_err(|error| no_access(path, &error.into()))
}

fn no_access(path: &Path, error: &io::Error) -> anyhow::Error {
    anyhow!(
        "cannot read and write {}: {error}; run the check as the user that the server runs as, or correct the owner \
         and the permissions",
        absolute_path(path).display()
    )
}

/// Connects to a database, looks for the list, and checks the privileges of the user in the URL.
fn check_database(store: &StoreLocation) -> anyhow::Result<ListState> {
    let state = match store.open_existing().context("cannot use the waitlist")? {
        Some(_) => ListState::Found,
        None => ListState::Missing,
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
fn check_address(
    config: &Config,
    store: &StoreLocation,
    list: &ListState,
) -> anyhow::Result<String> {
    let addr = config.addr;
    let may_be_ours =
        matches!(list, ListState::Served) || matches!(store, StoreLocation::Database(_));
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
