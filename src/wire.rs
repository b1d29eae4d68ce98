//! Every type that the server shares with TypeScript, as JSON.
//!
//! `tests/site/bindings.rs` checks that `islands/bindings/wire.ts` matches. `make generate NAME=bindings` regenerates it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The fields of the first step of the form, and the body of `POST /api/waitlist`: a waitlist entry (spec §3). The form without
/// JavaScript sends the same fields and a honeypot (`src/server/form.rs`), and shows what was typed after a failure.
#[derive(Clone, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SignUpBody {
    /// The address as typed.
    pub email: String,
}

/// An address never reaches a log.
impl fmt::Debug for SignUpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignUpBody").finish_non_exhaustive()
    }
}

impl SignUpBody {
    /// Returns a body with only an address.
    pub fn with_email(email: &str) -> Self {
        Self {
            email: email.to_owned(),
        }
    }
}

/// The body of the 201 response of `POST /api/waitlist`.
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct JoinedBody {
    /// The address without surrounding spaces.
    pub email: String,
    /// Absent if the site shows none, or asks the person to confirm the address first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub invitation: Option<Invitation>,
}

/// A person's link to invite others, and the place in line.
#[derive(Clone, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Invitation {
    /// The person's link to the page.
    pub link: String,
    /// The person's place in line, from 1.
    #[cfg_attr(test, ts(type = "number"))]
    pub place: u64,
}

/// The body of `POST /api/waitlist/confirm`.
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConfirmBody {
    /// The address, as typed.
    pub email: String,
    /// The code, as typed.
    pub code: String,
}

/// Neither an address nor a code reaches a log.
impl fmt::Debug for ConfirmBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfirmBody").finish_non_exhaustive()
    }
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
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConfirmedBody {
    /// Always true: a failure has another status.
    pub confirmed: bool,
    /// Absent if the site shows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub invitation: Option<Invitation>,
}

/// The body of every error response of the API.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ErrorBody {
    /// The fault and the remedy, in a sentence for people.
    pub error: String,
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
    /// The URL that the form is posted to without JavaScript.
    pub action: String,
    /// The count line when the page was rendered; empty if it is hidden.
    pub count_line: String,
    /// The count line is hidden below this number.
    #[cfg_attr(test, ts(type = "number"))]
    pub count_from: u64,
    /// Whether people are asked to confirm their address by a code.
    pub confirms: bool,
    /// What the form shows at first.
    #[serde(flatten)]
    pub state: FormState,
}

/// The content of the form: its step, the typed texts, and the outcome. The server renders it, and the island continues
/// from there.
#[derive(Clone, Default, Eq, Hash, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FormState {
    /// The step.
    pub step: FormStep,
    /// What the first step sends; in the second step, the address that the code was sent to.
    #[serde(flatten)]
    pub sign_up: SignUpBody,
    /// Content of the field for the code.
    pub code: String,
    /// Text above the field; empty in the first step.
    pub lead: String,
    /// Outcome of the last submit.
    pub outcome: FormOutcome,
    /// Text below the field: the outcome of the last submit, or what happens next.
    pub message: String,
}

/// The steps of the form.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum FormStep {
    /// Asks for the address.
    #[default]
    Email,
    /// Asks for the code that confirms the address.
    Code,
}

/// The outcome of a submit.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum FormOutcome {
    /// Nothing was sent, or the content of the field has changed since then.
    #[default]
    #[serde(rename = "")]
    None,
    /// The address is on the list, or confirmed.
    Joined,
    /// The content of the field is invalid.
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

/// Returns the TypeScript declaration of each type.
#[cfg(test)]
pub fn typescript() -> [String; 13] {
    use ts_rs::TS;

    let config = ts_rs::Config::default();
    [
        SignUpBody::decl(&config),
        JoinedBody::decl(&config),
        Invitation::decl(&config),
        ConfirmBody::decl(&config),
        CountBody::decl(&config),
        ConfirmedBody::decl(&config),
        ErrorBody::decl(&config),
        NoProps::decl(&config),
        FormStep::decl(&config),
        FormOutcome::decl(&config),
        FormState::decl(&config),
        WaitlistFormProps::decl(&config),
        ContactLinksProps::decl(&config),
    ]
}
