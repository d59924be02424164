//! Everything that is wrong with a request, gathered so that its writer mends it once.

use std::fmt::Display;
use std::ops::RangeInclusive;

use minutehand_domain::pool::{Name, NotAName};

use crate::form::MISTAKES;
use crate::problem::FieldError;

#[derive(Debug, Default)]
pub struct FieldErrors(Vec<FieldError>);

/// A request that cannot be carried out, whatever is there: what is wrong with it, field by field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRefusal {
    pub errors: Vec<FieldError>,
    /// What is wrong is its size.
    pub too_large: bool,
}

impl RequestRefusal {
    /// With as many mistakes as somebody mends in one go.
    pub(crate) fn shortened(mut self) -> Self {
        if self.errors.len() > MISTAKES {
            self.errors.truncate(MISTAKES);
            let detail = format!("these are the first {MISTAKES} mistakes, and there are more");
            self.errors.push(FieldError { pointer: String::new(), detail });
        }
        self
    }
}

impl FieldErrors {
    pub fn add(&mut self, pointer: impl Into<String>, detail: impl Into<String>) {
        self.0.push(FieldError { pointer: pointer.into(), detail: detail.into() });
    }

    /// What is wrong with a part that was checked by itself.
    pub(crate) fn within(&mut self, prefix: &str, part: Self) {
        let moved = part
            .0
            .into_iter()
            .map(|FieldError { pointer, detail }| FieldError { pointer: prefix.to_owned() + &pointer, detail });
        self.0.extend(moved);
    }

    /// The same of a part that stands elsewhere than it believes.
    pub(crate) fn moved(&mut self, from: &str, to: &str, part: Self) {
        self.extend(part.0.into_iter().map(|FieldError { pointer, detail }| {
            let pointer = pointer.strip_prefix(from).map_or_else(|| pointer.clone(), |rest| to.to_owned() + rest);
            FieldError { pointer, detail }
        }));
    }

    /// The same of a part that is checked as what it is a part of elsewhere: `from` there is `to` here.
    pub(crate) fn checked_elsewhere(&mut self, part: Self, from: &str, to: &str) {
        let moved = part.0.into_iter().map(|FieldError { pointer, detail }| {
            let within = pointer.strip_prefix(from).map(|rest| to.to_owned() + rest);
            let pointer = within.unwrap_or_else(|| pointer.replacen("/target", "/to", 1));
            FieldError { pointer, detail }
        });
        self.0.extend(moved);
    }

    pub(crate) fn extend(&mut self, others: impl IntoIterator<Item = FieldError>) {
        self.0.extend(others);
    }

    pub(crate) fn any(&self, is_one: impl Fn(&FieldError) -> bool) -> bool {
        self.0.iter().any(is_one)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The value, for going on; noted if it lies outside.
    pub fn in_range<T: PartialOrd + Display>(
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

    /// Text for people: not empty, one line, bounded.
    pub fn line(&mut self, pointer: impl Into<String>, text: &str, most: usize) {
        if text.is_empty() || text.chars().count() > most {
            self.add(pointer, format!("must have from 1 to {most} characters"));
        } else if text.chars().any(char::is_control) {
            self.add(pointer, "must not contain control characters");
        }
    }

    /// A name that people give: of a pool, of a handler, of a worker.
    pub fn name(&mut self, pointer: impl Into<String>, text: &str) -> Option<Name> {
        text.parse().map_err(|not_a_name: NotAName| self.add(pointer, not_a_name.to_string())).ok()
    }

    /// The value, if nothing was found and there is one.
    pub fn settle<T>(self, value: Option<T>) -> Result<T, RequestRefusal> {
        value.filter(|_| self.0.is_empty()).ok_or(RequestRefusal { errors: self.0, too_large: false })
    }
}
