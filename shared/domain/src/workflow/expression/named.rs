//! What an expression names that is nothing but a path, such as `tasks["a"].result.rows[0]`: the value as it was written. What evaluates expressions
//! has numbers of its own, of which the large ones are rounded and none knows how it was spelled.

use std::collections::BTreeMap;

use cel::common::ast::{CallExpr, Expr, LiteralValue, SelectExpr};

use super::{key_mentioned, of};
use crate::body::Json;
use crate::workflow::path::{Root, field_of, item_of};

enum Step<'a> {
    /// Of an object.
    Field(&'a str),
    /// Of a list.
    Item(usize),
}

/// None where it is more than a path, or where nothing stands: what evaluates it says why.
pub(super) fn named<'a>(expr: &Expr, values: &'a BTreeMap<Root, Json>) -> Option<&'a str> {
    if let Expr::Ident(name) = expr {
        return values.get(&Root::Params).filter(|_| name == "params").map(Json::as_str);
    }
    let (whole, step) = last_step(expr)?;
    match (key_mentioned(whole), step) {
        (Some(key), Step::Field(field)) => {
            let root = Root::Task(key.parse().ok()?, of(field).ok()?);
            values.get(&root).map(Json::as_str)
        }
        (_, Step::Field(name)) => field_of(named(whole, values)?, name),
        (_, Step::Item(number)) => item_of(named(whole, values)?, number),
    }
}

/// What the last step of a path is taken from, and that step.
fn last_step(expr: &Expr) -> Option<(&Expr, Step<'_>)> {
    match expr {
        Expr::Select(SelectExpr { operand, field, test: false }) => Some((&operand.expr, Step::Field(field))),
        Expr::Call(CallExpr { func_name, args, .. }) if func_name == "_[_]" => {
            let step = match &args.get(1)?.expr {
                Expr::Literal(LiteralValue::String(name)) => Step::Field(name.inner()),
                Expr::Literal(LiteralValue::Int(number)) => Step::Item(usize::try_from(*number.inner()).ok()?),
                _computed => return None,
            };
            Some((&args.first()?.expr, step))
        }
        _ => None,
    }
}
