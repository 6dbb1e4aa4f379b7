//! From one sample of a subject to the next: elapsed time, evidence of resets, differences.
//!
//! The last sample of every subject is kept in columns indexed by the subject's slot, for each system and table, and
//! lives on from file to file.

use arrow_buffer::NullBuffer;
use zlens_frames::{ProblemKind, tod};

use super::difference::{CountDirection, CounterChange, CounterRule};
use super::evidence::{NO_ENTRY, ResetEvidence, ResetIndex};
use super::gather::RowOffsets;
use super::plan::{Difference, Direction};
use super::subject::{Lookup, MAX_SUBJECTS, Subjects, UNTRACKED, fingerprint};
use crate::core::column::{ColumnBuilder, Value};
use crate::core::diagnostics::Reporter;
use crate::core::flag::{IntervalFlag, TOD_PER_SECOND};
use crate::core::int64_block::Int64Block;
use crate::core::validity::Validity;

/// The rows of the batch being built, as differences see them.
#[derive(Debug, Default)]
pub(crate) struct DifferenceRows {
    /// Subject of each row.
    pub slots: Vec<u32>,
    /// Whether the row has a predecessor to be compared with.
    pub usable: Vec<bool>,
    /// Time since it, where usable.
    pub seconds: Vec<f64>,
    pub flags: Vec<IntervalFlag>,
    /// Time and offset of the record, for problems.
    tods: Vec<u64>,
    offsets: Vec<u64>,
}

impl DifferenceRows {
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.usable.clear();
        self.seconds.clear();
        self.flags.clear();
        self.tods.clear();
        self.offsets.clear();
    }
}

/// Some rows that were just decoded.
#[derive(Clone, Copy)]
pub(crate) struct NewRows<'b> {
    /// The number of the first in its batch.
    pub from: usize,
    /// Time of each record.
    pub tods: &'b [u64],
    /// Offsets of the records, from index `first` on.
    pub places: &'b RowOffsets,
    pub first: usize,
    pub builders: &'b [ColumnBuilder],
    pub wide: &'b Int64Block,
    /// Whether a layout identifies their subject.
    pub known: bool,
    /// Whether they are samples, which come at the end of intervals; events come when they do.
    pub sample: bool,
}

impl<'b> NewRows<'b> {
    /// Start of the record in the file that is `number` rows after the first.
    fn offset(&self, number: usize) -> u64 {
        self.places.offset(self.first + number)
    }

    /// The value of a column in the row that is `number` rows after the first.
    fn value(&self, builder: usize, number: usize) -> Value<'b> {
        self.builders[builder].value(self.from + number, self.wide)
    }
}

/// A column whose change is evidence of a reset.
#[derive(Debug, Clone)]
pub(crate) struct WatchedColumn {
    pub builder: usize,
    pub name: String,
}

/// State of the subjects of one table of one system.
#[derive(Debug)]
pub(crate) struct SubjectTracker {
    /// Columns that identify the subject.
    subject: Vec<usize>,
    watches: Vec<WatchedColumn>,
    subjects: Subjects,
    known: ResetIndex,
    nominal_s: Option<f64>,
    /// By slot: where its evidence is, time and file of its last sample.
    evidence: Vec<u32>,
    last: Vec<u64>,
    file: Vec<usize>,
    /// By watch and slot: what the column last was; 0: nothing yet.
    seen: Vec<Vec<u64>>,
}

impl SubjectTracker {
    pub(crate) fn new(subject: Vec<usize>, watches: Vec<WatchedColumn>) -> Self {
        Self {
            seen: vec![Vec::new(); watches.len()],
            subject,
            watches,
            subjects: Subjects::default(),
            known: ResetIndex::default(),
            nominal_s: None,
            evidence: Vec::new(),
            last: Vec::new(),
            file: Vec::new(),
        }
    }

    /// Forgets everything: another system begins.
    pub(crate) fn begin(
        &mut self,
        table: &str,
        evidence: &[ResetEvidence],
        nominal_s: Option<f64>,
    ) {
        let fresh = Self::new(
            std::mem::take(&mut self.subject),
            std::mem::take(&mut self.watches),
        );
        *self = Self {
            known: ResetIndex::new(table, evidence),
            nominal_s: nominal_s.filter(|s| *s > 0.0),
            ..fresh
        };
    }

