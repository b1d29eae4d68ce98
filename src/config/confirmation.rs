//! The options for confirming addresses (double opt-in).

use std::path::PathBuf;

use clap::builder::BoolishValueParser;

use super::{
    Config, Origin,
    mail::{InvalidMailSetting, MailSettings},
    values::number,
};

/// The options for confirming addresses.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Confirmation")]
pub struct ConfirmOptions {
    #[command(flatten)]
    switch: ConfirmSwitch,

    /// Erase people who have not confirmed their address this number of days after the last message or sign-up
    #[arg(
        long,
        env = "LANDING_CONFIRM_DAYS",
        value_name = "DAYS",
        default_value_t = 30,
        value_parser = number::<u32>(1..=3650)
    )]
    confirm_days: u32,

    /// Maximum number of messages that ask for a confirmation or welcome people, in 24 hours
    #[arg(
        long,
        env = "LANDING_CONFIRM_PER_DAY",
        value_name = "N",
        default_value_t = 2000,
        value_parser = number::<u32>(1..=1_000_000)
    )]
    confirm_per_day: u32,

    /// Message in Markdown, as for `landing send`, to each person who has confirmed the address
    #[arg(long, env = "LANDING_WELCOME", value_name = "FILE")]
    welcome: Option<PathBuf>,
}

/// The option that the server and `landing send` share.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ConfirmSwitch {
    /// Ask people to confirm their address by a message, and send other messages only to those who have
    #[arg(long, env = "LANDING_CONFIRM_SIGNUPS", value_parser = BoolishValueParser::new())]
    pub confirm_signups: bool,
}

/// The settings for confirming addresses.
#[derive(Clone, Debug)]
pub struct ConfirmSettings {
    /// The mail server and the sender.
    pub mail: MailSettings,
    /// The public URL of the site, for the links.
    pub origin: Origin,
    /// The name of the product.
    pub product: String,
    /// Days after which people who have not confirmed are erased.
    pub days: u32,
    /// Maximum number of messages in 24 hours.
    pub messages_per_day: u32,
    /// The file with the message to people who have confirmed.
    pub welcome: Option<PathBuf>,
}

impl Config {
    /// Returns whether people are asked to confirm their address.
    pub fn confirms(&self) -> bool {
        self.confirm.switch.confirm_signups
    }

    /// Returns the settings for confirming addresses, if the owner has switched that on.
    ///
    /// # Errors
    /// [`InvalidMailSetting`].
    pub fn confirm_settings(&self) -> Result<Option<ConfirmSettings>, InvalidMailSetting> {
        let welcome = self.confirm.welcome.clone();
        if !self.confirms() {
            return welcome.map_or(Ok(None), |_| Err(InvalidMailSetting::WelcomeUnconfirmed));
        }
        let origin = self.origin.clone();
        Ok(Some(ConfirmSettings {
            mail: self.mail.settings()?,
            origin: origin.ok_or(InvalidMailSetting::NoOrigin)?,
            product: self.product.clone(),
            days: self.confirm.confirm_days,
            messages_per_day: self.confirm.confirm_per_day,
            welcome,
        }))
    }
}
