//! Every type that crosses the network or the border from Rust to TypeScript.
//!
//! The test below holds `islands/bindings/` to them; `make bindings` writes it anew.

use serde::{Deserialize, Serialize};

/// The mark of this build. The wasm host carries it too: the server compares the two at start.
pub const BUILD_ID: &str = env!("LANDING_BUILD");

/// A waitlist entry (spec §3): what a sign-up sends, and what a 201 sends back.
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SignUpBody {
    /// The address as typed, without the spaces around it.
    pub email: String,
}

/// The answer of `GET /api/waitlist/count` (spec §3).
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CountBody {
    /// People on the list.
    #[cfg_attr(test, ts(type = "number"))]
    pub count: u64,
}

/// The body of every answer of the API that is not a success.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ErrorBody {
    /// What is wrong and what to do, for a person.
    pub error: String,
}

/// The islands of the page. Each has a folder of this name in `islands/` and a row in
/// `islands/registry.ts`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum IslandName {
    /// The scripted launch (spec §4).
    DemoTerminal,
    /// The form and the count line (spec §4).
    WaitlistForm,
    /// The mailto and social links with their tooltips (spec §2).
    ContactLinks,
    /// The toasts (spec §4).
    Toaster,
}

impl IslandName {
    /// Its name in the page and on disk.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DemoTerminal => "demo-terminal",
            Self::WaitlistForm => "waitlist-form",
            Self::ContactLinks => "contact-links",
            Self::Toaster => "toaster",
        }
    }
}

/// When the host mounts an island. Touching one (pointer or focus) mounts it at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StartCondition {
    /// When it is in view or about to be.
    Visible,
    /// In an idle moment after the form was mounted, or could not be: it must take neither bandwidth nor
    /// processor from the form.
    AfterForm,
}

impl StartCondition {
    /// Its name in the page.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::AfterForm => "after-form",
        }
    }

    /// Finds the islands that start so.
    pub const fn selector(self) -> &'static str {
        match self {
            Self::Visible => "[data-start=visible]",
            Self::AfterForm => "[data-start=after-form]",
        }
    }
}

/// An island that needs nothing from the server.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NoProps {}

/// What the server tells the waitlist form.
#[derive(Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct WaitlistFormProps {
    /// The product's name, for the promise and the success toast.
    pub product: String,
    /// People on the list when the page was made.
    #[cfg_attr(test, ts(type = "number"))]
    pub count: u64,
    /// The count line is hidden below this number.
    #[cfg_attr(test, ts(type = "number"))]
    pub count_from: u64,
    /// How the count line looks when the page was made.
    pub count_state: CountState,
    /// What the field holds: empty, or what was typed when the form posted itself and failed.
    pub email: String,
    /// What became of the form that posted itself.
    pub outcome: FormOutcome,
    /// Whether the field's content is what was wrong.
    pub invalid: bool,
    /// Below the field: what became of the form that posted itself, else the promise.
    pub message: String,
}

/// How the count line looks.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum CountState {
    /// The owner does not want to show so small a number.
    Hidden,
    /// Nobody is on the list.
    Empty,
    /// Somebody is.
    Live,
}

impl CountState {
    /// The state for a count, where it is hidden below `from`.
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

/// What became of a sign-up.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum FormOutcome {
    /// There was none.
    #[serde(rename = "")]
    None,
    /// The address is on the list now.
    Joined,
    /// What was sent is not an address.
    Invalid,
    /// Any other failure.
    Failed,
}

/// What the server tells the contact links.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ContactLinksProps {
    /// The owner's address, for the mailto link.
    pub email: String,
    /// URL of the social profile.
    pub social: String,
    /// Its host, shown beside the link.
    pub social_host: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use ts_rs::{Config, TS};

    const FILE_HEADER: &str = "// Written by `make bindings`; do not edit.\n";

    fn wire_ts() -> String {
        let config = Config::default();
        [
            SignUpBody::decl(&config),
            CountBody::decl(&config),
            ErrorBody::decl(&config),
            IslandName::decl(&config),
            NoProps::decl(&config),
            CountState::decl(&config),
            FormOutcome::decl(&config),
            WaitlistFormProps::decl(&config),
            ContactLinksProps::decl(&config),
        ]
        .iter()
        .fold(FILE_HEADER.to_owned(), |text, decl| {
            text + "\nexport " + decl + "\n"
        })
    }

    fn copy_ts() -> String {
        let copy = serde_json::to_string_pretty(&crate::copy::islands::exported())
            .expect("constants are JSON");
        format!("{FILE_HEADER}\nexport const COPY = {copy} as const;\n")
    }

    fn compare_or_write(file: &str, expected: &str) {
        let path = format!("{}/islands/bindings/{file}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("WRITE_BINDINGS").is_some() {
            std::fs::write(&path, expected).expect("islands/bindings is writable");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(committed, expected, "{file} is stale: run `make bindings`");
    }

    #[test]
    fn typescript_types_match_this_file() {
        compare_or_write("wire.ts", &wire_ts());
    }

    #[test]
    fn typescript_copy_matches_copy_rs() {
        compare_or_write("copy.ts", &copy_ts());
    }

    #[test]
    fn island_names_match_in_rust_and_json() {
        for island in [
            IslandName::DemoTerminal,
            IslandName::WaitlistForm,
            IslandName::ContactLinks,
            IslandName::Toaster,
        ] {
            let serialized = serde_json::to_value(island).expect("a name is JSON");
            assert_eq!(serialized, island.as_str());
        }
    }
}
