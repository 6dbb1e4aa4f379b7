//! Shared by all decoders: column selection, the scan loop, batches, column builders, interval flags, diagnostics.

pub(crate) mod batch;
pub(crate) mod column;
pub(crate) mod diagnostics;
pub(crate) mod dumps;
pub(crate) mod flag;
pub(crate) mod int64_block;
pub(crate) mod interval;
pub(crate) mod kernel;
pub(crate) mod plan;
pub(crate) mod scan;
pub(crate) mod select;
pub(crate) mod text;
pub(crate) mod utf8;
pub(crate) mod validity;
