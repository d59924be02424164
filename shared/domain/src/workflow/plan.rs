//! A plan: a definition compiled. Its tasks stand in an order in which none comes before what it depends on; that there is such an
//! order is what its only constructor checks, so that a graph with a cycle cannot be said.

mod order;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::definition::{Definition, Does, Edge, ForEach, OnFailure, Over, Policy, Task};
use super::edge::{On, Rule};
use super::expression::{Expression, Mentioned};
use super::join::Of as JoinOf;
use super::key::TaskKey;
use super::parts::parts_for;
use super::path::Root;
use super::template::Template;
use crate::limits::{BRANCHES, TASK_RUNS, TASKS};
use crate::order::Terms;
use crate::run::{Run, TaskPlace};
use crate::target::Target;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Those of `finally` come last.
    nodes: Vec<Node>,
    /// How many there are before `finally`.
    main: u16,
    by_key: BTreeMap<TaskKey, u16>,
    /// How many edges the virtual ends have: of all others, and of `finally`.
    ends: [usize; 2],
    policy: Policy,
}

/// A task and its place in the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub task: Task,
    /// What it depends on, edge by edge.
    pub parents: Vec<Parent>,
    /// What depends on it.
    pub children: Vec<Child>,
    /// Which edge of the virtual end is its own. None where a task waits for it that itself leads to the end.
    pub end: Option<usize>,
    ancestors: Ancestors,
    /// Whether it, or what is before it, depends upon how something ended that did not succeed.
    pub reacts: bool,
}

/// The tasks before a task, a bit each: of a thousand tasks in a chain, half a million pairs are before each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ancestors(Vec<u64>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    pub node: u16,
    pub on: On,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    pub node: u16,
    /// Which of the child's edges this is.
    pub edge: usize,
}

/// The two phases of a run: what was asked for, and what happens whatever became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Main,
    Finally,
}

/// Why a definition makes no graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {why}")]
pub struct BadGraph {
    /// A JSON pointer into the definition.
    pub at: String,
    pub why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Why {
    #[error("a workflow has at least one task")]
    NoTask,
    #[error("a workflow has at most {TASKS} tasks")]
    TooManyTasks,
    #[error("there is a task `{0}` already")]
    SameKey(TaskKey),
    #[error("there is no task `{0}`")]
    UnknownTask(TaskKey),
    #[error(
        "a task in `finally` runs whatever became of the others: it can depend only on others in `finally`, and `{0}` is none"
    )]
    OutsideFinally(TaskKey),
    #[error("`{0}` is in `finally`, which begins when all others have ended")]
    InsideFinally(TaskKey),
    #[error("a task cannot depend on itself")]
    OnItself,
    #[error("it depends on `{0}` twice: one edge says what it waits for")]
    TwoEdges(TaskKey),
    #[error("the tasks wait for each other: {}", cycle(.0))]
    Cycle(Vec<TaskKey>),
    #[error("`none_failed` never starts where an edge asks for a failure")]
    FailureUnderNoneFailed,
    #[error("it speaks of `{0}`, which is not before it: a task knows only what it depends on, near or far")]
    NotBefore(TaskKey),
    #[error("it speaks of `{0}`, which is no task")]
    SpeaksOfNoTask(TaskKey),
    #[error("`{0}` is known only to the branches of a for_each")]
    NoBranch(&'static str),
    #[error("`outcome` is known only in `finally`")]
    NoOutcome,
    #[error("a for_each has at most {BRANCHES} branches, and this list has {0} items")]
    TooManyBranches(usize),
    #[error("a run has at most {TASK_RUNS} runs of tasks, and these lists alone ask for {0}")]
    TooManyRuns(usize),
}

fn cycle(keys: &[TaskKey]) -> String {
    let keys: Vec<_> = keys.iter().chain(keys.first()).map(TaskKey::as_str).collect();
    keys.join(" → ")
}

impl Plan {
    /// The graph that a definition makes, or all that is wrong with it.
    pub fn new(definition: Definition) -> Result<Self, Vec<BadGraph>> {
        let Definition { tasks, finally, policy } = definition;
        let main = tasks.len();
        let place = |index: usize| {
            if index < main { format!("/tasks/{index}") } else { format!("/finally/{}", index - main) }
        };
        let tasks: Vec<Task> = tasks.into_iter().chain(finally).collect();
        let mut bad = counts(&tasks, main);
        let by_key = keys(&tasks, &place, &mut bad);
        let parents = edges(&tasks, main, &by_key, &place, &mut bad);
        let sorted = order::sorted(&parents).map_err(|cycle| {
            let keys = cycle.iter().map(|index| tasks[*index].key.clone()).collect();
            BadGraph { at: format!("{}/depends_on", place(cycle[0])), why: Why::Cycle(keys) }
        });
        let sorted = match sorted {
            Ok(sorted) if bad.is_empty() => sorted,
            wrong => {
                bad.extend(wrong.err());
                bad.extend(speak_of_nothing(&tasks, main, &by_key, &policy, &place));
                return Err(bad);
            }
        };
        let plan = Self::assembled(tasks, narrow(main), &parents, &sorted, policy);
        let bad = plan.speaks_of_what_it_knows(&sorted, &place);
        if bad.is_empty() { Ok(plan) } else { Err(bad) }
    }

