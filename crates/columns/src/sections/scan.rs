//! Scans: dumps in, batches of tables of sections out.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::ArrowError;
use zlens_frames::smf::{Header, Index, Pass};
use zlens_frames::{ProblemKind, ProblemLog, Window};

use super::batch::{Batch, Context};
use super::duplicates::DuplicateFilter;
use super::locate::{Located, SectionRuns, locate_sections};
use super::plan::Plan;
use super::reassembly::{Key, PendingParts, ReassembledRecord, SplitPart, split_info};
use super::rows::Rows;
use super::select::Selection;
use super::times::{self, NO_TIME, RecordMeta, System};
use crate::core::diagnostics::{DecodeProblem, Diagnostics, Reporter};
use crate::core::dumps::{DumpSet, DuplicateRecords, Id, NO_SYSTEM, numbers};
use crate::core::scan::{self, Reader, TableBatch, WindowDecoder};
use crate::core::select::{SelectError, types};

/// An interval that records describe; microseconds UTC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Number of the plan of these records.
    pub plan: usize,
    /// Number of the system.
    pub system: usize,
    /// Its end.
    pub end_us: i64,
    /// Its length: of the records of jobs, which may have begun later, the longest.
    pub seconds: Option<f64>,
    /// Whether it is a stub in any of them.
    pub short: bool,
    /// Number of records that describe it.
    pub records: u64,
}

/// Dumps, plans, and what scans found out.
pub struct Decoder {
    dumps: DumpSet<System>,
    plans: Vec<Plan>,
    journal: Diagnostics,
}

impl Decoder {
    /// A decoder of these dumps by plans, one for each record type.
    #[must_use]
    pub fn new(dumps: DumpSet<System>, plans: Vec<Plan>) -> Self {
        Self {
            dumps,
            plans,
            journal: Diagnostics::default(),
        }
    }

    /// The dumps and their systems.
    #[must_use]
    pub const fn dumps(&self) -> &DumpSet<System> {
        &self.dumps
    }

    fn find(&self, table: &str) -> Result<(usize, usize), SelectError> {
        let mut plans = self.plans.iter().enumerate();
        plans
            .find_map(|(number, plan)| Some((number, plan.table(table)?)))
            .ok_or_else(|| SelectError::Table(table.to_owned()))
    }

    /// Names and types (int, float, text, bool, time) of the columns of a table.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn schema(&self, table: &str) -> Result<Vec<(String, &'static str)>, SelectError> {
        let (plan, table) = self.find(table)?;
        Ok(types(&self.plans[plan].tables[table]))
    }

    /// Columns of a table: those named, in that order, or all of them.
    ///
    /// # Errors
    /// If there is no such table or column.
    pub fn select(
        &self,
        table: &str,
        columns: Option<&[String]>,
    ) -> Result<Selection, SelectError> {
        let (plan, table) = self.find(table)?;
        let facts = &self.plans[plan].tables[table];
        Selection::new(facts, (plan, table), columns, |_| true)
    }

    /// The plans.
    #[must_use]
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Everything of the plan with a name, in one scan.
    #[must_use]
    pub fn everything(&self, name: &str) -> Vec<Selection> {
        let plans = self.plans.iter().filter(|plan| plan.name == name);
        let tables = plans.flat_map(|plan| &plan.tables);
        tables
            .filter_map(|table| self.select(&table.name, None).ok())
            .collect()
    }

    /// A scan of all files, of tables of one plan.
    #[must_use]
    pub fn scan(self: &Arc<Self>, selections: &[Selection]) -> Scan {
        let plan = selections.first().map(|selection| selection.table.0);
        Sections::scan(self, Vec::from_iter(plan), selections)
    }

    /// A scan of all files in the form Arrow's consumers know.
    #[must_use]
    pub fn read(self: &Arc<Self>, selection: &Selection) -> Reader<Scan> {
        Reader::new(
            selection.schema(),
            self.scan(std::slice::from_ref(selection)),
        )
    }

    /// A scan that only finds out which intervals the records of the plans with these names describe.
    #[must_use]
    pub fn intervals(self: &Arc<Self>, names: &[String]) -> Scan {
        let named = |&plan: &usize| names.contains(&self.plans[plan].name);
        Sections::scan(self, (0..self.plans.len()).filter(named).collect(), &[])
    }

    /// Problems found by scans so far, each once; [`NO_SYSTEM`] means no system.
    #[must_use]
    pub fn problems(&self) -> Vec<DecodeProblem> {
        self.journal.problems()
    }

    fn place<'d>(&'d self, plan: &'d Plan, system: usize, file: usize) -> Reporter<'d> {
        Reporter {
            journal: &self.journal,
            system,
            file,
            table: "",
            record: (plan.record, plan.subtypes[0]),
            capture: None,
        }
    }
}

