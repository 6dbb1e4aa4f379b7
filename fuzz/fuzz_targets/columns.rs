//! Any records, by plans with every kind of column, sections and differences: batches are complete,
//! and a stream of one column equals that of the entire table. Input that begins with a bracket is
//! a plan first.

#![no_main]

use std::sync::Arc;

use arrow_array::RecordBatch;
use libfuzzer_sys::fuzz_target;
use zlens_columns::zvm::{Decoder, File, Plan, ResetEvidence, Selection, System};
use zlens_columns::{IncrementalScan, Step};
use zlens_frames::zvm::{Class, Group, Header, Writer, index};

const PLANS: &str = include_str!("columns.json");
const START: u64 = 0xE000_0000_0000_0000;
/// 2^28 units are 65 ms.
const TICK: u64 = 1 << 28;

/// Builds records from bytes: type and class, length, time since the previous one, body.
fn records(mut bytes: &[u8]) -> Vec<(Class, Vec<u8>)> {
    let mut records = Vec::new();
    let mut tod = START;
    while let [kind, length, later, rest @ ..] = bytes {
        let (body, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = rest;
        tod = tod.wrapping_add((i64::from(later.cast_signed()).cast_unsigned()).wrapping_mul(TICK));
        let (domain, record) = [(0, 2), (4, 3), (1, 11)][usize::from(kind & 3) % 3];
        let length = (20 + body.len()) as u16;
        let header = Header {
            length,
            domain,
            record,
            tod,
        }
        .encode();
        let class = if kind & 0x80 == 0 {
            Class::Sample
        } else {
            Class::Event
        };
        // Many equal records are decoded differently from few.
        let times = if kind & 0x40 == 0 { 1 } else { 50 };
        let whole = [&header[..], body].concat();
        records.extend(std::iter::repeat_n((class, whole), times));
    }
    records
}

fn file(records: &[(Class, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for group in records.chunk_by(|(a, _), (b, _)| a == b) {
        let bytes: Vec<&[u8]> = group.iter().map(|(_, record)| record.as_slice()).collect();
        let group = Group {
            class: group[0].0,
            mask1: 0x80,
            mask2: 0,
            start: 0x1000,
            records: &bytes,
        };
        writer.write(&[group]).expect("records are whole");
    }
    writer.finish().expect("memory can be written")
}

fn system(files: Vec<Vec<u8>>, plans: &[Plan]) -> System {
    let files: Vec<File> = files
        .into_iter()
        .map(|bytes| {
            let index = Arc::new(index(&bytes, &mut |_, _| true).expect("memory can be read"));
            File {
                name: "fuzz".into(),
                source: Arc::new(bytes),
                index,
                repeats: Arc::from([]),
                capture: None,
            }
        })
        .collect();
    let evidence = |plan: &Plan| ResetEvidence {
        tod: START + 9 * TICK,
        table: plan.table.clone(),
        subject: None,
        what: "known".into(),
    };
    System {
        name: "S".into(),
        source: "fuzz".into(),
        interval_ends: files
            .iter()
            .flat_map(|f| f.index.interval_ends.iter().map(|end| end.tod))
            .collect(),
        nominal_s: Some(1.0),
        resets: plans.iter().map(evidence).collect(),
        lost_ends: Vec::new(),
        files,
    }
}

fn batches(decoder: &Arc<Decoder>, selections: &[Selection]) -> Vec<(usize, RecordBatch)> {
    let mut scan = decoder.scan(selections);
    let mut found = Vec::new();
    loop {
        match scan.step().expect("memory can be read") {
            Step::Batch(table, batch) => {
                assert!((1..=16_384).contains(&batch.num_rows()));
                found.push((table, batch));
            }
            Step::Working => {}
            Step::Done => return found,
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes;
    let mut plans = Plan::parse(PLANS).expect("the plans of this target are good");
    if bytes.first() == Some(&b'[') {
        let end = bytes
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(bytes.len());
        let (json, rest) = bytes.split_at(end);
        let Ok(given) = Plan::parse(&String::from_utf8_lossy(json)) else {
            return;
        };
        (plans, bytes) = (given, rest);
    }
    let records = records(bytes);
    let (first, second) = records.split_at(records.len() / 2);
    let files: Vec<Vec<u8>> = [first, second].map(file).into();
    let system = system(files, &plans);
    let tables: Vec<String> = plans.iter().map(|plan| plan.table.clone()).collect();
    let decoder = Arc::new(Decoder::new(vec![system], plans, 27));
    let all: Vec<Selection> = tables
        .iter()
        .map(|table| {
            decoder
                .select(table, None, true)
                .expect("there is such a table")
        })
        .collect();
    let found = batches(&decoder, &all);
    for (number, table) in tables.iter().enumerate() {
        let whole: Vec<&RecordBatch> = found
            .iter()
            .filter(|(table, _)| *table == number)
            .map(|(_, batch)| batch)
            .collect();
        let names = decoder.schema(table).expect("there is such a table");
        let (name, _) = &names[bytes.len() % names.len()];
        let one = decoder
            .select(table, Some(std::slice::from_ref(name)), true)
            .expect("there is such a column");
        let narrow = batches(&decoder, &[one]);
        let rows =
            |batches: &[&RecordBatch]| batches.iter().map(|batch| batch.num_rows()).sum::<usize>();
        assert_eq!(
            rows(&whole),
            rows(&narrow.iter().map(|(_, batch)| batch).collect::<Vec<_>>())
        );
        let nulls = |column: &str, batches: &[&RecordBatch]| -> usize {
            batches
                .iter()
                .filter_map(|b| b.column_by_name(column))
                .map(|array| array.null_count())
                .sum()
        };
        assert_eq!(
            nulls(name, &whole),
            nulls(name, &narrow.iter().map(|(_, b)| b).collect::<Vec<_>>())
        );
    }
    assert!(
        decoder
            .problems()
            .iter()
            .all(|found| !found.problem.detail.is_empty())
    );
    assert!(
        decoder
            .resets()
            .iter()
            .all(|reset| !reset.evidence.is_empty())
    );
});
