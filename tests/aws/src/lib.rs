//! AWS for the tests: DynamoDB in the process, ministack beside it.

pub mod api_client;
pub mod between;
pub mod deployment;
pub mod dynamo;
pub mod hook;
pub mod ministack;
pub mod process;
pub mod python;
pub mod runtime;
pub mod scripted;
pub mod stage;
pub mod template;

pub use minutehand_python::workspace;
