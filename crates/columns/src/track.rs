//! From one sample of a subject to the next: elapsed time, evidence of resets, differences.
//!
//! What was last seen of every subject is kept in columns indexed by the subject's slot, for each system and table,
//! and lives on from file to file.

use zlens_frames::{ProblemKind, tod};

use crate::column::{Builder, Value};
use crate::evidence::{Evidence, Known, NOTHING};
use crate::journal::Place;
use crate::plan::{Difference, Direction};
use crate::step::{Rule, Step, Way};
use crate::subject::{Found, MAX_SUBJECTS, NOBODY, Subjects, fingerprint};
use crate::validity::Validity;

/// TOD units in a second.
const UNITS: f64 = tod::UNITS_PER_US as f64 * 1e6;

/// Older than this many nominal intervals, a predecessor leaves a gap.
const GAP: f64 = 1.5;
/// Below this part of the nominal interval, an interval is a stub.
const SHORT: f64 = 0.5;

/// What the column `flag` says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    None,
    Gap,
    Short,
}

/// The rows of the batch being built, as differences see them.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Subject of each row.
    pub slots: Vec<u32>,
    /// Whether the row has a predecessor to be compared with.
    pub usable: Vec<bool>,
    /// Time since it, where usable.
    pub seconds: Vec<f64>,
    pub flags: Vec<Flag>,
}

impl Rows {
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.usable.clear();
        self.seconds.clear();
        self.flags.clear();
    }
}

/// Some rows that were just decoded.
#[derive(Clone, Copy)]
pub(crate) struct Fresh<'b> {
    /// The first and the one after the last.
    pub from: usize,
    pub to: usize,
    pub tods: &'b [u64],
    pub offsets: &'b [i64],
    pub builders: &'b [Builder],
    /// Whether there is a layout that tells whom they are about.
    pub known: bool,
    /// Whether they are samples, which come at the end of intervals; events come when they do.
    pub sample: bool,
}

/// A column whose change is evidence of a reset.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    pub builder: usize,
    pub name: String,
}

/// What is kept of the subjects of one table of one system.
#[derive(Debug)]
pub(crate) struct Track {
    /// Columns that identify the subject.
    subject: Vec<usize>,
    watches: Vec<Watch>,
    subjects: Subjects,
    known: Known,
    nominal_s: Option<f64>,
    /// By slot: where its evidence is, time and file of its last sample.
    evidence: Vec<u32>,
    last: Vec<u64>,
    file: Vec<usize>,
    /// By watch and slot: what the column last was; 0: nothing yet.
    seen: Vec<Vec<u64>>,
}

impl Track {
    pub(crate) fn new(subject: Vec<usize>, watches: Vec<Watch>) -> Self {
        Self {
            seen: vec![Vec::new(); watches.len()],
            subject,
            watches,
            subjects: Subjects::default(),
            known: Known::default(),
            nominal_s: None,
            evidence: Vec::new(),
            last: Vec::new(),
            file: Vec::new(),
        }
    }

    /// Forgets everything: another system begins.
    pub(crate) fn begin(&mut self, table: &str, evidence: &[Evidence], nominal_s: Option<f64>) {
        let fresh = Self::new(
            std::mem::take(&mut self.subject),
            std::mem::take(&mut self.watches),
        );
        *self = Self {
            known: Known::of(table, evidence),
            nominal_s: nominal_s.filter(|s| *s > 0.0),
            ..fresh
        };
    }

    /// Finds the predecessors of fresh rows.
    pub(crate) fn rows(&mut self, fresh: &Fresh<'_>, rows: &mut Rows, place: &Place<'_>) {
        if !fresh.known {
            let count = fresh.to - fresh.from;
            rows.slots.extend(std::iter::repeat_n(NOBODY, count));
            rows.usable.extend(std::iter::repeat_n(false, count));
            rows.seconds.extend(std::iter::repeat_n(0.0, count));
            rows.flags.extend(std::iter::repeat_n(Flag::None, count));
            return;
        }
        for row in fresh.from..fresh.to {
            let values = self
                .subject
                .iter()
                .map(|&builder| fresh.builders[builder].value(row));
            let (slot, seconds) = match self.subjects.find(values) {
                Found::Known(slot) => self.known_subject(slot, row, fresh, place),
                Found::New(slot) => {
                    self.new_subject(slot, fresh.tods[row], place.file);
                    (slot, None)
                }
                Found::Full => {
                    let offset = fresh.offsets[row].cast_unsigned();
                    place.problem(ProblemKind::Header, "full", offset, 0, || {
                        format!("more than {MAX_SUBJECTS} subjects; those from here on have no differences")
                    });
                    (NOBODY, None)
                }
            };
            rows.slots.push(slot);
            rows.usable.push(seconds.is_some());
            rows.seconds.push(seconds.unwrap_or(0.0));
        }
        for number in 0..self.watches.len() {
            self.watch(number, fresh, rows, place);
        }
        let nominal_s = self.nominal_s.filter(|_| fresh.sample);
        let fresh_rows = fresh.from..fresh.to;
        rows.flags.extend(fresh_rows.map(|row| match nominal_s {
            Some(nominal) if rows.usable[row] => flag(rows.seconds[row], nominal),
            _ => Flag::None,
        }));
    }

