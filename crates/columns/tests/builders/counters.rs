//! Samples of subjects with counters, and the plan that decodes them.

use zlens_columns::zvm::Plan;
use zlens_columns::zvm::plan::{Column, Difference, Field, Kind, Layout, Part};
use zlens_frames::zvm::Class;

use super::{Record, file};

pub const START: u64 = 0xE000_0000_0000_0000;
pub const SECOND: u64 = 4_096_000_000;
/// Nominal interval in seconds.
pub const NOMINAL: u64 = 60;

/// Rule of a counter, and its length in the record.
#[derive(Debug, Clone, Copy)]
pub struct Counter {
    pub difference: Difference,
    pub length: u32,
}

/// Returns the plan of records: `who` (2 bytes), `since` (1 byte), counters. Short records omit the last counter.
pub fn plan(counters: &[Counter]) -> Plan {
    let mut columns = vec![
        Column {
            name: "who".into(),
            kind: Kind::Int,
            difference: None,
        },
        Column {
            name: "since".into(),
            kind: Kind::Int,
            difference: None,
        },
    ];
    let mut fields = Vec::new();
    let mut place = |column: usize, length: u32, signed: bool, offset: &mut u32| {
        fields.push(Field {
            column,
            offset: *offset,
            length,
            signed,
            part: Part::Record,
            element: None,
        });
        *offset += length;
    };
    let mut offset = 20;
    place(0, 2, false, &mut offset);
    place(1, 1, false, &mut offset);
    for (number, counter) in counters.iter().enumerate() {
        let difference = Some(counter.difference);
        columns.push(Column {
            name: format!("c{number}"),
            kind: Kind::Int,
            difference,
        });
        place(
            2 + number,
            counter.length,
            counter.difference.signed,
            &mut offset,
        );
    }
    Plan {
        table: "t".into(),
        domain: 0,
        record: 2,
        columns,
        subject: vec!["who".into()],
        reset_on: vec!["since".into()],
        section: None,
        join: None,
        layouts: vec![Layout {
            lengths: Vec::new(),
            fields,
        }],
    }
}

/// A sample: `who` and `since`, the bits of the counters, and whether the last counter is missing.
#[derive(Debug, Clone)]
pub struct Sample {
    pub tod: u64,
    pub who: u16,
    pub since: u8,
    pub values: Vec<u64>,
    pub short: bool,
}

impl Sample {
    pub fn record(&self, counters: &[Counter]) -> Record {
        let mut body = self.who.to_be_bytes().to_vec();
        body.push(self.since);
        let kept = counters.len() - usize::from(self.short);
        for (counter, value) in counters.iter().zip(&self.values).take(kept) {
            body.extend(&value.to_be_bytes()[8 - counter.length as usize..]);
        }
        Record {
            domain: 0,
            record: 2,
            tod: self.tod,
            body,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Interval {
    pub seconds: u64,
    pub samples: Vec<Sample>,
}

pub fn bytes(intervals: &[Interval], counters: &[Counter]) -> Vec<u8> {
    let mut now = 0;
    let mut groups = Vec::new();
    for interval in intervals {
        let mut records: Vec<Record> = interval
            .samples
            .iter()
            .map(|sample| sample.record(counters))
            .collect();
        now = interval
            .samples
            .last()
            .map_or(now + 1, |sample| sample.tod + 1);
        records.push(Record {
            domain: 1,
            record: 11,
            tod: now,
            body: Vec::new(),
        });
        groups.push((Class::Sample, records));
    }
    file(&groups)
}
