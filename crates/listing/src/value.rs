//! The value of a cell, by the kind of its column.

use crate::line::stamp;
use crate::number::{Number, number};

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Float,
    Int,
    Text,
    Time,
}

/// A parsed cell; `Invalid` does not match the column's type.
pub enum Parsed<'a> {
    Null,
    Float(Number),
    Int(i64),
    Time(i64),
    Text(&'a str),
    Invalid(&'a str),
}

/// Reads a cell. Dots are no value, and so are the marks of totals where a number of a processor would be.
pub fn parse(cell: &str, kind: Kind) -> Parsed<'_> {
    let dots = || cell.bytes().all(|byte| byte == b'.');
    match kind {
        _ if cell.is_empty() => Parsed::Null,
        Kind::Float => match number(cell) {
            Ok(Some(found)) => Parsed::Float(found),
            Ok(None) => Parsed::Null,
            Err(_) => Parsed::Invalid(cell),
        },
        Kind::Int => match cell.parse::<i64>() {
            Ok(found) if cell.len() < 16 && cell.bytes().all(|byte| byte.is_ascii_digit()) => {
                Parsed::Int(found)
            }
            _ if dots() || cell.starts_with('>') || cell.contains("MIX") => Parsed::Null,
            _ => Parsed::Invalid(cell),
        },
        Kind::Time => stamp(cell).map_or(Parsed::Null, Parsed::Time),
        Kind::Text if dots() => Parsed::Null,
        Kind::Text => Parsed::Text(cell),
    }
}
