//! Scans: files in, batches of raw tables out, several tables in one pass.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use arrow_schema::ArrowError;
use zlens_frames::zvm::{Capture, Class, Index, Pass};
use zlens_frames::{ProblemLog, ReadAt, Window};

use super::batch::Names;
use super::evidence::ResetEvidence;
use super::plan::Plan;
use super::select::Selection;
use super::table::{Batches, TableScan};
use crate::core::diagnostics::{DecodeProblem, Diagnostics, Reporter, Reset};
use crate::core::int64_block::Pool;
use crate::core::interval::IntervalEnds;
use crate::core::scan::{self, Reader, TableBatch, WindowDecoder};
use crate::core::select::{SelectError, types};

/// A file whose records were found.
#[derive(Clone)]
pub struct File {
    /// Its name, as the column `file` shows it.
    pub name: String,
    /// Its bytes.
    pub source: Arc<dyn ReadAt>,
    /// Position of its records.
    pub index: Arc<Index>,
    /// Bytes that repeat what was read before, in order; their records are left out.
    pub repeats: Arc<[Range<u64>]>,
    /// The capture that `source` is, if it is one: it leads from its bytes to those of the file.
    pub capture: Option<Arc<Capture>>,
}

/// The files of one system and what is known about it.
#[derive(Clone)]
pub struct System {
    /// Its name, as the column `system` shows it.
    pub name: String,
    /// Source of its data, as the column `source` shows it.
    pub source: String,
    /// Its files in the order of their first time.
    pub files: Vec<File>,
    /// Ends of its intervals, over all files.
    pub interval_ends: Vec<u64>,
    /// Times up to which samples are of intervals whose end is not there.
    pub lost_ends: Vec<u64>,
    /// Expected length of an interval.
    pub nominal_s: Option<f64>,
    /// Evidence of resets.
    pub resets: Vec<ResetEvidence>,
}

/// Systems, plans and what scans found out about them.
pub struct Decoder {
    systems: Vec<System>,
    ends: Vec<IntervalEnds>,
    plans: Vec<Arc<Plan>>,
    leap_s: i32,
    journal: Diagnostics,
}

impl Decoder {
    /// A decoder of these systems by these plans, `leap_s` leap seconds taken off all times.
    #[must_use]
    pub fn new(systems: Vec<System>, plans: Vec<Plan>, leap_s: i32) -> Self {
        let ends = |system: &System| IntervalEnds::new(&system.interval_ends, &system.lost_ends);
        Self {
            ends: systems.iter().map(ends).collect(),
            systems,
            plans: plans.into_iter().map(Arc::new).collect(),
            leap_s,
            journal: Diagnostics::default(),
        }
    }

    /// The systems.
    #[must_use]
    pub fn systems(&self) -> &[System] {
        &self.systems
    }

    /// Names of the tables, in the order of the plans.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.plans.iter().map(|plan| plan.table.as_str())
    }

    fn table(&self, name: &str) -> Result<(usize, &Arc<Plan>), SelectError> {
        let mut plans = self.plans.iter().enumerate();
        plans
            .find(|(_, plan)| plan.table == name)
            .ok_or_else(|| SelectError::Table(name.to_owned()))
    }

    /// Names and types (int, float, text, bool, time) of the columns of a table.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn schema(&self, table: &str) -> Result<Vec<(String, &'static str)>, SelectError> {
        self.table(table).map(|(_, plan)| types(&**plan))
    }

    /// Columns of a table: those named, in that order, or all of them (with or without those that need the sample
    /// before).
    ///
    /// # Errors
    /// If there is no such table or column.
    pub fn select(
        &self,
        table: &str,
        columns: Option<&[String]>,
        differences: bool,
    ) -> Result<Selection, SelectError> {
        let (number, plan) = self.table(table)?;
        Selection::new(&**plan, number, columns, |output| {
            differences || !output.compares()
        })
    }

    /// A scan of all files for some tables.
    #[must_use]
    pub fn scan(self: &Arc<Self>, selections: &[Selection]) -> Scan {
        let pool = Arc::new(Mutex::new(Pool::new(4 * selections.len() + 4)));
        let table = |(number, selection): (usize, &Selection)| {
            let plan = &self.plans[selection.table];
            TableScan::new(number, plan, selection.clone(), self.leap_s, &pool)
        };
        scan::Scan::new(Tables {
            tables: selections.iter().enumerate().map(table).collect(),
            decoder: Arc::clone(self),
            system: 0,
            file: 0,
            ready: Batches::new(),
        })
    }

    /// A scan of all files for one table.
    #[must_use]
    pub fn read(self: &Arc<Self>, selection: &Selection) -> Reader<Scan> {
        Reader::new(
            selection.schema(),
            self.scan(std::slice::from_ref(selection)),
        )
    }

    /// Problems found by scans so far, each once.
    #[must_use]
    pub fn problems(&self) -> Vec<DecodeProblem> {
        self.journal.problems()
    }

    /// Subjects whose counters restarted, as found by scans so far.
    #[must_use]
    pub fn resets(&self) -> Vec<Reset> {
        self.journal.resets()
    }

    /// Name of the file in rows, and the map of its offsets.
    fn place(&self, system: usize, file: usize) -> (Names<'_>, Reporter<'_>) {
        let of = &self.systems[system];
        let names = Names {
            system: &of.name,
            source: &of.source,
            file: &of.files[file].name,
        };
        let place = Reporter {
            journal: &self.journal,
            system,
            file,
            table: "",
            record: (0, 0),
            capture: of.files[file].capture.as_deref(),
        };
        (names, place)
    }
}

