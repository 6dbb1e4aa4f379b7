//! Problems in the input. Nothing is dropped silently, and memory stays bounded.

/// The kinds of problem there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// The file ends inside something, or a frame before its data do.
    Truncated,
    /// A length is impossible: zero, or past its frame.
    Length,
    /// A record header or control record is not plausible.
    Header,
    /// There is no layout for this type of record.
    NoLayout,
    /// A record is shorter than its layout.
    Short,
    /// A record is longer than its layout.
    Long,
    /// Data is missing between two samples.
    Gap,
    /// Bytes were skipped to the next plausible offset.
    Resync,
    /// The same data came twice.
    Duplicate,
    /// The file was damaged in transfer.
    Transfer,
    /// A section of a record points outside it, or is not expected.
    Section,
    /// A time that cannot be right.
    Time,
    /// The file changed while it was read, or a value stepped back without evidence of a reset.
    Changed,
}

impl ProblemKind {
    /// All kinds, in the order of their definition.
    pub const ALL: [Self; 13] = [
        Self::Truncated,
        Self::Length,
        Self::Header,
        Self::NoLayout,
        Self::Short,
        Self::Long,
        Self::Gap,
        Self::Resync,
        Self::Duplicate,
        Self::Transfer,
        Self::Section,
        Self::Time,
        Self::Changed,
    ];

    /// The name of the kind in the table of problems.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Length => "length",
            Self::Header => "header",
            Self::NoLayout => "no_layout",
            Self::Short => "short",
            Self::Long => "long",
            Self::Gap => "gap",
            Self::Resync => "resync",
            Self::Duplicate => "duplicate",
            Self::Transfer => "transfer",
            Self::Section => "section",
            Self::Time => "time",
            Self::Changed => "changed",
        }
    }
}

/// One problem in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Kind of problem.
    pub kind: ProblemKind,
    /// Offset in the file.
    pub offset: u64,
    /// Number of bytes that were not read because of it.
    pub bytes: u64,
    /// Domain and number of the record it was found in, if known.
    pub record: Option<(u8, u16)>,
    /// A sentence for a person.
    pub detail: String,
}

/// Problems in the order they were found: the first [`ProblemLog::LIMIT`] in full, the rest counted.
#[derive(Clone, Debug, Default)]
pub struct ProblemLog {
    rows: Vec<Problem>,
    more: [u64; ProblemKind::ALL.len()],
    more_bytes: u64,
    more_from: u64,
}

impl ProblemLog {
    /// Maximum number of problems kept in full.
    pub const LIMIT: usize = 10_000;

    /// Adds a problem.
    pub fn push(&mut self, problem: Problem) {
        if self.rows.len() < Self::LIMIT {
            self.rows.push(problem);
        } else {
            self.count(problem.kind, problem.offset, problem.bytes);
        }
    }

    /// Adds a problem whose sentence is made only if it is kept.
    pub fn add(
        &mut self,
        kind: ProblemKind,
        offset: u64,
        bytes: u64,
        record: Option<(u8, u16)>,
        detail: impl FnOnce() -> String,
    ) {
        if self.rows.len() < Self::LIMIT {
            self.rows.push(Problem {
                kind,
                offset,
                bytes,
                record,
                detail: detail(),
            });
        } else {
            self.count(kind, offset, bytes);
        }
    }

    fn count(&mut self, kind: ProblemKind, offset: u64, bytes: u64) {
        if self.more.iter().all(|&count| count == 0) {
            self.more_from = offset;
        }
        self.more[kind as usize] = self.more[kind as usize].saturating_add(1);
        self.more_bytes = self.more_bytes.saturating_add(bytes);
    }

    /// Makes offsets into others.
    pub(crate) fn map_offsets(&mut self, to: impl Fn(u64) -> u64) {
        for row in &mut self.rows {
            row.offset = to(row.offset);
        }
        self.more_from = to(self.more_from);
    }

    /// Processes the problems of another log, all in the order of their offsets.
    pub(crate) fn absorb(&mut self, other: Self) {
        if other.more.iter().any(|&count| count > 0) {
            let first = self.more.iter().all(|&count| count == 0);
            self.more_from = match first {
                true => other.more_from,
                false => self.more_from.min(other.more_from),
            };
            for (count, more) in self.more.iter_mut().zip(other.more) {
                *count = count.saturating_add(more);
            }
            self.more_bytes = self.more_bytes.saturating_add(other.more_bytes);
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.extend(other.rows);
        rows.sort_by_key(|row| row.offset);
        for row in rows {
            self.push(row);
        }
    }

    /// Number of problems found.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.rows.len() as u64 + self.more.iter().sum::<u64>()
    }

    /// Whether none was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The problems kept in full.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.rows
    }

    /// Number of problems of one kind.
    #[must_use]
    pub fn count_of(&self, kind: ProblemKind) -> u64 {
        self.rows.iter().filter(|row| row.kind == kind).count() as u64 + self.more[kind as usize]
    }

    /// The problems kept in full, and one more row for all others if there are any.
    #[must_use]
    pub fn rows(&self) -> Vec<Problem> {
        let mut rows = self.rows.clone();
        rows.extend(self.summary());
        rows
    }

    fn summary(&self) -> Option<Problem> {
        let counted = || {
            ProblemKind::ALL
                .into_iter()
                .filter(|&kind| self.more[kind as usize] > 0)
        };
        let kind = counted().max_by_key(|&kind| self.more[kind as usize])?;
        let parts: Vec<String> = counted()
            .map(|kind| format!("{} {}", self.more[kind as usize], kind.as_str()))
            .collect();
        let total: u64 = self.more.iter().sum();
        let detail = format!(
            "{total} more problems from here on are only counted: {}",
            parts.join(", ")
        );
        Some(Problem {
            kind,
            offset: self.more_from,
            bytes: self.more_bytes,
            record: None,
            detail,
        })
    }
}
