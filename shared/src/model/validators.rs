//! What a server gave to recognise the version of a feed that it sent.

/// Sent back verbatim with the next request, quotes and `W/` included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

impl Validators {
    pub const NONE: Self = Self {
        etag: None,
        last_modified: None,
    };
}
