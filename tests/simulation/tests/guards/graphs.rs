//! What a run's end owes, and who may be under way: the rules of graphs by name.

use minutehand_domain::id::RunKey;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::run::{TaskPlace, Word};
use minutehand_domain::schedule::Plan as When;
use minutehand_judge::graph::{Does, Each, Flow, Given, On, Over, Policy, Rule, Step, Tolerate, When as Condition};
use minutehand_protocol::graph::judge::Resumed;
use minutehand_protocol::run::cancel::Cancelled;
use minutehand_protocol::workflow::delete::Deleted;
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::graphs::{Graphs, call, flow};
use minutehand_simulation::stage::{
    Wish, dies_after, dies_before, every, fails_before, moment, sleeps_after, sleeps_before,
};

const DAY: i64 = 86_400_000;

fn failing(after: &[usize]) -> Step {
    Step { fails: 100, ..call(after) }
}

fn slow(seconds: i64, after: &[usize]) -> Step {
    Step { takes: seconds * 1000, ..call(after) }
}

fn question() -> Step {
    Step { does: Does::Ask { in_time: DAY, default: "timed_out" }, ..Step::default() }
}

fn inner(flow: usize, after: &[usize]) -> Step {
    Step { does: Does::Flow(flow), ..call(after) }
}

fn branches(count: usize, lanes: Option<usize>, step: Step) -> Step {
    let over = Over::List(vec![1; count]);
    Step { each: Some(Each { over, lanes, tolerate: Tolerate::default() }), ..step }
}

/// Never true, so that a task that comes to it is born over.
fn never(step: Step) -> Step {
    Step { when: Some(Condition::ParamAtLeast(1)), ..step }
}

fn under(policy: Policy, flow: Flow) -> Flow {
    Flow { policy, ..flow }
}

fn nth(nth: u32, mut line: Line) -> Line {
    line.nth = nth;
    line
}

/// A run whose tasks end in time is looked at once more at its deadline: nothing would have been done twice.
///
/// Removed (`looked-at-is-not-prevented`): that counts as prevented. There were as many as runs.
#[test]
fn the_look_at_a_deadline_prevents_nothing() {
    let stage = Graphs::new([Flow { timeout: 300_000, ..flow([call(&[])]) }], []);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);

    stage.play_to(600);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert_eq!(stage.counted("prevented by claim"), 0);
}

/// Rule **settle**: an executor dies with the end of a task just written; whoever finds that over pays what it owes.
///
/// Removed: the look and the late hint erase the timer of a finished run at once. The second task was never begun.
#[test]
fn what_a_dead_executors_task_owes_is_paid_by_whoever_finds_it_over() {
    let stage = Graphs::new([flow([call(&[]), call(&[0])])], [nth(4, dies_after("executor", "put_run"))]);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);

    stage.play_to(600);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert_eq!(stage.judge(), []);
}

/// The end of a task is written, and paying what it owes meets a fault; its executor tries again, and is told that the run is over. Its timer is where its lease
/// would have ended.
///
/// Removed (`settles-what-stands`): what is over already is left to its timer. The second task began ten minutes later.
#[test]
fn what_an_end_owes_is_paid_at_once_behind_a_fault() {
    let long = Step { timeout: Some(600_000), ..slow(100, &[]) };
    let stage = Graphs::new([flow([long, call(&[0])])], [nth(2, fails_before("executor", "put_timer"))]);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);

    stage.play_to(110);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert_eq!(stage.judge(), []);
}

/// Rule **nudge**: who cancels a run dies once he has; its look was promised before.
///
/// Removed: nothing is promised. The run's own look came a quarter of an hour later.
#[test]
fn a_run_is_stopped_though_who_cancelled_it_died() {
    let stage = Graphs::new([flow([question()])], [dies_after("canceller", "put_run")]);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);
    stage.play_to(190);

    stage.cancel(200, "canceller", run.given());
    stage.play_to(330);

    assert_eq!(stage.status(run.given()), "cancelled");
    assert_eq!(stage.judge(), []);
}

/// The word is written, and what is to follow at once meets a fault.
///
/// Removed once, by hand: the fault is told to whoever cancels. The word was said again, and stopped the `finally` that had begun meanwhile.
#[test]
fn a_cancel_that_stands_is_answered_so() {
    let cleanup = slow(20, &[]);
    let graph = with_finally(flow([question()]), [cleanup]);
    let stage = Graphs::new([graph], [fails_before("canceller", "list")]);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);
    stage.play_to(190);

    let cancelled = stage.cancel(200, "canceller", run.given());
    stage.play_to(300);

    assert!(matches!(cancelled.given(), Cancelled::Done(_)));
    assert_eq!(stage.status(run.given()), "cancelled");
    assert_eq!(stage.judge(), []);
}

/// A run whose tasks are over is in its `finally` when the next one of its job comes, which is to replace it.
///
/// Removed (`overlap-leaves-finally`): one that ends already is asked to. Its `finally` was stopped, and the run that had done all of its work was cancelled.
#[test]
fn a_newer_run_stops_no_finally() {
    let graph = with_finally(flow([call(&[])]), [slow(20, &[])]);
    let stage = Graphs::new([graph], []);
    let job = stage.beside(Wish { overlap: Overlap::CancelPrevious, ..Wish::every(15, 15) });
    job.create(0, "creator");
    stage.sweep_each_minute(0..900);

    stage.play_to(50);

    assert_eq!(job.state(15), "succeeded");
}

