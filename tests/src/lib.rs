//! What is shared by the suites in `tests/`: conformance facts that are generic over a port, the faulty file, and the alarms that ring.

pub mod alarms;
pub mod cloudwatch;
pub mod conformance;
pub mod faulty_file;
pub mod releases;
