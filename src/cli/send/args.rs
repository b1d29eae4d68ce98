//! The options of `landing send`.

use std::path::PathBuf;

use crate::{
    cli::{
        address::{parse_listed_address, parse_new_address},
        selection::SelectionArgs,
        standings::Order,
        store_location::CommonArgs,
    },
    config::{ConfirmSwitch, InvalidMailSetting, MailOptions, Origin, number, parse_product_name},
    exit::print_stderr,
    waitlist::{DeliveryState, Email},
};

#[derive(clap::Args)]
#[command(override_usage = "\
landing send [OPTIONS] <FILE> --next <N>
       landing send [OPTIONS] <FILE> --all
       landing send [OPTIONS] <FILE> --to <EMAIL>
       landing send [OPTIONS] <FILE> --continue
       landing send [OPTIONS] <FILE> --abandon
       landing send [OPTIONS] <FILE> --test <EMAIL>")]
#[command(after_help = "\
Examples:
  landing send open.md --test you@example.com
  landing send open.md --next 100 --dry-run
  landing send open.md --next 100

FILE is Markdown with front matter:

  ---
  subject: {product} is ready for you
  ---
  You are number {position} on the list. [Create your account](https://steward.example/start).

The placeholders are {product}, {position}, {invite_link} and {unsubscribe}. Every message ends with your postal address and a link \
to unsubscribe.

The list remembers who has had which message, by the message's id: that of the front matter, or the name of the file. \
Nobody gets the same message twice. People who were chosen by an interrupted send wait until you continue it or give it up. \
A message of which nobody knows whether it was sent, because the connection broke at the last moment, is reported and not \
sent again, unless you ask for it.")]
pub(in crate::cli) struct SendArgs {
    /// The message, in Markdown
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) recipients: RecipientArgs,
    /// Also send to people whose result is unknown; some may get the message twice
    #[arg(long)]
    resend_unknown: bool,
    /// Also send to people whose message the mail server refused, unless the mailbox does not exist
    #[arg(long)]
    resend_refused: bool,
    /// Print who would get the message, and the first one, and send nothing
    #[arg(long, conflicts_with_all = ["test", "abandon"])]
    pub(super) dry_run: bool,
    /// Do not ask before sending
    #[arg(long)]
    pub(super) yes: bool,
    /// Send this message although another one has the same subject or text: people who had that one get this one too
    #[arg(long)]
    pub(super) new_message: bool,
    /// Do not check first whether the site knows the unsubscribe links
    #[arg(long)]
    pub(super) skip_link_check: bool,
    /// Order of the people, which {position} counts
    #[arg(long, value_enum, default_value_t)]
    pub(super) order: Order,
    /// Messages per second, at most; 0 removes the limit
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = number::<u32>(0..=10_000))]
    pub(super) rate: u32,
    /// Name of the product
    #[arg(long, env = "LANDING_PRODUCT", value_name = "NAME", default_value = crate::copy::PRODUCT,
          value_parser = parse_product_name)]
    pub(super) product: String,
    /// Public URL of the site, for the unsubscribe links
    #[arg(long, env = "LANDING_ORIGIN", value_name = "URL")]
    origin: Option<Origin>,
    #[command(flatten)]
    pub(super) confirm: ConfirmSwitch,
    /// Send also to people who have not confirmed their address, although people are asked to
    #[arg(long)]
    pub(super) include_unconfirmed: bool,
    #[command(flatten)]
    pub(super) selection: SelectionArgs,
    #[command(flatten)]
    pub(super) common: CommonArgs,
    // The last one: its heading is that of all options that follow.
    #[command(flatten)]
    pub(super) mail: MailOptions,
}

/// The options of a selection. They do not go with one person, or with the end of a message. An error would name all of them
/// if this were their group.
const SELECTION: [&str; 6] = [
    "source",
    "domain",
    "since",
    "until",
    "confirmed",
    "unconfirmed",
];

/// Who gets the message.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct RecipientArgs {
    /// The first N people who have not had the message: they have waited longest, or see --order
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub(super) next: Option<u32>,
    /// Everybody who has not had the message
    #[arg(long)]
    all: bool,
    /// One person on the list
    #[arg(
        long,
        value_name = "EMAIL",
        value_parser = parse_listed_address,
        conflicts_with_all = SELECTION
    )]
    pub(super) to: Option<Email>,
    /// The people who were chosen by an interrupted send, and those whose message was deferred
    #[arg(long = "continue")]
    pub(super) rest: bool,
    /// Give those people up, and send nothing: they count again as people who have not had the message
    #[arg(long, conflicts_with_all = SELECTION)]
    pub(super) abandon: bool,
    /// Any address: it gets a copy, and the list does not remember that
    #[arg(
        long,
        value_name = "EMAIL",
        value_parser = parse_new_address,
        conflicts_with_all = SELECTION
    )]
    pub(super) test: Option<Email>,
}

impl SendArgs {
    /// Returns the URL of the site. Warns if mail programs would not use its links.
    pub(super) fn origin(&self) -> Result<&Origin, InvalidMailSetting> {
        let origin = self.origin.as_ref().ok_or(InvalidMailSetting::NoOrigin)?;
        if origin.as_str().starts_with("http:") {
            print_stderr(
                "warning: --origin is not https, so mail programs show no button to unsubscribe (RFC 8058)",
            );
        }
        Ok(origin)
    }

    /// Returns whether a delivery in this state is done, and the message is sent again all the same.
    pub(super) fn resends(&self, state: DeliveryState) -> bool {
        match state {
            DeliveryState::Unknown => self.resend_unknown,
            DeliveryState::Refused => self.resend_refused,
            _ => false,
        }
    }
}
