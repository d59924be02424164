//! Field errors: everything that is wrong with a request, collected so that the client can correct all of it at once.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::problem::{FieldError, Problem};

#[derive(Debug, Default)]
pub(crate) struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    pub(crate) fn add(&mut self, pointer: impl Into<String>, detail: impl Into<String>) {
        self.0.push(FieldError { pointer: pointer.into(), detail: detail.into() });
    }

    /// Returns the value; adds an error if it lies outside the range.
    pub(crate) fn in_range<T: PartialOrd + Display>(
        &mut self,
        pointer: &'static str,
        value: T,
        range: RangeInclusive<T>,
    ) -> T {
        if !range.contains(&value) {
            self.add(pointer, format!("must be from {} to {}", range.start(), range.end()));
        }
        value
    }

    /// Checks a text for people: not empty, one line, bounded.
    pub(crate) fn line(&mut self, pointer: impl Into<String>, text: &str, most: usize) {
        if text.is_empty() || text.chars().count() > most {
            self.add(pointer, format!("must have from 1 to {most} characters"));
        } else if text.chars().any(char::is_control) {
            self.add(pointer, "must not contain control characters");
        }
    }

    /// The value, if there is one and no error was added.
    pub(crate) fn settle<T>(self, value: Option<T>) -> Result<T, Problem> {
        value.filter(|_| self.0.is_empty()).ok_or_else(|| Problem::invalid(self.0))
    }
}
