//! How a process connects: one client for nearly all feeds, and one more for each that trusts a
//! certificate of its own or is reached by one kind of address only.

use super::fault::{FaultKind, FetchFault};
use super::guard::Guard;
use super::{ClientOptions, FetchRequest};
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Certificate, Client, ClientBuilder, redirect};
use shared::config::Family;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const ACCEPTED: &str = "application/atom+xml, application/rss+xml, application/feed+json, \
    application/rdf+xml;q=0.9, application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, \
    */*;q=0.1";

#[derive(Clone, Debug)]
pub(super) struct Connections {
    options: ClientOptions,
    usual: Client,
    others: Arc<Mutex<HashMap<Way, Client>>>,
}

/// What sets a feed's connections apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Way {
    ca_file: Option<PathBuf>,
    family: Option<Family>,
}

impl Connections {
    pub(super) fn new(options: &ClientOptions) -> Result<Self, reqwest::Error> {
        Ok(Self {
            options: options.clone(),
            usual: builder(options, None).build()?,
            others: Arc::default(),
        })
    }

    /// The client for this feed, built when it is first asked for.
    pub(super) fn client(&self, request: &FetchRequest<'_>) -> Result<Client, FetchFault> {
        let way = Way {
            ca_file: request.ca_file.map(Path::to_owned),
            family: request.family,
        };
        if (&way.ca_file, way.family) == (&None, None) {
            return Ok(self.usual.clone());
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = others.get(&way) {
            return Ok(client.clone());
        }
        let mut builder = builder(&self.options, way.family);
        if let Some(path) = &way.ca_file {
            builder = builder.tls_certs_merge(certificates(path)?);
        }
        let client = builder.build().map_err(|error| {
            FetchFault::new(
                FaultKind::Request,
                format!("no connection can be set up: {error}"),
            )
        })?;
        others.insert(way, client.clone());
        Ok(client)
    }

    #[cfg(test)]
    pub(super) fn pin(&mut self, host: &str, addresses: &[std::net::SocketAddr]) {
        let pinned = builder(&self.options, None).resolve_to_addrs(host, addresses);
        self.usual = pinned.build().unwrap();
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, FetchFault> {
    let refuse = |what: String| {
        let detail = format!(
            "the certificates in {} cannot be used: {what}",
            path.display()
        );
        FetchFault::new(FaultKind::Request, detail)
    };
    let pem = fs::read(path).map_err(|error| refuse(error.to_string()))?;
    let found = Certificate::from_pem_bundle(&pem).map_err(|error| refuse(error.to_string()))?;
    if found.is_empty() {
        return Err(refuse("there is none in it; write it in PEM".to_owned()));
    }
    Ok(found)
}

/// A dead route holds nobody up: of a host with addresses of both kinds the second kind is tried
/// beside the first after 300 ms, and addresses of one kind share the connect time-out.
fn builder(options: &ClientOptions, family: Option<Family>) -> ClientBuilder {
    install_crypto();
    let version = env!("CARGO_PKG_VERSION");
    let user_agent = match &options.contact {
        Some(contact) => format!("watchalert/{version} (+{contact})"),
        None => format!("watchalert/{version}"),
    };
    let accept = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(ACCEPTED))]);
    Client::builder()
        .user_agent(user_agent)
        .default_headers(accept)
        .connect_timeout(options.connect_timeout)
        .redirect(redirect::Policy::none())
        // A proxy would resolve names out of the guard's sight.
        .no_proxy()
        .dns_resolver(Guard {
            allow_private: options.allow_private,
            family,
        })
}

/// Both the second client of a process and its other users of TLS find the provider installed.
pub(crate) fn install_crypto() {
    let provider = rustls::crypto::ring::default_provider();
    if provider.install_default().is_err() {
        tracing::trace!("the TLS provider is already there");
    }
}

#[cfg(test)]
mod tests;