/// Rule **nudge**, of a verdict: nothing else looks at a failure that is held.
///
/// Removed: nothing is promised. Nobody ever began what comes after the failure that somebody let pass.
#[test]
fn a_verdict_is_carried_out_though_who_gave_it_died() {
    let graph = under(Policy::Hold, flow([failing(&[]), call(&[0])]));
    let stage = Graphs::new([graph], [dies_after("operator", "put_run")]);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..1500);
    stage.play_to(190);

    let failed = stage.runs_of(0, 0)[0];
    stage.judge_task(200, "operator", failed, Word::Succeed);
    stage.play_to(1200);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert_eq!(stage.judge(), []);
}

/// Rule **touch**: an operator reads a question, promises a look at it, and sleeps; the look comes and goes; then he answers, and
/// dies. His answer must not stand without anybody who looks at it.
///
/// Removed: the look moves the timer to the question's end as it is. The answer stood, and nobody saw it for a day.
#[test]
fn an_answer_that_slept_through_its_look_is_refused() {
    let script = [sleeps_before("sleepy", "put_run", 150), dies_after("sleepy", "put_run")];
    let stage = Graphs::new([flow([question(), call(&[0])])], script);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..3000);
    stage.play_to(190);

    let asked = stage.runs_of(0, 0)[0];
    stage.judge_task(200, "sleepy", asked, Word::Approve);
    stage.judge_task(1500, "operator", asked, Word::Approve);
    stage.play_to(1600);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert_eq!(stage.judge(), []);
}

/// Rule **touch**, of a failure that is held: the same, while its timer is erased.
///
/// Removed: the timer goes without a writing. The verdict stood, and nobody ever carried it out.
#[test]
fn a_verdict_that_slept_through_its_look_is_refused() {
    // The executor's own look is the hint: it sleeps once the failure is written, so that the look finds its timer.
    let script = [sleeps_before("sleepy", "put_run", 150), dies_after("sleepy", "put_run")];
    let graph = under(Policy::Hold, flow([failing(&[]), call(&[0])]));
    let stage = Graphs::new([graph], script);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..3000);
    stage.play_to(190);

    let failed = stage.runs_of(0, 0)[0];
    stage.judge_task(200, "sleepy", failed, Word::Succeed);
    stage.judge_task(1500, "operator", failed, Word::Succeed);
    stage.play_to(1600);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert_eq!(stage.judge(), []);
}

/// Rule **up**: an executor ends an inner workflow with its last task, and dies. Whoever finds that task finds its parent over.
///
/// Removed: the task's timer goes. What comes after the inner workflow waited for that one's own look, a quarter of an hour.
#[test]
fn whoever_finds_the_parent_over_settles_the_parent() {
    let outer = flow([inner(1, &[]), call(&[0])]);
    let stage = Graphs::new([outer, flow([slow(50, &[])])], [nth(7, dies_after("executor", "put_run"))]);
    let run = stage.ask(1);
    // So the inner workflow's timer is far away when it ends.
    stage.sweep_each_minute(35..1500);

    stage.play_to(400);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert_eq!(stage.judge(), []);
}

/// Rule **derive**: whoever goes on with a run dies when the new one is promised. Its timer makes it.
///
/// Removed: the run is abandoned after a quarter of an hour, and nobody could ever go on with the one that failed.
#[test]
fn a_run_that_goes_on_is_made_though_who_asked_for_it_died() {
    let stage = Graphs::new([flow([failing(&[])])], [dies_after("resumer", "put_timer")]);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..3000);
    stage.play_to(190);

    stage.resume(200, "resumer", run.given());
    stage.play_to(2500);

    assert_eq!(stage.statuses(0, 0), ["failed", "failed"]);
    assert_eq!(stage.judge(), []);
}

/// Rule **gate**: a task is on its way into the table while its run is cancelled, and comes when that is over.
///
/// Removed: a claim does not ask whether its parent still wants it. The task was carried out below a run that had ended.
#[test]
fn a_task_that_comes_after_the_end_is_not_carried_out() {
    let stage = Graphs::new([flow([call(&[]), call(&[0])])], [nth(5, sleeps_before("executor", "put_run", 40))]);
    let run = stage.ask(1);
    // Late, or a look makes of the task's timer what is not wanted any more.
    stage.sweep_each_minute(120..900);
    stage.play_to(9);

    stage.cancel(10, "canceller", run.given());
    stage.play_to(600);

    assert_eq!((stage.status(run.given()), stage.statuses(0, 1)), ("cancelled", vec!["cancelled"]));
    assert!(stage.calls(0, 1).is_empty());
    assert_eq!(stage.judge(), []);
}

/// Rule **census**: a run that is being stopped is over when nothing of it is under way.
///
/// Removed: whoever stops it does not look whether anything is open. The run was over while its task still ran.
#[test]
fn a_run_that_is_stopped_is_over_when_its_tasks_are() {
    let stage = Graphs::new([flow([slow(50, &[])])], []);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);
    stage.play_to(9);

    stage.cancel(10, "canceller", run.given());
    stage.play_to(40);
    let while_it_ran = stage.status(run.given());
    stage.play_to(600);

    assert_eq!((while_it_ran, stage.status(run.given())), ("waiting", "cancelled"));
    assert_eq!(stage.judge(), []);
}

