//! The columns of the table of counters.

use arrow_schema::DataType;

use super::plan::Plan;
use crate::core::column::data_type;
use crate::core::select::{self, Table};

/// One column of the plan on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// A field.
    Field(usize),
    /// Number of counters of a set.
    Size(usize),
    /// A counter: its set and its index in it.
    Counter(usize, u32),
}

/// One column of the table on its way out.
pub(crate) type OutputColumn = select::OutputColumn<Column>;
/// Some columns of the table of counters.
pub type Selection = select::Selection<Column, ()>;

impl Table for Plan {
    type Column = Column;

    fn name(&self) -> &str {
        &self.table
    }

    fn columns(&self) -> Vec<(String, Column)> {
        let fields = self.columns.iter().enumerate();
        let fields = fields.map(|(number, column)| (column.name.clone(), Column::Field(number)));
        let sets = self.sets.iter().enumerate();
        let sizes = sets.map(|(number, set)| (set.size.clone(), Column::Size(number)));
        let mut own: Vec<(String, Column)> = fields.chain(sizes).collect();
        for (number, set) in self.sets.iter().enumerate() {
            let counter = |index| {
                let name = format!("c{}_d", set.first + index);
                (name, Column::Counter(number, index))
            };
            own.extend((0..set.counters).map(counter));
        }
        own
    }

    fn data_type(&self, column: Column) -> DataType {
        match column {
            Column::Field(number) => data_type(self.columns[number].kind.kind()),
            Column::Size(_) | Column::Counter(..) => DataType::Int64,
        }
    }
}