    /// `sorted`: the tasks' indices, none before what it depends on, those of `finally` last.
    fn assembled(tasks: Vec<Task>, main: u16, parents: &[Vec<(usize, On)>], sorted: &[usize], policy: Policy) -> Self {
        let node_of: BTreeMap<usize, u16> = (0..).zip(sorted).map(|(node, index)| (*index, node)).collect();
        let mut tasks: Vec<_> = tasks.into_iter().enumerate().collect();
        tasks.sort_by_key(|(index, _)| node_of[index]);
        let mut nodes: Vec<Node> = Vec::with_capacity(tasks.len());
        for (index, task) in tasks {
            let parents: Vec<_> =
                parents[index].iter().map(|(task, on)| Parent { node: node_of[task], on: *on }).collect();
            let reacts = |parent: &Parent| parent.on != On::Success || nodes[usize::from(parent.node)].reacts;
            let reacts = parents.iter().any(reacts);
            let mut ancestors = Ancestors::default();
            for (edge, parent) in parents.iter().enumerate() {
                let (child, from) = (Child { node: narrow(nodes.len()), edge }, parent.node);
                let parent = &mut nodes[usize::from(from)];
                parent.children.push(child);
                ancestors.add_all(&parent.ancestors);
                ancestors.add(from);
            }
            nodes.push(Node { task, parents, children: Vec::new(), end: None, ancestors, reacts });
        }
        let ends = lead_to_the_end(&mut nodes, main);
        let by_key = (0..).zip(&nodes).map(|(node, planned)| (planned.task.key.clone(), node)).collect();
        Self { nodes, main, by_key, ends, policy }
    }

    /// Expressions and templates speak of what is over when they are read.
    fn speaks_of_what_it_knows(&self, sorted: &[usize], place: &impl Fn(usize) -> String) -> Vec<BadGraph> {
        let mut bad = Vec::new();
        for (node, index) in self.nodes.iter().zip(sorted) {
            let is_finally = self.phase_of(node) == Phase::Finally;
            for (field, root, in_branch) in spoken_of(&node.task) {
                let nothing = nothing_is(&root, in_branch, is_finally, &self.by_key);
                if let Some(why) = nothing.or_else(|| self.unknown_to(node, &root)) {
                    bad.push(BadGraph { at: format!("{}/{field}", place(*index)), why });
                }
            }
        }
        bad.extend(output_of_nothing(&self.policy, &self.by_key));
        bad
    }

    fn unknown_to(&self, node: &Node, root: &Root) -> Option<Why> {
        let Root::Task(key, _) = root else { return None };
        let other = *self.by_key.get(key)?;
        let is_over = self.phase_of(node) == Phase::Finally && other < self.main || node.ancestors.contains(other);
        (!is_over).then(|| Why::NotBefore(key.clone()))
    }

