//! A pattern: how many places it has that a text may be at, all at once. Matching holds each byte of the text against each of them, at worst; and
//! they can be counted without compiling it, which takes a thousand times as long.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, RepetitionKind, RepetitionRange};

/// Bytes times places that take a microsecond, at 8 ns for each.
pub(in crate::workflow) const PLACES_A_MICROSECOND: u64 = 128;

/// None where it is no pattern, or one in words that only browsers know.
pub(in crate::workflow) fn places(pattern: &str) -> Option<u64> {
    Parser::new().parse(pattern).ok().map(|ast| of(&ast))
}

fn of(ast: &Ast) -> u64 {
    match ast {
        Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => 1,
        Ast::Literal(literal) => u64::try_from(literal.c.len_utf8()).unwrap_or(4),
        // The place itself, and the bytes inside of a character.
        Ast::Dot(_) | Ast::ClassUnicode(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_) => 2,
        Ast::Repetition(repeated) => (of(&repeated.ast) + 1).saturating_mul(most(&repeated.op.kind)),
        Ast::Group(group) => of(&group.ast),
        Ast::Alternation(either) => either.asts.iter().map(of).fold(0, u64::saturating_add),
        Ast::Concat(all) => all.asts.iter().map(of).fold(0, u64::saturating_add),
    }
}

/// How often what is repeated is written out.
fn most(kind: &RepetitionKind) -> u64 {
    match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore | RepetitionKind::OneOrMore => 1,
        RepetitionKind::Range(
            RepetitionRange::Exactly(most) | RepetitionRange::AtLeast(most) | RepetitionRange::Bounded(_, most),
        ) => u64::from(*most).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_as_often_as_they_are_repeated() {
        for (pattern, expected) in [
            ("abc", 3),
            ("[ab]{20000}", 60_000),
            ("(a{100}){50}", 10_050),
            ("ä|b*", 4),
            (r"^\p{L}{1,200}$", 602),
            ("((a{1000}){1000}){1000}", 2_001_001_000),
        ] {
            assert_eq!(places(pattern), Some(expected), "{pattern}");
        }
        assert_eq!(places("("), None);
    }
}
