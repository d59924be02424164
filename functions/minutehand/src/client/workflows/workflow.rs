//! A workflow as its reader sees it.

use minutehand_client::wire::task_view::EdgeView;
use minutehand_client::wire::{
    DefinitionView, FieldDiffView, Json, OneWorkflowVersionView, OneWorkflowView, TaskView, WorkflowDiffView,
    WorkflowVersionView, WorkflowView,
};

use super::super::cells::{or_dash, status};
use super::super::instant::{away, long, short};
use super::super::jobs::job::{schedule_words, target_words};
use super::super::session::Paper;
use super::super::span::Span;
use super::super::table::{Card, Cell, Table};

pub(super) fn table(workflows: &[WorkflowView], paper: Paper) -> Table {
    let mut table = Table::new(&["WORKFLOW", "~NAME", "VERSION", "STATUS", "~SCHEDULE", "NEXT RUN"]);
    for workflow in workflows {
        table.row(vec![
            Cell::from(&workflow.workflow_id),
            Cell::from(&workflow.name),
            Cell::from(workflow.version.to_string()),
            status(&workflow.status),
            Cell::from(schedule_words(&workflow.schedule)),
            or_dash(workflow.next_run_at.map(|at| away(at.0, paper.now)).as_deref()),
        ]);
    }
    table
}

pub(super) fn card(one: &OneWorkflowView, paper: Paper) -> String {
    let workflow = &one.workflow;
    let tags: Vec<&str> = workflow.tags.iter().map(String::as_str).collect();
    let card = Card::default()
        .with("Workflow", &workflow.workflow_id)
        .with("Name", &workflow.name)
        .with("Status", status(&workflow.status))
        .with("Version", workflow.version.to_string())
        .with("Schedule", schedule_words(&workflow.schedule))
        .with("Priority", workflow.priority.to_string());
    let card = of_definition(card, &one.definition)
        .maybe("Owner", workflow.owner.as_ref())
        .maybe("Tags", (!tags.is_empty()).then(|| tags.join(", ")))
        .with("Created", long(workflow.created_at.0, paper.now))
        .maybe("Changed", (workflow.updated_at != workflow.created_at).then(|| long(workflow.updated_at.0, paper.now)))
        .maybe("Next run", workflow.next_run_at.map(|at| long(at.0, paper.now)))
        .maybe("", workflow.next_run_id.as_ref().map(Cell::faint));
    format!("{}\n{}", card.draw(), tasks(&one.definition).draw(paper.width))
}

pub(super) fn version_card(one: &OneWorkflowVersionView, paper: Paper) -> String {
    let version = &one.version;
    let card = Card::default()
        .with("Workflow", &version.workflow_id)
        .with("Version", version.version.to_string())
        .with("Made", long(version.made_at.0, paper.now))
        .with("By", &version.made_by);
    format!("{}\n{}", of_definition(card, &one.definition).draw(), tasks(&one.definition).draw(paper.width))
}

fn of_definition(card: Card, definition: &DefinitionView) -> Card {
    card.with("On failure", definition.on_failure.to_string())
        .with("Timeout", Span(definition.timeout_seconds).to_string())
        .maybe("At once", definition.max_concurrent_runs.map(|most| most.to_string()))
        .maybe("Params", definition.params.text())
        .maybe("Output", definition.output.text())
}

fn tasks(definition: &DefinitionView) -> Table {
    let mut table = Table::new(&["TASK", "~AFTER", "~DOES", "~WHEN"]);
    for (task, is_last) in
        definition.tasks.iter().map(|task| (task, false)).chain(definition.finally.iter().map(|task| (task, true)))
    {
        let after: Vec<String> = task.depends_on.iter().map(edge).collect();
        let after = if is_last && after.is_empty() { "finally".to_owned() } else { after.join(", ") };
        table.row(vec![
            Cell::from(&task.key),
            or_dash(Some(after.as_str()).filter(|after| !after.is_empty())),
            Cell::from(does(task)),
            or_dash(task.when.as_deref()),
        ]);
    }
    table
}

fn edge(edge: &EdgeView) -> String {
    match edge.on.to_string().as_str() {
        "success" => edge.task.clone(),
        on => format!("{} ({on})", edge.task),
    }
}

fn does(task: &TaskView) -> String {
    let what = task.target.as_ref().map_or_else(|| "approval".to_owned(), target_words);
    if task.for_each.is_some() { format!("{what}, for each") } else { what }
}

pub(super) fn versions(versions: &[WorkflowVersionView], _paper: Paper) -> Table {
    let mut table = Table::new(&["VERSION", "MADE", "BY"]);
    for version in versions {
        table.row(vec![
            Cell::from(version.version.to_string()),
            Cell::from(short(version.made_at.0)),
            Cell::from(&version.made_by),
        ]);
    }
    table
}

/// As `diff` shows it: what came, what went, what changed.
pub(super) fn diff(diff: &WorkflowDiffView, _paper: Paper) -> String {
    if diff.is_empty() {
        return format!("versions {} and {} say the same\n", diff.from, diff.to);
    }
    let mut lines: Vec<String> = diff.policy.iter().map(|field| format!("~ {}", changed(field))).collect();
    lines.extend(diff.removed.iter().map(|task| format!("- {}  {}", task.key, does(task))));
    lines.extend(diff.added.iter().map(|task| format!("+ {}  {}", task.key, does(task))));
    for task in &diff.changed {
        lines.push(format!("~ {}", task.key));
        lines.extend(task.fields.iter().map(|field| format!("    {}", changed(field))));
    }
    lines.iter().map(|line| super::super::table::tame(line) + "\n").collect()
}

fn changed(field: &FieldDiffView) -> String {
    let said = |json: &Option<Json>| json.as_ref().map_or("-".to_owned(), |json| json.text().to_owned());
    format!("{}: {} → {}", field.field, said(&field.from), said(&field.to))
}
