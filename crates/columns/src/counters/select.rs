//! Which columns of the table of counters are asked for.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::plan::Plan;
use crate::column::data_type;
use crate::select::SelectError;
use crate::wide::TIMESTAMP;

/// One column of the table on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    System,
    Source,
    File,
    Offset,
    Tod,
    IntervalEnd,
    Seconds,
    Flag,
    /// A column of the plan.
    Field(usize),
    /// How many counters of a set there are.
    Size(usize),
    /// A counter: its set and its place in it.
    Counter(usize, u32),
}

const FIRST: [(&str, Output); 8] = [
    ("system", Output::System),
    ("source", Output::Source),
    ("file", Output::File),
    ("offset", Output::Offset),
    ("tod", Output::Tod),
    ("interval_end", Output::IntervalEnd),
    ("seconds", Output::Seconds),
    ("flag", Output::Flag),
];

impl Output {
    fn data_type(self, plan: &Plan) -> DataType {
        match self {
            Self::System | Self::Source | Self::File | Self::Flag => DataType::Utf8,
            Self::Offset | Self::Size(_) | Self::Counter(..) => DataType::Int64,
            Self::Tod | Self::IntervalEnd => TIMESTAMP.clone(),
            Self::Seconds => DataType::Float64,
            Self::Field(column) => data_type(plan.columns[column].kind.kind()),
        }
    }

    fn type_name(self, plan: &Plan) -> &'static str {
        match self.data_type(plan) {
            DataType::Int64 => "int",
            DataType::Float64 => "float",
            DataType::Boolean => "bool",
            DataType::Utf8 => "text",
            _ => "time",
        }
    }
}

/// All columns of the table, in order.
pub(crate) fn outputs(plan: &Plan) -> Vec<(String, Output)> {
    let mut all: Vec<(String, Output)> = FIRST
        .iter()
        .map(|(name, output)| ((*name).to_owned(), *output))
        .collect();
    let fields = plan.columns.iter().enumerate();
    all.extend(fields.map(|(number, column)| (column.name.clone(), Output::Field(number))));
    let sets = plan.sets.iter().enumerate();
    all.extend(sets.map(|(number, set)| (set.size.clone(), Output::Size(number))));
    for (number, set) in plan.sets.iter().enumerate() {
        let counter = |index| {
            (
                format!("c{}_d", set.first + index),
                Output::Counter(number, index),
            )
        };
        all.extend((0..set.counters).map(counter));
    }
    all
}

/// Names and types of all columns of the table.
pub(crate) fn types(plan: &Plan) -> Vec<(String, &'static str)> {
    let named = |(name, output): (String, Output)| (name, output.type_name(plan));
    outputs(plan).into_iter().map(named).collect()
}

/// Some columns of the table of counters.
#[derive(Debug, Clone)]
pub struct Selection {
    pub(crate) outputs: Vec<Output>,
    pub(crate) schema: SchemaRef,
}

impl Selection {
    /// The columns called `names`, in that order; none named: all of them.
    pub(crate) fn new(plan: &Plan, names: Option<&[String]>) -> Result<Self, SelectError> {
        let all = outputs(plan);
        let chosen: Vec<(String, Output)> = match names {
            None => all,
            Some(names) => {
                let mut chosen: Vec<(String, Output)> = Vec::with_capacity(names.len());
                for name in names {
                    let table = plan.table.clone();
                    let column = name.clone();
                    let Some(found) = all.iter().find(|(known, _)| known == name) else {
                        return Err(SelectError::Column { table, column });
                    };
                    if chosen.contains(found) {
                        return Err(SelectError::Twice { table, column });
                    }
                    chosen.push(found.clone());
                }
                chosen
            }
        };
        let field =
            |(name, output): &(String, Output)| Field::new(name, output.data_type(plan), true);
        Ok(Self {
            schema: Arc::new(Schema::new(chosen.iter().map(field).collect::<Vec<_>>())),
            outputs: chosen.into_iter().map(|(_, output)| output).collect(),
        })
    }

    /// The Arrow schema of the columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
