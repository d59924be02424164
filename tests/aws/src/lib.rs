//! AWS for the tests: DynamoDB in the process, ministack beside it.

pub mod between;
pub mod bootstraps;
pub mod dynamo;
pub mod large_stack;
pub mod ministack;
pub mod partitions;
pub mod python;
pub mod runtime;
pub mod scripted;
pub mod stage;
pub mod stream;
pub mod template;

pub use minutehand_python::workspace;
