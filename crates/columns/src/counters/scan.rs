//! Scans: dumps in, batches of the table of counters out.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use zlens_frames::smf::Pass;
use zlens_frames::{ProblemLog, RecordRef, Window};

use super::batch::{Batch, Context};
use super::changes::{Change, Changes};
use super::plan::Plan;
use super::records::RecordColumns;
use super::rows::{Disposition, RowState};
use super::select::Selection;
use super::shape::ShapeCache;
use super::tracker::{System, Tracker};
use crate::core::diagnostics::{DecodeProblem, Diagnostics, Reporter, Reset};
use crate::core::dumps::{DumpSet, NO_SYSTEM};
use crate::core::scan::{self, Reader, TableBatch, WindowDecoder};
use crate::core::select::{SelectError, types};

/// Dumps, the plan, and what scans found out.
pub struct Decoder {
    dumps: DumpSet<System>,
    plan: Arc<Plan>,
    journal: Diagnostics,
    changes: Changes,
}

impl Decoder {
    /// A decoder of these dumps by a plan.
    #[must_use]
    pub fn new(dumps: DumpSet<System>, plan: Plan) -> Self {
        Self {
            dumps,
            plan: Arc::new(plan),
            journal: Diagnostics::default(),
            changes: Changes::default(),
        }
    }

    /// The dumps and their systems.
    #[must_use]
    pub const fn dumps(&self) -> &DumpSet<System> {
        &self.dumps
    }

    /// Names and types (int, float, text, bool, time) of the columns of the table.
    #[must_use]
    pub fn schema(&self) -> Vec<(String, &'static str)> {
        types(&*self.plan)
    }

    /// Columns of the table: those named, in that order, or all of them.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn select(&self, columns: Option<&[String]>) -> Result<Selection, SelectError> {
        Selection::new(&*self.plan, (), columns, |_| true)
    }

    /// A scan of all files. `check` also compares subtypes that cover the same, in the counters
    /// that are selected. Batches are of the table numbered 0.
    #[must_use]
    pub fn scan(self: &Arc<Self>, selection: &Selection, check: bool) -> Scan {
        let systems = &self.dumps.systems;
        // The second subtype is skipped where the first reports every interval.
        let all_covered = systems.iter().all(|system| {
            system.covered.len() == system.interval_ends.len() && system.covered.iter().all(|&c| c)
        });
        let count = if all_covered && !check {
            1
        } else {
            self.plan.subtypes.len()
        };
        let subtypes = &self.plan.subtypes[..count];
        scan::Scan::new(Counters {
            wanted: subtypes
                .iter()
                .map(|one| (self.plan.record, one.subtype))
                .collect(),
            tracks: Tracker::new(&self.plan, systems),
            shapes: subtypes.iter().map(|_| ShapeCache::default()).collect(),
            lines: RecordColumns::new(&self.plan),
            rows: RowState::default(),
            batch: Batch::new(&self.plan, selection, check.then_some(systems.len())),
            last: None,
            decoder: Arc::clone(self),
            file: 0,
        })
    }

    /// A scan of all files in the form Arrow's consumers know.
    #[must_use]
    pub fn read(self: &Arc<Self>, selection: &Selection) -> Reader<Scan> {
        Reader::new(selection.schema(), self.scan(selection, false))
    }

    /// Problems found by scans so far, each once; [`NO_SYSTEM`] means no system.
    #[must_use]
    pub fn problems(&self) -> Vec<DecodeProblem> {
        self.journal.problems()
    }

    /// Processors whose counters restarted, as found by scans so far.
    #[must_use]
    pub fn resets(&self) -> Vec<Reset> {
        self.journal.resets()
    }

    /// Watched columns that changed, as found by scans so far.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        self.changes.all()
    }

    fn place(&self, file: usize) -> Reporter<'_> {
        Reporter {
            journal: &self.journal,
            system: NO_SYSTEM,
            file,
            table: &self.plan.table,
            record: (self.plan.record, 0),
            capture: None,
        }
    }
}

/// A scan of all files of a decoder.
pub type Scan = scan::Scan<Counters>;

/// The table of counters while its files are scanned.
pub struct Counters {
    decoder: Arc<Decoder>,
    wanted: Vec<(u8, u16)>,
    file: usize,
    tracks: Tracker,
    shapes: Vec<ShapeCache>,
    lines: RecordColumns,
    rows: RowState,
    batch: Batch,
    /// Batches left at the end of a file, because a batch is of one file.
    last: Option<RecordBatch>,
}

impl WindowDecoder for Counters {
    type Pass = Pass;

    fn ready(&mut self) -> Result<Option<TableBatch>, ArrowError> {
        let batch = match self.last.take() {
            None if self.batch.is_full() => self.batch.take(&self.decoder.dumps)?,
            last => last,
        };
        Ok(batch.map(|batch| (0, batch)))
    }

    fn open(&mut self) -> Option<(Pass, String)> {
        self.decoder.dumps.pass(self.file, &self.wanted)
    }

    fn window(&mut self, window: &Window<'_>) -> Result<(), ArrowError> {
        let decoder = Arc::clone(&self.decoder);
        let place = decoder.place(self.file);
        let first = window.records(0);
        let second = if self.wanted.len() > 1 {
            window.records(1)
        } else {
            &[]
        };
        if second.is_empty() || first.is_empty() {
            self.records(0, &decoder, window, first, &place);
            self.records(1, &decoder, window, second, &place);
            return Ok(());
        }
        // In the order of the file, for what is compared with each other is near each other.
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
            self.records(nth, &decoder, window, run, &place);
        }
        Ok(())
    }

    fn close(&mut self, problems: Option<&ProblemLog>) -> Result<(), ArrowError> {
        let decoder = Arc::clone(&self.decoder);
        if let Some(problems) = problems {
            let place = decoder.place(self.file);
            decoder.journal.pass(problems, &place);
            self.tracks.end_file(&place);
            self.batch.end_file(&decoder.plan, &place);
        }
        self.file += 1;
        self.last = self.batch.take(&decoder.dumps)?;
        Ok(())
    }
}

impl Counters {
    /// Processes records of one subtype.
    fn records(
        &mut self,
        nth: usize,
        decoder: &Decoder,
        window: &Window<'_>,
        records: &[RecordRef],
        place: &Reporter<'_>,
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
        let place = Reporter {
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
        if rows.fates.contains(&Disposition::Duplicate) {
            let keep: Vec<bool> = rows
                .fates
                .iter()
                .map(|&fate| fate != Disposition::Duplicate)
                .collect();
            lines.retain(&keep);
            rows.retain(&keep);
        }
        if lines.len() == 0 {
            return;
        }
        let context = Context {
            tracks: &self.tracks,
            systems: &decoder.dumps.systems,
            place,
            leap_s: decoder.dumps.leap_s,
        };
        self.batch
            .append(nth, subtype, window, lines, rows, &context);
    }
}
