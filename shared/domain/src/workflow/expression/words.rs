//! Words: what the parser and the evaluator of CEL say, as a person says it. Theirs names the tokens of a grammar, and prints values.

use cel::objects::Value as CelValue;
use cel::{ExecutionError, ParseError, ParseErrors};

use super::{NotAnExpression, kind};

/// What the parser stumbled over first.
pub(super) fn of_refusal(source: &str, errors: &ParseErrors) -> NotAnExpression {
    if errors.errors.iter().any(|error| error.msg.contains("ecursion limit")) {
        return NotAnExpression::TooDeep;
    }
    if source.trim().is_empty() {
        return NotAnExpression::Syntax("it is empty".to_owned());
    }
    let said = errors.errors.first().map_or_else(|| "it cannot be read".to_owned(), of_mistake);
    NotAnExpression::Syntax(said)
}

fn of_mistake(error: &ParseError) -> String {
    let (line, character) = error.pos;
    let place = match line {
        1 => format!("at character {character}"),
        _ => format!("at character {character} of line {line}"),
    };
    let text = error.msg.strip_prefix("Syntax error: ").unwrap_or(&error.msg);
    let no_part = || text.strip_prefix("token recognition error at: ").map(unquoted);
    match (missing(text), no_part(), misplaced(text)) {
        (Some((what, "<EOF>")), _, _) => format!("`{what}` is missing at its end"),
        (Some((what, before)), _, _) => format!("`{what}` is missing before `{before}`, {place}"),
        (None, Some(sign), _) => of_sign(sign.trim(), &place),
        (None, None, Some("<EOF>")) => "it ends too early".to_owned(),
        (None, None, Some(word)) => format!("`{word}` does not belong here, {place}"),
        (None, None, None) => format!("it cannot be read, {place}"),
    }
}

/// A character with which nothing begins, though in other languages something does.
fn of_sign(sign: &str, place: &str) -> String {
    if sign.starts_with(['\'', '"']) {
        return format!("a text without its closing quote, {place}");
    }
    let hint = match sign {
        "=" => "; two are compared by `==`",
        "&" => "; `and` is `&&`",
        "|" => "; `or` is `||`",
        _other => "",
    };
    format!("`{sign}` is no part of an expression, {place}{hint}")
}

/// `missing ')' at '<EOF>'`: what, and before what.
fn missing(text: &str) -> Option<(&str, &str)> {
    let (what, before) = text.strip_prefix("missing ")?.split_once(" at ")?;
    Some((unquoted(what), unquoted(before)))
}

/// `mismatched input 'x' expecting {…}` and its like: the x.
fn misplaced(text: &str) -> Option<&str> {
    let kinds = ["mismatched input ", "extraneous input ", "no viable alternative at input "];
    let rest = kinds.iter().find_map(|kind| text.strip_prefix(kind))?;
    Some(unquoted(rest.rsplit_once(" expecting ").map_or(rest, |(word, _expected)| word)))
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(text)
}

/// Why it said nothing of these values. No value is printed: it may be large, and nobody asked to see it.
pub(super) fn of_failure(error: &ExecutionError) -> String {
    use ExecutionError as Error;
    let two = |does: &str, one: &CelValue, other: &CelValue| format!("{does} {} and {}", kind(one), kind(other));
    match error {
        Error::NoSuchKey(key) => format!("there is no `{key}` in what it looks at; `has(…)` asks whether there is"),
        Error::UndeclaredReference(name) => format!("there is no `{name}`"),
        Error::IndexOutOfBounds(CelValue::Int(index)) => format!("a list has no item {index}"),
        Error::IndexOutOfBounds(_) => "a list has no such item".to_owned(),
        Error::ValuesNotComparable(one, other) => two("it compares", one, other),
        Error::UnsupportedBinaryOperator(sign, one, other) => {
            two(&format!("it asks `{}` of", operator(sign)), one, other)
        }
        Error::Overflow(sign, ..) => format!("the result of `{}` is too large a number", operator(sign)),
        Error::DivisionByZero(_) | Error::RemainderByZero(_) => "it divides by zero".to_owned(),
        Error::UnsupportedIndex(index, of) => format!("it asks for a part of {} by {}", kind(of), kind(index)),
        Error::NotSupportedAsMethod { method, target } => format!("{} has no `{method}`", kind(target)),
        Error::UnsupportedTargetType { target } => format!("it asks of {} what that has not", kind(target)),
        Error::UnsupportedKeyType(key) => format!("{} is no key", kind(key)),
        Error::DuplicateKey(_) => "it makes an object with a key twice".to_owned(),
        Error::UnexpectedType { got, want } => format!("it needs {}, and gets {}", type_named(want), type_named(got)),
        Error::NoSuchOverload(of) => {
            let given: Vec<_> = of.argument_types().iter().map(|name| type_named(name)).collect();
            match (of.function(), given.as_slice()) {
                ("_._" | "_[_]", [what, ..]) => format!("it asks for a part of {what}"),
                (function, given) => format!("it asks `{}` of {}", operator(function), given.join(" and ")),
            }
        }
        Error::FunctionError { function, message } => format!("`{function}`: {message}"),
        Error::InvalidArgumentCount { expected, actual } => {
            format!("a function takes {expected} arguments, and is given {actual}")
        }
        _other => "it cannot be carried out over these values".to_owned(),
    }
}

/// As it is written.
fn operator(name: &str) -> &str {
    match name {
        "add" | "_+_" => "+",
        "sub" | "_-_" | "-_" => "-",
        "mul" | "_*_" => "*",
        "div" | "_/_" => "/",
        "rem" | "_%_" => "%",
        "_==_" => "==",
        "_!=_" => "!=",
        "_<_" => "<",
        "_<=_" => "<=",
        "_>_" => ">",
        "_>=_" => ">=",
        "_&&_" => "&&",
        "_||_" => "||",
        "!_" => "!",
        "@in" => "in",
        "_[_]" => "[]",
        "_?_:_" => "? :",
        other => other,
    }
}

fn type_named(name: &str) -> &str {
    match name {
        "list" => "a list",
        "map" => "an object",
        "string" => "a text",
        "int" | "uint" | "double" | "float" => "a number",
        "bool" => "true or false",
        "null" | "null_type" => "null",
        other => other,
    }
}
