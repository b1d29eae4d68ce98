//! Every type that the server shares with TypeScript, as JSON.
//!
//! `tests/site/bindings.rs` checks that `islands/bindings/` matches. `make generate NAME=bindings` regenerates it.

use serde::{Deserialize, Serialize};

/// The body of `POST /api/waitlist`, and of its 201 response: a waitlist entry (spec §3).
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SignUpBody {
    /// The address as typed, without surrounding spaces.
    pub email: String,
}

/// The response body of `GET /api/waitlist/count` (spec §3).
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CountBody {
    /// Number of people on the list.
    #[cfg_attr(test, ts(type = "number"))]
    pub count: u64,
}

/// The response body of `POST /api/waitlist/confirm`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConfirmedBody {
    /// Always true: a failure has another status.
    pub confirmed: bool,
}

/// The body of every error response of the API.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ErrorBody {
    /// The fault and the remedy, in a sentence for people.
    pub error: String,
}

/// The islands of the page. Each has a folder of this name in `islands/` and a row in
/// `islands/registry.ts`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum IslandName {
    /// The terminal that plays a launch (spec §4).
    DemoTerminal,
    /// The sign-up form and the line with the count (spec §4).
    WaitlistForm,
    /// The e-mail and social links with their tooltips (spec §2).
    ContactLinks,
    /// The toasts (spec §4).
    Toaster,
}

impl IslandName {
    /// Returns the name in the page and on disk.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DemoTerminal => "demo-terminal",
            Self::WaitlistForm => "waitlist-form",
            Self::ContactLinks => "contact-links",
            Self::Toaster => "toaster",
        }
    }
}

/// When the wasm host mounts an island. An island that the visitor touches (pointer or focus) is mounted at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StartCondition {
    /// When it is in view or about to come into view.
    Visible,
    /// In an idle moment after the form was mounted or failed to load. It must not compete with the form for
    /// bandwidth and processor time.
    AfterForm,
}

impl StartCondition {
    /// Returns the name in the page, by which `islands/host` finds the islands.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::AfterForm => "after-form",
        }
    }
}

/// The properties of an island that needs none.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NoProps {}

/// The properties of the waitlist form.
#[derive(Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct WaitlistFormProps {
    /// Name of the product, for the promise and the success toast.
    pub product: String,
    /// Number of people on the list when the page was rendered.
    #[cfg_attr(test, ts(type = "number"))]
    pub count: u64,
    /// The count line is hidden below this number.
    #[cfg_attr(test, ts(type = "number"))]
    pub count_from: u64,
    /// State of the count line when the page was rendered.
    pub count_state: CountState,
    /// Content of the address field: empty, unless a sign-up without JavaScript failed.
    pub email: String,
    /// Result of a sign-up without JavaScript.
    pub outcome: FormOutcome,
    /// Whether the content of the field was invalid.
    pub invalid: bool,
    /// Text below the field: the result of a sign-up without JavaScript, or the promise.
    pub message: String,
    /// Whether people are asked to confirm their address by a code.
    pub confirms: bool,
}

/// State of the count line.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum CountState {
    /// Hidden: the count is below the owner's threshold.
    Hidden,
    /// The list is empty.
    Empty,
    /// The count is shown.
    Live,
}

impl CountState {
    /// Returns the state for a count that is hidden below `from`.
    pub const fn of(count: u64, from: u64) -> Self {
        if count < from {
            Self::Hidden
        } else if count == 0 {
            Self::Empty
        } else {
            Self::Live
        }
    }
}

/// Result of a sign-up without JavaScript.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum FormOutcome {
    /// No form was sent.
    #[serde(rename = "")]
    None,
    /// The address is on the list now.
    Joined,
    /// The address is invalid.
    Invalid,
    /// Any other failure.
    Failed,
}

/// The properties of the contact links.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ContactLinksProps {
    /// The owner's address, for the mailto link.
    pub email: String,
    /// URL of the social profile.
    pub social: String,
    /// Host of the social profile, shown next to the link.
    pub social_host: String,
}
