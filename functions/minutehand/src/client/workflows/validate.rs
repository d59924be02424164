//! `minutehand workflow validate`: what is wrong with a file, found by what the server would find it by.

use clap::Args;
use minutehand_client::wire::workflow_request::{CheckedWorkflow, WorkflowRequest};
use minutehand_client::wire::{FieldError, Json};
use minutehand_domain::Moment;
use minutehand_domain::id::JobId;
use minutehand_domain::limits::DEFINITION_BYTES;
use minutehand_domain::schedule::Spread;
use serde_json::json;

use super::super::cells::counted;
use super::super::failure::Failure;
use super::super::input::Source;
use super::super::instant::now;
use super::super::session::print;
use super::super::table::tame;
use super::super::yaml::{Document, NoDocument};

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// The file, YAML or JSON; `-` is stdin
    #[arg(value_name = "FILE")]
    file: Source,
}

/// What is wrong with a file, or what it would be.
struct Verdict {
    found: Result<Box<CheckedWorkflow>, Vec<FieldError>>,
    document: Document,
}

impl Validate {
    pub(crate) fn execute(&self, json: bool) -> Result<(), Failure> {
        let text = self.file.read()?;
        let verdict = match Document::read(&text, self.file.is_json()) {
            Ok(document) => Verdict::of(document, now()),
            Err(no) if json => {
                let error =
                    json!({ "pointer": "", "detail": no.why, "line": no.place.line, "column": no.place.column });
                print(&format!("{}\n", json!({ "valid": false, "errors": [error], "unchecked": [] })))?;
                return Err(self.wrong(1));
            }
            Err(no) => {
                print(&format!("{}\n", said(&self.file, &no)))?;
                return Err(self.wrong(1));
            }
        };
        print(&if json { verdict.for_machines() } else { verdict.for_people(&self.file) })?;
        match &verdict.found {
            Ok(_) => Ok(()),
            Err(errors) => Err(self.wrong(errors.len())),
        }
    }

    fn wrong(&self, errors: usize) -> Failure {
        let errors = counted(u64::try_from(errors).unwrap_or(u64::MAX), "error");
        Failure::Invalid(format!("{} has {errors}", self.file))
    }
}

impl Verdict {
    fn of(document: Document, now: Moment) -> Self {
        let found = found(&document.json, now).map(Box::new).map_err(|errors| in_order(errors, &document));
        Self { found, document }
    }

    fn for_people(&self, file: &Source) -> String {
        match &self.found {
            Ok(checked) => {
                let tasks = checked.definition.tasks.len() + checked.definition.finally.len();
                let tasks = counted(u64::try_from(tasks).unwrap_or(u64::MAX), "task");
                let mut lines = vec![format!("{file} is good: {tasks}")];
                lines.extend(unchecked(checked).iter().map(|what| format!("  unchecked: {what}")));
                lines.join("\n") + "\n"
            }
            Err(errors) => errors.iter().map(|error| line(file, &self.document, error) + "\n").collect(),
        }
    }

    fn for_machines(&self) -> String {
        let error = |error: &FieldError| {
            let place = self.document.place(&error.pointer);
            json!({
                "pointer": error.pointer, "detail": error.detail,
                "line": place.map(|place| place.line), "column": place.map(|place| place.column),
            })
        };
        let said = match &self.found {
            Ok(checked) => json!({ "valid": true, "errors": [], "unchecked": unchecked(checked) }),
            Err(errors) => {
                json!({ "valid": false, "errors": errors.iter().map(error).collect::<Vec<_>>(), "unchecked": [] })
            }
        };
        format!("{}\n", Json::of(&said).text())
    }
}

/// As they stand in the file; what is said of the whole comes last.
fn in_order(mut errors: Vec<FieldError>, document: &Document) -> Vec<FieldError> {
    errors.sort_by_key(|error| {
        let place = document.place(&error.pointer).filter(|_| !error.pointer.is_empty());
        place.map_or((usize::MAX, 0), |place| (place.line, place.column))
    });
    errors
}

fn line(file: &Source, document: &Document, error: &FieldError) -> String {
    let place = document.place(&error.pointer).filter(|_| !error.pointer.is_empty());
    let place = place.map(|place| format!(":{}:{}", place.line, place.column));
    let pointer = Some(error.pointer.as_str()).filter(|pointer| !pointer.is_empty()).map(|it| format!("{it}: "));
    tame(&format!("{file}{}: {}{}", place.unwrap_or_default(), pointer.unwrap_or_default(), error.detail))
}

/// What the server says of a file, where it stands in that file.
pub(super) fn placed(failure: Failure, file: &Source, document: &Document) -> Failure {
    let Failure::Refused(mut refused) = failure else { return failure };
    let errors = in_order(std::mem::take(&mut refused.problem.errors), document);
    let as_line = |error| FieldError { pointer: String::new(), detail: line(file, document, &error) };
    refused.problem.errors = errors.into_iter().map(as_line).collect();
    Failure::Refused(refused)
}

/// As the server looks at it, but for what only the server knows.
fn found(json: &str, now: Moment) -> Result<CheckedWorkflow, Vec<FieldError>> {
    if json.len() > DEFINITION_BYTES {
        let detail = format!("a definition has at most {DEFINITION_BYTES} bytes");
        return Err(vec![FieldError { pointer: String::new(), detail }]);
    }
    let request = WorkflowRequest::read(json, now, None, &|_any| Ok(())).map_err(|refusal| refusal.errors)?;
    let spread = Spread::of(JobId::from_bytes([0; 16]));
    request.checked(spread, now, None, &|_any| Ok(())).map_err(|refusal| refusal.errors)
}