    fn phase_of(&self, node: &Node) -> Phase {
        self.by_key.get(&node.task.key).map_or(Phase::Main, |node| self.phase(*node))
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    pub fn nodes(&self) -> impl Iterator<Item = (u16, &Node)> {
        (0..).zip(&self.nodes)
    }

    pub fn node(&self, node: u16) -> Option<&Node> {
        self.nodes.get(usize::from(node))
    }

    pub fn node_of(&self, key: &TaskKey) -> Option<u16> {
        self.by_key.get(key).copied()
    }

    pub fn phase(&self, node: u16) -> Phase {
        if node < self.main { Phase::Main } else { Phase::Finally }
    }

    pub fn has_finally(&self) -> bool {
        usize::from(self.main) < self.nodes.len()
    }

    /// The tasks that are a `for_each`.
    pub fn lists(&self) -> impl Iterator<Item = u16> {
        self.nodes().filter(|(_, node)| node.task.for_each.is_some()).map(|(number, _)| number)
    }

    /// How many of its tasks are workflows themselves.
    pub fn callers(&self) -> usize {
        let calls = |node: &&Node| matches!(node.task.does, Does::Call { target: Target::Workflow(_), .. });
        self.nodes.iter().filter(calls).count()
    }

    /// The tasks of a phase that depend on nothing.
    pub fn roots(&self, phase: Phase) -> impl Iterator<Item = u16> {
        self.nodes()
            .filter(move |(node, planned)| self.phase(*node) == phase && planned.parents.is_empty())
            .map(|(node, _)| node)
    }

    /// How many edges meet at a join.
    pub fn edges(&self, of: JoinOf) -> usize {
        match of {
            JoinOf::Task(node) => self.node(node).map_or(0, |node| node.parents.len()),
            JoinOf::End => self.ends[0],
            JoinOf::FinallyEnd => self.ends[1],
        }
    }

    /// The virtual end of a phase.
    pub fn end(&self, phase: Phase) -> JoinOf {
        match phase {
            Phase::Main => JoinOf::End,
            Phase::Finally => JoinOf::FinallyEnd,
        }
    }

    /// Into how many parts its tasks' runs are divided. The branches of a `for_each` are divided by themselves.
    pub fn parts(&self) -> u8 {
        parts_for(self.nodes.len())
    }

    /// Whether a failure that stands here below `parent` waits for a verdict now: the parent still wants what its verdict would lead to.
    pub fn holds_now(&self, parent: &Run, place: TaskPlace) -> bool {
        parent.wants(self.phase(place.node)) && self.holds_failures(place)
    }

    /// Whether a failure of the run that stands here waits for an operator's verdict. Of a `for_each` its branches' do, and not its own.
    pub fn holds_failures(&self, place: TaskPlace) -> bool {
        let Some(Node { task, .. }) = self.node(place.node) else { return false };
        let is_whole_each = task.for_each.is_some() && place.branch.is_none();
        let is_held = self.policy.failure == OnFailure::Hold && self.phase(place.node) == Phase::Main;
        is_held && !task.allow_failure && !is_whole_each
    }

    /// What a node's expressions and templates may speak of, as they mention it: a task before it and what is asked of it.
    pub fn asked_of_tasks(&self, node: u16, mentioned: &Mentioned) -> BTreeSet<Root> {
        let mut roots = mentioned.roots.clone();
        if let Some(planned) = self.node(node).filter(|_| mentioned.all_tasks) {
            let before = |other: &u16| {
                planned.ancestors.contains(*other) || self.phase(node) == Phase::Finally && *other < self.main
            };
            for (_, other) in self.nodes().filter(|(other, _)| before(other)) {
                use super::path::Of::{Error, Result, Results, Status};
                let of = [Status, if other.task.for_each.is_some() { Results } else { Result }, Error];
                roots.extend(of.map(|of| Root::Task(other.task.key.clone(), of)));
            }
        }
        roots
    }
}

impl Node {
    /// The question that it asks of people, where it asks one.
    pub fn approval(&self) -> Option<&super::definition::Approval> {
        match &self.task.does {
            Does::Ask(approval) => Some(approval),
            Does::Call { .. } => None,
        }
    }

