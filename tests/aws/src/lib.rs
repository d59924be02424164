//! AWS for the tests: DynamoDB in the process, ministack beside it.

pub mod python;
pub mod workspace;
