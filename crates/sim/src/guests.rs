//! Guests: what virtual CPUs do, transactions, logon and logoff, commands.
//!
//! A virtual CPU runs the steps of transactions in the order of their arrival and, when there are none, its own
//! load. Its work is cut at the next I/O operation and the next page fault, for which it waits.

mod commands;
mod relocations;
mod transactions;
mod work;

use crate::time::{SECOND, Ticks};

/// A profile is looked at again after this long.
const POLL_INTERVAL: Ticks = 10 * SECOND;
