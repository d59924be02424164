//! A join: where the edges of a task meet. An item with the edges that have closed, each closed by one native update that says
//! how; whoever closes one, or finds it closed, looks at the result. So a repeated delivery changes nothing, and no reader is
//! needed to see that the last edge has closed.
//!
//! One item takes at most 64 edges, so that it grows neither large nor hot: a wider join is a tree of them, whose leaves take the
//! edges 64 at a time and whose other nodes take what their 64 children found.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::edge::{Closed, Decision, Rule};
use crate::Moment;
use crate::id::{JobId, RunKey};

/// How many edges one item takes.
pub const WIDTH: usize = 64;

/// What meets at a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Of {
    /// The edges of this task.
    Task(u16),
    /// The virtual end of a workflow's run, or of a `for_each`.
    End,
    /// The virtual end of the tasks that run whatever happened.
    FinallyEnd,
}

/// Which node of a join's tree: from the leaves, which are at level 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    pub level: u8,
    pub index: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JoinKey {
    /// The part of the run's tasks that this node lies in: see [`super::parts`].
    pub part: JobId,
    pub of: Of,
    pub node: Node,
}

/// One node of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// An edge and how it closed, in one word: a set takes it once, however often it is put in.
    pub closed: BTreeSet<String>,
    /// When nobody can need it any more: set at the birth of the run whose join it is.
    pub expires_at: Moment,
}

/// How many edges meet, and so of which nodes the tree is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    edges: usize,
}

/// What a node knows when one of its edges has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing is decided yet.
    Open,
    /// The node above is to be told this.
    Up { node: Node, edge: u16, closed: Closed },
    /// All is known at the root.
    Decided(Decision, Closed),
}

impl Of {
    /// What tells it apart where it is stored.
    pub const fn code(self) -> u16 {
        match self {
            Self::Task(task) => task,
            Self::End => u16::MAX,
            Self::FinallyEnd => u16::MAX - 1,
        }
    }
}

impl JoinKey {
    /// Where a node lies: spread over the parts of its run, so that no partition takes a whole fan-in.
    pub fn new(run: RunKey, parts: u8, of: Of, node: Node) -> Self {
        let digest = Sha256::new()
            .chain_update(of.code().to_be_bytes())
            .chain_update([node.level])
            .chain_update(node.index.to_be_bytes())
            .finalize();
        Self { part: super::parts::place(run, digest[0] % parts.max(1)), of, node }
    }
}

impl Join {
    /// An edge and how it closed, as the set holds it.
    pub fn word(edge: u16, closed: Closed) -> String {
        format!("{edge}.{closed}")
    }

    /// Whether this edge has closed, however it did.
    pub fn has_closed(&self, edge: u16) -> bool {
        self.closed.iter().filter_map(|word| read(word)).any(|(closed, _)| closed == edge)
    }

    /// How many of its edges have closed, and what is known of them. Of two words about one edge the first counts: a rule that does
    /// not wait for all may have told of it twice, and both say enough.
    pub fn known(&self) -> (usize, Closed) {
        let mut edges = BTreeSet::new();
        let mut known = Closed::NONE;
        for (edge, closed) in self.closed.iter().filter_map(|word| read(word)) {
            if edges.insert(edge) {
                known = known.and(closed);
            }
        }
        (edges.len(), known)
    }
}

fn read(word: &str) -> Option<(u16, Closed)> {
    let (edge, closed) = word.split_once('.')?;
    Some((edge.parse().ok()?, closed.parse().ok()?))
}

impl Tree {
    pub const fn of(edges: usize) -> Self {
        Self { edges }
    }

    /// The leaf that takes an edge, and which of its edges this is.
    pub fn leaf(edge: usize) -> (Node, u16) {
        (Node { level: 0, index: narrow(edge / WIDTH) }, narrow(edge % WIDTH))
    }

    /// The node at which all is known.
    pub fn root(self) -> Node {
        let mut root = Node { level: 0, index: 0 };
        while !self.is_root(root) {
            root.level += 1;
        }
        root
    }

