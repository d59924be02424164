//! Lanes on SQS.
