//! The meter: what was asked of the table and what it cost, as the table itself said with each answer.

use std::collections::BTreeMap;
use std::ops::{Add, Sub};
use std::sync::{Mutex, PoisonError};

use super::keys::Resource;

/// What is asked of a table. An IAM policy calls them by the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    GetItem,
    BatchGetItem,
    PutItem,
    UpdateItem,
    DeleteItem,
    Query,
    Scan,
}

/// Units and requests since the store was made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub read_units: f64,
    pub write_units: f64,
    pub requests: u64,
}

#[derive(Debug, Default)]
pub(super) struct Meter(Mutex<BTreeMap<(Operation, Resource), Spent>>);

impl Meter {
    pub(super) fn note(&self, operation: Operation, resource: Resource, units: f64) {
        let (read_units, write_units) = match operation {
            Operation::GetItem | Operation::BatchGetItem | Operation::Query | Operation::Scan => (units, 0.0),
            Operation::PutItem | Operation::UpdateItem | Operation::DeleteItem => (0.0, units),
        };
        tracing::trace!(?operation, ?resource, units, "asked of the table");
        let mut by_operation = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = by_operation.entry((operation, resource)).or_default();
        *spent = *spent + Spent { read_units, write_units, requests: 1 };
    }

    pub(super) fn read(&self) -> BTreeMap<(Operation, Resource), Spent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Operation {
    pub const fn name(self) -> &'static str {
        match self {
            Self::GetItem => "GetItem",
            Self::BatchGetItem => "BatchGetItem",
            Self::PutItem => "PutItem",
            Self::UpdateItem => "UpdateItem",
            Self::DeleteItem => "DeleteItem",
            Self::Query => "Query",
            Self::Scan => "Scan",
        }
    }
}

impl Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            read_units: self.read_units + other.read_units,
            write_units: self.write_units + other.write_units,
            requests: self.requests + other.requests,
        }
    }
}

impl Sub for Spent {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            read_units: self.read_units - other.read_units,
            write_units: self.write_units - other.write_units,
            requests: self.requests - other.requests,
        }
    }
}
