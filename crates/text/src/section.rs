//! A report section: rows read once from a stream, printable any number of times.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::batch::{Batch, Kind, Values};
use crate::cell::{Cell, Style, length};
use crate::error::Error;
use crate::spill::BatchSpill;

/// Columns before those that are shown: block, time, flag.
pub const LEADING_COLUMNS: usize = 3;
const BLOCK: usize = 0;
const TIME: usize = 1;
const FLAG: usize = 2;

/// The rows of one block, and what a printer has to know of them before it begins.
#[derive(Clone, Debug)]
pub struct BlockStats {
    pub block: Option<String>,
    pub rows: usize,
    /// For each column shown: the number of rows with a value.
    pub values: Vec<usize>,
    /// For each column shown: the length of its longest text in characters, at least its width.
    pub longest: Vec<usize>,
    /// The earliest and the latest time, where there is any.
    pub times: Option<(i64, i64)>,
    pub flags: BTreeSet<String>,
    /// Batch and row where it begins.
    pub(crate) first: (usize, usize),
}

impl BlockStats {
    fn new(block: Option<&str>, first: (usize, usize), styles: &[Style]) -> Self {
        Self {
            block: block.map(str::to_owned),
            rows: 0,
            values: vec![0; styles.len()],
            longest: styles.iter().map(|style| style.width).collect(),
            times: None,
            flags: BTreeSet::new(),
            first,
        }
    }

    fn add(&mut self, batch: &Batch, first: usize, last: usize, styles: &[Style]) {
        self.rows += last - first;
        for (column, style) in styles.iter().enumerate() {
            let Some(values) = batch.columns.get(LEADING_COLUMNS + column) else {
                continue;
            };
            if values.array().null_count() == batch.rows {
                continue;
            }
            let cell = Cell {
                values,
                style,
                offset_us: 0,
            };
            let mut scratch = String::new();
            for row in first..last {
                self.values[column] += usize::from(!values.is_missing(row));
                if values.is_null(row) || cell.surely_fits(row) {
                    continue;
                }
                scratch.clear();
                if cell.push(&mut scratch, row) {
                    self.longest[column] = self.longest[column].max(length(&scratch));
                }
            }
        }
        for row in first..last {
            if let Some(time) = batch.columns[TIME].time(row) {
                let (earliest, latest) = self.times.unwrap_or((time, time));
                self.times = Some((earliest.min(time), latest.max(time)));
            }
            if let Some(flag) = batch.columns[FLAG].text(row)
                && !flag.is_empty()
                && !self.flags.contains(flag)
            {
                self.flags.insert(flag.to_owned());
            }
        }
    }
}

/// Collects the batches of a section.
pub struct SectionBuilder {
    styles: Vec<Style>,
    kinds: Vec<Kind>,
    spool: BatchSpill,
    runs: Vec<BlockStats>,
}

impl SectionBuilder {
    /// `kinds` are those of all columns, `styles` those of the columns shown.
    pub fn new(kinds: Vec<Kind>, styles: Vec<Style>) -> Self {
        Self {
            styles,
            kinds,
            spool: BatchSpill::new(),
            runs: Vec::new(),
        }
    }

    /// As `new`, with fewer bytes in memory.
    pub fn with_memory(kinds: Vec<Kind>, styles: Vec<Style>, most: usize) -> Self {
        Self {
            spool: BatchSpill::with_memory(most),
            ..Self::new(kinds, styles)
        }
    }

    /// Takes the next rows; those of a block follow each other.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let batch = Batch::new(batch, &self.kinds)?;
        let mut first = 0;
        while first < batch.rows {
            let block = block(&batch, first);
            let last = (first + 1..batch.rows)
                .find(|&row| self::block(&batch, row) != block)
                .unwrap_or(batch.rows);
            match self.runs.last_mut() {
                Some(run) if run.block.as_deref() == block => {
                    run.add(&batch, first, last, &self.styles);
                }
                _ => {
                    let mut run = BlockStats::new(block, (self.spool.len(), first), &self.styles);
                    run.add(&batch, first, last, &self.styles);
                    self.runs.push(run);
                }
            }
            first = last;
        }
        if batch.rows > 0 {
            self.spool.push(batch)?;
        }
        Ok(())
    }

    pub fn finish(self) -> Section {
        Section(Arc::new(self))
    }
}

fn block(batch: &Batch, row: usize) -> Option<&str> {
    batch.columns[BLOCK].text(row)
}

/// A section read to its end, by blocks.
#[derive(Clone)]
pub struct Section(Arc<SectionBuilder>);

impl Section {
    pub fn runs(&self) -> &[BlockStats] {
        &self.0.runs
    }

    pub fn styles(&self) -> &[Style] {
        &self.0.styles
    }

    pub(crate) fn cursor(&self, run: usize) -> Result<Cursor, Error> {
        let (batch, row) = self.0.runs[run].first;
        Cursor::new(self.clone(), batch, row, self.0.runs[run].rows)
    }
}

/// A position among the rows of a run.
pub struct Cursor {
    section: Section,
    at: usize,
    batch: Arc<Batch>,
    row: usize,
    left: usize,
}

impl Cursor {
    fn new(section: Section, at: usize, row: usize, left: usize) -> Result<Self, Error> {
        Ok(Self {
            batch: section.0.spool.get(at)?,
            section,
            at,
            row,
            left,
        })
    }

    pub fn left(&self) -> usize {
        self.left
    }

    pub fn row(&self) -> (&Batch, usize) {
        (&self.batch, self.row)
    }

    pub fn advance(&mut self) -> Result<(), Error> {
        self.left -= 1;
        self.row += 1;
        if self.row == self.batch.rows && self.left > 0 {
            self.at += 1;
            self.batch = self.section.0.spool.get(self.at)?;
            self.row = 0;
        }
        Ok(())
    }
}

/// The time of a row, before the columns shown.
pub fn time(batch: &Batch, row: usize) -> Option<i64> {
    batch.columns[TIME].time(row)
}

/// The flag of a row; `None` if it is empty.
pub fn flag(batch: &Batch, row: usize) -> Option<&str> {
    batch.columns[FLAG].text(row)
}

/// The columns shown.
pub fn row_values(batch: &Batch) -> &[Values] {
    &batch.columns[LEADING_COLUMNS..]
}
