//! Scans: dumps in, batches of the table of counters out.

use std::sync::Arc;

use zlens_frames::ReadAt;
use zlens_frames::smf::{Index, Pass, RecordRef, Window};

use super::batch::{Batch, Context};
use super::journal::{Change, Changes};
use super::lines::Lines;
use super::plan::Plan;
use super::rows::{Fate, Rows};
use super::select::{Selection, types};
use super::shape::Shapes;
use super::state::Tracks;
use crate::journal::{Found, Journal, Place, Reset};
use crate::reader::{Reader, Steps};
use crate::scan::{ScanError, Step};
use crate::select::SelectError;

/// A problem of a file that concerns no system in particular.
pub const NO_SYSTEM: usize = usize::MAX;

/// A dump whose records were found.
#[derive(Clone)]
pub struct File {
    /// Its name, as the column `file` shows it.
    pub name: String,
    /// Its bytes.
    pub source: Arc<dyn ReadAt>,
    /// Where its records are.
    pub index: Arc<Index>,
}

/// A system and what is known about it.
#[derive(Debug, Clone)]
pub struct System {
    /// Its name, as the column `system` shows it.
    pub name: String,
    /// Its name in the records, EBCDIC.
    pub id: [u8; 4],
    /// When its intervals end, in rising order; TOD values.
    pub interval_ends: Arc<[u64]>,
    /// Whether the first subtype tells of an interval, so that the second is not shown.
    pub covered: Arc<[bool]>,
    /// How long an interval should be.
    pub nominal_s: Option<f64>,
}

/// Files, systems, the plan, and what scans found out.
pub struct Decoder {
    source: String,
    systems: Vec<System>,
    files: Vec<File>,
    plan: Arc<Plan>,
    leap_s: i32,
    journal: Journal,
    changes: Changes,
}

impl Decoder {
    /// A decoder of these files, in the order of their first time, by a plan; `source` is what the column of that
    /// name shows, and `leap_s` leap seconds are taken off all times.
    #[must_use]
    pub fn new(
        source: String,
        systems: Vec<System>,
        files: Vec<File>,
        plan: Plan,
        leap_s: i32,
    ) -> Self {
        Self {
            source,
            systems,
            files,
            plan: Arc::new(plan),
            leap_s,
            journal: Journal::default(),
            changes: Changes::default(),
        }
    }

    /// The systems.
    #[must_use]
    pub fn systems(&self) -> &[System] {
        &self.systems
    }

    /// The files.
    #[must_use]
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Names and types (int, float, text, bool, time) of the columns of the table.
    #[must_use]
    pub fn schema(&self) -> Vec<(String, &'static str)> {
        types(&self.plan)
    }

    /// Columns of the table: those named, in that order, or all of them.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn select(&self, columns: Option<&[String]>) -> Result<Selection, SelectError> {
        Selection::new(&self.plan, columns)
    }

    /// A scan of all files. `check` also holds subtypes that tell of the same against each other, in the counters
    /// that are selected.
    #[must_use]
    pub fn scan(self: &Arc<Self>, selection: &Selection, check: bool) -> Scan {
        // The second subtype is not even read where the first tells of every interval.
        let all_covered = self.systems.iter().all(|system| {
            system.covered.len() == system.interval_ends.len() && system.covered.iter().all(|&c| c)
        });
        let count = if all_covered && !check {
            1
        } else {
            self.plan.subtypes.len()
        };
        let subtypes = &self.plan.subtypes[..count];
        Scan {
            wanted: subtypes
                .iter()
                .map(|one| (self.plan.record, one.subtype))
                .collect(),
            tracks: Tracks::new(&self.plan, &self.systems),
            shapes: subtypes.iter().map(|_| Shapes::default()).collect(),
            lines: Lines::new(&self.plan),
            rows: Rows::default(),
            batch: Batch::new(&self.plan, selection, check.then_some(self.systems.len())),
            decoder: Arc::clone(self),
            pass: None,
            file: 0,
            failed: None,
        }
    }

    /// A scan of all files in the form Arrow's consumers know.
    #[must_use]
    pub fn read(self: &Arc<Self>, selection: &Selection) -> Reader<Scan> {
        Reader::new(selection.schema(), self.scan(selection, false))
    }

    /// Problems met by scans so far, each once; [`NO_SYSTEM`] stands for none.
    #[must_use]
    pub fn problems(&self) -> Vec<Found> {
        self.journal.problems()
    }

    /// Processors whose counters began anew, as met by scans so far.
    #[must_use]
    pub fn resets(&self) -> Vec<Reset> {
        self.journal.resets()
    }

    /// Watched columns that changed, as met by scans so far.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        self.changes.all()
    }
}

