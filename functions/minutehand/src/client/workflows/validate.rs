//! `minutehand workflow validate`: what is wrong with a file, found by what the server would find it by.

use clap::Args;
use minutehand_client::wire::suggestion;
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
        let verdict = match Document::read(&text) {
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
        let found = found(&document.json, now).map(Box::new);
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
            Err(errors) => errors.iter().map(|error| self.line(file, error) + "\n").collect(),
        }
    }

    fn line(&self, file: &Source, error: &FieldError) -> String {
        let place = self.document.place(&error.pointer).map(|place| format!(":{}:{}", place.line, place.column));
        let pointer = Some(error.pointer.as_str()).filter(|pointer| !pointer.is_empty()).map(|it| format!("{it}: "));
        tame(&format!("{file}{}: {}{}", place.unwrap_or_default(), pointer.unwrap_or_default(), error.detail))
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

/// As the server looks at it, but for what only the server knows.
fn found(json: &str, now: Moment) -> Result<CheckedWorkflow, Vec<FieldError>> {
    if json.len() > DEFINITION_BYTES {
        let detail = format!("a definition has at most {DEFINITION_BYTES} bytes");
        return Err(vec![FieldError { pointer: String::new(), detail }]);
    }
    let request: WorkflowRequest = suggestion::read(json).map_err(|error| vec![error])?;
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
    Document::read(&file.read()?).map_err(|no| Failure::Usage(said(file, &no)))
}

fn said(file: &Source, no: &NoDocument) -> String {
    tame(&format!("{file}:{}:{}: {}", no.place.line, no.place.column, no.why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(yaml: &str) -> String {
        let now = Moment::parse("2026-11-20T12:00:00Z").unwrap();
        Verdict::of(Document::read(yaml).unwrap(), now).for_people(&Source::File("etl.yaml".into()))
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
        assert!(lines[0].starts_with("etl.yaml:8:5: /tasks/1/when: "), "{said}");
        assert_eq!(
            lines[1],
            "etl.yaml:10:9: /tasks/1/depends_on/0: there is no task `extrct`; did you mean `extract`?"
        );
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
