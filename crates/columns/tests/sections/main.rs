//! Records that are lists of sections: what is in them comes out, at every level and however they were broken.

mod bad;
mod builders;
mod numbers;
mod pieces;
mod values;