/// Rule **end**: a task that starts at its first edge is over before those that it did not wait for.
///
/// Removed: the virtual end waits only for tasks without children. The run was over while a task of it ran.
#[test]
fn a_run_is_over_when_the_tasks_are_that_nobody_waited_for() {
    let either = Step { rule: Rule::Any, ..call(&[0, 1]) };
    let stage = Graphs::new([flow([slow(50, &[]), call(&[]), either])], []);
    let run = stage.ask(1);
    stage.play_to(30);
    let while_it_ran = stage.status(run.given());

    stage.play_to(100);

    assert_eq!((while_it_ran, stage.status(run.given())), ("waiting", "succeeded"));
    assert_eq!(stage.judge(), []);
}

/// Rule **roots**: an executor dies with its run just unfolded.
///
/// Removed: who attends to a run that waits for its tasks begins nothing. It waited for ever.
#[test]
fn the_tasks_that_a_dead_executor_did_not_begin_are_begun_by_a_look() {
    let stage = Graphs::new([flow([call(&[]), call(&[])])], [dies_after("executor", "put_run")]);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..600);

    stage.play_to(300);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert_eq!(stage.judge(), []);
}

/// Rule **roots**, of a hint: the same, and a process that was started again hints what is due.
///
/// Removed: a hint that finds a run which waits for its tasks does nothing. Until the sweep found its timer overdue nothing began.
#[test]
fn the_tasks_that_a_dead_executor_did_not_begin_are_begun_by_the_next_hint() {
    let stage = Graphs::new([flow([call(&[])])], [nth(1, dies_after("executor", "put_run"))]);
    let run = stage.ask(1);
    stage.play_to(4);

    stage.execute(5, "started again", run.given());
    stage.play_to(20);

    assert_eq!((stage.status(run.given()), stage.calls(0, 0)), ("succeeded", vec![5]));
}

/// Rule **lane**: the only lane of a `for_each` waits while the failure of its first branch is held.
///
/// Removed: the lane goes on where a try ends. The second branch ran beside the first one's second try.
#[test]
fn a_lane_waits_for_the_verdict_on_its_branch() {
    let graph = under(Policy::Hold, flow([branches(2, Some(1), failing(&[]))]));
    let stage = Graphs::new([graph], []);
    stage.ask(1);
    stage.sweep_each_minute(60..900);
    stage.play_to(100);
    let while_held = stage.statuses(0, 0).len();

    let first = stage.runs_of(0, 0).into_iter().find(|run| stage.status(*run) == "failed").expect("a branch");
    stage.judge_task(110, "operator", first, Word::Fail);
    stage.play_to(200);

    assert_eq!((while_held, stage.statuses(0, 0).len()), (2, 3), "the whole, and its branches");
    assert_eq!(lane_rules(&stage), 0);
}

fn lane_rules(stage: &Graphs) -> usize {
    stage.judge().iter().filter(|broken| broken.rule == "a branch waits for its lane").count()
}

/// Rule **empty**: nobody is left to end a `for_each` over an empty list.
///
/// Removed: it begins no branch, and waits for its deadline.
#[test]
fn an_empty_list_ends_at_once() {
    let stage = Graphs::new([flow([branches(0, None, call(&[])), call(&[0])])], []);
    let run = stage.ask(1);

    stage.play_to(30);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert_eq!(stage.judge(), []);
}

fn one_at_once(flow: Flow) -> Flow {
    Flow { at_once: Some(1), ..flow }
}

/// Rule **keep**: two executors have a hint of one run; the slower one loses its claim, and the place is the run's.
///
/// Removed: who loses a claim gives the place back. Another run began beside it.
#[test]
fn a_lost_claim_gives_no_place_back() {
    let stage = Graphs::new([one_at_once(flow([slow(50, &[])]))], [sleeps_before("second", "put_run", 5)]);
    let run = stage.ask(1);
    stage.ask(20);
    stage.lose_hints(1..5);
    stage.play_to(5);

    stage.execute(6, "second", run.given());
    stage.execute(6, "first", run.given());
    stage.play_to(40);

    assert_eq!(stage.calls(0, 0).len(), 1);
    assert_eq!(broken(&stage, "no more runs at once than may be"), 0);
}

fn broken(stage: &Graphs, rule: &str) -> usize {
    stage.judge().iter().filter(|broken| broken.rule == rule).count()
}

/// Rule **keep**, its other half: a claim is lost because its run was cancelled while it took the place. Nobody else gives it back.
///
/// Removed: a lost claim gives nothing back. The next run that stood in the line waited for its own look.
#[test]
fn a_claim_that_was_lost_to_a_cancel_gives_its_place_back() {
    let stage = Graphs::new([one_at_once(flow([call(&[])]))], [sleeps_before("slow", "put_run", 20)]);
    let run = stage.ask(1);
    stage.lose_hints(1..5);
    stage.play_to(5);

    stage.execute(6, "slow", run.given());
    stage.cancel(10, "canceller", run.given());
    stage.play_to(60);

    assert_eq!(stage.status(run.given()), "cancelled");
    assert_eq!(stage.holders(), 0);
}

