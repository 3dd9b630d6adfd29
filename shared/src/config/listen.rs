//! `[listen]`: where webhooks and heartbeats are received, and how much of them at once.

use super::reader::{Read, Section};
use super::value::{size, text, whole_number};
use std::net::{Ipv4Addr, SocketAddr};
use toml::de::DeValue;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// 127.0.0.1:8787 by default: a reverse proxy stands before it. A socket that systemd passes wins.
    pub address: SocketAddr,
    /// Bytes of one body; 25 MiB by default, the largest that GitHub sends (docs.github.com, "Webhook
    /// events and payloads").
    pub max_body: u64,
    /// Connections at the same time; 1,000 by default.
    pub connections: usize,
    /// Deliveries of one webhook in any minute, in the long run; 1,200 by default, six times what once came
    /// at once. More are answered with 429.
    pub per_minute: usize,
}

const MAX_BODY: u64 = 25 * 1024 * 1024;
const CONNECTIONS: usize = 1_000;
const PER_MINUTE: usize = 1_200;

impl Default for Listen {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            max_body: MAX_BODY,
            connections: CONNECTIONS,
            per_minute: PER_MINUTE,
        }
    }
}

pub(super) fn read(root: &mut Section<'_>) -> Listen {
    let default = Listen::default();
    let Some(mut section) = root.section("listen", "[listen]") else {
        return default;
    };
    let listen = Listen {
        address: section.get("address", address).unwrap_or(default.address),
        max_body: section.get("max_body", body).unwrap_or(default.max_body),
        connections: section
            .get("connections", whole_number(10..=10_000))
            .unwrap_or(default.connections),
        per_minute: section
            .get("per_minute", whole_number(10..=1_000_000))
            .unwrap_or(default.per_minute),
    };
    section.finish();
    listen
}

/// Whom who is not on this machine can reach without a proxy, and so without TLS.
pub(super) fn warning(listen: &Listen) -> Option<String> {
    (!listen.address.ip().is_loopback()).then(|| {
        format!(
            "listen.address: {} can be reached from other machines, and what is posted there is not encrypted; put a \
             reverse proxy before 127.0.0.1 (deploy/nginx.conf)",
            listen.address
        )
    })
}

fn address(value: &DeValue<'_>) -> Read<SocketAddr> {
    let text = text(value)?;
    text.parse().map_err(|_error| {
        format!("{text:?} is no address with a port; write one like \"127.0.0.1:8787\"")
    })
}

fn body(value: &DeValue<'_>) -> Read<u64> {
    let bytes = size(value)?;
    if (1024..=MAX_BODY).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("is out of range; write a size from \"1 KiB\" to \"25 MiB\"".to_owned())
    }
}
