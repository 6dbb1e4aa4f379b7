//! Tests that rows spooled to disk print like rows in memory.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use proptest::prelude::*;
use zlens_text::{Json, Kind, Printer, Section, SectionBuilder, SectionMerge, Style, TextChunks};

type Row = (
    u8,
    Option<i64>,
    Option<String>,
    Option<i64>,
    Option<f64>,
    Option<bool>,
    Option<String>,
    Option<i128>,
);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        0_u8..3,
        any::<Option<i64>>().prop_map(|time| time.map(|us| us % 1_000_000_000_000_000)),
        any::<Option<String>>(),
        any::<Option<i64>>(),
        any::<Option<f64>>(),
        any::<Option<bool>>(),
        any::<Option<String>>(),
        any::<Option<i128>>(),
    );
    prop::collection::vec(row, 0..20)
}

fn batch(block: &str, rows: &[Row]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(rows.iter().map(|_| block))),
        Arc::new(TimestampMicrosecondArray::from_iter(
            rows.iter().map(|row| row.1),
        )),
        Arc::new(StringArray::from_iter(rows.iter().map(|row| row.2.clone()))),
        Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.3))),
        Arc::new(Float64Array::from_iter(rows.iter().map(|row| row.4))),
        Arc::new(BooleanArray::from_iter(rows.iter().map(|row| row.5))),
        Arc::new(StringArray::from_iter(rows.iter().map(|row| row.6.clone()))),
        Arc::new(StringArray::from_iter(
            rows.iter().map(|row| row.7.map(|value| value.to_string())),
        )),
        // A column without values.
        Arc::new(Float64Array::new_null(rows.len())),
    ];
    let names = ["block", "time", "flag", "i", "f", "b", "t", "w", "n"];
    RecordBatch::try_from_iter(names.into_iter().zip(columns)).unwrap()
}

fn read(batches: &[RecordBatch], memory: usize) -> Section {
    let mut kinds = vec![Kind::Other; 9];
    kinds[7] = Kind::Whole;
    let style = Style {
        number: true,
        width: 5,
        decimals: 1,
        leading_zero: false,
    };
    let mut section = SectionBuilder::with_memory(kinds, vec![style; 6], memory);
    for batch in batches {
        section.push(batch).unwrap();
    }
    section.finish()
}

fn printed(section: &Section) -> Vec<String> {
    let names: Vec<String> = ["i", "f", "b", "t", "w", "n"].map(String::from).to_vec();
    let before = [vec![(String::from("row"), String::from("interval"))]];
    (0..section.runs().len())
        .map(|run| {
            let part = SectionMerge::new(&[(section.clone(), Some(run))]).unwrap();
            let json = Json::new(&before, true, &names, vec![vec![None; 6]]);
            let mut lines = TextChunks::new(part, Printer::Json(json));
            let mut text = String::new();
            while let Some(chunk) = lines.chunk().unwrap() {
                text.push_str(&chunk);
            }
            text
        })
        .collect()
}

proptest! {
    #[test]
    fn spooled_batches_round_trip(all in prop::collection::vec(rows(), 0..6), some in 0_usize..4000) {
        // Also slices of larger batches, whose buffers start before them.
        let batches: Vec<RecordBatch> = all
            .iter()
            .enumerate()
            .map(|(number, rows)| {
                let block = ["A", "B", "C"][number / 2 % 3];
                let skipped = rows.len() / 3;
                batch(block, rows).slice(skipped, rows.len() - skipped)
            })
            .collect();
        let whole = read(&batches, usize::MAX);
        for memory in [0, some] {
            let spooled = read(&batches, memory);
            prop_assert_eq!(printed(&spooled), printed(&whole));
            // Printing again results in the same text.
            prop_assert_eq!(printed(&spooled), printed(&whole));
        }
        let count: usize = whole.runs().iter().map(|run| run.rows).sum();
        prop_assert_eq!(count, batches.iter().map(RecordBatch::num_rows).sum::<usize>());
    }
}

#[test]
fn unsupported_types_are_rejected() {
    let column: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let mut section = SectionBuilder::new(Vec::new(), Vec::new());
    let error = section.push(&batch).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column 0 has the Arrow type Int32, which is not printed"
    );
}
