//! The columns of a raw table of z/VM.

use arrow_schema::DataType;

use super::plan::{Kind, Plan};
use crate::core::column::data_type;
use crate::core::select::{self, LeadingColumn, Table};

/// One column of a plan on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Its values.
    Value(usize),
    /// The differences of its values.
    Difference(usize),
}

/// One column of a raw table on its way out.
pub(crate) type OutputColumn = select::OutputColumn<Column>;
/// Some columns of a raw table, which is known by its number.
pub type Selection = select::Selection<Column>;

impl OutputColumn {
    /// Whether it needs the sample before.
    pub(crate) fn compares(self) -> bool {
        matches!(
            self,
            Self::Leading(LeadingColumn::Seconds | LeadingColumn::Flag)
                | Self::Table(Column::Difference(_))
        )
    }
}

impl Table for Plan {
    type Column = Column;

    fn name(&self) -> &str {
        &self.table
    }

    fn columns(&self) -> Vec<(String, Column)> {
        let mut own = Vec::new();
        for (number, column) in self.columns.iter().enumerate() {
            own.push((column.name.clone(), Column::Value(number)));
            if column.difference.is_some() && column.kind == Kind::Int {
                own.push((format!("{}_d", column.name), Column::Difference(number)));
            }
        }
        own
    }

    fn data_type(&self, column: Column) -> DataType {
        match column {
            Column::Value(number) => data_type(self.columns[number].kind),
            Column::Difference(_) => DataType::Int64,
        }
    }
}
