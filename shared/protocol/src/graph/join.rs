//! Closing an edge: one native update says how it ended, and whoever makes it, or finds it made, looks at the result.
//!
//! Rule **count down and look**: a repeated delivery changes nothing, and sees what the first one saw.

use minutehand_domain::workflow::edge::{Closed, Decision, Rule};
use minutehand_domain::workflow::join::{JoinKey, Of, Seen as Found, Tree};
use minutehand_io::store::{CloseEdge, Store as _, Updated};
use minutehand_io::{Fault, Ports};

use super::family::Family;

/// Whether this call closed the edge, or found it closed. A single edge is written nowhere and counts as closed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    Now,
    Before,
}

/// Closes an edge of a join; answers with what is decided, where all is known that the rule asks for. One edge is no join: it is
/// written nowhere.
pub(super) async fn close<D: Ports>(
    family: &Family<'_, D>,
    of: Of,
    edge: usize,
    how: Closed,
    rule: Rule,
) -> Result<Option<(Decision, Closed, Closing)>, Fault> {
    let edges = family.edges(of);
    if edges <= 1 {
        return Ok(rule.decide(how, true).map(|decision| (decision, how, Closing::Now)));
    }
    let (tree, (mut node, mut at), mut how) = (Tree::of(edges), Tree::leaf(edge), how);
    let mut closing = Closing::Now;
    loop {
        let parent = &family.parent.item;
        let key = JoinKey::new(parent.key, family.graph.parts, of, node);
        let update = CloseEdge { edge: at, how, expires_at: family.graph.expires_at };
        let join = match family.ports.store().update(&parent.tenant, key, &update).await? {
            Updated::Done(seen) => seen.item,
            Updated::Refused(Some(seen)) => {
                closing = Closing::Before;
                seen.item
            }
            Updated::Refused(None) => return Err(Fault::unavailable("store", "a join came and went")),
        };
        match tree.look(node, &join, rule) {
            Found::Open => return Ok(None),
            Found::Decided(decision, closed) => return Ok(Some((decision, closed, closing))),
            Found::Up { node: above, edge, closed } => (node, at, how) = (above, edge, closed),
        }
    }
}
