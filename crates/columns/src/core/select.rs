//! Which columns of a raw table are asked for.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::column::data_type;
use crate::plan::{Kind, Plan};
use crate::wide::TIMESTAMP;

/// One column of a raw table on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    Value(usize),
    /// The differences of a column of the plan.
    Difference(usize),
}

/// The columns that every raw table begins with.
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
    /// Whether it needs the sample before.
    pub(crate) fn compares(self) -> bool {
        matches!(self, Self::Seconds | Self::Flag | Self::Difference(_))
    }

    fn data_type(self, plan: &Plan) -> DataType {
        match self {
            Self::System | Self::Source | Self::File | Self::Flag => DataType::Utf8,
            Self::Offset | Self::Difference(_) => DataType::Int64,
            Self::Tod | Self::IntervalEnd => TIMESTAMP.clone(),
            Self::Seconds => DataType::Float64,
            Self::Value(column) => data_type(plan.columns[column].kind),
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

/// All columns of a table, in order.
pub(crate) fn outputs(plan: &Plan) -> Vec<(String, Output)> {
    let mut all: Vec<(String, Output)> = FIRST
        .iter()
        .map(|(name, output)| ((*name).to_owned(), *output))
        .collect();
    for (number, column) in plan.columns.iter().enumerate() {
        all.push((column.name.clone(), Output::Value(number)));
        if column.difference.is_some() && column.kind == Kind::Int {
            all.push((format!("{}_d", column.name), Output::Difference(number)));
        }
    }
    all
}

/// Names and types of all columns of a table.
pub(crate) fn types(plan: &Plan) -> Vec<(String, &'static str)> {
    outputs(plan)
        .into_iter()
        .map(|(name, output)| (name, output.type_name(plan)))
        .collect()
}

/// A table or a column that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// No plan is for this table.
    #[error("there is no raw table {0}")]
    Table(String),
    /// The table has no such column.
    #[error("the raw table {table} has no column {column}")]
    Column {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A column is asked for twice.
    #[error("column {column} of the raw table {table} is asked for twice")]
    Twice {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
}

/// Some columns of a raw table.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Number of the table.
    pub(crate) table: usize,
    pub(crate) outputs: Vec<Output>,
    pub(crate) schema: SchemaRef,
}

impl Selection {
    /// The columns called `names`, in that order; none named: all of them, with those that need the sample before
    /// or without.
    pub(crate) fn new(
        plan: &Plan,
        table: usize,
        names: Option<&[String]>,
        differences: bool,
    ) -> Result<Self, SelectError> {
        let all = outputs(plan);
        let chosen: Vec<(String, Output)> = match names {
            None => all
                .into_iter()
                .filter(|(_, output)| differences || !output.compares())
                .collect(),
            Some(names) => {
                let mut chosen: Vec<(String, Output)> = Vec::with_capacity(names.len());
                for name in names {
                    let of = || (plan.table.clone(), name.clone());
                    let Some(found) = all.iter().find(|(known, _)| known == name) else {
                        let (table, column) = of();
                        return Err(SelectError::Column { table, column });
                    };
                    if chosen.contains(found) {
                        let (table, column) = of();
                        return Err(SelectError::Twice { table, column });
                    }
                    chosen.push(found.clone());
                }
                chosen
            }
        };
        let fields: Vec<Field> = chosen
            .iter()
            .map(|(name, output)| Field::new(name, output.data_type(plan), true))
            .collect();
        let outputs = chosen.into_iter().map(|(_, output)| output).collect();
        Ok(Self {
            table,
            outputs,
            schema: Arc::new(Schema::new(fields)),
        })
    }

    /// The Arrow schema of the columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
