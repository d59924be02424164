//! What an alarm works out of metrics: the part of CloudWatch's metric math that the alarms of `infra` use, and the rules of composite alarms, which are
//! written alike. A value may be missing: so is what is worked out of it and a number, and between two metrics it counts as 0.

use std::str::Chars;

/// The value of what an id names, in the window that ends at a minute.
pub(super) type Metric<'a> = dyn Fn(&str, i64) -> Option<f64> + 'a;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Number(f64),
    Metric(String),
    Call(String, Vec<Self>),
    Of(Operator, Box<Self>, Box<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Above,
    Equal,
    Plus,
    Minus,
    Times,
    DividedBy,
}

/// How many windows back the value before a missing one is looked for.
const FURTHEST_BACK: i64 = 10;
/// As they are written, those that bind less first.
const OPERATORS: [&[(&str, Operator)]; 5] = [
    &[("OR", Operator::Or)],
    &[("AND", Operator::And)],
    &[(">", Operator::Above), ("==", Operator::Equal)],
    &[("+", Operator::Plus), ("-", Operator::Minus)],
    &[("*", Operator::Times), ("/", Operator::DividedBy)],
];

impl Expression {
    pub(super) fn of(text: &str) -> Self {
        let mut rest = Rest(text.chars());
        let whole = rest.operation(&OPERATORS);
        rest.skip();
        assert!(rest.0.as_str().is_empty(), "what is not understood: {} in {text}", rest.0.as_str());
        whole
    }

    fn is_a_number(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Of(_, left, right) => left.is_a_number() && right.is_a_number(),
            Self::Metric(_) | Self::Call(..) => false,
        }
    }

    /// In the window of so many minutes that ends then.
    pub(super) fn value(&self, end: i64, period: i64, metric: &Metric<'_>) -> Option<f64> {
        let value = |of: &Self| of.value(end, period, metric);
        match self {
            Self::Number(number) => Some(*number),
            Self::Metric(id) => metric(id, end),
            Self::Of(operator, left, right) => match (value(left), value(right)) {
                (Some(left), Some(right)) => operator.of(left, right),
                (None, None) => None,
                (_, None) if left.is_a_number() => None,
                (None, _) if right.is_a_number() => None,
                (left, right) => operator.of(left.unwrap_or(0.0), right.unwrap_or(0.0)),
            },
            Self::Call(name, given) => match (name.as_str(), &given[..]) {
                ("FILL", [of, with]) => value(of).or_else(|| value(with)),
                ("IF", [condition, yes, no]) => value(if value(condition)? == 0.0 { no } else { yes }),
                ("DIFF", [of]) => {
                    let before = |windows| of.value(end - windows * period, period, metric);
                    Some(value(of)? - (1..=FURTHEST_BACK).find_map(before)?)
                }
                ("MAX", all) => all.iter().filter_map(value).max_by(f64::total_cmp),
                _other => panic!("what no alarm used: {self:?}"),
            },
        }
    }
}

impl Operator {
    /// What is divided by nothing is missing.
    fn of(self, left: f64, right: f64) -> Option<f64> {
        let said = |is_so: bool| f64::from(u8::from(is_so));
        Some(match self {
            Self::Or => said(left != 0.0 || right != 0.0),
            Self::And => said(left != 0.0 && right != 0.0),
            Self::Above => said(left > right),
            #[expect(clippy::float_cmp, reason = "as CloudWatch compares")]
            Self::Equal => said(left == right),
            Self::Plus => left + right,
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::DividedBy if right == 0.0 => return None,
            Self::DividedBy => left / right,
        })
    }
}

/// What has not been read yet.
struct Rest<'a>(Chars<'a>);

impl Rest<'_> {
    /// Operations that bind as the first of these or more.
    fn operation(&mut self, operators: &[&[(&str, Operator)]]) -> Expression {
        let Some((loosest, tighter)) = operators.split_first() else { return self.operand() };
        let mut left = self.operation(tighter);
        while let Some((_, operator)) = loosest.iter().find(|(written, _)| self.takes(written)) {
            left = Expression::Of(*operator, Box::new(left), Box::new(self.operation(tighter)));
        }
        left
    }

    fn operand(&mut self) -> Expression {
        if self.takes("(") {
            let inside = self.operation(&OPERATORS);
            assert!(self.takes(")"), "it ends: {}", self.0.as_str());
            return inside;
        }
        let word = self.word();
        if let Ok(number) = word.parse() {
            return Expression::Number(number);
        }
        if self.takes("(") { Expression::Call(word, self.given()) } else { Expression::Metric(word) }
    }

    /// A list in brackets is what is in it.
    fn given(&mut self) -> Vec<Expression> {
        let mut given = Vec::new();
        while !self.takes(")") {
            if !(self.takes("[") || self.takes("]") || self.takes(",")) {
                given.push(self.operation(&OPERATORS));
            }
        }
        given
    }

    fn word(&mut self) -> String {
        self.skip();
        let is_of_it = |of: &char| of.is_ascii_alphanumeric() || ['_', '.'].contains(of);
        let word: String = self.0.clone().take_while(is_of_it).collect();
        assert!(!word.is_empty(), "what is not understood: {}", self.0.as_str());
        self.0.by_ref().take(word.len()).for_each(drop);
        word
    }

    fn takes(&mut self, written: &str) -> bool {
        self.skip();
        let rest = self.0.as_str().strip_prefix(written);
        if let Some(rest) = rest {
            self.0 = rest.chars();
        }
        rest.is_some()
    }

    fn skip(&mut self) {
        self.0 = self.0.as_str().trim_start().chars();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a` is 3, was missing in the window before, and 2 in the one before that; `none` was never measured.
    fn worked_out(text: &str) -> Option<f64> {
        let metric = |id: &str, end| match id {
            "a" => [(10, 3.0), (0, 2.0)].into_iter().find_map(|(at, value)| (at == end).then_some(value)),
            "none" => None,
            other => panic!("{other}"),
        };
        Expression::of(text).value(10, 5, &metric)
    }

    #[test]
    fn what_alarms_work_out() {
        let cases = [
            ("2 + a * 4 - 1", Some(13.0)),
            ("(2 + a) * 4 / 2", Some(10.0)),
            ("none + 1", None),
            ("FILL(none, 0) + a", Some(3.0)),
            ("MAX([none, a, 1.5])", Some(3.0)),
            ("MAX([none])", None),
            ("DIFF(a)", Some(1.0)),
            ("IF(a > 2 AND FILL(none, 0) == 0, 100 * a, 0)", Some(300.0)),
            ("IF(a > 3 OR none > 1, 1, 5)", Some(5.0)),
            ("a + none", Some(3.0)),
            ("none / none", None),
            ("a / FILL(none, 0)", None),
            ("((a AND 0) OR 1)", Some(1.0)),
        ];
        for (text, wanted) in cases {
            assert_eq!(worked_out(text), wanted, "{text}");
        }
    }
}