    /// Finds the predecessors of fresh rows.
    pub(crate) fn rows(
        &mut self,
        fresh: &NewRows<'_>,
        rows: &mut DifferenceRows,
        place: &Reporter<'_>,
    ) {
        if !fresh.known {
            let count = fresh.tods.len();
            rows.slots.extend(std::iter::repeat_n(UNTRACKED, count));
            rows.usable.extend(std::iter::repeat_n(false, count));
            rows.seconds.extend(std::iter::repeat_n(0.0, count));
            rows.flags
                .extend(std::iter::repeat_n(IntervalFlag::None, count));
            rows.tods.extend_from_slice(fresh.tods);
            rows.offsets
                .extend((0..count).map(|number| fresh.offset(number)));
            return;
        }
        for number in 0..fresh.tods.len() {
            let values = self
                .subject
                .iter()
                .map(|&builder| fresh.value(builder, number));
            let (slot, seconds) = match self.subjects.find(values) {
                Lookup::Known(slot) => self.known_subject(slot, number, fresh, place),
                Lookup::New(slot) => {
                    self.new_subject(slot, fresh.tods[number], place.file);
                    (slot, None)
                }
                Lookup::Full => {
                    place.problem(ProblemKind::Header, "full", fresh.offset(number), 0, || {
                        format!("more than {MAX_SUBJECTS} subjects; differences of further ones are NULL")
                    });
                    (UNTRACKED, None)
                }
            };
            rows.slots.push(slot);
            rows.usable.push(seconds.is_some());
            rows.seconds.push(seconds.unwrap_or(0.0));
            rows.tods.push(fresh.tods[number]);
            rows.offsets.push(fresh.offset(number));
        }
        for number in 0..self.watches.len() {
            self.watch(number, fresh, rows, place);
        }
        let nominal_s = self.nominal_s.filter(|_| fresh.sample);
        rows.flags.extend((fresh.from..rows.slots.len()).map(|row| {
            let nominal_s = nominal_s.filter(|_| rows.usable[row]);
            IntervalFlag::classify(rows.seconds[row], nominal_s)
        }));
    }

    fn new_subject(&mut self, slot: u32, tod: u64, file: usize) {
        let evidence = if self.known.names_subjects() {
            self.known.find(&self.subjects.name(slot))
        } else {
            NO_ENTRY
        };
        self.evidence.push(evidence);
        self.last.push(tod);
        self.file.push(file);
    }

    /// The slot under which the row is kept, and the seconds since its predecessor if they can be compared.
    fn known_subject(
        &mut self,
        slot: u32,
        number: usize,
        fresh: &NewRows<'_>,
        place: &Reporter<'_>,
    ) -> (u32, Option<f64>) {
        let at = slot as usize;
        let (last, now) = (self.last[at], fresh.tods[number]);
        if now < last {
            place.problem(ProblemKind::Time, "older", fresh.offset(number), 0, || {
                let subject = self.subjects.name(slot);
                let us = (last - now) / tod::UNITS_PER_US;
                format!(
                    "{subject}: sample is {us} us older than its predecessor; differences are NULL"
                )
            });
            // Files that overlap: the later samples of the file before stay what this one is compared with.
            if self.file[at] != place.file {
                return (UNTRACKED, None);
            }
        }
        self.last[at] = now;
        self.file[at] = place.file;
        if now <= last {
            return (slot, None);
        }
        if let Some((when, what)) = self.known.between(self.evidence[at], last, now) {
            place.reset(when, &self.subjects.name(slot), || what.to_owned());
            return (slot, None);
        }
        (slot, Some((now - last) as f64 / TOD_PER_SECOND))
    }

