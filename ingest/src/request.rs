//! How a feed is asked: at which address, with which secrets.

use crate::fetch::FetchRequest;
use crate::plan::Planned;
use shared::config::{HeaderText, Problem, Secret, SecretFile};
use url::Url;

/// What goes into one request.
pub(crate) struct Asking<'p> {
    planned: &'p Planned,
    url: Url,
    authorization: Option<Secret>,
    headers: Vec<(String, Secret)>,
}

impl<'p> Asking<'p> {
    /// Reads the secrets.
    ///
    /// # Errors
    /// The secret that cannot be read.
    pub(crate) fn of(planned: &'p Planned) -> Result<Self, Problem> {
        let authorization = planned.feed.authorization.as_ref();
        let headers = planned.feed.access.headers.iter();
        let headers = headers.map(|header| {
            let value = match &header.value {
                HeaderText::Plain(text) => Secret::from(text.clone()),
                HeaderText::Secret(file) => file.resolve()?,
            };
            Ok((header.name.clone(), value))
        });
        Ok(Self {
            planned,
            url: address(planned),
            authorization: authorization.map(SecretFile::resolve).transpose()?,
            headers: headers.collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn request(&self) -> FetchRequest<'_> {
        let Planned { feed, state } = self.planned;
        FetchRequest {
            validators: &state.validators,
            last_full: state.full_at,
            authorization: self.authorization.as_ref(),
            user_agent: feed.access.user_agent.as_deref(),
            headers: &self.headers,
            ca_file: feed.access.ca_file.as_deref(),
            family: feed.access.family,
            ..FetchRequest::unconditional(&self.url)
        }
    }

    /// Where the feed lives for good, after an answer to which such redirects led. A feed with
    /// secrets does not move by itself: they are its own host's.
    pub(crate) fn moved_to(&self, redirect: Option<Url>) -> Option<String> {
        let feed = &self.planned.feed;
        if feed.authorization.is_some() || feed.access.holds_secrets() {
            return None;
        }
        let found_there = (self.url != feed.url).then(|| self.url.clone());
        redirect.or(found_there).map(String::from)
    }
}

/// Where it lives now; after a failure there, in turn also where the configuration says.
fn address(planned: &Planned) -> Url {
    let state = &planned.state;
    let location = state
        .location
        .as_deref()
        .filter(|_| state.failures.is_multiple_of(2));
    let moved = location.and_then(|location| Url::parse(location).ok());
    moved.unwrap_or_else(|| planned.feed.url.clone())
}
