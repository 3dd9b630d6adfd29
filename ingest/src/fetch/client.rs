//! The one HTTP client of a process: its limits, its manners, and the walk along redirects.
//!
//! Redirects are followed here, not by reqwest, because each hop must be judged, remembered
//! with its status, and decides whether the secret travels on.

use super::answer;
use super::conditional::{conditions, updated};
use super::connect::Connections;
use super::cookies::Cookies;
use super::fault::{FaultKind, FetchFault, without_userinfo};
use super::guard::Guard;
use super::redirect::{Chain, Hop};
use super::room::{Body, Room};
use super::{FetchRequest, Fetched, file};
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use shared::model::Timestamp;
use std::time::Duration;
use tokio::task::spawn_blocking;

/// What the configuration decides about fetching.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// A URL or mail address, for the User-Agent: whom to complain to.
    pub contact: Option<String>,
    /// Allow hosts that are not on the public internet.
    pub allow_private: bool,
    /// Allow `file:` URLs.
    pub allow_file: bool,
    /// For all addresses of a host together, TLS included.
    pub connect_timeout: Duration,
    /// The most bytes of one document, announced, received or unpacked.
    pub most_bytes: usize,
    /// Documents that are read or held at the same time; they share 24 MiB.
    pub at_once: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            contact: None,
            allow_private: false,
            allow_file: false,
            connect_timeout: Duration::from_secs(10),
            most_bytes: 8 * 1024 * 1024,
            at_once: 16,
        }
    }
}

/// Fetches; build one per process.
#[derive(Clone, Debug)]
pub struct FetchClient {
    connections: Connections,
    guard: Guard,
    allow_file: bool,
    most_bytes: usize,
    room: Room,
}

impl FetchClient {
    /// Fails when the system's certificates cannot be read, or the contact does not fit into a
    /// header.
    pub fn new(options: &ClientOptions) -> Result<Self, reqwest::Error> {
        Ok(Self {
            connections: Connections::new(options)?,
            guard: Guard {
                allow_private: options.allow_private,
                family: None,
            },
            allow_file: options.allow_file,
            most_bytes: options.most_bytes,
            room: Room::for_bodies(options.at_once),
        })
    }

    #[cfg(test)]
    pub(super) fn pin(&mut self, host: &str, addresses: &[std::net::SocketAddr]) {
        self.connections.pin(host, addresses);
    }

    pub(super) async fn read_file(
        &self,
        request: &FetchRequest<'_>,
    ) -> Result<Fetched, FetchFault> {
        if !self.allow_file {
            let detail = "file: URLs are not allowed; set ingest.allow_file = true to allow them";
            return Err(FetchFault::new(FaultKind::Scheme, detail));
        }
        let (url, validators) = (request.url.clone(), request.validators.clone());
        let most_bytes = self.most_bytes;
        let broken = |error| FetchFault::new(FaultKind::File, format!("reading stopped: {error}"));
        let looked_at = url.clone();
        let length = spawn_blocking(move || file::length(&looked_at)).await;
        let length = length.map_err(broken)?.min(most_bytes);
        let mut held = Body::default();
        self.room.admit(&mut held, length, length).await;
        let reading = spawn_blocking(move || file::read(url, &validators, most_bytes));
        let mut read = reading.await.map_err(broken)?;
        if let Ok(Fetched::New { body, .. }) = &mut read {
            held.fill(body.take());
            *body = held;
        }
        read
    }

