//! MONWRITE files in memory, and the rows decoded from them as plain values.

// No test file uses all of this module.
#![allow(dead_code)]

pub mod counters;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use zlens_columns::zvm::{Decoder, File, Plan, ResetEvidence, Selection, System};
use zlens_columns::{IncrementalScan, Step};
use zlens_frames::zvm::{Class, Group, Header, Writer, index};

/// A value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Time(i64),
}

/// A record: type, time, and the bytes after the header.
#[derive(Debug, Clone)]
pub struct Record {
    pub domain: u8,
    pub record: u16,
    pub tod: u64,
    pub body: Vec<u8>,
}

impl Record {
    pub fn bytes(&self) -> Vec<u8> {
        let length = (20 + self.body.len()) as u16;
        let header = Header {
            length,
            domain: self.domain,
            record: self.record,
            tod: self.tod,
        };
        [&header.encode()[..], &self.body].concat()
    }
}

/// Returns a MONWRITE file with these groups of sample or event records.
pub fn file(groups: &[(Class, Vec<Record>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for (class, records) in groups.iter().filter(|(_, records)| !records.is_empty()) {
        let records: Vec<Vec<u8>> = records.iter().map(Record::bytes).collect();
        let group = Group {
            class: *class,
            mask1: 0x80,
            mask2: 0,
            start: 0x1000,
            records: &records,
        };
        writer.write(&[group]).unwrap();
    }
    writer.finish().unwrap()
}

/// Returns a system with these files; its intervals end where the files' samples end.
pub fn system(files: Vec<Vec<u8>>, nominal_s: Option<f64>, resets: Vec<ResetEvidence>) -> System {
    let opened = |(number, bytes): (usize, Vec<u8>)| {
        let index = index(&bytes, &mut |_, _| true).unwrap();
        File {
            name: format!("file{number}"),
            source: Arc::new(bytes),
            index: Arc::new(index),
            repeats: Arc::new([]),
            capture: None,
        }
    };
    let files: Vec<File> = files.into_iter().enumerate().map(opened).collect();
    let ends = files
        .iter()
        .flat_map(|file| file.index.interval_ends.iter().map(|end| end.tod));
    System {
        name: "SYS".into(),
        source: "made".into(),
        interval_ends: ends.collect(),
        lost_ends: Vec::new(),
        nominal_s,
        resets,
        files,
    }
}

pub fn decoder(systems: Vec<System>, plans: Vec<Plan>) -> Arc<Decoder> {
    Arc::new(Decoder::new(systems, plans, 0))
}

/// Returns the rows of a batch.
fn cells(batch: &RecordBatch) -> Vec<Vec<Cell>> {
    let cell = |column: &dyn Array, row: usize| {
        if column.is_null(row) {
            return Cell::Null;
        }
        match column.data_type() {
            DataType::Int64 => Cell::Int(column.as_primitive::<Int64Type>().value(row)),
            DataType::Float64 => Cell::Float(column.as_primitive::<Float64Type>().value(row)),
            DataType::Boolean => Cell::Bool(column.as_boolean().value(row)),
            DataType::Utf8 => Cell::Text(column.as_string::<i32>().value(row).to_owned()),
            DataType::Timestamp(..) => {
                Cell::Time(column.as_primitive::<TimestampMicrosecondType>().value(row))
            }
            other => panic!("columns of {other} do not leave the program"),
        }
    };
    (0..batch.num_rows())
        .map(|row| {
            batch
                .columns()
                .iter()
                .map(|column| cell(column.as_ref(), row))
                .collect()
        })
        .collect()
}

/// Returns the rows of all selected tables, read in one pass. All batches stay alive, so none is overwritten.
pub fn scan(decoder: &Arc<Decoder>, selections: &[Selection]) -> Vec<Vec<Vec<Cell>>> {
    let mut scan = decoder.scan(selections);
    let mut kept = Vec::new();
    loop {
        match scan.step().unwrap() {
            Step::Batch(table, batch) => {
                assert!(batch.num_rows() > 0 && batch.num_rows() <= 16_384);
                kept.push((table, batch));
            }
            Step::Working => {}
            Step::Done => break,
        }
    }
    let mut tables = vec![Vec::new(); selections.len()];
    for (table, batch) in &kept {
        tables[*table].extend(cells(batch));
    }
    tables
}

/// Returns the column names and rows of a table.
pub fn table(
    decoder: &Arc<Decoder>,
    name: &str,
    columns: Option<&[String]>,
) -> (Vec<String>, Vec<Vec<Cell>>) {
    let selection = decoder.select(name, columns, true).unwrap();
    let names = selection
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    (names, scan(decoder, &[selection]).remove(0))
}

/// Returns one column of a table.
pub fn column(decoder: &Arc<Decoder>, table_name: &str, name: &str) -> Vec<Cell> {
    let (_, rows) = table(decoder, table_name, Some(&[name.to_owned()]));
    rows.into_iter().map(|mut row| row.remove(0)).collect()
}
