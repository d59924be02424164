//! AWS for the tests: DynamoDB in the process, ministack beside it.
