//! The bound of an expression: CEL always ends, but a macro inside of a macro over ten thousand items does not end soon. So before
//! it is evaluated, the most that it can cost over these very values is added up, from the inside out; what may be too much is not begun.

use std::collections::BTreeMap;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, MapExpr};
use serde_json::Value;

use super::pattern::{PLACES_A_MICROSECOND, places};
use super::{NoAnswer, pattern_said};

/// A step takes some hundred nanoseconds: what is begun ends within about a second.
pub(super) const STEPS: u64 = 2_000_000;
/// The most that any value on the way may take; a payload or result has at most 256 KiB.
const BYTES: u64 = 16 << 20;
/// The bytes of texts that are compared or put together in the time of one step.
const BYTES_A_STEP: u64 = 512;
/// A pattern is compiled each time that it is met, which may take some tens of milliseconds.
const STEPS_A_PATTERN: u64 = 100_000;
/// A byte is held against so many places of a pattern in the time of one step.
const PLACES_A_STEP: u64 = PLACES_A_MICROSECOND / 2;
/// The places of a pattern that is computed: as many as the crate `regex` has room for, in 10 MB.
const UNKNOWN_PLACES: u64 = 145_000;
/// What a number takes, or the frame of anything.
const FRAME: u64 = 16;

/// The most that an expression can come to.
#[derive(Clone, Copy, Debug, Default)]
struct Bound {
    steps: u64,
    /// Of the whole value.
    bytes: u64,
    /// Items of the longest list or object in it.
    items: u64,
    /// Of its largest item, where it has items.
    item_bytes: u64,
}

/// What a name stands for: a value that is known, or one that the expression makes.
#[derive(Clone, Copy)]
enum Known<'a> {
    Value(&'a Value),
    Bound(Bound),
}

type Names<'a> = BTreeMap<&'a str, Known<'a>>;

pub(super) fn check(expr: &IdedExpr, variables: &BTreeMap<&'static str, Value>) -> Result<(), NoAnswer> {
    let names = variables.iter().map(|(name, value)| (*name, Known::Value(value))).collect();
    let bound = bound_of(expr, &names)?;
    if bound.steps > STEPS { Err(NoAnswer::TooCostly) } else { Ok(()) }
}

fn bound_of<'a>(at: &'a IdedExpr, names: &Names<'a>) -> Result<Bound, NoAnswer> {
    let bound = match (known(&at.expr, names), &at.expr) {
        (Some(value), _) => Bound { steps: depth(&at.expr), ..of_value(value) },
        (None, Expr::Ident(name)) => match names.get(name.as_str()) {
            Some(Known::Bound(bound)) => Bound { steps: 0, ..*bound },
            Some(Known::Value(_)) | None => Bound::default(),
        },
        (None, Expr::Select(select)) => bound_of(&select.operand, names)?,
        (None, Expr::Call(call)) => of_call(call, names)?,
        (None, Expr::List(list)) => of_items(&list.elements, names)?,
        (None, Expr::Map(map)) => of_map(map, names)?,
        (None, Expr::Comprehension(all)) => of_macro(all, names)?,
        (None, Expr::Literal(LiteralValue::String(text))) => {
            Bound { bytes: count(text.inner().len()), ..Bound::default() }
        }
        (None, Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified) => Bound::default(),
    };
    if bound.bytes > BYTES {
        return Err(NoAnswer::TooCostly);
    }
    Ok(Bound { steps: bound.steps.saturating_add(1), ..bound })
}

/// The value that a path of fields leads to, where it begins at a value that is known.
fn known<'a>(expr: &'a Expr, names: &Names<'a>) -> Option<&'a Value> {
    match expr {
        Expr::Ident(name) => match names.get(name.as_str())? {
            Known::Value(value) => Some(value),
            Known::Bound(_) => None,
        },
        Expr::Select(select) if !select.test => known(&select.operand.expr, names)?.get(&select.field),
        Expr::Call(CallExpr { func_name, args, .. }) if func_name == "_[_]" => match &args.get(1)?.expr {
            Expr::Literal(LiteralValue::String(key)) => known(&args.first()?.expr, names)?.get(key.inner()),
            _computed => None,
        },
        _ => None,
    }
}