/// What only the server can know.
fn unchecked(checked: &CheckedWorkflow) -> Vec<String> {
    let mut unchecked = vec!["whether its targets may be called, which the deployment says".to_owned()];
    if !checked.secrets.is_empty() {
        let names: Vec<_> = checked.secrets.iter().map(minutehand_domain::secret::SecretName::as_str).collect();
        unchecked.push(format!("whether there are the secrets {}", names.join(", ")));
    }
    for (pointer, called) in &checked.calls {
        unchecked.push(format!("whether there is the workflow {}, which {pointer} calls", called.id));
    }
    unchecked
}

/// What a file says, YAML or JSON.
pub(super) fn document(file: &Source) -> Result<Document, Failure> {
    Document::read(&file.read()?, file.is_json()).map_err(|no| Failure::File(said(file, &no)))
}

fn said(file: &Source, no: &NoDocument) -> String {
    tame(&format!("{file}:{}:{}: {}", no.place.line, no.place.column, no.why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(yaml: &str) -> String {
        let now = Moment::parse("2026-11-20T12:00:00Z").unwrap();
        Verdict::of(Document::read(yaml, false).unwrap(), now).for_people(&Source::File("etl.yaml".into()))
    }

    #[test]
    fn each_error_is_said_with_its_line_and_its_column() {
        let said = verdict(
            "name: etl
tasks:
  - key: extract
    target: {noop: {}}
    depends_on: [load]
  - key: load
    target: {noop: {}}
    when: 1 +
    depends_on:
      - {task: extrct, on: failure}
",
        );

        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines[0], "etl.yaml:8:5: /tasks/1/when: it ends too early");
        assert_eq!(
            lines[1],
            "etl.yaml:10:9: /tasks/1/depends_on/0: there is no task `extrct`; did you mean `extract`?"
        );
    }

    /// Before, the first mistake of form was all that was said, and in the words of the parser.
    #[test]
    fn mistakes_of_form_and_of_meaning_are_said_together_once_each_and_in_order() {
        let said = verdict(
            "name: x
on_failure: explode
tasks:
  - key: my task
    target: {noop: {}}
    for_each: {items: 'params.list +'}
    payload: '{{item}} {{tasks.nobody.result}}'
  - key: b
    depends_on: a
    timeout_seconds: 5m
    target: {http: {url: 'https://example.com'}}
    payload: '{{tasks.a.result}}'
  - key: c
    targt: {noop: {}}
    when: 'true true'
  - {target: {ftp: {}}}
",
        );

        let lines: Vec<_> = said.lines().map(|line| line.strip_prefix("etl.yaml:").unwrap()).collect();
        assert_eq!(
            lines,
            [
                "2:1: /on_failure: must be one of `fail_fast`, `continue`, `hold`, not `explode`",
                "4:5: /tasks/0/key: this is not a task's key (1 to 64 of A-Z, a-z, 0-9, _ and -)",
                "6:16: /tasks/0/for_each/items: it ends too early",
                "7:5: /tasks/0/payload: it speaks of `nobody`, which is no task",
                "9:5: /tasks/1/depends_on: must be a list, not the text \"a\"",
                "10:5: /tasks/1/timeout_seconds: must be a whole number, not the text \"5m\"",
                "12:5: /tasks/1/payload: it speaks of `a`, which is no task",
                "14:5: /tasks/2/targt: there is no such field; did you mean `target`?",
                "15:5: /tasks/2/when: `true` does not belong here, at character 6",
                "16:5: /tasks/3/key: is required",
                "16:15: /tasks/3/target/ftp: there is no such field",
            ],
            "{said}"
        );
    }

    #[test]
    fn of_many_mistakes_twenty_are_said_and_that_there_are_more() {
        let tasks: Vec<_> = (0..30).map(|n| format!("  - {{key: t{n}, whn: 1, target: {{noop: {{}}}}}}")).collect();

        let said = verdict(&format!("name: x\ntasks:\n{}\n", tasks.join("\n")));

        assert_eq!(said.lines().count(), 21, "{said}");
        assert_eq!(said.lines().last().unwrap(), "etl.yaml: these are the first 20 mistakes, and there are more");
    }

    #[test]
    fn a_cycle_is_named_and_a_typo_gets_a_guess() {
        let cycle = verdict(
            "name: x\ntasks:\n- {key: a, target: {noop: {}}, depends_on: [b]}\n- {key: b, target: {noop: {}}, depends_on: [a]}\n",
        );
        assert_eq!(cycle, "etl.yaml:3:32: /tasks/0/depends_on: the tasks wait for each other: a → b → a\n");
        let typo = verdict("name: x\ntask: []\n");
        assert_eq!(typo, "etl.yaml:2:1: /task: there is no such field; did you mean `tasks`?\n");
    }

    #[test]
    fn what_only_the_server_knows_is_said_to_be_unchecked() {
        let said = verdict(
            "name: x
tasks:
  - key: a
    target: {http: {url: 'https://example.com/', headers: {Authorization: {secret: token}}}}
  - key: b
    depends_on: [{task: a, on: finished}]
    target: {workflow: {id: wf_06hhgq2g003ha8atdy39qcp9x4}}
",
        );

        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines[0], "etl.yaml is good: 2 tasks");
        assert!(lines[1].contains("targets") && lines[2].contains("token") && lines[3].contains("/tasks/1"), "{said}");
    }
}