    /// Asks for `request.url` and goes where it leads, within the limits; `chain` tells where
    /// that was, also when the deadline cuts it short.
    pub(super) async fn get(
        &self,
        request: &FetchRequest<'_>,
        now: Timestamp,
        chain: &mut Chain,
    ) -> Result<Fetched, FetchFault> {
        let mut headers = conditions(request.validators, request.last_full, now);
        let is_conditional = !headers.is_empty();
        let own = identity(request)?;
        let http = self.connections.client(request)?;
        headers.extend(own.clone());
        let (mut url, mut cookies) = (request.url.clone(), Cookies::default());
        let response = loop {
            self.guard.admit(&url)?;
            let mut headers_here = headers.clone();
            cookies.add_to(&mut headers_here, &url);
            let get = http.get(url.clone()).headers(headers_here);
            let response = get.send().await.map_err(FetchFault::of_transport)?;
            cookies.keep(&url, response.headers());
            let Some(hop) = Hop::of(&url, response.status(), response.headers())? else {
                break response;
            };
            if !hop.keeps_authorization() {
                own.keys()
                    .filter(|name| **name != USER_AGENT)
                    .for_each(|name| drop(headers.remove(name)));
            }
            url.clone_from(&hop.to);
            chain.push(hop)?;
        };
        if response.status() == StatusCode::NOT_MODIFIED && is_conditional {
            let validators = updated(request.validators, response.headers());
            return Ok(Fetched::NotModified {
                validators,
                permanent_redirect: chain.permanent(),
            });
        }
        let document = answer::document(response, self.most_bytes, &self.room, now).await?;
        Ok(Fetched::New {
            body: document.body,
            charset: document.charset,
            final_url: without_userinfo(url),
            validators: document.validators,
            max_age: document.max_age,
            redirects: (!chain.is_empty()).then(|| chain.to_string()),
            permanent_redirect: chain.permanent(),
        })
    }
}

/// What the feed's own host is told beside what all hosts are told.
fn identity(request: &FetchRequest<'_>) -> Result<HeaderMap, FetchFault> {
    let mut headers = HeaderMap::new();
    let value = |what: &str, text: &str| {
        HeaderValue::from_str(text).map_err(|_invalid| {
            let detail = format!("the {what} given for this feed does not fit into a header");
            FetchFault::new(FaultKind::Request, detail)
        })
    };
    if let Some(user_agent) = request.user_agent {
        headers.insert(USER_AGENT, value("user agent", user_agent)?);
    }
    let authorization = request.authorization.map(|secret| (AUTHORIZATION, secret));
    let configured = request.headers.iter().filter_map(|(name, secret)| {
        // The configuration has seen to its being one.
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, secret))
    });
    for (name, secret) in configured.chain(authorization) {
        let mut secret = value(name.as_str(), secret.expose())?;
        secret.set_sensitive(true);
        headers.insert(name, secret);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::super::fetch;
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use url::Url;

    /// Answers one request with a redirect to `location`, and goes on listening.
    fn redirect_once(listener: TcpListener, location: &str) -> TcpListener {
        let (mut socket, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        assert!(socket.read(&mut request).unwrap() > 0);
        let answer = format!(
            "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        socket.write_all(answer.as_bytes()).unwrap();
        listener
    }

    /// The name is pinned past the guard, as a public server is that redirects inwards.
    #[tokio::test]
    async fn a_public_server_cannot_redirect_to_a_private_one() {
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let mut client = FetchClient::new(&ClientOptions::default()).unwrap();
            client.pin("feeds.example", &[address]);
            let location = format!("http://{host}:{}/inside", address.port());
            let server = std::thread::spawn(move || redirect_once(listener, &location));

            let url: Url = format!("http://feeds.example:{}/", address.port())
                .parse()
                .unwrap();
            let request = FetchRequest {
                deadline: Duration::from_secs(5),
                ..FetchRequest::unconditional(&url)
            };
            let Fetched::Failed(fault) = fetch(&client, &request, Timestamp::EPOCH).await else {
                panic!("{host} was read from");
            };
            assert_eq!(fault.kind, FaultKind::Private, "{fault}");
            assert!(fault.detail.contains("-302->"));
            let listener = server.join().unwrap();
            listener.set_nonblocking(true).unwrap();
            assert!(listener.accept().is_err(), "somebody connected to {host}");
        }
    }
}
