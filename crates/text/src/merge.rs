//! Sections printed together: one alone, or the rows of intervals and what follows each interval.

use crate::batch::Batch;
use crate::error::Error;
use crate::section::{Cursor, Section, time};

pub struct SectionMerge {
    cursors: Vec<Option<Cursor>>,
}

impl SectionMerge {
    /// Sections in the order in which they are printed within an interval, each with its run, if it has one.
    pub fn new(sections: &[(Section, Option<usize>)]) -> Result<Self, Error> {
        let cursors = sections
            .iter()
            .map(|(section, run)| run.map(|run| section.cursor(run)).transpose());
        Ok(Self {
            cursors: cursors.collect::<Result<_, _>>()?,
        })
    }

    /// The section that has the next row: that of the earliest time; rows without a time are last.
    pub fn next(&self) -> Option<usize> {
        let left =
            |cursor: &Option<Cursor>| cursor.as_ref().is_some_and(|cursor| cursor.left() > 0);
        if let [only] = &self.cursors[..] {
            return left(only).then_some(0);
        }
        let mut next = None;
        for (rank, cursor) in self.cursors.iter().enumerate() {
            let Some(cursor) = cursor.as_ref().filter(|cursor| cursor.left() > 0) else {
                continue;
            };
            let (batch, row) = cursor.row();
            let at = time(batch, row).unwrap_or(i64::MAX);
            if next.is_none_or(|(earliest, _)| at < earliest) {
                next = Some((at, rank));
            }
        }
        next.map(|(_, rank)| rank)
    }

    pub fn row(&self, rank: usize) -> Option<(&Batch, usize)> {
        self.cursors[rank].as_ref().map(Cursor::row)
    }

    pub fn advance(&mut self, rank: usize) -> Result<(), Error> {
        self.cursors[rank].as_mut().map_or(Ok(()), Cursor::advance)
    }
}
