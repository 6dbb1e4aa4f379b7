//! The columns of a table of sections.

use arrow_schema::DataType;

use super::plan::{self, ColumnKind};
use crate::core::int64_block::TIMESTAMP;
use crate::core::select::{self, Table};

/// One column of a table on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The number of the section in its record.
    SectionNo,
    /// A column of the plan.
    Value(usize),
}

/// One column of a table on its way out.
pub(crate) type OutputColumn = select::OutputColumn<Column>;
/// Some columns of a table, which is known by the numbers of its plan and of it in that plan.
pub type Selection = select::Selection<Column, (usize, usize)>;

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

impl Table for plan::Table {
    type Column = Column;

    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> Vec<(String, Column)> {
        let number = ("section_no".to_owned(), Column::SectionNo);
        let values = self.columns.iter().enumerate();
        let values = values.map(|(number, column)| (column.name.clone(), Column::Value(number)));
        std::iter::once(number).chain(values).collect()
    }

    fn data_type(&self, column: Column) -> DataType {
        match column {
            Column::SectionNo => DataType::Int64,
            Column::Value(number) => self.columns[number].kind.data_type(),
        }
    }
}
