//! `[status]`: where the sender says how it is.

use super::reader::{Read, Section};
use super::value::text;
use std::net::SocketAddr;
use toml::de::DeValue;

/// `None`: nowhere. Of this machine alone: what is said there is not everybody's business.
pub(super) fn read(root: &mut Section<'_>) -> Option<SocketAddr> {
    let mut section = root.section("status", "[status]")?;
    let missing = "is missing; write one like \"127.0.0.1:9187\"";
    let address = section.need("address", missing, address);
    section.finish();
    address
}

fn address(value: &DeValue<'_>) -> Read<SocketAddr> {
    let text = text(value)?;
    let address: SocketAddr = text.parse().map_err(|_error| {
        format!("{text:?} is no address with a port; write one like \"127.0.0.1:9187\"")
    })?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(format!(
            "{text:?} is not this machine's alone; write one like \"127.0.0.1:9187\""
        ))
    }
}
