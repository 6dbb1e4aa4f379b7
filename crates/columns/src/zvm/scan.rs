//! Scans: files in, batches of raw tables out, several tables in one pass.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use zlens_frames::{Capture, Class, Index, Pass, ReadAt};

use crate::batch::Names;
use crate::evidence::Evidence;
use crate::interval::Ends;
use crate::journal::{Found, Journal, Place, Reset};
use crate::plan::Plan;
use crate::reader::{Reader, Steps};
use crate::select::{SelectError, Selection, types};
use crate::table::{Ready, TableScan};
use crate::wide::Pool;

/// A file whose records were found.
#[derive(Clone)]
pub struct File {
    /// Its name, as the column `file` shows it.
    pub name: String,
    /// Its bytes.
    pub source: Arc<dyn ReadAt>,
    /// Where its records are.
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
    /// Where its data come from, as the column `source` shows it.
    pub source: String,
    /// Its files in the order of their first time.
    pub files: Vec<File>,
    /// When its intervals end, over all files.
    pub interval_ends: Vec<u64>,
    /// Times up to which samples are of intervals whose end is not there.
    pub lost_ends: Vec<u64>,
    /// How long an interval should be.
    pub nominal_s: Option<f64>,
    /// What is known to have reset counters.
    pub resets: Vec<Evidence>,
}

/// Systems, plans and what scans found out about them.
pub struct Decoder {
    systems: Vec<System>,
    ends: Vec<Ends>,
    plans: Vec<Arc<Plan>>,
    leap_s: i32,
    journal: Journal,
}

impl Decoder {
    /// A decoder of these systems by these plans, `leap_s` leap seconds taken off all times.
    #[must_use]
    pub fn new(systems: Vec<System>, plans: Vec<Plan>, leap_s: i32) -> Self {
        let ends = |system: &System| Ends::of(&system.interval_ends, &system.lost_ends);
        Self {
            ends: systems.iter().map(ends).collect(),
            systems,
            plans: plans.into_iter().map(Arc::new).collect(),
            leap_s,
            journal: Journal::default(),
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
        self.table(table).map(|(_, plan)| types(plan))
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
        Selection::new(plan, number, columns, differences)
    }

    /// A scan of all files for some tables.
    #[must_use]
    pub fn scan(self: &Arc<Self>, selections: &[Selection]) -> Scan {
        let pool = Arc::new(Mutex::new(Pool::new(4 * selections.len() + 4)));
        let table = |(number, selection): (usize, &Selection)| {
            let plan = &self.plans[selection.table];
            TableScan::new(number, plan, selection.clone(), self.leap_s, &pool)
        };
        Scan {
            tables: selections.iter().enumerate().map(table).collect(),
            decoder: Arc::clone(self),
            pass: None,
            system: 0,
            file: 0,
            ready: Ready::new(),
        }
    }

    /// A scan of all files for one table.
    #[must_use]
    pub fn read(self: &Arc<Self>, selection: &Selection) -> Reader<Scan> {
        Reader::new(
            selection.schema(),
            self.scan(std::slice::from_ref(selection)),
        )
    }

    /// Problems met by scans so far, each once.
    #[must_use]
    pub fn problems(&self) -> Vec<Found> {
        self.journal.problems()
    }

    /// Subjects whose counters began anew, as met by scans so far.
    #[must_use]
    pub fn resets(&self) -> Vec<Reset> {
        self.journal.resets()
    }
}

/// Why a scan cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// A file cannot be read.
    #[error("{file} at byte {offset}: cannot be read: {source}")]
    Io {
        /// Its name.
        file: String,
        /// Where.
        offset: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// Arrow refuses a batch.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

/// What a step of a scan comes to.
#[derive(Debug)]
pub enum Step {
    /// A batch of the table selected at this place.
    Batch(usize, RecordBatch),
    /// A window was read; there is more to do.
    Working,
    /// All files are read.
    Done,
}

/// A scan of all files of a decoder.
pub struct Scan {
    decoder: Arc<Decoder>,
    tables: Vec<TableScan>,
    pass: Option<Pass>,
    /// The file being read, or to be read next.
    system: usize,
    file: usize,
    ready: Ready,
}

impl Scan {
    /// Does a little: hands out a batch, or reads one window.
    ///
    /// # Errors
    /// If a file cannot be read. The scan then goes on behind that file.
    pub fn step(&mut self) -> Result<Step, ScanError> {
        if let Some((table, batch)) = self.ready.pop_front() {
            return Ok(Step::Batch(table, batch));
        }
        let decoder = Arc::clone(&self.decoder);
        let Some(system) = decoder.systems.get(self.system) else {
            return Ok(Step::Done);
        };
        let Some(file) = system.files.get(self.file) else {
            self.system += 1;
            self.file = 0;
            return Ok(Step::Working);
        };
        if self.pass.is_none() {
            self.open(system, file);
        }
        let names = Names {
            system: &system.name,
            source: &system.source,
            file: &file.name,
        };
        let place = Place {
            journal: &decoder.journal,
            system: self.system,
            file: self.file,
            table: "",
            record: (0, 0),
            capture: file.capture.as_deref(),
        };
        let Some(pass) = &mut self.pass else {
            return Ok(Step::Working);
        };
        match pass.next_window() {
            Ok(Some(window)) => {
                for table in &mut self.tables {
                    let plan = Arc::clone(table.plan());
                    let place = Place {
                        table: &plan.table,
                        record: (plan.domain, plan.record),
                        ..place
                    };
                    table.window(&window, &names, &place, &mut self.ready)?;
                }
                return Ok(Step::Working);
            }
            Ok(None) => {
                for mut problem in pass.problems().rows() {
                    if let Some(capture) = &file.capture {
                        problem.offset = capture.original(problem.offset);
                    }
                    let found = Found {
                        system: self.system,
                        file: self.file,
                        problem,
                    };
                    let key = (
                        self.system,
                        self.file,
                        found.problem.kind,
                        found.problem.offset,
                        "pass",
                    );
                    decoder.journal.problem(key, || found);
                }
            }
            Err(source) => {
                let offset = pass.position();
                self.close(&names, place)?;
                return Err(ScanError::Io {
                    file: file.name.clone(),
                    offset,
                    source,
                });
            }
        }
        self.close(&names, place)?;
        Ok(Step::Working)
    }

    /// Begins with a file.
    fn open(&mut self, system: &System, file: &File) {
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
        self.pass = Some(pass.without(Arc::clone(&file.repeats)));
    }

    /// Ends with a file: a batch is of one file.
    fn close(&mut self, names: &Names<'_>, place: Place<'_>) -> Result<(), ScanError> {
        self.pass = None;
        self.file += 1;
        for table in &mut self.tables {
            let plan = Arc::clone(table.plan());
            let place = Place {
                table: &plan.table,
                record: (plan.domain, plan.record),
                ..place
            };
            table.end_file(names, &place, &mut self.ready)?;
        }
        Ok(())
    }
}

impl From<ScanError> for ArrowError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Arrow(error) => error,
            ScanError::Io { ref source, .. } => {
                let kind = source.kind();
                Self::IoError(error.to_string(), io::Error::from(kind))
            }
        }
    }
}

impl Steps for Scan {
    fn step(&mut self) -> Result<Step, ScanError> {
        self.step()
    }
}