/// Rule **absent**: an occurrence has taken the place and is not yet written; another run finds the place taken by nothing.
///
/// Its removal (a holder without a record is taken for one that is over) is not tried against this yet: it is in no table of removals.
#[test]
fn whoever_is_on_its_way_keeps_its_place() {
    let every = When { every_seconds: Some(3600), start_at: Some(moment(60)), ..When::default() };
    let graph = one_at_once(flow([slow(50, &[])]));
    let stage = Graphs::firing([graph], &every, [sleeps_before("executor", "put_run", 20)]);
    stage.sweep_each_minute(0..200);

    let second = stage.ask(65);
    stage.play_to(100);

    assert_eq!((stage.status(second.given()), stage.calls(0, 0).len()), ("waiting", 1));
    assert_eq!(broken(&stage, "no more runs at once than may be"), 0);
}

/// Rule **own place**: a workflow that calls itself has one place for all of it, which its outermost run keeps until it is over.
///
/// Removed (`places-of-what-calls-itself`): each of its runs asks for a place. The inner one waited for the place of the outer one, and that for it.
#[test]
fn a_workflow_that_calls_itself_waits_for_no_place_of_its_own() {
    let stage = Graphs::new([one_at_once(flow([inner(0, &[])]))], []);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);

    stage.play_to(600);

    assert_eq!(stage.status(run.given()), "failed", "it goes as deep as workflows may go");
    assert_eq!((stage.holders(), stage.waiters()), (0, 0));
}

/// A task waits out its backoff when its workflow is cancelled, and has the one place of its tenant's.
///
/// Removed (`stop-gives-back`): its places go with its timer, behind its backoff. The next run waited for that.
#[test]
fn a_task_that_is_stopped_in_its_backoff_gives_its_places_back_at_once() {
    let stage = Graphs::new([flow([Step { retries: 1, ..failing(&[]) }])], []);
    stage.limit_tenant(0, 1);
    let run = stage.ask(1);
    stage.ask(5);
    stage.play_to(9);
    let before = stage.calls(0, 0).len();

    stage.cancel(9, "canceller", run.given());
    stage.play_to(11);

    assert_eq!((before, stage.calls(0, 0).len()), (1, 2), "{:?}", stage.calls(0, 0));
}

/// Behind a task that was skipped stands a workflow of its own, which waits for people: whoever looks at the outer one each quarter of an hour finds
/// the inner one there.
///
/// Removed (`found-there`): what is found there is promised for again. Each look at the outer one left one more timer at the inner one.
#[test]
fn looks_at_a_workflow_leave_no_timers_at_what_is_below_it() {
    let behind = Step { edges: vec![(0, On::Finished)], ..inner(1, &[]) };
    let stage = Graphs::new([flow([never(call(&[])), behind]), flow([question()])], []);
    stage.ask(1);
    stage.sweep_each_minute(60..3 * 3600);

    stage.play_to(3 * 3600);

    let below = stage.runs_of(0, 1)[0];
    assert_eq!((stage.status(below), stage.timers_of(below)), ("waiting", 1));
}

/// Rule **late claim**, on the way to a place: what was read long before an executor has a place is read again.
///
/// Removed (`places-late-claim`): what was read before the place was asked for is decided on. A run of a deleted workflow was begun.
#[test]
fn who_was_long_on_his_way_to_a_place_reads_again() {
    let once = When { at: Some(moment(60)), ..When::default() };
    let stage = Graphs::firing([one_at_once(flow([call(&[])]))], &once, [sleeps_before("executor", "update", 8)]);

    stage.delete(62, "deleter");
    stage.play_to(300);

    assert_eq!(stage.calls(0, 0), Vec::<i64>::new());
}

/// Rule **relook**: the place is given back while somebody finds it taken and is not yet in the line. Nobody sweeps.
///
/// Removed: who has become a waiter does not look again. It waited for a look.
#[test]
fn who_has_become_a_waiter_looks_again() {
    let stage = Graphs::new([one_at_once(flow([slow(10, &[])]))], [sleeps_before("waiter", "put_run", 10)]);
    let (first, second) = (stage.ask(1), stage.ask(5));
    stage.lose_hints(4..8);
    stage.play_to(8);

    stage.execute(9, "waiter", second.given());
    stage.play_to(60);

    assert_eq!((stage.status(first.given()), stage.status(second.given())), ("succeeded", "succeeded"));
}

/// Rule **walk**: the first in the line was cancelled by somebody who died of it, the second waits. Nobody sweeps.
///
/// Removed: whoever stands first is hinted, and nobody behind. The second waited for a look.
#[test]
fn who_waits_no_more_is_passed_over() {
    let stage = Graphs::new([one_at_once(flow([slow(30, &[])]))], [dies_after("canceller", "put_run")]);
    let runs = [1, 3, 5].map(|at| stage.ask(at));
    stage.play_to(9);

    stage.cancel(10, "canceller", runs[1].given());
    stage.play_to(80);

    assert_eq!(runs.map(|run| stage.status(run.given())), ["succeeded", "cancelled", "succeeded"]);
}

