//! Synthetic records of the plan in this folder, and the tables decoded from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use zlens_columns::sections::{Decoder, Plan, System};
use zlens_columns::{DecodeProblem, DumpSet, File, IncrementalScan, Step};
use zlens_frames::smf::{Date, Header, Writer, index};
use zlens_frames::{ReadAt, ebcdic, tod};

/// 2026-01-01 00:00 UTC in seconds since 1970.
pub const DAY: i64 = 1_767_225_600;
pub const PRODUCT: usize = 38;
pub const ITEM: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
    Bool(bool),
}

pub type Row = BTreeMap<String, Cell>;

pub fn int(value: i64) -> Cell {
    Cell::Int(value)
}

/// Returns the time `second` seconds into 2026, UTC, in microseconds.
pub fn at(second: i64) -> Cell {
    Cell::Int((DAY + second) * 1_000_000)
}

pub fn text(value: &str, width: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = value
        .chars()
        .map(|c| {
            ebcdic::CP037
                .iter()
                .position(|&known| char::from(known) == c)
                .unwrap_or(0x40) as u8
        })
        .collect();
    bytes.resize(width, 0x40);
    bytes
}

pub fn header(system: &str, second: i64, subtype: u16) -> Vec<u8> {
    let header = Header {
        length: 0,
        segment: 0,
        flags: 0x5E,
        record: 70,
        time: (second % 86_400) as u32 * 100,
        date: Date::new(2026, 1 + (second / 86_400) as u16),
        system: text(system, 4).try_into().unwrap(),
        subsystem: [0x40; 4],
        subtype: Some(subtype),
    };
    let mut bytes = header.encode();
    bytes.resize(52, 0);
    bytes
}

fn packed(text: String) -> [u8; 4] {
    u32::from_str_radix(&text, 16).unwrap().to_be_bytes()
}

/// Returns a product section for a quarter of an hour that ends at a second (UTC) in a time zone.
pub fn product(end: i64, zone_s: i64) -> Vec<u8> {
    let start = end - 900 + zone_s;
    let mut bytes = Vec::new();
    bytes.extend(packed(format!(
        "0{:02}{:02}{:02}f",
        start / 3600,
        start / 60 % 60,
        start % 60
    )));
    bytes.extend(Date::new(2026, 1).0.to_be_bytes());
    bytes.extend(packed("1500000f".to_owned()));
    bytes.extend(tod::from_unix_us((DAY + end) * 1_000_000).to_be_bytes());
    bytes.extend((zone_s * 1_000_000 * 4096).to_be_bytes());
    bytes.extend(900_u16.to_be_bytes());
    bytes.resize(PRODUCT, 0);
    bytes
}

/// Returns an item; its first bytes are its number and name.
pub fn item(number: u32) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend(text(&format!("I{number}"), 4));
    bytes.extend((u64::from(number) * 1_500_000 * 4096).to_be_bytes());
    bytes.extend([0x41, 0x00, 0x12, 0x3F]);
    bytes.extend(0x4118_0000_0000_0000_u64.to_be_bytes());
    bytes.extend((-7_i16).to_be_bytes());
    bytes.extend([0xAB, 0xCD]);
    bytes.extend(tod::from_unix_us((DAY + 7200) * 1_000_000).to_be_bytes());
    bytes.extend(u64::from(number).to_be_bytes());
    bytes.extend(100_u32.to_be_bytes());
    bytes.extend(Date::new(2026, 1).0.to_be_bytes());
    bytes.extend(360_000_u32.to_be_bytes());
    assert_eq!(bytes.len(), ITEM);
    bytes
}

pub fn owner(first: i16, count: i16) -> Vec<u8> {
    [first.to_be_bytes(), count.to_be_bytes()].concat()
}

/// Adds sections and their triplet.
pub fn add(record: &mut Vec<u8>, triplet: usize, sections: &[Vec<u8>]) {
    let Some(first) = sections.first() else {
        return;
    };
    let offset = record.len() as u32;
    record[triplet..triplet + 4].copy_from_slice(&offset.to_be_bytes());
    record[triplet + 4..triplet + 6].copy_from_slice(&(first.len() as u16).to_be_bytes());
    record[triplet + 6..triplet + 8].copy_from_slice(&(sections.len() as u16).to_be_bytes());
    record.extend(sections.concat());
}

