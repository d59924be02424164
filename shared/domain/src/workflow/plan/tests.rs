use super::*;
use crate::order::Terms;
use crate::target::Target;

fn key(text: &str) -> TaskKey {
    text.parse().unwrap()
}

fn task(text: &str, depends_on: &[&str]) -> Task {
    let does = Does::Call { target: Target::Noop, terms: Terms::default() };
    let depends_on = depends_on.iter().map(|on| Edge { task: key(on), on: On::Success }).collect();
    Task { depends_on, ..Task::new(key(text), does) }
}

fn plan(tasks: Vec<Task>) -> Result<Plan, Vec<BadGraph>> {
    Plan::new(Definition::new(tasks))
}

fn whys(bad: Result<Plan, Vec<BadGraph>>) -> Vec<String> {
    bad.unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn tasks_stand_behind_what_they_depend_on_and_otherwise_as_they_were_written() {
    let plan = plan(vec![task("d", &["b", "c"]), task("b", &["a"]), task("c", &["a"]), task("a", &[]), task("e", &[])])
        .unwrap();

    let keys: Vec<_> = plan.nodes().map(|(_, node)| node.task.key.as_str().to_owned()).collect();

    assert_eq!(keys, ["a", "b", "c", "d", "e"]);
    assert_eq!(plan.roots(Phase::Main).collect::<Vec<_>>(), [0, 4]);
    let a = plan.node(0).unwrap();
    assert_eq!(a.children, [Child { node: 1, edge: 0 }, Child { node: 2, edge: 0 }]);
}

#[test]
fn what_is_no_graph_is_refused_and_names_the_place() {
    let double = Task {
        depends_on: [On::Success, On::Failure].map(|on| Edge { task: key("a"), on }).to_vec(),
        ..task("b", &[])
    };
    let none_failed =
        Task { rule: Rule::NoneFailed, depends_on: vec![Edge { task: key("a"), on: On::Failure }], ..task("b", &[]) };
    let rows = [
        (vec![], "/tasks: a workflow has at least one task"),
        (vec![task("a", &["a"])], "/tasks/0/depends_on/0: a task cannot depend on itself"),
        (vec![task("a", &["x"])], "/tasks/0/depends_on/0: there is no task `x`"),
        (vec![task("a", &[]), task("a", &[])], "/tasks/1/key: there is a task `a` already"),
        (vec![task("a", &[]), double], "/tasks/1/depends_on/1: it depends on `a` twice"),
        (vec![task("a", &[]), none_failed], "/tasks/1/depends_on/0: `none_failed` never starts"),
        (
            vec![task("r", &[]), task("a", &["r", "c"]), task("b", &["a"]), task("c", &["b"])],
            "/tasks/1/depends_on: the tasks wait for each other: a → c → b → a",
        ),
    ];
    for (tasks, expected) in rows {
        let said = whys(plan(tasks));
        assert!(said.len() == 1 && said[0].starts_with(expected), "{said:?}\n{expected}");
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let said = whys(plan(vec![task("a", &["x", "y"]), task("a", &["z"])]));

    assert_eq!(said.len(), 4, "{said:?}");
}

#[test]
fn a_task_speaks_only_of_what_is_before_it() {
    let when = |source| Some(Expression::new(source).unwrap());
    let payload = |text: &str| Some(Template::new(crate::body::Json::of(&serde_json::json!(text))).unwrap());
    let rows = [
        (
            Task { when: when("tasks.b.status == 'succeeded'"), ..task("c", &["a"]) },
            "/tasks/2/when: it speaks of `b`, which is not before it",
        ),
        (
            Task { when: when("tasks.x.status == ''"), ..task("c", &["a"]) },
            "/tasks/2/when: it speaks of `x`, which is no task",
        ),
        (Task { payload: payload("{{tasks.b.result}}"), ..task("c", &["a"]) }, "/tasks/2/payload: it speaks of `b`"),
        (
            Task { payload: payload("{{item}}"), ..task("c", &["a"]) },
            "/tasks/2/payload: `item` is known only to the branches",
        ),
        (
            Task { when: when("outcome == 'failed'"), ..task("c", &["a"]) },
            "/tasks/2/when: `outcome` is known only in `finally`",
        ),
    ];
    for (bad, expected) in rows {
        let said = whys(plan(vec![task("a", &[]), task("b", &["a"]), bad]));
        assert!(said[0].starts_with(expected), "{said:?}");
    }
    let far = Task { when: when("tasks.a.status == 'succeeded'"), ..task("c", &["b"]) };
    assert!(plan(vec![task("a", &[]), task("b", &["a"]), far]).is_ok());
}

#[test]
fn tasks_in_finally_know_of_all_others_and_depend_only_on_their_own() {
    let definition = |finally| Definition { finally, ..Definition::new(vec![task("a", &[]), task("b", &["a"])]) };
    let spoken = Task {
        when: Some(Expression::new("outcome == 'failed' && tasks.b.status != 'skipped'").unwrap()),
        ..task("tidy", &[])
    };

    let plan = Plan::new(definition(vec![spoken, task("tell", &["tidy"])])).unwrap();
    let edge = whys(Plan::new(definition(vec![task("tidy", &["b"])])));

    assert_eq!(plan.roots(Phase::Finally).collect::<Vec<_>>(), [2]);
    assert_eq!((plan.phase(1), plan.phase(2), plan.has_finally()), (Phase::Main, Phase::Finally, true));
    assert!(edge[0].starts_with("/finally/0/depends_on/0: a task in `finally`"), "{edge:?}");
}

#[test]
fn the_virtual_end_has_an_edge_from_each_task_that_no_child_waits_for() {
    let any = |text, on: &[&str]| Task { rule: Rule::Any, ..task(text, on) };
    let plan = plan(vec![task("a", &[]), task("b", &["a"]), any("c", &["a", "b"]), any("d", &["c"])]).unwrap();

    let ends: Vec<_> = plan
        .nodes()
        .filter(|(_, node)| node.end.is_some())
        .map(|(_, node)| node.task.key.as_str().to_owned())
        .collect();

    assert_eq!(
        ends,
        ["b", "c", "d"],
        "`b` waits for all of `a`; `c` and `d` may be over while what is before them is not"
    );
}

#[test]
fn there_are_bounds() {
    let many = |count: usize| (0..count).map(|n| task(&format!("t{n}"), &[])).collect::<Vec<_>>();
    let each = |items: usize| {
        let over = Over::List(vec![crate::body::Json::null(); items]);
        Task {
            for_each: Some(ForEach {
                over,
                max_concurrent: None,
                tolerate: super::super::definition::Tolerate::default(),
            }),
            ..task(&format!("e{items}"), &[])
        }
    };

    assert!(plan(many(1000)).is_ok());
    assert!(whys(plan(many(1001)))[0].contains("at most 1000 tasks"));
    assert!(plan(vec![each(10_000)]).is_ok());
    assert!(whys(plan(vec![each(10_001)]))[0].contains("this list has 10001 items"));
    assert!(whys(plan(vec![each(9_000), each(8_000)]))[0].contains("ask for 17002"));
}

#[test]
fn a_chain_of_a_thousand_tasks_is_compiled_without_a_stack_of_a_thousand_calls() {
    let mut tasks = vec![task("t0", &[])];
    tasks.extend((1..1000).map(|n| task(&format!("t{n}"), &[&format!("t{}", n - 1)])));
    tasks.reverse();

    let plan = plan(tasks).unwrap();

    assert_eq!(plan.node(999).unwrap().task.key.as_str(), "t999");
    assert!(plan.node(999).unwrap().ancestors.contains(0));
    assert_eq!(plan.nodes().filter(|(_, node)| node.end.is_some()).count(), 1);
}
