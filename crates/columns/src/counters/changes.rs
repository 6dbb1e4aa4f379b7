//! Values of watched columns that changed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::core::diagnostics::LIMIT;

/// A watched column of one processor had another value than in the record before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Number of the system.
    pub system: usize,
    /// Number of the file with the record that shows it.
    pub file: usize,
    /// Start of that record.
    pub offset: u64,
    /// The processor.
    pub processor: u64,
    /// Name of the column.
    pub column: String,
    /// Time of the last record with the previous value; a TOD value.
    pub since: u64,
    /// Time of the first record with the new value; a TOD value.
    pub tod: u64,
    /// End of the interval which that record describes, if it says one; a TOD value.
    pub interval_end: Option<u64>,
    /// The value before.
    pub before: u64,
    /// The new value.
    pub after: u64,
}

/// Changes found by all scans, each once, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    rows: Mutex<BTreeMap<(usize, u64, u64, String), Change>>,
}

impl Changes {
    pub(crate) fn add(&self, change: Change) {
        let key = (
            change.system,
            change.tod,
            change.processor,
            change.column.clone(),
        );
        // The map is whole after every insertion, whatever made another thread panic.
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.len() < LIMIT {
            rows.entry(key).or_insert(change);
        }
    }

    pub(crate) fn all(&self) -> Vec<Change> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.values().cloned().collect()
    }
}
