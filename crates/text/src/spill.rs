//! Batches kept for re-reading: a few in memory, the rest in an anonymous temporary file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use arrow_array::{BooleanArray, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::batch::{Batch, Values};

/// This many bytes of a section stay in memory.
const MEMORY: usize = 32 << 20;

/// Position of a batch.
enum Slot {
    Memory(Arc<Batch>),
    File { at: u64, length: usize, rows: usize },
}

pub struct BatchSpill {
    places: Vec<Slot>,
    /// Types of the columns that come from the file.
    columns: Vec<Column>,
    memory: usize,
    most: usize,
    file: Option<File>,
    end: u64,
}

#[derive(Clone, Copy)]
enum Column {
    Whole,
    Digits,
    Float,
    Bool,
    Text,
    Time,
}

impl BatchSpill {
    pub fn new() -> Self {
        Self::with_memory(MEMORY)
    }

    pub fn with_memory(most: usize) -> Self {
        Self {
            places: Vec::new(),
            columns: Vec::new(),
            memory: 0,
            most,
            file: None,
            end: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn push(&mut self, batch: Batch) -> io::Result<()> {
        let bytes = batch.bytes();
        if self.memory + bytes <= self.most {
            self.memory += bytes;
            self.places.push(Slot::Memory(Arc::new(batch)));
            return Ok(());
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        self.columns = batch.columns.iter().map(kind).collect();
        let mut data = Vec::with_capacity(bytes);
        for values in &batch.columns {
            write(&mut data, values);
        }
        file.write_all_at(&data, self.end)?;
        self.places.push(Slot::File {
            at: self.end,
            length: data.len(),
            rows: batch.rows,
        });
        self.end += data.len() as u64;
        Ok(())
    }

    pub fn get(&self, index: usize) -> io::Result<Arc<Batch>> {
        let (at, length, rows) = match &self.places[index] {
            Slot::Memory(batch) => return Ok(Arc::clone(batch)),
            Slot::File { at, length, rows } => (*at, *length, *rows),
        };
        let mut data = vec![0; length];
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.read_exact_at(&mut data, at)?;
        let mut rest = &data[..];
        let columns = self
            .columns
            .iter()
            .map(|column| read(&mut rest, *column, rows));
        Ok(Arc::new(Batch {
            rows,
            columns: columns.collect::<io::Result<_>>()?,
        }))
    }
}

fn kind(values: &Values) -> Column {
    match values {
        Values::Int(_) => Column::Whole,
        Values::BigInt(_) => Column::Digits,
        Values::Float(_) => Column::Float,
        Values::Bool(_) => Column::Bool,
        Values::Text(_) => Column::Text,
        Values::Time(_) => Column::Time,
    }
}

/// Header of the values of a column.
const ALL_NULL: u8 = 0;
const NO_NULL: u8 = 1;
const SOME_NULL: u8 = 2;

fn write(data: &mut Vec<u8>, values: &Values) {
    let array = values.array();
    let count = array.null_count();
    if count == array.len() {
        data.push(ALL_NULL);
        return;
    }
    match array.nulls() {
        Some(nulls) if count > 0 => {
            data.push(SOME_NULL);
            data.extend_from_slice(nulls.inner().sliced().as_slice());
        }
        _ => data.push(NO_NULL),
    }
    match values {
        Values::Int(array) => words(data, array.values().iter().map(|v| v.to_le_bytes())),
        Values::Float(array) => words(data, array.values().iter().map(|v| v.to_le_bytes())),
        Values::Time(array) => words(data, array.values().iter().map(|v| v.to_le_bytes())),
        Values::Bool(array) => data.extend_from_slice(array.values().sliced().as_slice()),
        Values::Text(array) | Values::BigInt(array) => {
            let offsets = array.value_offsets();
            let first = offsets[0];
            for offset in offsets {
                data.extend_from_slice(&(offset - first).to_le_bytes());
            }
            let last = offsets[offsets.len() - 1];
            data.extend_from_slice(&array.value_data()[first as usize..last as usize]);
        }
    }
}

fn words(data: &mut Vec<u8>, values: impl Iterator<Item = [u8; 8]>) {
    values.for_each(|value| data.extend_from_slice(&value));
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> io::Result<&'a [u8]> {
    let (taken, left) = rest
        .split_at_checked(length)
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    *rest = left;
    Ok(taken)
}

fn bits(rest: &mut &[u8], rows: usize) -> io::Result<BooleanBuffer> {
    let bytes = take(rest, rows.div_ceil(8))?;
    Ok(BooleanBuffer::new(Buffer::from(bytes), 0, rows))
}

fn numbers<T>(rest: &mut &[u8], rows: usize, value: fn([u8; 8]) -> T) -> io::Result<Vec<T>> {
    let (words, _) = take(rest, rows * 8)?.as_chunks::<8>();
    Ok(words.iter().map(|word| value(*word)).collect())
}

fn read(rest: &mut &[u8], column: Column, rows: usize) -> io::Result<Values> {
    let nulls = match take(rest, 1)?[0] {
        ALL_NULL => return Ok(empty(column, rows)),
        SOME_NULL => Some(NullBuffer::new(bits(rest, rows)?)),
        _ => None,
    };
    Ok(match column {
        Column::Whole => Values::Int(Int64Array::new(
            numbers(rest, rows, i64::from_le_bytes)?.into(),
            nulls,
        )),
        Column::Float => Values::Float(Float64Array::new(
            numbers(rest, rows, f64::from_le_bytes)?.into(),
            nulls,
        )),
        Column::Time => Values::Time(TimestampMicrosecondArray::new(
            numbers(rest, rows, i64::from_le_bytes)?.into(),
            nulls,
        )),
        Column::Bool => Values::Bool(BooleanArray::new(bits(rest, rows)?, nulls)),
        Column::Text => Values::Text(texts(rest, rows, nulls)?),
        Column::Digits => Values::BigInt(texts(rest, rows, nulls)?),
    })
}

fn empty(column: Column, rows: usize) -> Values {
    match column {
        Column::Whole => Values::Int(Int64Array::new_null(rows)),
        Column::Float => Values::Float(Float64Array::new_null(rows)),
        Column::Time => Values::Time(TimestampMicrosecondArray::new_null(rows)),
        Column::Bool => Values::Bool(BooleanArray::new_null(rows)),
        Column::Text => Values::Text(StringArray::new_null(rows)),
        Column::Digits => Values::BigInt(StringArray::new_null(rows)),
    }
}

fn texts(rest: &mut &[u8], rows: usize, nulls: Option<NullBuffer>) -> io::Result<StringArray> {
    let (words, _) = take(rest, (rows + 1) * 4)?.as_chunks::<4>();
    let offsets: Vec<i32> = words.iter().map(|word| i32::from_le_bytes(*word)).collect();
    let length = offsets[rows] as usize;
    let bytes = Buffer::from(take(rest, length)?);
    StringArray::try_new(OffsetBuffer::new(ScalarBuffer::from(offsets)), bytes, nulls)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
