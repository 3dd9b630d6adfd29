//! What the tests of both programs stand on: a world per test, and stand-ins at the socket.

pub mod desk;
pub mod difficult;
pub mod evaluation;
pub mod failing;
pub mod feeds;
pub mod life;
pub mod models;
pub mod ntfy;
pub mod posting;
pub mod programs;
pub mod proof;
pub mod smtp;
pub mod storm;
pub mod telegram;
pub mod tls;
pub mod world;
