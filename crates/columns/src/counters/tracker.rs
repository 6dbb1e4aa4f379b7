//! From one record of a processor to the next: time between them, and whether they can be compared.

use std::collections::HashMap;
use std::sync::Arc;

use zlens_frames::smf::IntervalStamp;
use zlens_frames::{ProblemKind, Window, tod};

use super::changes::{Change, Changes};
use super::fields::ResolvedField;
use super::plan::{Plan, Subtype, Values};
use super::records::{NO_COUNTER, RecordColumns};
use super::rows::{Disposition, RowKey, RowState, UNTRACKED};
use super::sequence::{
    Comparison, CurrentRecord, NOT_RECORDED, Order, ProcessorState, WATCHED, classify_order,
};
use super::shape::{DATA, IDENTIFICATION};
use crate::core::diagnostics::Reporter;
use crate::core::dumps::{DuplicateRecords, Id, numbers};
use crate::core::flag::IntervalFlag;
use crate::core::interval::{Intervals, NO_INTERVAL};

/// Maximum number of processors. Real systems have thousands; corrupt data must not exhaust memory.
const MAX_SLOTS: usize = 100_000;

/// A system and what is known about it.
#[derive(Debug, Clone)]
pub struct System {
    /// Its name, as the column `system` shows it.
    pub name: String,
    /// Its names in the records of each file.
    pub ids: Vec<Id>,
    /// Ends of its intervals, ascending; TOD values.
    pub interval_ends: Arc<[u64]>,
    /// Whether the first subtype reports an interval, which hides the second.
    pub covered: Arc<[bool]>,
    /// Expected length of an interval.
    pub nominal_s: Option<f64>,
}

/// A system while its records are read.
struct SystemState {
    intervals: Intervals,
    covered: Arc<[bool]>,
    nominal_s: Option<f64>,
    /// Slots of processors with a small number; the others are in a map.
    dense: Vec<u32>,
    /// Records of the file that came before.
    again: DuplicateRecords,
}

/// Limit of processor numbers that index a dense table.
const DENSE_SLOTS: u64 = 1024;

/// Positions of the fields that are read from every record of a subtype.
#[derive(Debug)]
struct FieldLookups {
    processor: Vec<ResolvedField>,
    run: Vec<ResolvedField>,
    first: Vec<ResolvedField>,
    watched: Vec<Vec<ResolvedField>>,
    start: u32,
    end: u32,
    written: u32,
    absolute: bool,
}

/// All processors of all systems.
pub(crate) struct Tracker {
    systems: Vec<SystemState>,
    by_name: HashMap<Id, u16>,
    last_system: Option<(Id, u16)>,
    sparse: HashMap<(u16, u64), u32>,
    /// By subtype: the last state of each processor.
    slots: Vec<Vec<ProcessorState>>,
    asked: Vec<FieldLookups>,
    names: Vec<String>,
    /// The watched columns that are versions.
    versions: Vec<bool>,
}

impl Tracker {
    pub(crate) fn new(plan: &Plan, systems: &[System]) -> Self {
        let known = |system: &System| SystemState {
            intervals: Intervals::new(Arc::clone(&system.interval_ends)),
            covered: Arc::clone(&system.covered),
            nominal_s: system.nominal_s.filter(|s| *s > 0.0),
            dense: Vec::new(),
            again: DuplicateRecords::default(),
        };
        let names: Vec<String> = plan.watched.iter().take(WATCHED).cloned().collect();
        let asked = |subtype: &Subtype| {
            let spots = |name: &String| ResolvedField::resolve(plan, name, subtype.subtype);
            FieldLookups {
                processor: spots(&plan.processor),
                run: spots(&plan.run),
                first: spots(&plan.first),
                watched: names.iter().map(spots).collect(),
                start: u32::from(subtype.start),
                end: u32::from(subtype.end),
                written: u32::from(subtype.written),
                absolute: subtype.values == Values::Absolute,
            }
        };
        Self {
            by_name: numbers(systems.iter().map(|system| &system.ids)),
            systems: systems.iter().map(known).collect(),
            last_system: None,
            sparse: HashMap::new(),
            slots: plan.subtypes.iter().map(|_| Vec::new()).collect(),
            asked: plan.subtypes.iter().map(asked).collect(),
            versions: names.iter().map(|n| plan.versions.contains(n)).collect(),
            names,
        }
    }

    /// Number of processors.
    pub(crate) fn len(&self) -> usize {
        self.slots.first().map_or(0, Vec::len)
    }

