//! Forwarder: reads monitor data on a Linux guest and sends it to `zlens live`.
//!
//! A thread reads the [`source`] and appends what it gives to the [`spool`] on disk; another one sends the spool to the
//! receiver and keeps records until they are acknowledged ([`mod@send`]). Frames on the [`wire`] and records of the
//! spool are the same bytes. docs/forward.md is for users.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod collect;
pub mod connection;
pub mod error;
pub mod log;
pub mod options;
pub mod run;
pub mod send;
pub mod source;
pub mod spool;
pub mod wire;
