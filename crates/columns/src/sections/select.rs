//! Which columns of a table of sections are asked for.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::plan::{ColumnKind, Plan};
use crate::select::SelectError;
use crate::wide::TIMESTAMP;

/// One column of a table on its way out.
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
    SectionNo,
    /// A column of the plan.
    Column(usize),
}

const FIRST: [(&str, Output); 9] = [
    ("system", Output::System),
    ("source", Output::Source),
    ("file", Output::File),
    ("offset", Output::Offset),
    ("tod", Output::Tod),
    ("interval_end", Output::IntervalEnd),
    ("seconds", Output::Seconds),
    ("flag", Output::Flag),
    ("section_no", Output::SectionNo),
];

impl ColumnKind {
    fn data_type(self) -> DataType {
        match self {
            Self::Unsigned | Self::Signed | Self::Packed | Self::Subtype | Self::Owner => {
                DataType::Int64
            }
            Self::Text | Self::Hex | Self::Date => DataType::Utf8,
            Self::Bit => DataType::Boolean,
            Self::Tod | Self::TodLocal | Self::PackedTime | Self::Hundredths => TIMESTAMP.clone(),
            Self::Duration | Self::Offset | Self::Hfp | Self::PackedDuration => DataType::Float64,
        }
    }
}

fn data_type(plan: &Plan, table: usize, output: Output) -> DataType {
    match output {
        Output::System | Output::Source | Output::File | Output::Flag => DataType::Utf8,
        Output::Offset | Output::SectionNo => DataType::Int64,
        Output::Tod | Output::IntervalEnd => TIMESTAMP.clone(),
        Output::Seconds => DataType::Float64,
        Output::Column(column) => plan.tables[table].columns[column].kind.data_type(),
    }
}

/// All columns of a table, in order.
fn outputs(plan: &Plan, table: usize) -> Vec<(String, Output)> {
    let first = FIRST
        .iter()
        .map(|(name, output)| ((*name).to_owned(), *output));
    let columns = plan.tables[table].columns.iter().enumerate();
    first
        .chain(columns.map(|(number, column)| (column.name.clone(), Output::Column(number))))
        .collect()
}

/// Names and types of all columns of a table.
pub(crate) fn types(plan: &Plan, table: usize) -> Vec<(String, &'static str)> {
    let word = |output| match data_type(plan, table, output) {
        DataType::Int64 => "int",
        DataType::Float64 => "float",
        DataType::Boolean => "bool",
        DataType::Utf8 => "text",
        _ => "time",
    };
    outputs(plan, table)
        .into_iter()
        .map(|(name, output)| (name, word(output)))
        .collect()
}

/// Some columns of a table.
#[derive(Debug, Clone)]
pub struct Selection {
    pub(crate) plan: usize,
    pub(crate) table: usize,
    pub(crate) outputs: Vec<Output>,
    pub(crate) schema: SchemaRef,
}

impl Selection {
    /// The columns called `names`, in that order; none named: all of them.
    pub(crate) fn new(
        plans: &[Plan],
        (plan, table): (usize, usize),
        names: Option<&[String]>,
    ) -> Result<Self, SelectError> {
        let facts = &plans[plan];
        let all = outputs(facts, table);
        let chosen = match names {
            None => all,
            Some(names) => {
                let mut chosen: Vec<(String, Output)> = Vec::with_capacity(names.len());
                for name in names {
                    let column = name.clone();
                    let table = facts.tables[table].name.clone();
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
        let field = |(name, output): &(String, Output)| {
            Field::new(name, data_type(facts, table, *output), true)
        };
        Ok(Self {
            plan,
            table,
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