    /// Returns the end of an interval of a system.
    pub(crate) fn interval_end(&self, system: u16, interval: u32) -> Option<u64> {
        self.systems
            .get(usize::from(system))?
            .intervals
            .end(interval)
    }

    #[inline]
    fn system(&mut self, name: Id) -> Option<u16> {
        match self.last_system {
            Some((known, number)) if known == name => Some(number),
            _ => {
                let number = *self.by_name.get(&name)?;
                self.last_system = Some((name, number));
                Some(number)
            }
        }
    }

    #[inline]
    fn slot(&mut self, system: u16, processor: u64) -> u32 {
        let near = &self.systems[usize::from(system)].dense;
        let known = match near.get(processor as usize) {
            Some(&slot) if processor < DENSE_SLOTS => slot,
            _ => self
                .sparse
                .get(&(system, processor))
                .copied()
                .unwrap_or(UNTRACKED),
        };
        if known == UNTRACKED {
            self.add(system, processor)
        } else {
            known
        }
    }

    #[cold]
    fn add(&mut self, system: u16, processor: u64) -> u32 {
        if self.len() >= MAX_SLOTS {
            return UNTRACKED;
        }
        let slot = self.len() as u32;
        self.slots
            .iter_mut()
            .for_each(|slots| slots.push(ProcessorState::default()));
        if processor < DENSE_SLOTS {
            let near = &mut self.systems[usize::from(system)].dense;
            if near.len() <= processor as usize {
                near.resize(processor as usize + 1, UNTRACKED);
            }
            near[processor as usize] = slot;
        } else {
            self.sparse.insert((system, processor), slot);
        }
        slot
    }

