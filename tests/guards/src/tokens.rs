//! Rust code as its tokens: what two pieces of code have in common when comments, white space and line breaks, and with them
//! rustfmt, make no difference.

use std::ops::Range;

use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree};

/// One token, and which bytes of the code it is.
#[derive(Clone, Debug)]
pub struct Token {
    pub text: String,
    pub at: Range<usize>,
}

/// The code's tokens in their order, delimiters among them. A comma before a closing delimiter is left out, since rustfmt
/// sets one where a list does not fit on a line.
pub fn tokens(code: &str) -> Result<Vec<Token>, LexError> {
    let mut found = Vec::new();
    flatten(code.parse()?, &mut found);
    Ok(found)
}

fn flatten(stream: TokenStream, found: &mut Vec<Token>) {
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = delimiters(group.delimiter());
                found.push(Token { text: open.into(), at: group.span_open().byte_range() });
                flatten(group.stream(), found);
                found.pop_if(|last| last.text == ",");
                found.push(Token { text: close.into(), at: group.span_close().byte_range() });
            }
            leaf => found.push(Token { text: leaf.to_string(), at: leaf.span().byte_range() }),
        }
    }
}

const fn delimiters(of: Delimiter) -> (&'static str, &'static str) {
    match of {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

/// Which bytes are these tokens, wherever they stand.
pub fn places(sought: &[Token], within: &[Token]) -> Vec<Range<usize>> {
    let windows = within.windows(sought.len().max(1));
    windows.filter(|window| same(window, sought) == sought.len()).map(bytes).collect()
}

/// Which bytes are most like these tokens, the first of several, and how many of them are the same there. There is something
/// to choose from: a body has its braces.
pub fn nearest(sought: &[Token], within: &[Token]) -> (Range<usize>, usize) {
    let windows = within.windows(sought.len().clamp(1, within.len()));
    let likeness = windows.map(|window| (bytes(window), same(window, sought)));
    likeness.reduce(|best, other| if other.1 > best.1 { other } else { best }).expect("a body has its braces")
}

fn bytes(window: &[Token]) -> Range<usize> {
    window[0].at.start..window[window.len() - 1].at.end
}

/// The length of the longest common subsequence.
fn same(left: &[Token], right: &[Token]) -> usize {
    let mut row = vec![0; right.len() + 1];
    for one in left {
        let mut diagonal = 0;
        for (at, other) in right.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if one.text == other.text { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sought: &str, within: &str) -> Vec<String> {
        let places = places(&tokens(sought).unwrap(), &tokens(within).unwrap());
        places.into_iter().map(|at| within[at].to_owned()).collect()
    }

    #[test]
    fn comments_white_space_and_the_commas_of_rustfmt_make_no_difference() {
        let within = "{ a(b, c)?; call(\n    first, // why\n    second,\n) }";

        assert_eq!(found("call( first,second )", within), ["call(\n    first, // why\n    second,\n)"]);
        assert_eq!(found("b, c", within), ["b, c"]);
    }

    #[test]
    fn each_place_is_found_and_no_other() {
        assert_eq!(found("a == b", "{ a == b; aa == b; a == b }").len(), 2);
        assert_eq!(found("a == b", "{ a != b; \"a == b\" }").len(), 0);
        assert_eq!(found("a == b", "a").len(), 0);
    }

    #[test]
    fn the_nearest_is_what_has_most_in_common() {
        let within = "{ wait(now); put(run, guard).await? }";

        let (at, same) = nearest(&tokens("put(run, other).await?").unwrap(), &tokens(within).unwrap());

        assert_eq!((&within[at], same), ("put(run, guard).await?", 8));
    }
}