/// Two wait for a place when a version without a bound comes: nobody gives a place back any more, and nobody walks the line.
///
/// Removed (`line-of-no-bound`): who begins without a place does not leave the line. They stood there for ever.
#[test]
fn who_begins_without_a_bound_that_it_waited_for_leaves_the_line() {
    let stage = Graphs::new([one_at_once(flow([slow(20, &[])]))], []);
    let runs = [1, 3, 5].map(|at| stage.ask(at));
    stage.replace(10, &flow([slow(20, &[])]));
    stage.play_to(19);
    assert_eq!(stage.waiters(), 2);

    stage.play_to(49); // the first has given its place back, and told the second
    stage.execute(50, "third", runs[2].given());
    stage.play_to(100);

    assert_eq!(runs.map(|run| stage.status(run.given())), ["succeeded"; 3]);
    assert_eq!(stage.waiters(), 0);
}

/// The same, and who waits is cancelled before it begins.
///
/// Removed (`line-of-who-is-ended`): who is cancelled does not leave the line. It stood there for ever.
#[test]
fn who_is_cancelled_while_it_waits_leaves_the_line() {
    let stage = Graphs::new([one_at_once(flow([slow(20, &[])]))], []);
    let (first, second) = (stage.ask(1), stage.ask(3));
    stage.replace(10, &flow([slow(20, &[])]));
    stage.lose_hints(20..30);
    stage.play_to(40);
    assert_eq!((stage.status(first.given()), stage.waiters()), ("succeeded", 1));

    stage.cancel(41, "canceller", second.given());
    stage.play_to(60);

    assert_eq!((stage.status(second.given()), stage.waiters()), ("cancelled", 0));
}

/// The same where nobody cancels that run itself, but the one whose task it is.
///
/// Removed (`leaves-the-line-with-its-parent`): what is ended below a run that is being stopped stays in its lines.
#[test]
fn whose_parent_is_cancelled_while_it_waits_leaves_the_line() {
    let outer = flow([inner(1, &[])]);
    let stage = Graphs::new([outer, one_at_once(flow([slow(20, &[])]))], []);
    let (first, second) = (stage.ask(1), stage.ask(3));
    stage.play_to(10);
    let waited = stage.waiters();

    stage.cancel(11, "canceller", second.given());
    stage.play_to(18);

    assert_eq!((waited, stage.status(first.given())), (1, "waiting"));
    assert_eq!((stage.status(second.given()), stage.waiters()), ("cancelled", 0));
}

/// Two places are given back at once, and two wait. Nobody sweeps.
///
/// Removed: whoever gives a place back hints the first of the line alone. Both hinted the same one, and the other waited for a look.
#[test]
fn as_many_are_told_as_there_is_room_for() {
    let two = Flow { at_once: Some(2), ..flow([slow(30, &[])]) };
    let stage = Graphs::new([two], []);
    let runs = [1, 1, 5, 6].map(|at| stage.ask(at));

    stage.play_to(90);

    assert_eq!(runs.map(|run| stage.status(run.given())), ["succeeded"; 4]);
}

/// The place of a run that waits for its turn is written down with that: its end gives the place back, and tells who waits. Nobody sweeps.
///
/// Removed (`places-of-who-is-postponed`): it is written down when the run unfolds. Whoever waited for the place waited for a look.
#[test]
fn a_run_that_waits_for_its_turn_gives_its_place_back() {
    let stage = Graphs::new([one_at_once(flow([call(&[])]))], []);
    let first = stage.beside(Wish::once(5).a_minute("bank", 1));
    let postponed = first.beside(Wish { workflow: first.workflow(), ..Wish::once(10) }.a_minute("bank", 1));
    first.create(1, "creator");
    postponed.create(1, "creator");
    let waiting = stage.ask(15);
    stage.play_to(18);
    let meanwhile = (postponed.state(10), stage.status(waiting.given()));

    postponed.cancel(20, "canceller", 10);
    stage.play_to(40);

    assert_eq!(meanwhile, ("scheduled".to_owned(), "waiting"));
    assert_eq!(stage.status(waiting.given()), "succeeded");
}

/// Rule **once**: however often somebody goes on with a run, it is one.
///
/// Removed: the run that goes on is named by when it was asked for. There were two.
#[test]
fn a_run_is_gone_on_with_once() {
    let stage = Graphs::new([flow([failing(&[])])], []);
    let run = stage.ask(1);
    stage.play_to(30);

    stage.resume(40, "resumer", run.given());
    stage.resume(50, "resumer", run.given());
    stage.play_to(100);

    assert_eq!(stage.statuses(0, 0).len(), 2);
    assert_eq!(stage.judge(), []);
}

/// A charge fails, somebody is asked, and then it is paid back; and the same once more, when the run is gone on with.
///
/// Removed (`reacts-over-many-steps`): only what comes right after a failure is done again. It was not paid back the second time, and shown as if it were.
#[test]
fn what_comes_after_a_failure_over_many_steps_is_done_again() {
    let asked = Step { edges: vec![(0, On::Failure)], ..call(&[]) };
    let stage = Graphs::new([under(Policy::Continue, flow([failing(&[]), asked, call(&[1])]))], []);
    let run = stage.ask(1);
    stage.play_to(30);

    stage.resume(40, "resumer", run.given());
    stage.play_to(100);

    assert_eq!(stage.statuses(0, 0), ["failed", "failed"]);
    assert_eq!(stage.calls(0, 2).len(), 2);
    assert_eq!(stage.judge(), []);
}

