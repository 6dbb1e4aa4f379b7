//! TOML texts: their values as Python has them, and the lines of their keys.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The values of a text, nested at most `deepest` levels. A text that is not valid raises a `ValueError` of a
/// message and the number of a line.
#[pyfunction]
pub fn toml_values<'py>(
    py: Python<'py>,
    text: &str,
    deepest: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let values = Values { py, text, deepest };
    let document = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(text.len(), |span| span.start);
        match error.message() {
            message if message.contains("recurs") => values.too_deep(offset),
            message => values.error(offset, message),
        }
    })?;
    values.table(document.get_ref(), 1)
}

/// The line of a key such as `tables[2].columns[1].width`, else of the nearest key or element around it; None if
/// there is none.
#[pyfunction]
pub fn toml_line(text: &str, path: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (_, offset) = locate_key(document.get_ref(), path)?;
    Some(line(text, offset))
}

fn line(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|&&byte| byte == b'\n').count()
}

/// Converter of the values of a text to Python's.
struct Values<'a, 'py> {
    py: Python<'py>,
    text: &'a str,
    deepest: usize,
}

impl<'py> Values<'_, 'py> {
    fn table(&self, table: &DeTable<'_>, depth: usize) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(self.py);
        for (key, entry) in table {
            // The same keys occur again and again.
            values.set_item(
                PyString::intern(self.py, key.get_ref()),
                self.value(entry, depth)?,
            )?;
        }
        Ok(values)
    }

    fn value(&self, entry: &Spanned<DeValue<'_>>, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let (py, offset) = (self.py, entry.span().start);
        Ok(match entry.get_ref() {
            DeValue::String(text) => PyString::new(py, text).into_any(),
            DeValue::Integer(digits) => {
                match i64::from_str_radix(digits.as_str(), digits.radix()) {
                    Ok(number) => PyInt::new(py, number).into_any(),
                    Err(_) => {
                        return Err(self.error(offset, "an integer needs more than 64 bits"));
                    }
                }
            }
            DeValue::Float(digits) => match digits.as_str().parse() {
                Ok(number) => PyFloat::new(py, number).into_any(),
                Err(_) => return Err(self.error(offset, "this is not a number")),
            },
            DeValue::Boolean(yes) => PyBool::new(py, *yes).to_owned().into_any(),
            DeValue::Datetime(time) => {
                let class = match (time.date, time.time) {
                    (Some(_), Some(_)) => "datetime",
                    (Some(_), None) => "date",
                    _ => "time",
                };
                let class = py.import("datetime")?.getattr(class)?;
                let value = class.call_method1("fromisoformat", (time.to_string(),));
                value.map_err(|error| self.error(offset, &error.value(py).to_string()))?
            }
            DeValue::Array(_) | DeValue::Table(_) if depth == self.deepest => {
                return Err(self.too_deep(offset));
            }
            DeValue::Array(entries) => {
                let values = entries.iter().map(|entry| self.value(entry, depth + 1));
                PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            DeValue::Table(entries) => self.table(entries, depth + 1)?.into_any(),
        })
    }

    fn too_deep(&self, offset: usize) -> PyErr {
        let message = format!("it is nested more than {} levels deep", self.deepest);
        self.error(offset, &message)
    }

    fn error(&self, offset: usize, message: &str) -> PyErr {
        PyValueError::new_err((message.to_owned(), line(self.text, offset)))
    }
}

/// The length of the rest of a path that leads to no key, and the offset of the nearest key.
type KeyLocation = Option<(usize, usize)>;

fn locate_key(table: &DeTable<'_>, path: &str) -> KeyLocation {
    // A key may contain dots: several keys may be the beginning of a path.
    let locations = table.iter().filter_map(|(key, value)| {
        let rest = path.strip_prefix(key.get_ref().as_ref())?;
        let ends = rest.is_empty() || rest.starts_with(['.', '[']);
        ends.then(|| locate_value(value, rest).unwrap_or((rest.len(), key.span().start)))
    });
    locations.min()
}

fn locate_value(value: &Spanned<DeValue<'_>>, path: &str) -> KeyLocation {
    match value.get_ref() {
        DeValue::Table(entries) => locate_key(entries, path.strip_prefix('.')?),
        DeValue::Array(entries) => {
            let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
            let entry = entries.get(number.parse::<usize>().ok()?.checked_sub(1)?)?;
            Some(locate_value(entry, rest).unwrap_or((rest.len(), entry.span().start)))
        }
        _ => None,
    }
}
