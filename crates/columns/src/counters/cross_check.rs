//! Cross-check of the two subtypes for the same processor and interval.

use zlens_frames::{ProblemKind, Window};

use super::counter::Scratch;
use super::records::RecordColumns;
use super::rows::{RowState, UNTRACKED};
use crate::core::diagnostics::Reporter;
use crate::core::interval::NO_INTERVAL;

/// Value of one counter of one processor in the record that waits for its counterpart.
#[derive(Debug, Clone, Copy, Default)]
struct PendingValue {
    counted: i64,
    known: bool,
}

/// Next step for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Skip,
    /// It waits for its counterpart.
    Store,
    /// Its counterpart waits.
    Compare,
}

/// Two readings of a counter that differ: its number, the values of first and second subtype.
type Mismatch = (u32, i64, i64);

/// Records that were compared with each other in one file.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    pairs: u64,
    differ: u64,
    first: Option<(u64, Mismatch)>,
}

/// Holds the second subtype against the first, record by record.
#[derive(Debug, Default)]
pub(crate) struct CrossCheck {
    /// By subtype and processor: the interval of the record that waits.
    intervals: [Vec<u32>; 2],
    /// By subtype, processor and counter: what it says.
    waiting: [Vec<PendingValue>; 2],
    counters: usize,
    actions: Vec<Action>,
    /// By row: the number of counters that differ, and the first of them.
    differ: Vec<(u32, Option<Mismatch>)>,
    /// By system.
    sums: Vec<Sum>,
}

impl CrossCheck {
    pub(crate) fn new(counters: usize, systems: usize) -> Self {
        Self {
            counters,
            sums: vec![Sum::default(); systems],
            ..Self::default()
        }
    }

    /// Begins with the records of one subtype in a window.
    pub(crate) fn begin(&mut self, nth: usize, rows: &RowState, slots: usize) {
        for list in &mut self.intervals {
            list.resize(slots, NO_INTERVAL);
        }
        for list in &mut self.waiting {
            list.resize(slots * self.counters, PendingValue::default());
        }
        self.actions.clear();
        for (&slot, &interval) in rows.slots.iter().zip(&rows.intervals) {
            let action = if slot == UNTRACKED || interval == NO_INTERVAL {
                Action::Skip
            } else if self.intervals[1 - nth][slot as usize] == interval {
                self.intervals[1 - nth][slot as usize] = NO_INTERVAL;
                Action::Compare
            } else {
                self.intervals[nth][slot as usize] = interval;
                Action::Store
            };
            self.actions.push(action);
        }
        self.differ.clear();
        self.differ.resize(rows.slots.len(), (0, None));
    }

    /// Processes what one counter is in these records.
    pub(crate) fn counter(
        &mut self,
        nth: usize,
        place: usize,
        number: u32,
        rows: &RowState,
        scratch: &Scratch,
    ) {
        for (row, &action) in self.actions.iter().enumerate() {
            if action == Action::Skip {
                continue;
            }
            let at = rows.slots[row] as usize * self.counters + place;
            let here = PendingValue {
                counted: scratch.counted[row],
                known: scratch.known[row],
            };
            if action == Action::Store {
                self.waiting[nth][at] = here;
                continue;
            }
            let there = self.waiting[1 - nth][at];
            if here.known && there.known && here.counted != there.counted {
                let (first, second) = if nth == 0 {
                    (here, there)
                } else {
                    (there, here)
                };
                let (count, example) = &mut self.differ[row];
                *count += 1;
                example.get_or_insert((number, first.counted, second.counted));
            }
        }
    }

    /// Ends with these records.
    pub(crate) fn end(&mut self, rows: &RowState, lines: &RecordColumns, window: &Window<'_>) {
        for (row, &action) in self.actions.iter().enumerate() {
            if action != Action::Compare {
                continue;
            }
            let sum = &mut self.sums[usize::from(rows.systems[row])];
            sum.pairs += 1;
            if let (1.., Some(example)) = self.differ[row] {
                let offset = window.offset(lines.records[row]);
                sum.differ += 1;
                sum.first.get_or_insert((offset, example));
            }
        }
    }

    /// Says what differed in the file that ends here.
    pub(crate) fn end_file(&mut self, subtypes: [u16; 2], place: &Reporter<'_>) {
        for (system, sum) in self.sums.iter_mut().enumerate() {
            let Sum {
                pairs,
                differ,
                first: Some((offset, (number, first, second))),
            } = std::mem::take(sum)
            else {
                continue;
            };
            let place = Reporter { system, ..*place };
            let [one, two] = subtypes;
            place.problem(ProblemKind::Duplicate, "differ", offset, 0, || {
                format!(
                    "subtypes {one} and {two} describe the same processor and interval {pairs} times and differ \
                     {differ} times, here first: counter {number} is {first} and {second}; subtype {one} is shown"
                )
            });
        }
    }
}
