//! The rows of one table that some records give, before they become columns.

use super::locate::{SectionRun, SectionRuns};
use super::plan::{FieldRef, Owner, Table};

/// A section that belongs to none of the other kind.
pub(crate) const NO_OWNER: u32 = u32::MAX;

/// Rows, column by column: where each section begins, its number in its record, which record it is of, and its owner.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub places: Vec<u32>,
    pub numbers: Vec<u32>,
    pub records: Vec<u32>,
    pub owners: Vec<u32>,
    /// Lengths of the sections, with the number of consecutive rows that have each.
    pub lengths: Vec<(u32, u32)>,
}

/// The sections that one of another kind owns.
#[derive(Debug, Clone, Copy)]
struct OwnedRange {
    first: i64,
    end: i64,
    owner: u32,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.numbers.clear();
        self.records.clear();
        self.owners.clear();
        self.lengths.clear();
    }

    /// The sections of a table in a record; `more` are those of its further parts.
    pub(crate) fn add(&mut self, table: &Table, record: u32, bytes: &[u8], pieces: &[SectionRuns]) {
        let from = self.len();
        for runs in pieces {
            self.run(runs[table.part], record);
        }
        if let Some(owner) = &table.owner {
            if let Some(first) = owner.first {
                self.assign_owner(owner, first, from, bytes, pieces);
            } else {
                let runs = pieces.iter().map(|runs| runs[table.part]);
                self.owners.extend(
                    runs.flat_map(|run| std::iter::repeat_n(run.owner, run.count as usize)),
                );
            }
        }
    }

    fn run(&mut self, run: SectionRun, record: u32) {
        if run.count == 0 {
            return;
        }
        for nth in 0..run.count {
            self.places.push(run.start(nth));
            self.numbers.push(run.number + nth);
            self.records.push(record);
        }
        match self.lengths.last_mut() {
            Some((length, rows)) if *length == run.length => *rows += run.count,
            _ => self.lengths.push((run.length, run.count)),
        }
    }

    /// Assigns owners to the rows from `from` on.
    fn assign_owner(
        &mut self,
        owner: &Owner,
        first: FieldRef,
        from: usize,
        bytes: &[u8],
        pieces: &[SectionRuns],
    ) {
        let mut ranges = Vec::new();
        for runs in pieces {
            let run = runs[owner.part];
            for nth in 0..run.count {
                let section = run.section(nth, bytes);
                let Some(first) = first.signed(section) else {
                    continue;
                };
                let number = match owner.number {
                    Some(place) => place.signed(section).unwrap_or(0),
                    None => 1,
                };
                if owner.none == Some(first) || number <= 0 {
                    continue;
                }
                let first = first - owner.base;
                ranges.push(OwnedRange {
                    first,
                    end: first + number,
                    owner: run.number + nth,
                });
            }
        }
        // Of owners that claim the same section the last one begun has it, as none of them should.
        ranges.sort_by_key(|range| range.first);
        for row in from..self.len() {
            let number = i64::from(self.numbers[row]);
            let after = ranges.partition_point(|range| range.first <= number);
            let range = after.checked_sub(1).map(|before| ranges[before]);
            self.owners.push(match range {
                Some(range) if number < range.end => range.owner,
                _ => NO_OWNER,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::MAX_PARTS;
    use super::*;

    const fn run(at: u32, length: u32, count: u32, number: u32) -> SectionRun {
        SectionRun {
            at,
            length,
            count,
            number,
            owner: 0,
        }
    }

    #[test]
    fn section_belongs_to_claiming_section() {
        // Owners of four bytes, first and number: of 0 and 1, of none, of 2 to 4, of missing sections.
        let bytes = [0, 0, 0, 2, 0, 0, 0, 0, 0, 2, 0, 3, 0, 9, 0, 9];
        let place = |offset| FieldRef { offset, length: 2 };
        let table = Table {
            name: "t".into(),
            part: 1,
            columns: Vec::new(),
            owner: Some(Owner {
                part: 0,
                first: Some(place(0)),
                number: Some(place(2)),
                base: 0,
                none: None,
            }),
        };
        let mut first = [SectionRun::default(); MAX_PARTS];
        first[0] = run(0, 4, 4, 0);
        first[1] = run(0, 1, 4, 0);
        let mut second = [SectionRun::default(); MAX_PARTS];
        second[1] = run(8, 2, 2, 4);
        let mut rows = Rows::default();
        rows.add(&table, 7, &bytes, &[first, second]);
        assert_eq!(rows.numbers, [0, 1, 2, 3, 4, 5]);
        assert_eq!(rows.owners, [0, 0, 2, 2, 2, NO_OWNER]);
        assert_eq!(rows.places, [0, 1, 2, 3, 8, 10]);
        assert_eq!(rows.lengths, [(1, 4), (2, 2)]);
        assert_eq!(rows.records, [7; 6]);
    }
}