/// A scan of all files of a decoder.
pub struct Scan {
    decoder: Arc<Decoder>,
    wanted: Vec<(u8, u16)>,
    pass: Option<Pass>,
    file: usize,
    /// Why the file before could not be read to its end; what was read of it goes first.
    failed: Option<ScanError>,
    tracks: Tracks,
    shapes: Vec<Shapes>,
    lines: Lines,
    rows: Rows,
    batch: Batch,
}

impl Scan {
    /// Does a little: hands out a batch, or reads one window. Batches are of the table numbered 0.
    ///
    /// # Errors
    /// If a file cannot be read. The scan then goes on behind that file.
    pub fn step(&mut self) -> Result<Step, ScanError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let decoder = Arc::clone(&self.decoder);
        let Some(file) = decoder.files.get(self.file) else {
            return Ok(Step::Done);
        };
        if self.batch.is_full() {
            return self.hand_out(&decoder, file);
        }
        let mut pass = self.pass.take().unwrap_or_else(|| {
            Pass::new(
                Arc::clone(&file.source),
                Arc::clone(&file.index),
                &self.wanted,
            )
        });
        let place = Place {
            journal: &decoder.journal,
            system: NO_SYSTEM,
            file: self.file,
            table: &decoder.plan.table,
            record: (decoder.plan.record, 0),
            capture: None,
        };
        match pass.next_window() {
            Ok(Some(window)) => {
                self.window(&decoder, &window, &place);
                self.pass = Some(pass);
                Ok(Step::Working)
            }
            Ok(None) => {
                for problem in pass.problems().rows() {
                    let key = (self.file, problem.kind, problem.offset, "pass");
                    let found = Found {
                        system: NO_SYSTEM,
                        file: self.file,
                        problem,
                    };
                    decoder.journal.problem(key, || found);
                }
                self.tracks.end_file(decoder.plan.record, &place);
                self.batch.end_file(&decoder.plan, &place);
                self.file += 1;
                // A batch is of one file.
                self.hand_out(&decoder, file)
            }
            Err(source) => {
                self.file += 1;
                self.failed = Some(ScanError::Io {
                    file: file.name.clone(),
                    offset: pass.position(),
                    source,
                });
                self.hand_out(&decoder, file)
            }
        }
    }

    fn hand_out(&mut self, decoder: &Decoder, file: &File) -> Result<Step, ScanError> {
        let batch = self.batch.take(&decoder.source, &file.name)?;
        Ok(batch.map_or(Step::Working, |batch| Step::Batch(0, batch)))
    }

    fn window(&mut self, decoder: &Decoder, window: &Window<'_>, place: &Place<'_>) {
        let first = window.records(0);
        let second = if self.wanted.len() > 1 {
            window.records(1)
        } else {
            &[]
        };
        if second.is_empty() || first.is_empty() {
            self.records(0, decoder, window, first, place);
            self.records(1, decoder, window, second, place);
            return;
        }
        // In the order of the file, for what is held against each other stands near each other.
        let (mut first, mut second) = (first, second);
        while !first.is_empty() || !second.is_empty() {
            let (nth, list, other) = match (first.first(), second.first()) {
                (Some(one), Some(two)) if two.pos < one.pos => (1, &mut second, first),
                (None, _) => (1, &mut second, first),
                _ => (0, &mut first, second),
            };
            let until = other.first().map_or(u32::MAX, |record| record.pos);
            let count = list.partition_point(|record| record.pos < until);
            let (run, rest) = list.split_at(count);
            *list = rest;
            self.records(nth, decoder, window, run, place);
        }
    }

    /// Takes up records of one subtype.
    fn records(
        &mut self,
        nth: usize,
        decoder: &Decoder,
        window: &Window<'_>,
        records: &[RecordRef],
        place: &Place<'_>,
    ) {
        let Some(subtype) = decoder
            .plan
            .subtypes
            .get(nth)
            .filter(|_| !records.is_empty())
        else {
            return;
        };
        let plan = &decoder.plan;
        let place = Place {
            record: (plan.record, subtype.subtype),
            ..*place
        };
        let (lines, rows) = (&mut self.lines, &mut self.rows);
        lines.clear();
        lines.gather(
            window,
            records,
            subtype,
            plan,
            &mut self.shapes[nth],
            &place,
        );
        self.tracks
            .rows(nth, window, lines, rows, &place, &decoder.changes);
        if rows.fates.contains(&Fate::Again) {
            let keep: Vec<bool> = rows.fates.iter().map(|&fate| fate != Fate::Again).collect();
            lines.retain(&keep);
            rows.retain(&keep);
        }
        if lines.len() == 0 {
            return;
        }
        let context = Context {
            tracks: &self.tracks,
            systems: &decoder.systems,
            place,
            leap_s: decoder.leap_s,
        };
        self.batch
            .append(nth, subtype, window, lines, rows, &context);
    }
}

impl Steps for Scan {
    fn step(&mut self) -> Result<Step, ScanError> {
        self.step()
    }
}
