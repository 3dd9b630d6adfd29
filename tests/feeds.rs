//! `feeds` and what is told of feeds themselves.
