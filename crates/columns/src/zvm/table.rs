//! One raw table while its files are scanned: windows in, batches out.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_schema::ArrowError;
use zlens_frames::Window;
use zlens_frames::zvm::Index;

use super::batch::{BatchBuilder, Names};
use super::evidence::ResetEvidence;
use super::gather::{GatherOutcome, RecordLists, RowGatherer};
use super::plan::Plan;
use super::select::Selection;
use crate::core::diagnostics::Reporter;
use crate::core::int64_block::{BATCH_BYTES, SharedPool};
use crate::core::interval::IntervalEnds;
use crate::core::scan::TableBatch;

/// No batch has more rows, so that the offsets of its texts stay below 2 GiB.
const MAX_ROWS: usize = 16_384;
/// Batches that are ready, with the number of their table in the scan.
pub(crate) type Batches = VecDeque<TableBatch>;

/// A table and the batch that is being built of it.
pub(crate) struct TableScan {
    /// Number of the table in its scan.
    number: usize,
    plan: Arc<Plan>,
    gather: RowGatherer,
    build: BatchBuilder,
    /// Lists of the table's records in the windows of this file.
    lists: RecordLists,
    /// Rows of a batch.
    target: usize,
}

impl TableScan {
    pub(crate) fn new(
        number: usize,
        plan: &Arc<Plan>,
        selection: Selection,
        leap_s: i32,
        pool: &SharedPool,
    ) -> Self {
        let (build, wanted) = BatchBuilder::new(plan, selection, leap_s, pool);
        let gather = RowGatherer::new(plan, wanted);
        Self {
            number,
            plan: Arc::clone(plan),
            gather,
            build,
            lists: RecordLists::new(),
            target: MAX_ROWS,
        }
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Another system begins.
    pub(crate) fn begin_system(
        &mut self,
        ends: &IntervalEnds,
        evidence: &[ResetEvidence],
        nominal_s: Option<f64>,
    ) {
        self.build.begin_system(ends, evidence, nominal_s);
    }

    /// Another file begins, whose windows hold this table's records in `lists`.
    pub(crate) fn begin_file(&mut self, lists: RecordLists, index: &Index) {
        self.lists = lists;
        self.build.begin_file();
        let target = (BATCH_BYTES / (8 * self.build.columns().max(1))).clamp(256, MAX_ROWS / 2);
        let (domain, record) = (self.plan.domain, self.plan.record);
        let known = index
            .types
            .iter()
            .filter(|kind| (kind.domain, kind.record) == (domain, record));
        let records =
            usize::try_from(known.map(|kind| kind.count).sum::<u64>()).unwrap_or(usize::MAX);
        // Small files get small batches; of a section's entries there may be more than records.
        self.target = if self.plan.section.is_some() {
            target
        } else {
            records.clamp(1, target)
        };
    }

    /// Decodes what a window holds of this table.
    pub(crate) fn window(
        &mut self,
        window: &Window<'_>,
        names: &Names<'_>,
        place: &Reporter<'_>,
        ready: &mut Batches,
    ) -> Result<(), ArrowError> {
        let mut gathered = self.gather.window(&self.plan, window, &self.lists, place);
        if gathered == GatherOutcome::FlushStaged {
            self.staged(names, place, ready)?;
            gathered = self.gather.window(&self.plan, window, &self.lists, place);
        }
        match gathered {
            GatherOutcome::DecodeWindow => self.rows(window.bytes, names, place, ready),
            _ => Ok(()),
        }
    }

    /// Decodes what was set aside.
    fn staged(
        &mut self,
        names: &Names<'_>,
        place: &Reporter<'_>,
        ready: &mut Batches,
    ) -> Result<(), ArrowError> {
        let bytes = self.gather.take_staged(&self.plan, place);
        let done = self.rows(&bytes, names, place, ready);
        self.gather.recycle(bytes);
        done
    }

    /// Decodes the rows that were gathered.
    fn rows(
        &mut self,
        bytes: &[u8],
        names: &Names<'_>,
        place: &Reporter<'_>,
        ready: &mut Batches,
    ) -> Result<(), ArrowError> {
        let total = self.gather.places.records.len();
        let mut at = 0;
        while at < total {
            // A batch that waits for the rest of an interval grows beyond its target.
            let len = self.build.len();
            let goal = if len < self.target {
                self.target
            } else {
                MAX_ROWS
            };
            let to = total.min(at + goal - len);
            self.build.add(
                bytes,
                &self.gather.places,
                at..to,
                &self.gather.shapes,
                self.target,
                place,
            );
            at = to;
            let len = self.build.len();
            if len >= self.target
                && let Some(batch) = self.build.finish(len >= MAX_ROWS, names, place)?
            {
                ready.push_back((self.number, batch));
            }
        }
        Ok(())
    }

    /// Returns what is left at the end of a file.
    pub(crate) fn end_file(
        &mut self,
        names: &Names<'_>,
        place: &Reporter<'_>,
        ready: &mut Batches,
    ) -> Result<(), ArrowError> {
        self.gather.end_file(place);
        self.staged(names, place, ready)?;
        if self.build.len() > 0
            && let Some(batch) = self.build.finish(true, names, place)?
        {
            ready.push_back((self.number, batch));
        }
        Ok(())
    }
}