    /// Processes the records of one subtype in a window, in their order.
    pub(crate) fn rows(
        &mut self,
        nth: usize,
        window: &Window<'_>,
        lines: &RecordColumns,
        rows: &mut RowState,
        place: &Reporter<'_>,
        changes: &Changes,
    ) {
        rows.clear();
        for row in 0..lines.len() {
            let record = lines.record(row, window.bytes);
            let offset = window.offset(lines.records[row]);
            let name = record.get(14..18).and_then(|name| name.try_into().ok());
            let Some(system) = name
                .and_then(|name| self.system((place.file as u32, u16::from(place.record.0), name)))
            else {
                // Only for a system beyond those that an index distinguishes.
                place.problem(
                    ProblemKind::Header,
                    "system",
                    offset,
                    record.len() as u64,
                    || "record of a system missing from the index; skipped".to_owned(),
                );
                rows.push(
                    RowKey::untracked(0),
                    &Comparison::NONE,
                    NO_INTERVAL,
                    0,
                    Disposition::Duplicate,
                );
                continue;
            };
            let at = RowContext {
                row,
                offset,
                place: Reporter {
                    system: usize::from(system),
                    ..*place
                },
            };
            self.row(nth, system, window.bytes, lines, rows, &at, changes);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one call, in the loop above")]
    #[inline]
    fn row(
        &mut self,
        nth: usize,
        system: u16,
        bytes: &[u8],
        lines: &RecordColumns,
        rows: &mut RowState,
        at: &RowContext<'_>,
        changes: &Changes,
    ) {
        let row = at.row;
        let asked = &self.asked[nth];
        let number =
            |spots: &[ResolvedField]| spots.iter().find_map(|spot| spot.number(lines, row, bytes));
        let tod = |part, offset| {
            let value = read_u64(lines.part(row, part, bytes), offset)?;
            tod::is_plausible(value).then_some(value)
        };
        let stamp = IntervalStamp {
            start: tod(IDENTIFICATION, asked.start),
            end: tod(IDENTIFICATION, asked.end),
            written: tod(DATA, asked.written),
        };
        let end = stamp.interval_end();
        let mut watched = [NOT_RECORDED; WATCHED];
        for (value, spots) in watched.iter_mut().zip(&asked.watched) {
            *value = number(spots).unwrap_or(NOT_RECORDED);
        }
        let first_counter = lines.first_counters[row];
        let now = CurrentRecord {
            stamp,
            written: stamp.written.unwrap_or(0),
            run: number(&asked.run).unwrap_or(0),
            first: number(&asked.first).unwrap_or(0) != 0,
            watched,
            first_counter: if first_counter == NO_COUNTER || !asked.absolute {
                0
            } else {
                read_u64(bytes, first_counter).unwrap_or(0)
            },
            absolute: asked.absolute,
        };
        let processor = number(&asked.processor);
        let known = &mut self.systems[usize::from(system)];
        let interval = end.map_or(NO_INTERVAL, |end| known.intervals.index_of(end));
        let held = nth > 0
            && interval != NO_INTERVAL
            && known.covered.get(interval as usize) == Some(&true);
        let fate = if held {
            Disposition::Suppressed
        } else {
            Disposition::Emitted
        };
        let nominal_s = known.nominal_s;
        if now.written == 0 {
            at.place
                .problem(ProblemKind::Time, "no time", at.offset, 0, || {
                    "record has no timestamp; differences are NULL".to_owned()
                });
        }
        let Some(processor) = processor else {
            at.place
                .problem(ProblemKind::Short, "no processor", at.offset, 0, || {
                    "the data section ends before the number of the processor; differences are NULL"
                        .to_owned()
                });
            return rows.push(
                RowKey::untracked(system),
                &now.standalone(),
                interval,
                now.written,
                fate,
            );
        };
        let slot = self.slot(system, processor);
        if slot == UNTRACKED {
            at.place
                .problem(ProblemKind::Header, "full", at.offset, 0, || {
                    format!(
                        "more than {MAX_SLOTS} processors; differences of further ones are NULL"
                    )
                });
            return rows.push(
                RowKey::untracked(system),
                &now.standalone(),
                interval,
                now.written,
                fate,
            );
        }
        let who = RowKey {
            system,
            processor,
            slot,
        };
        let kept = &mut self.slots[nth][slot as usize];
        let order = classify_order(kept, &now, interval, at.place.file);
        match order {
            Order::Duplicate => {
                let bytes = lines.forms[super::shape::RECORD][row].length();
                self.systems[usize::from(system)]
                    .again
                    .add(at.offset, u64::from(bytes));
                return rows.push(
                    who,
                    &now.standalone(),
                    interval,
                    now.written,
                    Disposition::Duplicate,
                );
            }
            Order::Earlier { same_file: ours } => {
                at.place.problem(ProblemKind::Time, "older", at.offset, 0, || {
                    format!("processor {processor}: record is older than its predecessor; differences are NULL")
                });
                kept.met.add(interval);
                if ours {
                    kept.last = Some(now.last(at.place.file));
                }
                // Without a position in the order, it cannot precede another record.
                let slot = if ours { slot } else { UNTRACKED };
                return rows.push(
                    RowKey { slot, ..who },
                    &now.standalone(),
                    interval,
                    now.written,
                    fate,
                );
            }
            Order::Unknown => {
                // It has no position in the order of time.
                let who = RowKey {
                    slot: UNTRACKED,
                    ..who
                };
                return rows.push(who, &now.standalone(), interval, 0, fate);
            }
            Order::First | Order::Next => {}
        }
        kept.met.add(interval);
        let before = kept.last.replace(now.last(at.place.file));
        let mut reading = now.reading(before.as_ref(), &self.versions);
        if let Some(evidence) = reading.evidence {
            let when = match &before {
                Some(before) if now.run > before.written && now.run <= now.written => now.run,
                _ => now.written,
            };
            at.place
                .reset(when, &processor.to_string(), || evidence.to_owned());
        }
        if let Some(before) = &before {
            for (nth, name) in self.names.iter().enumerate() {
                let (was, is) = (before.watched[nth], now.watched[nth]);
                if was != is && was != NOT_RECORDED && is != NOT_RECORDED {
                    changes.add(Change {
                        system: at.place.system,
                        file: at.place.file,
                        offset: at.offset,
                        processor,
                        column: name.clone(),
                        since: before.written,
                        tod: now.written,
                        interval_end: self.systems[usize::from(system)].intervals.end(interval),
                        before: was,
                        after: is,
                    });
                }
            }
        }
        reading.flag = IntervalFlag::classify(reading.seconds, nominal_s);
        rows.push(who, &reading, interval, now.written, fate);
    }

    /// Says what came again in the file that ends here.
    pub(crate) fn end_file(&mut self, place: &Reporter<'_>) {
        for (number, system) in self.systems.iter_mut().enumerate() {
            system.again.report(&Reporter {
                system: number,
                ..*place
            });
        }
    }
}

/// Location of a row, for problems.
struct RowContext<'j> {
    row: usize,
    offset: u64,
    place: Reporter<'j>,
}

/// The eight bytes at an offset.
#[inline]
fn read_u64(part: &[u8], offset: u32) -> Option<u64> {
    let bytes = part.get(offset as usize..)?.first_chunk()?;
    Some(u64::from_be_bytes(*bytes))
}
