//! Synthetic records of type 113, and the tables decoded from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use zlens_columns::counters::{Decoder, Plan, System};
use zlens_columns::{DecodeProblem, DumpSet, File, IncrementalScan, Step};
use zlens_frames::smf::{Date, Header, Writer, index};
use zlens_frames::{ProblemKind, ReadAt, ebcdic, tod};

pub const NOMINAL: u64 = 900;

/// Values of a synthetic record; times are seconds into 2026.
#[derive(Clone, Debug)]
pub struct Made {
    pub subtype: u16,
    pub system: &'static str,
    pub cpu: u16,
    pub core: Option<u16>,
    pub class: u8,
    pub speed: u32,
    pub run: u64,
    pub start: u64,
    pub end: u64,
    pub written: u64,
    pub versions: (u16, u16),
    pub flags: u16,
    /// Kind, bytes per counter, counters.
    pub sets: Vec<(u16, u16, Vec<u64>)>,
}

impl Made {
    /// Returns a record of subtype 1 for an interval that ends at `end`.
    pub fn delta(cpu: u16, end: u64, counters: &[u64]) -> Self {
        Self {
            subtype: 1,
            system: "SYSA",
            cpu,
            core: Some(cpu / 2),
            class: 0,
            speed: 5200,
            run: 0,
            start: end - NOMINAL,
            end,
            written: end,
            versions: (3, 7),
            flags: 0,
            sets: vec![(1, 8, counters.to_vec())],
        }
    }

