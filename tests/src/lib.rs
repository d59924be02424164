//! What is shared by the suites in `tests/`: conformance facts that are generic over a port, and the faulty file.

pub mod conformance;
pub mod faulty_file;
pub mod releases;