    fn watch(
        &mut self,
        number: usize,
        fresh: &NewRows<'_>,
        rows: &mut DifferenceRows,
        place: &Reporter<'_>,
    ) {
        let watch = &self.watches[number];
        let seen = &mut self.seen[number];
        seen.resize(self.subjects.len(), 0);
        for number in 0..fresh.tods.len() {
            let row = fresh.from + number;
            let slot = rows.slots[row];
            let value = fresh.value(watch.builder, number);
            if slot == UNTRACKED || value == Value::Null {
                continue;
            }
            let now = fingerprint(value) | 1;
            let before = std::mem::replace(&mut seen[slot as usize], now);
            if before != 0 && before != now && rows.usable[row] {
                rows.usable[row] = false;
                place.reset(fresh.tods[number], &self.subjects.name(slot), || {
                    format!("{} changed", watch.name)
                });
            }
        }
    }
}

/// The last reading of a subject, if there is one.
#[derive(Debug, Clone, Copy, Default)]
struct PreviousValue {
    reading: i64,
    present: bool,
}

/// A column with differences.
#[derive(Debug)]
pub(crate) struct Counter {
    builder: usize,
    name: String,
    rule: CounterRule,
    direction: Direction,
    way: Option<CountDirection>,
    /// By slot.
    last: Vec<PreviousValue>,
    /// Number of rows of the batch that have their difference.
    pub done: usize,
    validity: Validity,
}

/// Data of the batch that a counter needs to continue.
#[derive(Clone, Copy)]
pub(crate) struct BatchView<'b> {
    pub rows: &'b DifferenceRows,
    pub len: usize,
    pub builders: &'b [ColumnBuilder],
    pub wide: &'b Int64Block,
    pub intervals: &'b [u32],
    pub track: &'b SubjectTracker,
    /// Whether no more rows can be waited for.
    pub complete: bool,
}

impl Counter {
    pub(crate) fn new(builder: usize, name: String, difference: &Difference) -> Self {
        let mut counter = Self {
            builder,
            name,
            rule: CounterRule::new(difference),
            direction: difference.direction,
            way: None,
            last: Vec::new(),
            done: 0,
            validity: Validity::default(),
        };
        counter.begin();
        counter
    }

    /// Forgets everything: another system begins.
    pub(crate) fn begin(&mut self) {
        self.last.clear();
        self.way = match self.direction {
            Direction::Up => Some(CountDirection::Up),
            Direction::Down => Some(CountDirection::Down),
            Direction::Learn => None,
        };
    }

    /// Whether its direction is not stated, so that it may have to wait for the rest of an interval.
    pub(crate) fn infers_direction(&self) -> bool {
        self.direction == Direction::Learn
    }

    /// Makes the differences of all rows so far, those from `done` on; of fewer where the direction is decided by
    /// rows still to come.
    pub(crate) fn advance(&mut self, out: &mut [i64], batch: &BatchView<'_>, place: &Reporter<'_>) {
        self.last
            .resize(batch.track.subjects.len(), PreviousValue::default());
        let readings = batch.builders[self.builder].ints(batch.len, batch.wide);
        let from = self.done;
        if self.way.is_none() {
            self.infer_direction(out, readings, batch);
        }
        let out = &mut out[self.done - from..];
        match self.way {
            Some(CountDirection::Up) => self.run(CountDirection::Up, out, readings, batch, place),
            Some(CountDirection::Down) => {
                self.run(CountDirection::Down, out, readings, batch, place)
            }
            None => {}
        }
    }

    /// The NULLs of the batch of `len` rows; they are cleared.
    pub(crate) fn finish(&mut self, len: usize) -> Option<NullBuffer> {
        self.done = 0;
        self.validity.finish(len, &[])
    }

    /// Continues while nothing moves, and decides the direction when something does.
    fn infer_direction(&mut self, out: &mut [i64], readings: &[i64], batch: &BatchView<'_>) {
        for out in out {
            let row = self.done;
            if self.observed_direction(row, readings, batch).is_some() {
                let interval = batch.intervals[row];
                let rest = &batch.intervals[row..];
                let end = match rest.iter().position(|&other| other != interval) {
                    Some(count) => row + count,
                    None if batch.complete => batch.len,
                    // The rest of the interval is still to come.
                    None => return,
                };
                let votes =
                    (row..end).filter_map(|row| self.observed_direction(row, readings, batch));
                let sum = votes.fold(0i64, |sum, way| {
                    if way == CountDirection::Up {
                        sum + 1
                    } else {
                        sum - 1
                    }
                });
                self.way = Some(if sum >= 0 {
                    CountDirection::Up
                } else {
                    CountDirection::Down
                });
                return;
            }
            // Where nothing has moved, the difference is zero whichever way the counter runs.
            let valid = &batch.builders[self.builder].validity;
            let pair = read(&mut self.last, row, readings, valid, batch.rows);
            if pair.is_none() {
                self.validity.clear(row, row + 1);
            }
            *out = 0;
            self.done += 1;
        }
    }