/// A scan of all files of a decoder.
pub type Scan = scan::Scan<Sections>;

impl Scan {
    /// The known intervals, ordered by plan, system and time.
    #[must_use]
    pub fn intervals(&self) -> Vec<Interval> {
        let mut all: Vec<Interval> = self.decoding.intervals.values().copied().collect();
        all.sort_by_key(|one| (one.plan, one.system, one.end_us));
        all
    }
}

/// Tables of sections while their files are scanned.
pub struct Sections {
    decoder: Arc<Decoder>,
    /// The plans of which records are read; several only for intervals.
    plans: Vec<usize>,
    wanted: Vec<(u8, u16)>,
    by_id: HashMap<Id, u16>,
    file: usize,
    /// By plan.
    waiting: Vec<PendingParts>,
    seen: DuplicateFilter,
    /// By plan and system: records of the file that came before.
    again: Vec<Vec<DuplicateRecords>>,
    facts: Vec<RecordMeta>,
    rows: Vec<Rows>,
    batches: Vec<Batch>,
    ended: bool,
    intervals: HashMap<(usize, u16, i64), Interval>,
}

impl WindowDecoder for Sections {
    type Pass = Pass;

    fn ready(&mut self) -> Result<Option<TableBatch>, ArrowError> {
        let full = self.batches.iter().position(Batch::is_full);
        full.map_or(Ok(None), |number| self.take(number))
    }

    fn open(&mut self) -> Option<(Pass, String)> {
        self.plans.first()?;
        self.decoder.dumps.pass(self.file, &self.wanted)
    }

    fn window(&mut self, window: &Window<'_>) -> Result<(), ArrowError> {
        let decoder = Arc::clone(&self.decoder);
        self.facts.clear();
        self.rows.iter_mut().for_each(Rows::clear);
        let mut wholes = Vec::new();
        let mut slot = 0;
        for nth in 0..self.plans.len() {
            let plan = &decoder.plans[self.plans[nth]];
            for &subtype in &plan.subtypes {
                for &record in window.records(slot) {
                    let bytes = window.bytes_of(record);
                    let offset = window.offset_of(record);
                    // Offsets in the window's bytes are those of the record after its start.
                    let base = record.pos;
                    let Some((facts, mut located)) =
                        self.record(&decoder, nth, subtype, bytes, offset)
                    else {
                        continue;
                    };
                    match self.piece(&decoder, nth, &facts, bytes, &located) {
                        Some(done) => wholes.extend(done.into_iter().map(|whole| (nth, whole))),
                        None => {
                            located.shift(base);
                            let Located { runs, mut more } = located;
                            if more.is_empty() {
                                self.gather(&decoder, nth, facts, window.bytes, &[runs]);
                            } else {
                                more.insert(0, runs);
                                self.gather(&decoder, nth, facts, window.bytes, &more);
                            }
                        }
                    }
                }
                slot += 1;
            }
        }
        self.decode(&decoder, window.bytes);
        for (nth, whole) in wholes {
            self.decode_reassembled(&decoder, nth, whole);
        }
        Ok(())
    }

    fn close(&mut self, problems: Option<&ProblemLog>) -> Result<(), ArrowError> {
        let decoder = Arc::clone(&self.decoder);
        for (nth, of_plan) in self.again.iter_mut().enumerate() {
            let plan = &decoder.plans[self.plans[nth]];
            let place = decoder.place(plan, NO_SYSTEM, self.file);
            let Some(problems) = problems else {
                continue;
            };
            if nth == 0 {
                decoder.journal.pass(problems, &place);
            }
            for (system, again) in of_plan.iter_mut().enumerate() {
                again.report(&Reporter { system, ..place });
            }
        }
        self.file += 1;
        Ok(())
    }