    /// What a node says that has these edges closed, under the rule of its join.
    pub fn look(self, node: Node, join: &Join, rule: Rule) -> Seen {
        let (count, known) = join.known();
        let full = count >= self.edges_of(node);
        match rule.decide(known, full) {
            None => Seen::Open,
            Some(decision) if self.is_root(node) => Seen::Decided(decision, known),
            Some(_) => {
                let above = Node { level: node.level + 1, index: narrow(usize::from(node.index) / WIDTH) };
                Seen::Up { node: above, edge: narrow(usize::from(node.index) % WIDTH), closed: known }
            }
        }
    }

    /// How many edges, or nodes below, a node takes.
    fn edges_of(self, node: Node) -> usize {
        self.count_at(node.level).saturating_sub(usize::from(node.index) * WIDTH).min(WIDTH)
    }

    fn is_root(self, node: Node) -> bool {
        self.count_at(node.level) <= WIDTH
    }

    /// How many there are to be taken at a level: edges at the leaves, nodes above them.
    fn count_at(self, level: u8) -> usize {
        (0..level).fold(self.edges, |count, _| count.div_ceil(WIDTH))
    }
}

fn narrow(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::edge::{Ended, On};
    use super::*;

    /// Closes edges in an order, as any number of closers would who each look at what they changed.
    fn play(
        rule: Rule,
        edges: usize,
        order: impl Iterator<Item = usize>,
        closed: impl Fn(usize) -> Closed,
    ) -> Vec<Seen> {
        let tree = Tree::of(edges);
        let mut nodes: BTreeMap<Node, Join> = BTreeMap::new();
        let mut decisions = Vec::new();
        for edge in order {
            let ((mut node, mut at), mut how) = (Tree::leaf(edge), closed(edge));
            loop {
                let join =
                    nodes.entry(node).or_insert_with(|| Join { closed: BTreeSet::new(), expires_at: Moment::END });
                join.closed.insert(Join::word(at, how));
                assert!(join.closed.len() <= WIDTH, "a node takes at most {WIDTH} edges");
                match tree.look(node, join, rule) {
                    Seen::Open => break,
                    Seen::Up { node: above, edge, closed } => (node, at, how) = (above, edge, closed),
                    decided @ Seen::Decided(..) => {
                        decisions.push(decided);
                        break;
                    }
                }
            }
        }
        decisions
    }

    fn succeeded(_edge: usize) -> Closed {
        Closed::edge(On::Success, Ended::Succeeded, false)
    }

    #[test]
    fn a_join_of_any_width_is_decided_by_the_last_edge_and_by_no_other() {
        for edges in [1, 2, 63, 64, 65, 128, 129, 4096, 4097, 10_000] {
            let decisions = play(Rule::All, edges, (0..edges).rev(), succeeded);
            assert_eq!(decisions.len(), 1, "{edges}");
            assert!(matches!(decisions[0], Seen::Decided(Decision::Start, Closed { all_hold: true, .. })), "{edges}");
        }
    }

    #[test]
    fn an_edge_that_closes_again_changes_nothing_and_is_told_what_stands() {
        let twice = (0..100).chain(0..100);

        let decisions = play(Rule::All, 100, twice, succeeded);

        assert_eq!(decisions.len(), 1 + 100, "the last of the first round, and all of the second look at the result");
        assert!(decisions.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn a_tree_passes_on_what_its_leaves_found() {
        let failing = |edge| {
            let ended = if edge == 70 { Ended::Failed } else { Ended::Succeeded };
            Closed::edge(On::Success, ended, edge == 70)
        };

        let all = play(Rule::All, 200, 0..200, failing);
        let any = play(Rule::Any, 200, 0..200, failing);

        assert!(matches!(all[..], [Seen::Decided(Decision::Skip, Closed { tainted: true, any_failed: true, .. })]));
        assert!(matches!(any[0], Seen::Decided(Decision::Start, _)), "at the first edge");
    }

    #[test]
    fn nodes_spread_over_the_parts_of_their_run() {
        let run = RunKey::occurrence(JobId::from_bytes([3; 16]), Moment::from_secs(60));
        let mut parts: BTreeMap<JobId, u32> = BTreeMap::new();
        for index in 0..157 {
            let key = JoinKey::new(run, 16, Of::End, Node { level: 0, index });
            *parts.entry(key.part).or_default() += 1;
        }

        assert_eq!(parts.len(), 16);
        assert!(parts.values().all(|count| *count < 25), "{parts:?}");
    }
}
