//! The parameter of a link that says where its visitors come from, such as `/?ref=hn` (spec §10).

use std::fmt;

use axum::http::{header, request::Parts};
use url::{Url, form_urlencoded};

use super::admission::Admission;
use crate::waitlist::Source;

/// The names of the parameter. An earlier one takes precedence.
const NAMES: [&str; 3] = ["utm_source", "ref", "source"];

/// A parameter with a valid source. It formats as the query `ref=hn`.
pub(super) struct SourceParameter {
    name: &'static str,
    source: Source,
}

impl SourceParameter {
    /// Returns the parameter of a query that has a valid source. Of several, that with the highest precedence.
    fn from_query(query: &str) -> Option<Self> {
        NAMES.into_iter().find_map(|name| {
            let source = form_urlencoded::parse(query.as_bytes())
                .filter(|(key, _)| key == name)
                .find_map(|(_, value)| value.parse::<Source>().ok())?;
            Some(Self { name, source })
        })
    }

    /// Returns the parameter of the page that sent a request. Browsers report the URL of that page in `Referer`. The
    /// URL of another site does not count.
    pub(super) fn from_referer(admission: &Admission, request: &Parts) -> Option<Self> {
        let referer = request.headers.get(header::REFERER)?.to_str().ok()?;
        let page = Url::parse(referer).ok()?;
        let origin = page.origin().ascii_serialization();
        if !admission.is_own_origin(request, origin.as_bytes()) {
            return None;
        }
        Self::from_query(page.query()?)
    }

    /// Returns the source.
    pub(super) fn source(&self) -> &Source {
        &self.source
    }
}

impl fmt::Display for SourceParameter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, source } = self;
        // A source needs no escapes in a URL or in HTML.
        write!(formatter, "{name}={source}")
    }
}
