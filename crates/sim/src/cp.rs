//! CP: virtual CPUs on logical processors.
//!
//! A virtual CPU that is ready waits in a dispatch vector, ordered by deadline. At the end of a time slice its
//! deadline advances by the time it used over its part of all processors, so use above or below its share is
//! carried on as debt or credit. The deadline of one that waited is at least the present minus a lag; the
//! present of the scheduler stops while processors are lost to overhead or to other partitions.
//!
//! A processor takes the first virtual CPU of its own vector, unless another vector has one with a deadline
//! that is earlier by `steal_lag_ms`; if its own vector is empty, it takes from the nearest one that is not.

mod accounting;
mod costs;
mod custom_decisions;
mod dispatch_vectors;
mod dispatcher;
mod processor_changes;
mod shares;