/// A run that is gone on with is cancelled before it unfolds, and that one is gone on with in turn.
///
/// Removed (`once-over-many-runs`): the last run alone is asked. What had succeeded in the first was done again.
#[test]
fn what_was_done_two_runs_ago_is_not_done_again() {
    let stage = Graphs::new([flow([call(&[]), failing(&[0])])], []);
    let run = stage.ask(1);
    stage.play_to(30);
    stage.lose_hints(39..60);
    stage.resume(40, "resumer", run.given());
    let second = RunKey::resuming(run.given());
    stage.cancel(50, "canceller", second);
    stage.resume(70, "resumer", second);
    stage.sweep_each_minute(60..300);
    stage.play_to(300);

    assert_eq!(stage.status(second), "cancelled");
    assert_eq!((stage.calls(0, 0).len(), stage.calls(0, 1).len()), (1, 2));
    assert_eq!(stage.statuses(0, 1), ["failed", "failed"]);
    assert_eq!(stage.judge(), []);
}

/// What goes on with a run met another one of its job, and was skipped: that is gone on with in turn.
///
/// Removed: who was skipped is refused. Nobody could ever go on with the first run.
#[test]
fn a_run_whose_resume_was_skipped_is_gone_on_with() {
    let stage = Graphs::new([flow([call(&[]), Step { takes: 10_000, ..failing(&[0]) }])], []);
    let two = When { max_fires: Some(2), ..every(60, 5) };
    let alone = stage.beside(Wish { overlap: Overlap::Skip, ..Wish::of(two) });
    alone.create(1, "creator");
    stage.sweep_each_minute(60..600);
    let first = alone.key(5);
    let (second, third) = (RunKey::resuming(first), RunKey::resuming(RunKey::resuming(first)));

    let answers = [stage.resume(68, "resumer", first), stage.resume(100, "resumer", second)];
    stage.play_to(300);

    assert!(answers.iter().all(|answer| matches!(answer.given(), Resumed::Queued(_))));
    assert_eq!([first, third].map(|run| stage.status(run)), ["failed"; 2]);
    assert_eq!((stage.calls(0, 0).len(), stage.calls(0, 1).len()), (2, 3), "what was done is not done again");
}

/// A `for_each` whose branches fail now and then ends with the first that does, though others have not begun; and it is gone on with until all are
/// done. Nothing was removed: what each of them reused or did again is the judge's (`judged-done-again`).
#[test]
fn what_a_for_each_had_not_begun_is_begun_by_who_goes_on_with_it() {
    let stage = Graphs::new([flow([branches(12, Some(3), Step { fails: 50, ..call(&[]) })])], []);
    stage.sweep_each_minute(60..4000);
    let run = stage.ask(1);
    stage.play_to(60);
    let (mut last, mut ends) = (run.given(), vec![stage.calls(0, 0).len()]);

    for again in 1..30 {
        if stage.status(last) == "succeeded" {
            break;
        }
        stage.resume(again * 100, "resumer", last);
        stage.play_to(again * 100 + 90);
        last = RunKey::resuming(last);
        ends.push(stage.calls(0, 0).len());
    }

    assert_eq!(stage.status(last), "succeeded");
    assert!(ends.len() > 2 && ends[0] < 12, "it ended early more than once: {ends:?}");
    assert_eq!(stage.judge(), []);
}

/// Its end is settled when somebody has just looked at the run that it is of, which nobody does again for a quarter of an hour.
fn failing_late() -> Step {
    Step { takes: 100_000, ..failing(&[]) }
}

/// A chain that is skipped, longer than one settling's hundred steps: the next look goes on where that stopped.
///
/// Removed: what was done before costs a step again. Each look came as far as the one before, until somebody looked at the whole run.
#[test]
fn a_chain_of_skipped_tasks_longer_than_a_settling_comes_to_its_end() {
    let steps = [failing_late()].into_iter().chain((0..250).map(|before| call(&[before])));
    let stage = Graphs::new([under(Policy::Continue, flow(steps))], []);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);

    stage.play_to(600);

    assert_eq!(stage.status(run.given()), "failed");
    assert_eq!(stage.judge(), []);
}

/// Skipped tasks that wait for each other in pairs, before a chain that is longer than a settling: there are more ways through them than anybody could
/// go, and each look that goes on with the chain goes each once.
///
/// Removed: a task is settled as often as a way leads to it. A look at nine layers took tens of thousands of steps.
#[test]
fn what_is_skipped_is_settled_once_however_many_ways_lead_to_it() {
    let layer = |above: usize| [call(&[above, above + 1]), call(&[above, above + 1])];
    let lattice = (0..9).flat_map(|nth| layer(2 * nth + 1));
    let chain = (0..100).map(|nth| call(&[19 + nth]));
    let steps = [failing_late(), call(&[0]), call(&[0])].into_iter().chain(lattice).chain(chain);
    let stage = Graphs::new([under(Policy::Continue, flow(steps))], []);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);
    stage.play_to(100);
    let before = stage.steps();

    stage.play_to(130);

    let steps = stage.steps() - before;
    assert!(steps < 2_000, "{steps} steps");
    assert_eq!(stage.status(run.given()), "failed");
}

