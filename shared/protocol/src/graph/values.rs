//! Values: what templates and expressions speak of, read where they lie.

use std::collections::BTreeSet;

use minutehand_domain::body::Json;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::{Run, State, Stop, TaskPlace, Word};
use minutehand_domain::workflow::key::TaskKey;
use minutehand_domain::workflow::path::{Of, Root};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

use super::attend::{has_failed, touch};
use super::birth::unborn;
use super::family::{Family, children_of, last_try};
use super::stop::{Found, end_or_ask};
use crate::bodies;
use crate::born::born;

/// All that one expression or template may be told, so that no process is filled by one graph.
const BYTES: usize = 4 << 20;

impl<D: Ports> Family<'_, D> {
    /// Reads what these roots name, unless it was read before. What is not there stays out; false where all of it is too much.
    pub(super) async fn read(&mut self, roots: impl IntoIterator<Item = Root>) -> Result<bool, Fault> {
        for root in roots.into_iter().collect::<BTreeSet<_>>() {
            if self.values.contains_key(&root) {
                continue;
            }
            if let Some(value) = self.value(&root).await? {
                self.values.insert(root, value);
            }
            if self.too_much || self.values.values().map(Json::len).sum::<usize>() > BYTES {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn value(&mut self, root: &Root) -> Result<Option<Json>, Fault> {
        match root {
            Root::Params => {
                let top = self.top().await?.clone();
                let Some(graph) = &top.graph else { return Ok(None) };
                bodies::fetch_of(self.ports, &top, &graph.given).await
            }
            Root::Outcome => {
                let outcome = self.top().await?.tasks().and_then(|tasks| tasks.outcome);
                Ok(Some(text(outcome.map_or("succeeded", Stop::as_str))))
            }
            Root::Task(key, of) => self.of_task(key, *of).await,
            Root::Item | Root::Index => Ok(None), // each branch has its own
        }
    }

    async fn of_task(&mut self, key: &TaskKey, of: Of) -> Result<Option<Json>, Fault> {
        let Some(node) = self.plan.node_of(key) else { return Ok(None) };
        let run = self.last_told_of(node).await?;
        match (of, run) {
            (Of::Status, None) => Ok(Some(text("pending"))),
            (Of::Status, Some(run)) => Ok(Some(text(self.status(&run, node)))),
            (Of::Error, run) => Ok(Some(run.and_then(|run| self.error(&run, node)).unwrap_or_else(Json::null))),
            (Of::Result | Of::Results, None) => Ok(None),
            (Of::Result, Some(run)) => bodies::fetch_of(self.ports, &run, run.result()).await,
            (Of::Results, Some(run)) => self.results(run).await,
        }
    }

    /// The last try at a task, as it may be told of; none where it may still begin. It is read once for all that is told of it.
    async fn last_told_of(&mut self, node: u16) -> Result<Option<Run>, Fault> {
        if let Some(told) = self.told.get(&node) {
            return Ok(told.clone());
        }
        let top = self.top().await?.clone();
        let last = if top.may_still_start(self.plan.phase(node)) {
            latest(self.ports, &top, node).await?
        } else {
            self.settled_for_good(&top, node).await?
        };
        self.told.insert(node, last.clone());
        Ok(last)
    }

    /// Of a task that cannot begin any more. Rule **told stays true**: before `finally` is told of it, what has not begun is put on record as
    /// cancelled, and what waits for a verdict is written as it was seen, so that no slow writer who had decided on it before makes anything else of it.
    async fn settled_for_good(&self, top: &Run, node: u16) -> Result<Option<Run>, Fault> {
        loop {
            let last = latest(self.ports, top, node).await?;
            match self.left_open(top, last.as_ref(), node) {
                Left::Nothing => return Ok(last),
                Left::Unborn(run) => {
                    let _whoever_was_quicker = born(self.ports, &run, "none", self.ports.clock().now()).await?;
                }
                Left::Open(key) => {
                    if end_or_ask(self.ports, (&self.plan, top), key).await? != Found::Over {
                        return Ok(last);
                    }
                }
                Left::Verdict(run) => {
                    let Some(seen) = self.ports.store().get::<Run>(&run.tenant, run.key).await? else {
                        return Ok(last);
                    };
                    if seen.item == *run && touch(self.ports, &seen).await? {
                        return Ok(last);
                    }
                }
            }
        }
    }

    /// What somebody slow could still decide about it. Records of tasks expire with their graph, and are not made anew behind that.
    fn left_open(&self, top: &Run, last: Option<&Run>, node: u16) -> Left {
        let now = self.ports.clock().now();
        let place = match last {
            None => TaskPlace::task(node),
            Some(run) if !run.is_finished() => return Left::Open(run.key),
            Some(run) => match (TaskPlace::of(run.key), run.verdict()) {
                (Some(place), Some(Word::Retry)) => place.again(),
                (Some(place), None) if has_failed(run) && self.plan.holds_failures(place) => {
                    return Left::Verdict(Box::new(run.clone()));
                }
                _ => return Left::Nothing,
            },
        };
        match (self.plan.node(node), &top.graph) {
            (Some(planned), Some(graph)) if now < graph.expires_at => {
                let unborn = unborn(top, graph, planned, place, now);
                Left::Unborn(Box::new(Run { state: State::Cancelled { at: now }, ..unborn }))
            }
            _ => Left::Nothing,
        }
    }

    /// As its edges saw it: a failure that an operator let pass counts as what he made of it.
    fn status(&self, run: &Run, node: u16) -> &'static str {
        let holds = self.plan.holds_failures(TaskPlace::task(node));
        match run.verdict().filter(|_| holds) {
            Some(Word::Skip) => "skipped",
            Some(Word::Succeed) => "succeeded",
            _ => run.status(self.ports.clock().now()),
        }
    }

    /// What went wrong, of a failure that nobody let pass.
    fn error(&self, run: &Run, node: u16) -> Option<Json> {
        let holds = self.plan.holds_failures(TaskPlace::task(node));
        let passed = run.verdict().filter(|word| holds && matches!(word, Word::Skip | Word::Succeed));
        run.task_error().filter(|_| passed.is_none()).map(|error| error.as_json())
    }

    /// The run that did what this one stands for: the one in the run that is resumed, where that was reused.
    async fn carried_out_by(&self, mut run: Run) -> Result<Run, Fault> {
        while let Some(done) = run.task.as_ref().and_then(|task| task.reused) {
            let Some(seen) = self.ports.store().get::<Run>(&run.tenant, done).await? else { break };
            run = seen.item;
        }
        Ok(run)
    }

    /// The results of a `for_each`'s branches in their order, null where one has none.
    async fn results(&mut self, each: Run) -> Result<Option<Json>, Fault> {
        let each = &self.carried_out_by(each).await?;
        let Some(graph) = &each.graph else { return Ok(None) };
        let count = graph.each.map_or(0, |each| usize::from(each.count));
        let mut results = vec![Json::null(); count];
        let mut bytes = 0;
        for run in children_of(self.ports, each, graph).await? {
            let Some(branch) = TaskPlace::of(run.key).and_then(|place| place.branch) else { continue };
            let result = bodies::fetch_of(self.ports, &run, run.result()).await?;
            bytes += result.as_ref().map_or(0, Json::len);
            if bytes > BYTES {
                self.too_much = true;
                return Ok(None);
            }
            if let (Some(result), Some(at)) = (result, results.get_mut(usize::from(branch))) {
                *at = result;
            }
        }
        Ok(Some(Json::list(&results)))
    }
}

/// What is left to be decided about a task that begins no more.
enum Left {
    Nothing,
    Open(RunKey),
    Verdict(Box<Run>),
    Unborn(Box<Run>),
}

/// The last try at a task of a workflow's run; none where none was made.
pub(super) async fn latest<D: Ports>(ports: &D, top: &Run, node: u16) -> Result<Option<Run>, Fault> {
    match &top.graph {
        Some(graph) => last_try(ports, top, graph, TaskPlace::task(node)).await,
        None => Ok(None),
    }
}

fn text(text: &str) -> Json {
    Json::of(&text.into())
}