    /// Returns the direction in which the counter of a row's subject moved since its last processed value.
    fn observed_direction(
        &self,
        row: usize,
        readings: &[i64],
        batch: &BatchView<'_>,
    ) -> Option<CountDirection> {
        let last = self.last.get(batch.rows.slots[row] as usize)?;
        let valid = batch.builders[self.builder].validity.get(row);
        let comparable = last.present && valid && batch.rows.usable[row];
        if comparable {
            self.rule.likely_direction(last.reading, readings[row])
        } else {
            None
        }
    }

    fn run(
        &mut self,
        way: CountDirection,
        out: &mut [i64],
        readings: &[i64],
        batch: &BatchView<'_>,
        place: &Reporter<'_>,
    ) {
        let valid = &batch.builders[self.builder].validity;
        for (row, out) in (self.done..).zip(out) {
            let pair = read(&mut self.last, row, readings, valid, batch.rows);
            let Some((before, now)) = pair else {
                *out = 0;
                self.validity.clear(row, row + 1);
                continue;
            };
            *out = match self.rule.step(way, before, now, batch.rows.seconds[row]) {
                CounterChange::By(difference) => difference,
                fault => {
                    self.report(fault, row, (before, now), batch, place);
                    self.validity.clear(row, row + 1);
                    0
                }
            };
        }
        self.done = batch.len;
    }

    #[cold]
    fn report(
        &self,
        fault: CounterChange,
        row: usize,
        (before, now): (i64, i64),
        batch: &BatchView<'_>,
        place: &Reporter<'_>,
    ) {
        let slot = batch.rows.slots[row];
        let subjects = &batch.track.subjects;
        let offset = batch.rows.offsets[row];
        let name = &self.name;
        if fault == CounterChange::Reset {
            let evidence = || "value stepped back".to_owned();
            place.reset(batch.rows.tods[row], &subjects.name(slot), evidence);
            // Once for each row: what restarts one counter restarts most of its subject's.
            place.problem(ProblemKind::Changed, (offset, slot, "reset"), offset, 0, || {
                let subject = subjects.name(slot);
                let of = if subject.is_empty() { String::new() } else { format!(" of {subject}") };
                let (from, to) = (self.rule.reading(before), self.rule.reading(now));
                format!("counters{of} decreased without a reset record ({name}: {from} to {to}); their differences are NULL")
            });
            return;
        }
        place.problem(
            ProblemKind::Changed,
            (name, offset, slot),
            offset,
            0,
            || {
                let subject = subjects.name(slot);
                let of = if subject.is_empty() {
                    String::new()
                } else {
                    format!(" of {subject}")
                };
                let (from, to) = (self.rule.reading(before), self.rule.reading(now));
                match fault {
                    CounterChange::Overflow(ran) => format!(
                        "{name}{of} advanced by {ran} ({from} to {to}), more than the column can hold"
                    ),
                    _ => format!(
                        "{name}{of} stepped back from {from} to {to} without evidence of a reset"
                    ),
                }
            },
        );
    }
}

/// The reading of a row and the one before it, if there are both and they can be compared.
#[inline(always)]
fn read(
    last: &mut [PreviousValue],
    row: usize,
    readings: &[i64],
    valid: &Validity,
    rows: &DifferenceRows,
) -> Option<(i64, i64)> {
    // An untracked subject has no slot.
    let last = last.get_mut(rows.slots[row] as usize)?;
    if !valid.get(row) {
        last.present = false;
        return None;
    }
    let now = readings[row];
    let before = std::mem::replace(
        last,
        PreviousValue {
            reading: now,
            present: true,
        },
    );
    (before.present && rows.usable[row]).then_some((before.reading, now))
}
