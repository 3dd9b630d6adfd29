//! Pure rules that both programs need: `now` and chance are arguments, nothing is read or written.

pub mod address;
pub mod backoff;
pub mod beat;
pub mod edit;
pub mod story;
pub mod text;