    /// Decodes records that wait for more parts, then returns what is left of each table.
    fn rest(&mut self) -> Result<Option<TableBatch>, ArrowError> {
        let decoder = Arc::clone(&self.decoder);
        if !self.ended {
            self.ended = true;
            for nth in 0..self.plans.len() {
                for whole in self.waiting[nth].drain(&decoder.plans[self.plans[nth]]) {
                    self.decode_reassembled(&decoder, nth, whole);
                }
            }
        }
        for number in 0..self.batches.len() {
            if let Some(batch) = self.take(number)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

impl Sections {
    fn scan(decoder: &Arc<Decoder>, plans: Vec<usize>, selections: &[Selection]) -> Scan {
        let own = selections.iter().filter(|one| plans.contains(&one.table.0));
        let batch =
            |selection: &Selection| Batch::new(&decoder.plans[selection.table.0], selection);
        let batches: Vec<Batch> = own.map(batch).collect();
        let systems = &decoder.dumps.systems;
        let kinds = plans.iter().map(|&plan| &decoder.plans[plan]);
        scan::Scan::new(Self {
            wanted: kinds
                .flat_map(|plan| plan.subtypes.iter().map(|&subtype| (plan.record, subtype)))
                .collect(),
            waiting: plans
                .iter()
                .map(|_| PendingParts::new(plans.len()))
                .collect(),
            by_id: numbers(systems.iter().map(|system| &system.ids)),
            decoder: Arc::clone(decoder),
            again: plans
                .iter()
                .map(|_| {
                    systems
                        .iter()
                        .map(|_| DuplicateRecords::default())
                        .collect()
                })
                .collect(),
            plans,
            file: 0,
            seen: DuplicateFilter::default(),
            facts: Vec::new(),
            rows: batches.iter().map(|_| Rows::default()).collect(),
            batches,
            ended: false,
            intervals: HashMap::new(),
        })
    }

    /// The rows so far of a table, if there are any.
    fn take(&mut self, number: usize) -> Result<Option<TableBatch>, ArrowError> {
        let batch = self.batches[number].take(&self.decoder.dumps)?;
        Ok(batch.map(|batch| (number, batch)))
    }

    /// Metadata of a record and its sections; `None` if it is not read.
    fn record(
        &mut self,
        decoder: &Decoder,
        nth: usize,
        subtype: u16,
        bytes: &[u8],
        offset: u64,
    ) -> Option<(RecordMeta, Located)> {
        let plan = &decoder.plans[self.plans[nth]];
        let header = Header::parse(bytes)?;
        let lost = bytes.len() as u64;
        let Some(&system) = self
            .by_id
            .get(&(self.file as u32, header.record, header.system))
        else {
            let place = decoder.place(plan, NO_SYSTEM, self.file);
            place.problem(ProblemKind::Header, "system", offset, lost, || {
                "record of a system missing from the index; skipped".to_owned()
            });
            return None;
        };
        if self.seen.is_duplicate(system, bytes) {
            self.again[nth][usize::from(system)].add(offset, lost);
            return None;
        }
        let place = Reporter {
            record: (plan.record, subtype),
            ..decoder.place(plan, usize::from(system), self.file)
        };
        let located = locate_sections(bytes, plan, &mut |kind, key, lost, detail| {
            place.problem(kind, (key, offset), offset, lost, || detail);
        });
        let mut facts = RecordMeta {
            system,
            subtype,
            file: self.file as u32,
            offset,
            tod: NO_TIME,
            end: NO_TIME,
            seconds: f64::NAN,
            short: false,
            zone: NO_TIME,
        };
        let zone = decoder.dumps.systems[usize::from(system)].zone_us;
        let time = located.runs[plan.time.part];
        let section = if time.count > 0 {
            time.section(0, bytes)
        } else {
            &[]
        };
        times::fill_times(
            plan,
            section,
            &header,
            zone.unwrap_or(NO_TIME),
            decoder.dumps.leap_s,
            &mut facts,
        );
        if facts.zone == NO_TIME {
            place.problem(ProblemKind::Time, "zone", offset, 0, || {
                "UTC offset is unknown; local times are NULL (set the option tz)".to_owned()
            });
        }
        Some((facts, located))
    }

    /// Processes a part of a split record and returns the records that it completes; `None` if the record is not a
    /// part.
    fn piece(
        &mut self,
        decoder: &Decoder,
        nth: usize,
        facts: &RecordMeta,
        bytes: &[u8],
        located: &Located,
    ) -> Option<Vec<ReassembledRecord>> {
        let plan = &decoder.plans[self.plans[nth]];
        match split_info(plan, bytes, &located.runs) {
            Ok(None) => None,
            Ok(Some(told)) => {
                let run = located.runs[plan.time.part];
                let piece = SplitPart {
                    sequence: told.sequence,
                    key: Key::new(facts, &told, run.section(0, bytes)),
                    facts: *facts,
                    bytes: bytes.to_vec(),
                    runs: located.runs,
                    more: located.more.clone(),
                    places: told.places,
                };
                Some(self.waiting[nth].add(plan, piece))
            }
            Err(detail) => {
                let system = usize::from(facts.system);
                let place = decoder.place(plan, system, self.file);
                place.problem(
                    ProblemKind::Section,
                    ("piece", facts.offset),
                    facts.offset,
                    0,
                    || detail,
                );
                None
            }
        }
    }

    /// Adds the rows that a record gives.
    fn gather(
        &mut self,
        decoder: &Decoder,
        nth: usize,
        facts: RecordMeta,
        bytes: &[u8],
        pieces: &[SectionRuns],
    ) {
        let number = self.plans[nth];
        let plan = &decoder.plans[number];
        let record = self.facts.len() as u32;
        for (rows, batch) in self.rows.iter_mut().zip(&self.batches) {
            rows.add(&plan.tables[batch.table()], record, bytes, pieces);
        }
        let room = self.intervals.len() < Index::MAX_INTERVALS;
        if self.batches.is_empty() && facts.end != NO_TIME && room {
            let interval = self
                .intervals
                .entry((number, facts.system, facts.end))
                .or_insert(Interval {
                    plan: number,
                    system: usize::from(facts.system),
                    end_us: facts.end,
                    seconds: None,
                    short: false,
                    records: 0,
                });
            let longest = interval
                .seconds
                .map_or(facts.seconds, |known| known.max(facts.seconds));
            interval.seconds = (!longest.is_nan()).then_some(longest);
            interval.short |= facts.short;
            interval.records += 1;
        }
        self.facts.push(facts);
    }

    /// Makes columns of the rows gathered so far.
    fn decode(&mut self, decoder: &Decoder, bytes: &[u8]) {
        // Batches are of one plan.
        let Some(plan) = self.plans.first().map(|&plan| &decoder.plans[plan]) else {
            return;
        };
        let place = decoder.place(plan, NO_SYSTEM, self.file);
        for (rows, batch) in self.rows.iter_mut().zip(&mut self.batches) {
            let context = Context {
                systems: &decoder.dumps.systems,
                leap_s: decoder.dumps.leap_s,
                place: Reporter {
                    table: &plan.tables[batch.table()].name,
                    ..place
                },
            };
            batch.append(bytes, rows, &self.facts, &context);
            rows.clear();
        }
        self.facts.clear();
    }

    /// Decodes a record that was reassembled.
    fn decode_reassembled(&mut self, decoder: &Decoder, nth: usize, whole: ReassembledRecord) {
        let facts = whole.facts;
        let (system, file) = (usize::from(facts.system), facts.file as usize);
        let place = decoder.place(&decoder.plans[self.plans[nth]], system, file);
        for (kind, key, detail) in whole.faults {
            place.problem(kind, (key, facts.offset, &detail), facts.offset, 0, || {
                detail.clone()
            });
        }
        self.gather(decoder, nth, facts, &whole.bytes, &whole.pieces);
        self.decode(decoder, &whole.bytes);
    }
}