    /// Returns a record of subtype 2.
    pub fn absolute(cpu: u16, end: u64, counters: &[u64]) -> Self {
        Self {
            subtype: 2,
            core: None,
            ..Self::delta(cpu, end, counters)
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let header = Header {
            length: 0,
            segment: 0,
            flags: 0x5E,
            record: 113,
            time: (self.written % 86_400) as u32 * 100,
            date: Date::new(2026, 1 + (self.written / 86_400) as u16),
            system: text(self.system, 4).try_into().expect("four bytes"),
            subsystem: [0x40; 4],
            subtype: Some(self.subtype),
        };
        let mut bytes = header.encode();
        bytes.extend([0; 4]);
        let data = if self.subtype == 1 {
            self.data1()
        } else {
            self.data2()
        };
        for (offset, length) in [(52_u32, 20_u16), (72, 40), (112, data.len() as u16)] {
            bytes.extend(offset.to_be_bytes());
            bytes.extend(length.to_be_bytes());
            bytes.extend(1_u16.to_be_bytes());
        }
        bytes.extend([0; 4]);
        bytes.extend(text("HIS", 8));
        bytes.extend(text("z/OS", 8));
        bytes.extend(text("HIS", 8));
        bytes.extend([0; 8]);
        bytes.extend(text("HIS", 8));
        bytes.extend(time(self.start).to_be_bytes());
        bytes.extend(time(self.end).to_be_bytes());
        assert_eq!(bytes.len(), 112);
        bytes.extend(data);
        self.counters(&mut bytes);
        bytes
    }

    fn data1(&self) -> Vec<u8> {
        let mut data = time(self.run).to_be_bytes().to_vec();
        data.extend(time(self.written).to_be_bytes());
        data.extend(self.cpu.to_be_bytes());
        data.extend([self.class, 0]);
        data.extend(self.speed.to_be_bytes());
        data.extend(text("3931", 4));
        data.extend(text("A01-704", 16));
        data.extend(1_u16.to_be_bytes());
        data.extend(self.versions.0.to_be_bytes());
        data.extend(self.versions.1.to_be_bytes());
        data.extend(self.flags.to_be_bytes());
        let size = if self.core.is_some() { 78 } else { 76 };
        data.extend((112 + size as u32).to_be_bytes());
        data.extend(12_u16.to_be_bytes());
        data.extend((self.sets.len() as u16).to_be_bytes());
        data.extend(text("00000000000ABCDE", 16));
        data.extend(self.core.map(u16::to_be_bytes).into_iter().flatten());
        data
    }

    fn data2(&self) -> Vec<u8> {
        let count: usize = self
            .sets
            .iter()
            .map(|(_, _, counters)| counters.len())
            .sum();
        let mut data = time(self.run).to_be_bytes().to_vec();
        data.extend(time(self.written).to_be_bytes());
        data.extend([self.cpu as u8, self.class]);
        data.extend(self.flags.to_be_bytes());
        data.extend(self.versions.0.to_be_bytes());
        data.extend(self.versions.1.to_be_bytes());
        data.extend(196_u32.to_be_bytes());
        data.extend(4_u16.to_be_bytes());
        data.extend((self.sets.len() as u16).to_be_bytes());
        data.extend((196 + 4 * self.sets.len() as u32).to_be_bytes());
        data.extend(8_u16.to_be_bytes());
        data.extend((count as u16).to_be_bytes());
        data.extend(self.speed.to_be_bytes());
        data.extend(text("3931", 4));
        data.extend(text("A01-704", 16));
        data.extend(self.cpu.to_be_bytes());
        data.extend([0; 2]);
        data.extend(text("00000000000ABCDE", 16));
        assert_eq!(data.len(), 84);
        data
    }

    fn counters(&self, bytes: &mut Vec<u8>) {
        let first = bytes.len() + self.sets.len() * if self.subtype == 1 { 12 } else { 4 };
        let mut at = first as u32;
        for (kind, width, counters) in &self.sets {
            let count = counters.len() as u16;
            if self.subtype == 1 {
                bytes.extend(kind.to_be_bytes());
                bytes.extend([if *width == 8 { 0x80 } else { 0 }, 0]);
                bytes.extend(at.to_be_bytes());
                bytes.extend(width.to_be_bytes());
                bytes.extend(count.to_be_bytes());
                at += u32::from(width * count);
            } else {
                bytes.extend([*kind as u8, 0]);
                bytes.extend(count.to_be_bytes());
            }
        }
        for (_, width, counters) in &self.sets {
            for counter in counters {
                bytes.extend(&counter.to_be_bytes()[8 - usize::from(*width)..]);
            }
        }
    }
}

pub fn text(text: &str, width: usize) -> Vec<u8> {
    ebcdic::encode(text, width).expect("it fits")
}

/// Returns the TOD value `second` seconds into 2026.
pub fn time(second: u64) -> u64 {
    tod::from_unix_us(1_767_225_600_000_000) + second * 1_000_000 * tod::UNITS_PER_US
}

/// Returns microseconds since 1970, `second` seconds into 2026.
pub fn us(second: u64) -> i64 {
    tod::to_unix_us(time(second), 0)
}

pub fn plan() -> Plan {
    Plan::parse(include_str!("plan.json")).expect("the plan is good")
}

pub fn dump(records: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for record in records {
        writer.write(record).expect("the record is good");
    }
    writer.finish().expect("memory takes it")
}

pub fn dump_of(records: &[Made]) -> Vec<u8> {
    dump(&records.iter().map(Made::bytes).collect::<Vec<_>>())
}

/// A value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
    Bool(bool),
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// Returns a value, or NULL for `None`.
pub fn maybe<T: Into<Cell>>(value: Option<T>) -> Cell {
    value.map_or(Cell::Null, Into::into)
}

pub type Row = BTreeMap<String, Cell>;

/// Returns a decoder of dumps, with the systems and intervals of their indexes.
pub fn decoder(dumps: &[Vec<u8>]) -> Arc<Decoder> {
    let plan = plan();
    let files: Vec<File> = dumps
        .iter()
        .enumerate()
        .map(|(nth, bytes)| {
            let found = index(bytes, &plan.clocks(), &mut |_, _| true).expect("memory can be read");
            let source: Arc<dyn ReadAt> = Arc::new(bytes.clone());
            File {
                name: format!("dump{nth}"),
                source,
                index: Arc::new(found),
            }
        })
        .collect();
    let seen: Vec<_> = files
        .iter()
        .flat_map(|file| file.index.intervals.clone())
        .collect();
    let ids: BTreeSet<[u8; 4]> = files
        .iter()
        .flat_map(|file| file.index.kinds.iter().map(|info| info.kind.system))
        .collect();
    let systems = ids
        .into_iter()
        .map(|id| {
            let own = || seen.iter().filter(|one| one.system == id);
            let ends: BTreeSet<u64> = own().map(|one| one.end).collect();
            let first: BTreeSet<u64> = own()
                .filter(|one| one.subtype == 1)
                .map(|one| one.end)
                .collect();
            System {
                name: ebcdic::text(&id),
                ids: (0..files.len() as u32)
                    .map(|file| (file, u16::from(plan.record), id))
                    .collect(),
                covered: ends.iter().map(|end| first.contains(end)).collect(),
                interval_ends: ends.into_iter().collect(),
                nominal_s: Some(NOMINAL as f64),
            }
        })
        .collect();
    let dumps = DumpSet {
        source: "smf".to_owned(),
        systems,
        files,
        leap_s: 0,
    };
    Arc::new(Decoder::new(dumps, plan))
}

fn cell(array: &dyn Array, row: usize) -> Cell {
    if array.is_null(row) {
        return Cell::Null;
    }
    match array.data_type() {
        DataType::Int64 => Cell::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Cell::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::Boolean => Cell::Bool(array.as_boolean().value(row)),
        _ => Cell::Int(array.as_primitive::<TimestampMicrosecondType>().value(row)),
    }
}

fn rows_of(batch: &RecordBatch, rows: &mut Vec<Row>) {
    for row in 0..batch.num_rows() {
        let fields = batch.schema_ref().fields().iter().zip(batch.columns());
        rows.push(
            fields
                .map(|(field, array)| (field.name().clone(), cell(array, row)))
                .collect(),
        );
    }
}

/// Returns all rows, of all columns or of some; `check` compares the subtypes.
pub fn scan(decoder: &Arc<Decoder>, columns: Option<&[&str]>, check: bool) -> Vec<Row> {
    let names: Option<Vec<String>> =
        columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    let selection = decoder.select(names.as_deref()).expect("such columns");
    let mut scan = decoder.scan(&selection, check);
    let mut rows = Vec::new();
    loop {
        match scan.step().expect("memory can be read") {
            Step::Batch(_, batch) => rows_of(&batch, &mut rows),
            Step::Working => {}
            Step::Done => return rows,
        }
    }
}

/// Returns all rows of one dump, and its problems.
pub fn table(records: &[Made]) -> (Vec<Row>, Vec<DecodeProblem>) {
    let decoder = decoder(&[dump_of(records)]);
    let rows = scan(&decoder, None, false);
    (rows, decoder.problems())
}

/// Returns one column of all rows.
pub fn column(rows: &[Row], name: &str) -> Vec<Cell> {
    rows.iter().map(|row| row[name].clone()).collect()
}

/// Whether the only problem has this kind and contains these words.
pub fn says(problems: &[DecodeProblem], kind: ProblemKind, words: &str) -> bool {
    let [found] = problems else {
        return false;
    };
    found.problem.kind == kind && found.problem.detail.contains(words)
}
