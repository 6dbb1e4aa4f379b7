//! Column selection for a raw table.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::int64_block::TIMESTAMP;

/// The columns that every raw table begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadingColumn {
    /// Name of the system.
    System,
    /// Source of the data.
    Source,
    /// Name of the file.
    File,
    /// Start of the record in it.
    Offset,
    /// Time of the record.
    Tod,
    /// End of its interval.
    IntervalEnd,
    /// The time that differences are of.
    Seconds,
    /// Flag of that time.
    Flag,
}

impl LeadingColumn {
    const ALL: [(&str, Self); 8] = [
        ("system", Self::System),
        ("source", Self::Source),
        ("file", Self::File),
        ("offset", Self::Offset),
        ("tod", Self::Tod),
        ("interval_end", Self::IntervalEnd),
        ("seconds", Self::Seconds),
        ("flag", Self::Flag),
    ];

    fn data_type(self) -> DataType {
        match self {
            Self::System | Self::Source | Self::File | Self::Flag => DataType::Utf8,
            Self::Offset => DataType::Int64,
            Self::Tod | Self::IntervalEnd => TIMESTAMP.clone(),
            Self::Seconds => DataType::Float64,
        }
    }
}

/// One column of a raw table on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputColumn<C> {
    /// A column that every table has.
    Leading(LeadingColumn),
    /// A column of this table.
    Table(C),
}

/// A raw table, as its plan describes it.
pub(crate) trait Table {
    /// Identifies its own columns.
    type Column: Copy + PartialEq;

    fn name(&self) -> &str;

    /// Its own columns, in order.
    fn columns(&self) -> Vec<(String, Self::Column)>;

    fn data_type(&self, column: Self::Column) -> DataType;
}

/// All columns of a table, in order.
fn outputs<T: Table>(table: &T) -> Vec<(String, OutputColumn<T::Column>)> {
    let heads =
        LeadingColumn::ALL.map(|(name, head)| (name.to_owned(), OutputColumn::Leading(head)));
    let own = table.columns().into_iter();
    heads
        .into_iter()
        .chain(own.map(|(name, column)| (name, OutputColumn::Table(column))))
        .collect()
}

fn data_type<T: Table>(table: &T, output: OutputColumn<T::Column>) -> DataType {
    match output {
        OutputColumn::Leading(head) => head.data_type(),
        OutputColumn::Table(column) => table.data_type(column),
    }
}

/// Names and types (int, float, text, bool, time) of all columns of a table.
pub(crate) fn types<T: Table>(table: &T) -> Vec<(String, &'static str)> {
    let word = |output| match data_type(table, output) {
        DataType::Int64 => "int",
        DataType::Float64 => "float",
        DataType::Boolean => "bool",
        DataType::Utf8 => "text",
        _ => "time",
    };
    outputs(table)
        .into_iter()
        .map(|(name, output)| (name, word(output)))
        .collect()
}

/// An unknown table or column, or a column selected twice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// No plan is for this table.
    #[error("unknown raw table {0}")]
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
    #[error("raw table {table}: column {column} is selected twice")]
    Duplicate {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
}

/// Some columns `C` of the raw table that a decoder knows by `T`.
#[derive(Debug, Clone)]
pub struct Selection<C, T = usize> {
    pub(crate) table: T,
    pub(crate) outputs: Vec<OutputColumn<C>>,
    pub(crate) schema: SchemaRef,
}

impl<C: Copy + PartialEq, T> Selection<C, T> {
    /// Selects `names` in that order; if empty, all default columns.
    pub(crate) fn new(
        facts: &impl Table<Column = C>,
        table: T,
        names: Option<&[String]>,
        is_default: impl Fn(OutputColumn<C>) -> bool,
    ) -> Result<Self, SelectError> {
        let mut all = outputs(facts);
        let chosen = match names {
            None => {
                all.retain(|(_, output)| is_default(*output));
                all
            }
            Some(names) => {
                let mut chosen: Vec<(String, OutputColumn<C>)> = Vec::with_capacity(names.len());
                for name in names {
                    let of = || (facts.name().to_owned(), name.clone());
                    let Some(column) = all.iter().find(|(known, _)| known == name) else {
                        let (table, column) = of();
                        return Err(SelectError::Column { table, column });
                    };
                    if chosen.contains(column) {
                        let (table, column) = of();
                        return Err(SelectError::Duplicate { table, column });
                    }
                    chosen.push(column.clone());
                }
                chosen
            }
        };
        let field = |(name, output): &(String, OutputColumn<C>)| {
            Field::new(name, data_type(facts, *output), true)
        };
        Ok(Self {
            table,
            schema: Arc::new(Schema::new(chosen.iter().map(field).collect::<Vec<_>>())),
            outputs: chosen.into_iter().map(|(_, output)| output).collect(),
        })
    }
}

impl<C, T> Selection<C, T> {
    /// The Arrow schema of the columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