/// Returns a complete record.
pub fn record(end: i64, items: &[Vec<u8>], owners: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = header("SYSA", end, 1);
    add(&mut bytes, 28, &[product(end, 0)]);
    add(&mut bytes, 36, items);
    add(&mut bytes, 44, owners);
    bytes
}

/// Returns a segment of a record: its number and the number of segments; for items and owners their total
/// number and the index of the first one in this segment.
pub fn piece(
    end: i64,
    (sequence, total): (u16, u16),
    (items, all_items, first_item): (&[Vec<u8>], u16, u16),
    (owners, all_owners, first_owner): (&[Vec<u8>], u16, u16),
) -> Vec<u8> {
    let mut bytes = header("SYSA", end, 1);
    let mut product = product(end, 0);
    product[30..34].copy_from_slice(&(PRODUCT as u32).to_be_bytes());
    product[34..38].copy_from_slice(&[0, 16, 0, 1]);
    add(&mut bytes, 28, &[product]);
    let words = [total, sequence, 0, PRODUCT as u16 + 16, 4, 3, 0, 0];
    let blocks = [(1, 1), (all_items, first_item), (all_owners, first_owner)];
    bytes.extend(words.iter().flat_map(|word: &u16| word.to_be_bytes()));
    for (count, first) in blocks {
        bytes.extend(
            [count, first]
                .iter()
                .flat_map(|word: &u16| word.to_be_bytes()),
        );
    }
    add(&mut bytes, 36, items);
    add(&mut bytes, 44, owners);
    bytes
}

pub fn plan() -> Plan {
    Plan::parse(include_str!("plan.json")).unwrap()
}

pub fn decoder(dumps: &[Vec<Vec<u8>>]) -> Arc<Decoder> {
    let files = dumps.iter().enumerate().map(|(number, records)| {
        let mut writer = Writer::new(Vec::new());
        for record in records {
            writer.write(record).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let found = index(&bytes, &[], &mut |_, _| true).unwrap();
        let source: Arc<dyn ReadAt> = Arc::new(bytes);
        File {
            name: format!("dump{number}"),
            source,
            index: Arc::new(found),
        }
    });
    let systems = [("A", "SYSA"), ("B", "SYSB")].map(|(name, id)| System {
        name: name.to_owned(),
        ids: (0..dumps.len() as u32)
            .map(|file| {
                (
                    file,
                    u16::from(plan().record),
                    text(id, 4).try_into().unwrap(),
                )
            })
            .collect(),
        zone_us: None,
    });
    let dumps = DumpSet {
        source: "smf".to_owned(),
        systems: systems.to_vec(),
        files: files.collect(),
        leap_s: 0,
    };
    Arc::new(Decoder::new(dumps, vec![plan()]))
}

pub fn rows_of(decoder: &Arc<Decoder>, table: &str, columns: Option<&[String]>) -> Vec<Row> {
    let selection = decoder.select(table, columns).unwrap();
    let mut scan = decoder.scan(&[selection]);
    let mut rows = Vec::new();
    loop {
        match scan.step().unwrap() {
            Step::Batch(_, batch) => {
                rows.extend((0..batch.num_rows()).map(|row| cells(&batch, row)))
            }
            Step::Working => {}
            Step::Done => return rows,
        }
    }
}

pub fn rows(records: &[Vec<u8>], table: &str) -> Vec<Row> {
    rows_of(&decoder(&[records.to_vec()]), table, None)
}

/// Decodes everything once, and returns the problems.
pub fn problems(decoder: &Arc<Decoder>) -> Vec<DecodeProblem> {
    let mut scan = decoder.scan(&decoder.everything("70"));
    while !matches!(scan.step().unwrap(), Step::Done) {}
    decoder.problems()
}

fn cells(batch: &RecordBatch, row: usize) -> Row {
    let schema = batch.schema();
    let named = schema.fields().iter().zip(batch.columns());
    named
        .map(|(field, array)| {
            let cell = if array.is_null(row) {
                Cell::Null
            } else {
                match array.data_type() {
                    DataType::Int64 => Cell::Int(array.as_primitive::<Int64Type>().value(row)),
                    DataType::Float64 => {
                        Cell::Float(array.as_primitive::<Float64Type>().value(row))
                    }
                    DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row).to_owned()),
                    DataType::Boolean => Cell::Bool(array.as_boolean().value(row)),
                    _ => Cell::Int(array.as_primitive::<TimestampMicrosecondType>().value(row)),
                }
            };
            (field.name().clone(), cell)
        })
        .collect()
}
