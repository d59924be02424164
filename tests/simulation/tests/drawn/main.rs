//! Histories that are drawn: what goes wrong is, and whatever it was, what is said of it holds. One program, since each links all of the product.

mod calendars;
mod circles;
mod erasures;
mod histories;
mod keeping;
mod neighbours;
mod operations;
mod overlap;
mod places;