/// Twelve tasks, each behind all before it: two thousand ways lead through them to the last, which takes its time. The executor of the first dies before it has
/// erased its timer, so that it is looked at when those behind it are over.
///
/// Removed (`nothing-again-behind-a-redo`): each look at a task promises one at each task behind it. There were as many looks as ways, and as many timers.
#[test]
fn a_look_at_what_is_settled_leaves_nothing_at_what_comes_behind_it() {
    let behind_all = |nth: usize| (0..nth).collect::<Vec<_>>();
    let last = Step { timeout: Some(900_000), ..slow(500, &behind_all(12)) };
    let dense = (0..12).map(|nth| call(&behind_all(nth))).chain([last]);
    let stage = Graphs::new([flow(dense)], [dies_before("executor", "erase_timer")]);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);
    stage.play_to(130);
    let before = stage.steps();

    stage.play_to(430);
    let steps = stage.steps() - before;
    stage.play_to(600);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert!(steps < 500, "{steps} steps");
    assert_eq!(stage.judge(), []);
}

/// Ninety workflows below one are stopped with it.
///
/// Removed (`stopped-below-in-one-go`): each of them that is stopped has all of them looked through again. That took more than a hundred times as many steps,
/// and memory for each; ten thousand, which there may be, exhausted it.
#[test]
fn a_run_of_many_workflows_is_stopped_by_looking_at_each_a_few_times() {
    let stage = Graphs::new([flow([branches(90, None, inner(1, &[]))]), flow([question()])], []);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);
    stage.play_to(190);
    let before = stage.steps();

    stage.cancel(200, "canceller", run.given());
    stage.play_to(230);

    let steps = stage.steps() - before;
    assert_eq!(stage.status(run.given()), "cancelled");
    assert!(steps < 20_000, "{steps} steps");
    assert_eq!(stage.judge(), []);
}

fn with_finally(flow: Flow, finally: impl IntoIterator<Item = Step>) -> Flow {
    Flow { steps: flow.steps.into_iter().chain(finally).collect(), ..flow }
}

/// Rule **told stays true**: an executor decides that a task is skipped, and sleeps; the run is cancelled, and its `finally` is told what became of
/// that task; then the executor records what he had decided.
///
/// Removed: what cannot begin any more is not put on record before anybody is told of it. `finally` was told that the task was cancelled, and the
/// record said that it was skipped.
#[test]
fn what_finally_was_told_of_a_task_stays_true() {
    let told = Step { given: vec![Given::Status(0)], ..call(&[]) };
    let graph = with_finally(flow([never(call(&[]))]), [told]);
    let stage = Graphs::new([graph], [nth(2, sleeps_before("executor", "put_run", 150))]);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);
    stage.play_to(10);

    stage.cancel(20, "canceller", run.given());
    stage.play_to(600);

    assert_eq!((stage.statuses(0, 0), stage.statuses(0, 1)), (vec!["cancelled"], vec!["succeeded"]));
    assert_eq!(stage.judge(), []);
}

/// Rule **told stays true**: an operator reads a failure that is held, and sleeps before he lets it pass; the run is cancelled, and its `finally` is
/// told that the task failed.
///
/// Removed: the failure is not written as it was seen before anybody is told of it. The verdict stood, and `finally` had been told otherwise.
#[test]
fn a_verdict_that_slept_until_finally_was_told_is_refused() {
    let told = Step { given: vec![Given::Status(0)], ..call(&[]) };
    let graph = under(Policy::Hold, with_finally(flow([failing(&[])]), [told]));
    let stage = Graphs::new([graph], [sleeps_before("sleepy", "put_run", 150)]);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);
    stage.play_to(190);

    let failed = stage.runs_of(0, 0)[0];
    stage.judge_task(200, "sleepy", failed, Word::Succeed);
    stage.cancel(210, "canceller", run.given());
    stage.play_to(600);

    assert_eq!((stage.statuses(0, 0), stage.statuses(0, 1)), (vec!["failed"], vec!["succeeded"]));
    assert_eq!(stage.judge(), []);
}

/// A task was skipped, and `finally` runs: nothing of the phase that has ended is settled again.
///
/// Removed: whoever begins a phase settles all that was born over. Each settling began the phase again, without an end.
#[test]
fn beginning_finally_does_not_settle_what_was_before() {
    let graph = with_finally(flow([never(call(&[])), never(call(&[]))]), [slow(20, &[])]);
    let stage = Graphs::new([graph], []);
    let run = stage.ask(1);

    stage.play_to(60);

    assert_eq!(stage.status(run.given()), "succeeded");
    assert!(stage.steps() < 300, "{} steps", stage.steps());
    assert_eq!(stage.judge(), []);
}

/// A run is cancelled, and an inner workflow's `finally` takes longer than the run's looks are apart.
///
/// Removed: each look stops what is below it in whatever phase. The second one stopped the inner `finally`.
#[test]
fn a_look_at_a_stopped_run_leaves_an_inner_finally_alone() {
    let tidy = [slow(50, &[]), slow(50, &[1]), slow(50, &[2])];
    let inside = with_finally(flow([slow(20, &[])]), tidy);
    let stage = Graphs::new([flow([inner(1, &[])]), inside], []);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..1500);
    stage.play_to(9);

    stage.cancel(10, "canceller", run.given());
    stage.play_to(1200);

    let tidied: Vec<_> = (1..4).flat_map(|step| stage.statuses(1, step)).collect();
    assert_eq!((stage.status(run.given()), tidied), ("cancelled", vec!["succeeded"; 3]));
    assert_eq!(stage.judge(), []);
}