/// A scan of all files of a decoder.
pub type Scan = scan::Scan<Tables>;

/// Some tables while their files are scanned.
pub struct Tables {
    decoder: Arc<Decoder>,
    tables: Vec<TableScan>,
    /// The file being read, or to be read next.
    system: usize,
    file: usize,
    ready: Batches,
}

impl WindowDecoder for Tables {
    type Pass = Pass;

    fn ready(&mut self) -> Result<Option<TableBatch>, ArrowError> {
        Ok(self.ready.pop_front())
    }

    fn open(&mut self) -> Option<(Pass, String)> {
        let decoder = Arc::clone(&self.decoder);
        loop {
            let system = decoder.systems.get(self.system)?;
            if let Some(file) = system.files.get(self.file) {
                return Some((self.begin(system, file), file.name.clone()));
            }
            self.system += 1;
            self.file = 0;
        }
    }

    fn window(&mut self, window: &Window<'_>) -> Result<(), ArrowError> {
        let decoder = Arc::clone(&self.decoder);
        let (names, place) = decoder.place(self.system, self.file);
        for table in &mut self.tables {
            let plan = Arc::clone(table.plan());
            table.window(window, &names, &with_types(place, &plan), &mut self.ready)?;
        }
        Ok(())
    }

    /// Ends with a file: a batch is of one file.
    fn close(&mut self, problems: Option<&ProblemLog>) -> Result<(), ArrowError> {
        let decoder = Arc::clone(&self.decoder);
        let (names, place) = decoder.place(self.system, self.file);
        self.file += 1;
        if let Some(problems) = problems {
            decoder.journal.pass(problems, &place);
        }
        for table in &mut self.tables {
            let plan = Arc::clone(table.plan());
            table.end_file(&names, &with_types(place, &plan), &mut self.ready)?;
        }
        Ok(())
    }
}

/// The same index in the table of a plan.
fn with_types<'p>(place: Reporter<'p>, plan: &'p Plan) -> Reporter<'p> {
    Reporter {
        table: &plan.table,
        record: (plan.domain, plan.record),
        ..place
    }
}

impl Tables {
    /// Begins with a file.
    fn begin(&mut self, system: &System, file: &File) -> Pass {
        if self.file == 0 {
            let ends = &self.decoder.ends[self.system];
            for table in &mut self.tables {
                table.begin_system(ends, &system.resets, system.nominal_s);
            }
        }
        let mut wanted: Vec<u16> = Vec::new();
        for table in &mut self.tables {
            let mut lists = Vec::new();
            for class in [Class::Sample, Class::Event] {
                let plan = table.plan();
                let Some(id) = file.index.type_id(plan.domain, plan.record, class) else {
                    continue;
                };
                let list = wanted
                    .iter()
                    .position(|known| *known == id)
                    .unwrap_or_else(|| {
                        wanted.push(id);
                        wanted.len() - 1
                    });
                lists.push((list, class == Class::Sample));
            }
            table.begin_file(lists, &file.index);
        }
        let pass = Pass::new(Arc::clone(&file.source), Arc::clone(&file.index), &wanted);
        pass.without(Arc::clone(&file.repeats))
    }
}