    fn new_subject(&mut self, slot: u32, tod: u64, file: usize) {
        let evidence = if self.known.names_subjects() {
            self.known.place(&self.subjects.name(slot))
        } else {
            NOTHING
        };
        self.evidence.push(evidence);
        self.last.push(tod);
        self.file.push(file);
    }

    /// The slot under which the row is kept, and the seconds since its predecessor if they can be compared.
    fn known_subject(
        &mut self,
        slot: u32,
        row: usize,
        fresh: &Fresh<'_>,
        place: &Place<'_>,
    ) -> (u32, Option<f64>) {
        let at = slot as usize;
        let (last, now) = (self.last[at], fresh.tods[row]);
        if now < last {
            let offset = fresh.offsets[row].cast_unsigned();
            place.problem(ProblemKind::Time, "older", offset, 0, || {
                let subject = self.subjects.name(slot);
                let us = (last - now) / tod::UNITS_PER_US;
                format!("a sample of {subject} is {us} us older than the one before; no difference is taken")
            });
            // Files that overlap: the later samples of the file before stay what this one is compared with.
            if self.file[at] != place.file {
                return (NOBODY, None);
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
        (slot, Some((now - last) as f64 / UNITS))
    }

    fn watch(&mut self, number: usize, fresh: &Fresh<'_>, rows: &mut Rows, place: &Place<'_>) {
        let watch = &self.watches[number];
        let seen = &mut self.seen[number];
        seen.resize(self.subjects.len(), 0);
        for row in fresh.from..fresh.to {
            let slot = rows.slots[row];
            let value = fresh.builders[watch.builder].value(row);
            if slot == NOBODY || value == Value::Null {
                continue;
            }
            let now = fingerprint(value) | 1;
            let before = std::mem::replace(&mut seen[slot as usize], now);
            if before != 0 && before != now && rows.usable[row] {
                rows.usable[row] = false;
                place.reset(fresh.tods[row], &self.subjects.name(slot), || {
                    format!("{} changed", watch.name)
                });
            }
        }
    }
}

fn flag(seconds: f64, nominal: f64) -> Flag {
    if seconds > GAP * nominal {
        Flag::Gap
    } else if seconds < SHORT * nominal {
        Flag::Short
    } else {
        Flag::None
    }
}

/// A column with differences.
#[derive(Debug)]
pub(crate) struct Counter {
    pub builder: usize,
    pub name: String,
    rule: Rule,
    direction: Direction,
    way: Option<Way>,
    /// By slot: the last reading, and whether there is one.
    previous: Vec<i64>,
    has: Vec<bool>,
    /// Differences of the batch being built.
    pub differences: Vec<i64>,
    pub validity: Validity,
}

/// What a counter needs of the batch to go on.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'b> {
    pub rows: &'b Rows,
    pub builders: &'b [Builder],
    pub tods: &'b [u64],
    pub offsets: &'b [i64],
    pub intervals: &'b [u32],
    /// Whether no more rows can be waited for.
    pub complete: bool,
}

impl Counter {
    pub(crate) fn new(builder: usize, name: String, difference: &Difference) -> Self {
        let mut counter = Self {
            builder,
            name,
            rule: Rule::new(difference),
            direction: difference.direction,
            way: None,
            previous: Vec::new(),
            has: Vec::new(),
            differences: Vec::new(),
            validity: Validity::default(),
        };
        counter.begin();
        counter
    }

    /// Forgets everything: another system begins.
    pub(crate) fn begin(&mut self) {
        self.previous.clear();
        self.has.clear();
        self.way = match self.direction {
            Direction::Up => Some(Way::Up),
            Direction::Down => Some(Way::Down),
            Direction::Learn => None,
        };
    }

    /// Whether its direction is not known yet, so that it may have to wait for the rest of an interval.
    pub(crate) fn learns(&self) -> bool {
        self.direction == Direction::Learn
    }