/// The steps of such a path.
fn depth(expr: &Expr) -> u64 {
    match expr {
        Expr::Select(select) => 1 + depth(&select.operand.expr),
        Expr::Call(call) => 1 + call.args.first().map_or(0, |arg| depth(&arg.expr)),
        _ => 0,
    }
}

fn of_value(value: &Value) -> Bound {
    let (inside, length, names) = match value {
        Value::Array(items) => (items.iter().map(of_value).collect::<Vec<_>>(), items.len(), 0),
        Value::Object(fields) => {
            (fields.values().map(of_value).collect(), fields.len(), fields.keys().map(String::len).sum())
        }
        Value::String(text) => return Bound { bytes: FRAME + count(text.len()), ..Bound::default() },
        Value::Null | Value::Bool(_) | Value::Number(_) => return Bound { bytes: FRAME, ..Bound::default() },
    };
    let item_bytes = inside.iter().map(|bound| bound.bytes).max().unwrap_or(0);
    let inside = inside.into_iter().fold(Bound::default(), Bound::beside);
    let items = inside.items.max(count(length));
    Bound { steps: 0, bytes: inside.bytes + count(names) + FRAME, items, item_bytes }
}

fn of_call<'a>(call: &'a CallExpr, names: &Names<'a>) -> Result<Bound, NoAnswer> {
    let args = call.target.as_deref().into_iter().chain(&call.args);
    let args = args.map(|arg| bound_of(arg, names)).collect::<Result<Vec<_>, _>>()?;
    let all = args.iter().copied().fold(Bound::default(), Bound::beside);
    let (first, least) =
        (args.first().copied().unwrap_or_default(), args.iter().map(|arg| arg.bytes).min().unwrap_or(0));
    let own = match call.func_name.as_str() {
        // They look at no more than an end, or at one part.
        "_[_]" | "_?_:_" | "_&&_" | "_||_" | "!_" | "size" => 0,
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" => least / BYTES_A_STEP,
        "@in" | "in" => all.items.saturating_add(all.bytes / BYTES_A_STEP),
        "flatten" => first.flattened(),
        "matches" => {
            let places = pattern_said(call).map_or(UNKNOWN_PLACES, |said| places(said).unwrap_or(0));
            let matching = first.bytes.saturating_mul(places) / PLACES_A_STEP;
            STEPS_A_PATTERN.saturating_add(all.bytes / BYTES_A_STEP).saturating_add(matching)
        }
        _ => all.bytes / BYTES_A_STEP,
    };
    let steps = all.steps.saturating_add(own);
    Ok(match call.func_name.as_str() {
        "_[_]" => Bound { steps, bytes: first.item_bytes, items: first.items, item_bytes: first.item_bytes },
        "flatten" => Bound { steps, items: first.flattened(), ..first },
        "_+_" => Bound { steps, items: args.iter().fold(0, |items, arg| items.saturating_add(arg.items)), ..all },
        _ => Bound { steps, ..all },
    })
}

fn of_items<'a>(items: &'a [IdedExpr], names: &Names<'a>) -> Result<Bound, NoAnswer> {
    let mut all = Bound::default();
    for item in items {
        let item = bound_of(item, names)?;
        all = Bound { item_bytes: all.item_bytes.max(item.bytes).max(item.item_bytes), ..all.beside(item) };
    }
    Ok(Bound { items: all.items.max(count(items.len())), bytes: all.bytes.saturating_add(FRAME), ..all })
}