/// The look at a stopped run is delivered twice, to two executors at once.
///
/// Removed (`looks-stand`): who does not erase the timer of his own hint takes the look back that he has promised. It was the other's too, and nothing was
/// left of it: the run was looked at a quarter of an hour later, or never.
#[test]
fn a_look_at_a_stopped_run_that_is_delivered_twice_leaves_the_next() {
    let inside = with_finally(flow([slow(20, &[])]), [slow(500, &[])]);
    let stage = Graphs::new([flow([inner(1, &[])]), inside], []);
    let run = stage.ask(1);
    stage.play_to(9);
    stage.cancel(10, "canceller", run.given());
    stage.lose_hints(11..500);
    stage.play_to(19);
    let before = stage.timers_of(run.given());

    for name in ["first", "second"] {
        stage.deliver_first(20, name, run.given());
    }
    stage.play_to(25);

    assert_eq!(stage.timers_of(run.given()), before);
}

/// Two tasks of a `fail_fast` run fail, the second while the first one's stop is on its way; whoever settles the second has read the
/// run, and sleeps before he stops it, until its `finally` has begun.
///
/// Removed: a failure is heeded in `finally` too. What it had begun was asked to end, and the rest of it never began.
#[test]
fn a_failure_does_not_stop_a_finally_that_has_begun_since() {
    let second = Step { takes: 2_000, ..failing(&[]) };
    let graph = with_finally(flow([failing(&[]), second]), [slow(50, &[]), slow(50, &[2])]);
    // The births of both, the stop of the one, the stop of the other.
    let stops = [(3, 3), (4, 20)].map(|(stop, seconds)| nth(stop, sleeps_before("executor", "put_timer", seconds)));
    let stage = Graphs::new([graph], stops);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);

    stage.play_to(600);

    assert_eq!((stage.status(run.given()), stage.statuses(0, 3)), ("failed", vec!["succeeded"]));
    assert_eq!(stage.judge(), []);
}

/// A run's time is up while a `for_each` of it goes on: it is the run's, and not the `for_each`'s, that is up. The queues were purged, so
/// that nobody is told of the end of its time.
///
/// Removed (`deadline-of-its-run`): the `for_each` is stopped for itself, and is a task that has taken too long.
#[test]
fn the_time_of_a_for_each_is_that_of_its_run() {
    let graph = Flow { timeout: 30_000, ..flow([branches(2, None, question())]) };
    let stage = Graphs::new([graph], []);
    let run = stage.ask(1);
    stage.sweep_each_minute(60..900);
    stage.purge(15);
    stage.play_to(20);

    // Somebody has a hint of the `for_each` before anybody looks at its run.
    let is_whole = |run: &RunKey| TaskPlace::of(*run).is_some_and(|at| at.branch.is_none());
    let each = stage.runs_of(0, 0).into_iter().find(is_whole).expect("a for_each");
    stage.execute(33, "executor", each);
    stage.play_to(600);

    assert_eq!((stage.status(run.given()), stage.status(each)), ("timed_out", "cancelled"));
    assert_eq!(stage.judge(), []);
}

/// Who deletes a workflow dies between any two steps of it: who deletes it again finds what is left.
#[test]
fn a_deletion_is_gone_on_with_wherever_the_first_one_died() {
    let ports = ["put_head", "put_document", "put_timer", "put_run"];
    for line in ports.into_iter().flat_map(|port| [dies_before("deleter", port), dies_after("deleter", port)]) {
        let told = format!("{line:?}");
        let stage = Graphs::new([flow([question(), call(&[0])])], [line]);
        let run = stage.ask(1);
        stage.sweep_each_minute(60..1500);

        let first = stage.delete(200, "deleter");
        let again = stage.delete(260, "another");
        let late = stage.ask(300);
        stage.play_to(1200);

        assert!(first.so_far().is_none(), "{told}");
        assert_eq!(again.given(), Deleted::Done, "{told}");
        assert!(late.so_far().is_some_and(|late| late.is_err()), "{told}");
        assert_eq!(stage.status(run.given()), "cancelled", "{told}");
        assert_eq!(stage.judge(), [], "{told}");
    }
}

/// A deletion of more runs than there is time for says so, and the next one goes on.
///
/// Removed: nobody looks at the clock between some runs and the next. The first deletion took as long as all of them.
#[test]
fn a_deletion_has_an_end_however_many_runs_are_under_way() {
    let stage = Graphs::new([flow([question()])], [sleeps_after("deleter", "put_run", 30)]);
    let runs: Vec<_> = (0..40).map(|n| stage.ask(1 + n)).collect();
    stage.sweep_each_minute(60..1500);

    let first = stage.delete(200, "deleter");
    let again = stage.delete(260, "another");
    stage.play_to(250);
    let over = runs.iter().filter(|run| stage.status(run.given()) == "cancelled").count();
    stage.play_to(1200);

    assert_eq!((first.given(), again.given()), (Deleted::NotYet, Deleted::Done));
    assert!((1..=16).contains(&over), "{over}");
    assert!(runs.iter().all(|run| stage.status(run.given()) == "cancelled"));
    assert_eq!(stage.judge(), []);
}