    /// Makes the differences of all rows so far; of fewer where the direction is decided by rows still to come.
    pub(crate) fn advance(&mut self, batch: &Batch<'_>, track: &Track, place: &Place<'_>) {
        self.previous.resize(track.subjects.len(), 0);
        self.has.resize(track.subjects.len(), false);
        if self.way.is_none() && !self.learn(batch) {
            return;
        }
        match self.way {
            Some(Way::Up) => self.run(Way::Up, batch, track, place),
            Some(Way::Down) => self.run(Way::Down, batch, track, place),
            None => {}
        }
    }

    /// The reading of a row, if there is one, and the one before it, if they can be compared.
    #[inline]
    fn reading(
        &mut self,
        row: usize,
        batch: &Batch<'_>,
        readings: &[i64],
        valid: &Validity,
    ) -> Option<(i64, i64)> {
        let slot = batch.rows.slots[row];
        if slot == NOBODY {
            return None;
        }
        let slot = slot as usize;
        if !valid.get(row) {
            self.has[slot] = false;
            return None;
        }
        let now = readings[row];
        let before = std::mem::replace(&mut self.previous[slot], now);
        let had = std::mem::replace(&mut self.has[slot], true);
        (had && batch.rows.usable[row]).then_some((before, now))
    }

    fn push(&mut self, difference: Option<i64>) {
        self.differences.push(difference.unwrap_or(0));
        self.validity.extend(1, difference.is_some());
    }

    /// Goes on while nothing moves; whether the direction is decided or all rows are done.
    fn learn(&mut self, batch: &Batch<'_>) -> bool {
        let (readings, valid) = batch.builders[self.builder].ints();
        for row in self.differences.len()..readings.len() {
            if self.vote(row, batch, readings, valid).is_some() {
                let interval = batch.intervals[row];
                let rest = &batch.intervals[row..];
                let end = match rest.iter().position(|&other| other != interval) {
                    Some(count) => row + count,
                    None if batch.complete => readings.len(),
                    // The rest of the interval is still to come.
                    None => return false,
                };
                let votes = (row..end).filter_map(|row| self.vote(row, batch, readings, valid));
                let sum = votes.fold(
                    0i64,
                    |sum, way| if way == Way::Up { sum + 1 } else { sum - 1 },
                );
                self.way = Some(if sum >= 0 { Way::Up } else { Way::Down });
                return true;
            }
            // Where nothing has moved, the difference is zero whichever way the counter runs.
            let pair = self.reading(row, batch, readings, valid);
            self.push(pair.map(|_| 0));
        }
        true
    }

    /// Which way the counter of a row's subject has moved since its last reading that was taken up.
    fn vote(
        &self,
        row: usize,
        batch: &Batch<'_>,
        readings: &[i64],
        valid: &Validity,
    ) -> Option<Way> {
        let slot = batch.rows.slots[row];
        let comparable = slot != NOBODY && batch.rows.usable[row] && valid.get(row);
        if !comparable || !self.has[slot as usize] {
            return None;
        }
        self.rule
            .leaning(self.previous[slot as usize], readings[row])
    }

    fn run(&mut self, way: Way, batch: &Batch<'_>, track: &Track, place: &Place<'_>) {
        let (readings, valid) = batch.builders[self.builder].ints();
        for row in self.differences.len()..readings.len() {
            let Some((before, now)) = self.reading(row, batch, readings, valid) else {
                self.push(None);
                continue;
            };
            let difference = match self.rule.step(way, before, now, batch.rows.seconds[row]) {
                Step::By(difference) => Some(difference),
                fault => {
                    self.report(fault, row, (before, now), batch, track, place);
                    None
                }
            };
            self.push(difference);
        }
    }

    #[cold]
    fn report(
        &self,
        fault: Step,
        row: usize,
        (before, now): (i64, i64),
        batch: &Batch<'_>,
        track: &Track,
        place: &Place<'_>,
    ) {
        let slot = batch.rows.slots[row];
        if fault == Step::Reset {
            let subject = track.subjects.name(slot);
            place.reset(batch.tods[row], &subject, || {
                "value stepped back".to_owned()
            });
            return;
        }
        let offset = batch.offsets[row].cast_unsigned();
        let name = &self.name;
        place.problem(
            ProblemKind::Changed,
            (name, offset, slot),
            offset,
            0,
            || {
                let subject = track.subjects.name(slot);
                let of = if subject.is_empty() {
                    String::new()
                } else {
                    format!(" of {subject}")
                };
                let (from, to) = (self.rule.reading(before), self.rule.reading(now));
                match fault {
                    Step::Far(ran) => format!(
                        "{name}{of} ran by {ran} from {from} to {to}, more than can be held"
                    ),
                    _ => format!(
                        "{name}{of} stepped back from {from} to {to} without evidence of a reset"
                    ),
                }
            },
        );
    }
}
