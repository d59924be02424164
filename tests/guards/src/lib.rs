//! What it takes to try a program without one of its guards: the table of removals, the functions they are in, sources in
//! which all removals stand side by side, their one build, and a test that runs against it.

pub mod build;
pub mod functions;
pub mod instrument;
pub mod place;
pub mod table;
pub mod tokens;
pub mod tree;
pub mod trial;
