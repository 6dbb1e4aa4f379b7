//! SMF dumps and their systems, as decoders are given them.

use std::collections::HashMap;
use std::sync::Arc;

use zlens_frames::smf::{Index, Pass};
use zlens_frames::{ProblemKind, ReadAt};

use super::diagnostics::Reporter;

/// A problem of a file that concerns no system in particular.
pub const NO_SYSTEM: usize = usize::MAX;

/// A stream of records: the number of its file, the type of its records, and its name in them, EBCDIC.
pub type Id = (u32, u16, [u8; 4]);

/// The number of each system by its names.
pub(crate) fn numbers<'a>(systems: impl Iterator<Item = &'a Vec<Id>>) -> HashMap<Id, u16> {
    (0..)
        .zip(systems)
        .flat_map(|(number, ids)| ids.iter().map(move |&id| (id, number)))
        .collect()
}

/// A dump whose records were found.
#[derive(Clone)]
pub struct File {
    /// Its name, as the column `file` shows it.
    pub name: String,
    /// Its bytes.
    pub source: Arc<dyn ReadAt>,
    /// Position of its records.
    pub index: Arc<Index>,
}

/// Dumps and the systems whose records are in them.
pub struct DumpSet<S> {
    /// Value of the column `source`.
    pub source: String,
    /// Data of each system.
    pub systems: Vec<S>,
    /// The dumps in the order of their first time.
    pub files: Vec<File>,
    /// Leap seconds that are taken off all times.
    pub leap_s: i32,
}

impl<S> DumpSet<S> {
    /// A pass over the records of these types and subtypes in one file, and the file's name.
    pub(crate) fn pass(&self, file: usize, wanted: &[(u8, u16)]) -> Option<(Pass, String)> {
        let file = self.files.get(file)?;
        let pass = Pass::new(Arc::clone(&file.source), Arc::clone(&file.index), wanted);
        Some((pass, file.name.clone()))
    }
}

/// Records of a file that came before.
#[derive(Debug, Default)]
pub(crate) struct DuplicateRecords {
    /// Start of the first of them.
    first: u64,
    count: u64,
    bytes: u64,
}

impl DuplicateRecords {
    pub(crate) fn add(&mut self, offset: u64, bytes: u64) {
        if self.count == 0 {
            self.first = offset;
        }
        self.count += 1;
        self.bytes += bytes;
    }

    /// Reports them at the end of their file and clears them.
    pub(crate) fn report(&mut self, place: &Reporter<'_>) {
        let Self {
            first,
            count: count @ 1..,
            bytes,
        } = std::mem::take(self)
        else {
            return;
        };
        let record = place.record.0;
        place.problem(
            ProblemKind::Duplicate,
            ("again", place.record),
            first,
            bytes,
            || format!("{count} duplicate records of type {record}; each is decoded once"),
        );
    }
}