fn of_map<'a>(map: &'a MapExpr, names: &Names<'a>) -> Result<Bound, NoAnswer> {
    let mut all = Bound::default();
    for entry in &map.entries {
        let parts = match &entry.expr {
            EntryExpr::MapEntry(entry) => [Some(&entry.key), Some(&entry.value)],
            EntryExpr::StructField(field) => [None, Some(&field.value)],
        };
        for part in parts.into_iter().flatten() {
            let part = bound_of(part, names)?;
            all = Bound { item_bytes: all.item_bytes.max(part.bytes).max(part.item_bytes), ..all.beside(part) };
        }
    }
    Ok(Bound { items: all.items.max(count(map.entries.len())), bytes: all.bytes.saturating_add(FRAME), ..all })
}

/// Each round costs what its step costs; what is gathered grows by what a step adds.
fn of_macro<'a>(all: &'a ComprehensionExpr, names: &Names<'a>) -> Result<Bound, NoAnswer> {
    let (range, init) = (bound_of(&all.iter_range, names)?, bound_of(&all.accu_init, names)?);
    let item = match known(&all.iter_range.expr, names) {
        Some(Value::Array(items)) => items.iter().map(of_value).fold(Bound::default(), Bound::or),
        _ => Bound { steps: 0, bytes: range.item_bytes, items: range.items, item_bytes: range.item_bytes },
    };
    let mut within = names.clone();
    let inner = [all.iter_var.as_str()].into_iter().chain(all.iter_var2.as_deref());
    within.extend(inner.map(|name| (name, Known::Bound(item))));
    within.insert(&all.accu_var, Known::Bound(Bound::default()));
    let (cond, step) = (bound_of(&all.loop_cond, &within)?, bound_of(&all.loop_step, &within)?);
    // `map` and `filter` gather a list, the others a word or a number.
    let gathers = matches!(&all.accu_init.expr, Expr::List(_) | Expr::Map(_));
    let gathered = if gathers { range.items.saturating_mul(step.item_bytes.saturating_add(FRAME)) } else { FRAME };
    Ok(Bound {
        steps: range.steps.saturating_add(range.items.saturating_mul(cond.steps.saturating_add(step.steps))),
        bytes: init.bytes.saturating_add(gathered.min(most_gathered(all, range).unwrap_or(u64::MAX))),
        items: if gathers { range.items.max(step.items) } else { 0 },
        item_bytes: step.item_bytes,
    })
}

/// A filter gathers no more than there was: each round adds its own item, or a part of it, or nothing.
fn most_gathered(all: &ComprehensionExpr, range: Bound) -> Option<u64> {
    let step = match &all.loop_step.expr {
        Expr::Call(CallExpr { func_name, args, .. }) if func_name == "_?_:_" => &args.get(1)?.expr,
        step => step,
    };
    let Expr::Call(CallExpr { func_name, args, .. }) = step else { return None };
    let Expr::List(added) = &args.get(1)?.expr else { return None };
    let is_of_the_item = func_name == "_+_" && added.elements.iter().all(|one| picks(&one.expr, &all.iter_var));
    is_of_the_item.then_some(range.bytes)
}

/// The item, or a part of it.
fn picks(expr: &Expr, item: &str) -> bool {
    match expr {
        Expr::Ident(name) => name == item,
        Expr::Select(select) => picks(&select.operand.expr, item),
        _ => false,
    }
}

impl Bound {
    /// Of two values, one beside the other.
    fn beside(self, other: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(other.steps),
            bytes: self.bytes.saturating_add(other.bytes),
            items: self.items.max(other.items),
            item_bytes: self.item_bytes.max(other.item_bytes),
        }
    }

    /// The most items that a list of lists has as one list: each takes its frame.
    fn flattened(self) -> u64 {
        self.items.saturating_mul(self.items.max(1)).min((self.bytes / FRAME).max(self.items))
    }

    /// Of whichever of two it is.
    fn or(self, other: Self) -> Self {
        Self {
            steps: self.steps.max(other.steps),
            bytes: self.bytes.max(other.bytes),
            items: self.items.max(other.items),
            item_bytes: self.item_bytes.max(other.item_bytes),
        }
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