    /// The terms of its call, where it makes one.
    pub fn terms(&self) -> Option<&Terms> {
        match &self.task.does {
            Does::Call { terms, .. } => Some(terms),
            Does::Ask(_) => None,
        }
    }
}

impl Ancestors {
    fn add(&mut self, node: u16) {
        let (word, bit) = (usize::from(node / 64), node % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    fn add_all(&mut self, others: &Self) {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            *word |= other;
        }
    }

    fn contains(&self, node: u16) -> bool {
        self.0.get(usize::from(node / 64)).is_some_and(|word| word >> (node % 64) & 1 == 1)
    }
}

fn expressions(task: &Task) -> impl Iterator<Item = (&'static str, &Expression)> {
    let over = task.for_each.as_ref().and_then(|each| match &each.over {
        Over::Expression(expression) => Some(("for_each", expression)),
        Over::List(_) => None,
    });
    task.when.as_ref().map(|when| ("when", when)).into_iter().chain(over)
}

/// What a task's expressions and its payload speak of, each once in a field, and whether a branch would know its item there.
fn spoken_of(task: &Task) -> Vec<(&'static str, Root, bool)> {
    let mut spoken = Vec::new();
    for (field, expression) in expressions(task) {
        spoken.extend(expression.mentioned().roots.iter().map(|root| (field, root.clone(), false)));
    }
    if let Some(payload) = &task.payload {
        let in_branch = task.for_each.is_some();
        spoken.extend(payload.roots().into_iter().map(|root| ("payload", root.clone(), in_branch)));
    }
    spoken
}

/// Why a name is nobody's, whatever depends on what.
fn nothing_is<T>(root: &Root, in_branch: bool, is_finally: bool, by_key: &BTreeMap<TaskKey, T>) -> Option<Why> {
    match root {
        Root::Item if !in_branch => Some(Why::NoBranch("item")),
        Root::Index if !in_branch => Some(Why::NoBranch("index")),
        Root::Outcome if !is_finally => Some(Why::NoOutcome),
        Root::Task(key, _) if !by_key.contains_key(key) => Some(Why::SpeaksOfNoTask(key.clone())),
        Root::Params | Root::Item | Root::Index | Root::Outcome | Root::Task(..) => None,
    }
}

fn output_of_nothing<T>(policy: &Policy, by_key: &BTreeMap<TaskKey, T>) -> Vec<BadGraph> {
    let output = policy.output.as_ref().map(Template::roots).unwrap_or_default();
    let nothing = output.into_iter().filter_map(|root| nothing_is(root, false, true, by_key));
    nothing.map(|why| BadGraph { at: "/output".to_owned(), why }).collect()
}

/// The names that are nobody's, where the tasks make no graph: what is before what, nobody knows then.
fn speak_of_nothing(
    tasks: &[Task],
    main: usize,
    by_key: &BTreeMap<TaskKey, usize>,
    policy: &Policy,
    place: &impl Fn(usize) -> String,
) -> Vec<BadGraph> {
    let mut bad = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        for (field, root, in_branch) in spoken_of(task) {
            let why = nothing_is(&root, in_branch, index >= main, by_key);
            bad.extend(why.map(|why| BadGraph { at: format!("{}/{field}", place(index)), why }));
        }
    }
    bad.extend(output_of_nothing(policy, by_key));
    bad
}

fn counts(tasks: &[Task], main: usize) -> Vec<BadGraph> {
    let whole = |why| BadGraph { at: "/tasks".to_owned(), why };
    let mut bad = Vec::new();
    if main == 0 {
        bad.push(whole(Why::NoTask));
    }
    if tasks.len() > TASKS {
        bad.push(whole(Why::TooManyTasks));
    }
    let branches = |task: &Task| match &task.for_each {
        Some(ForEach { over: Over::List(items), .. }) => items.len(),
        Some(ForEach { over: Over::Expression(_), .. }) | None => 0,
    };
    let runs = tasks.len() + tasks.iter().map(branches).sum::<usize>();
    if let Some(most) = tasks.iter().map(branches).max().filter(|most| *most > BRANCHES) {
        bad.push(whole(Why::TooManyBranches(most)));
    } else if runs > TASK_RUNS {
        bad.push(whole(Why::TooManyRuns(runs)));
    }
    bad
}

fn keys(tasks: &[Task], place: &impl Fn(usize) -> String, bad: &mut Vec<BadGraph>) -> BTreeMap<TaskKey, usize> {
    let mut by_key = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        if by_key.contains_key(&task.key) {
            bad.push(BadGraph { at: format!("{}/key", place(index)), why: Why::SameKey(task.key.clone()) });
        } else {
            by_key.insert(task.key.clone(), index);
        }
    }
    by_key
}

/// What each task depends on, by index.
fn edges(
    tasks: &[Task],
    main: usize,
    by_key: &BTreeMap<TaskKey, usize>,
    place: &impl Fn(usize) -> String,
    bad: &mut Vec<BadGraph>,
) -> Vec<Vec<(usize, On)>> {
    let mut all = Vec::with_capacity(tasks.len());
    for (index, task) in tasks.iter().enumerate() {
        let mut parents = Vec::new();
        for (edge, Edge { task: key, on }) in task.depends_on.iter().enumerate() {
            let other = by_key.get(key).copied();
            let why = match other {
                None => Some(Why::UnknownTask(key.clone())),
                Some(other) if other == index => Some(Why::OnItself),
                Some(other) if index >= main && other < main => Some(Why::OutsideFinally(key.clone())),
                Some(other) if index < main && other >= main => Some(Why::InsideFinally(key.clone())),
                Some(other) if parents.iter().any(|(before, _)| *before == other) => Some(Why::TwoEdges(key.clone())),
                Some(_) if task.rule == Rule::NoneFailed && *on == On::Failure => Some(Why::FailureUnderNoneFailed),
                Some(_) => None,
            };
            match (why, other) {
                (Some(why), _) => bad.push(BadGraph { at: format!("{}/depends_on/{edge}", place(index)), why }),
                (None, Some(other)) => parents.push((other, *on)),
                (None, None) => {}
            }
        }
        all.push(parents);
    }
    all
}

/// Rule **end**: the virtual end has an edge from each task for which no child waits. A child that waits for all its edges closes
/// only after them; one that starts at the first may be over while they are still open.
fn lead_to_the_end(nodes: &mut [Node], main: u16) -> [usize; 2] {
    let mut ends = [0, 0];
    for at in 0..nodes.len() {
        let waited_for =
            nodes[at].children.iter().any(|child| nodes[usize::from(child.node)].task.rule.waits_for_all());
        if !waited_for {
            let phase = usize::from(at >= usize::from(main));
            nodes[at].end = Some(ends[phase]);
            ends[phase] += 1;
        }
    }
    ends
}

fn narrow(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
