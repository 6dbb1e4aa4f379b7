//! Diagnostics of scans: problems and counter resets, each recorded once even if a file is read repeatedly.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use zlens_frames::zvm::Capture;
use zlens_frames::{Problem, ProblemKind, ProblemLog};

/// Maximum number of problems, and of resets, kept in full.
pub const LIMIT: usize = 10_000;
/// Maximum number distinguished beyond that, to count them; 8 bytes each.
const COUNTED: usize = 1_000_000;

/// A problem encountered while decoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeProblem {
    /// Number of the system.
    pub system: usize,
    /// Number of the file in its system.
    pub file: usize,
    /// The problem itself.
    pub problem: Problem,
}

/// A subject whose counters restarted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reset {
    /// Number of the system.
    pub system: usize,
    /// TOD of the reset if known, otherwise of the first sample after it.
    pub tod: u64,
    /// Table whose counters are concerned.
    pub table: String,
    /// Values of the subject's columns joined by `/`.
    pub subject: String,
    /// The evidence, such as `VARY ON`.
    pub evidence: String,
}

/// Problems and resets of all scans of a decoder.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    problems: Mutex<DedupList<DecodeProblem>>,
    resets: Mutex<DedupList<Reset>>,
}

#[derive(Debug)]
struct DedupList<T> {
    rows: Vec<T>,
    seen: HashSet<u64>,
}

impl<T> Default for DedupList<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            seen: HashSet::new(),
        }
    }
}

impl<T> DedupList<T> {
    fn add(&mut self, key: impl Hash, row: impl FnOnce() -> T) {
        if self.seen.len() >= COUNTED {
            return;
        }
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        if self.seen.insert(hasher.finish()) && self.rows.len() < LIMIT {
            self.rows.push(row());
        }
    }

    /// Number of rows beyond those kept, and whether there may be more.
    fn beyond(&self) -> (usize, bool) {
        (
            self.seen.len() - self.rows.len(),
            self.seen.len() >= COUNTED,
        )
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A list is whole after every push, whatever made another thread panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Diagnostics {
    /// Adds a problem unless one with this key was added before.
    pub(crate) fn problem(&self, key: impl Hash, problem: impl FnOnce() -> DecodeProblem) {
        lock(&self.problems).add(key, problem);
    }

    /// Adds what a pass over a file found different from its index.
    pub(crate) fn pass(&self, problems: &ProblemLog, place: &Reporter<'_>) {
        let (system, file) = (place.system, place.file);
        for mut problem in problems.rows() {
            problem.offset = place.original(problem.offset);
            let key = (system, file, problem.kind, problem.offset, "pass");
            self.problem(key, || DecodeProblem {
                system,
                file,
                problem,
            });
        }
    }

    /// Adds a reset unless one with this key was added before.
    pub(crate) fn reset(&self, key: impl Hash, reset: impl FnOnce() -> Reset) {
        lock(&self.resets).add(key, reset);
    }

    /// Returns the problems; beyond the limit, the last one has the number of the others.
    pub(crate) fn problems(&self) -> Vec<DecodeProblem> {
        let list = lock(&self.problems);
        let mut rows = list.rows.clone();
        let (beyond, more) = list.beyond();
        if let Some(last) = rows.last().filter(|_| beyond > 0) {
            let least = if more { "at least " } else { "" };
            let detail = format!("{least}{beyond} more problems of decoding are not listed");
            let problem = Problem {
                detail,
                bytes: 0,
                ..last.problem.clone()
            };
            rows.push(DecodeProblem { problem, ..*last });
        }
        rows
    }

    /// The resets, at most [`LIMIT`].
    pub(crate) fn resets(&self) -> Vec<Reset> {
        lock(&self.resets).rows.clone()
    }
}

/// Context attached to every reported problem and reset: system, file, record.
#[derive(Clone, Copy)]
pub(crate) struct Reporter<'j> {
    pub journal: &'j Diagnostics,
    pub system: usize,
    pub file: usize,
    pub table: &'j str,
    pub record: (u8, u16),
    /// Maps offsets back to the file if the input is a capture.
    pub capture: Option<&'j Capture>,
}

impl Reporter<'_> {
    /// Offset in the file of a byte.
    fn original(&self, offset: u64) -> u64 {
        self.capture
            .map_or(offset, |capture| capture.original(offset))
    }

    /// Reports a problem, once for each `key` in this file and table.
    pub(crate) fn problem(
        &self,
        kind: ProblemKind,
        key: impl Hash,
        offset: u64,
        bytes: u64,
        detail: impl FnOnce() -> String,
    ) {
        self.journal
            .problem((self.system, self.file, self.table, kind, key), || {
                DecodeProblem {
                    system: self.system,
                    file: self.file,
                    problem: Problem {
                        kind,
                        offset: self.original(offset),
                        bytes,
                        record: Some(self.record),
                        detail: detail(),
                    },
                }
            });
    }

    /// Reports that the counters of a subject restarted.
    pub(crate) fn reset(&self, tod: u64, subject: &str, evidence: impl FnOnce() -> String) {
        self.journal
            .reset((self.system, self.table, subject, tod), || Reset {
                system: self.system,
                tod,
                table: self.table.to_owned(),
                subject: subject.to_owned(),
                evidence: evidence(),
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_problems_are_counted() {
        let journal = Diagnostics::default();
        let place = Reporter {
            journal: &journal,
            system: 0,
            file: 0,
            table: "t",
            record: (6, 3),
            capture: None,
        };
        for offset in (0..LIMIT as u64 + 25).chain(0..40) {
            place.problem(ProblemKind::Section, offset, offset, 1, || {
                format!("at {offset}")
            });
        }
        let problems = journal.problems();
        assert_eq!(problems.len(), LIMIT + 1);
        assert_eq!(problems[3].problem.detail, "at 3");
        assert!(problems[LIMIT].problem.detail.starts_with("25 more"));
        for _ in 0..2 {
            place.reset(7, "A", || "logon".into());
        }
        assert_eq!(journal.resets().len(), 1);
    }
}
