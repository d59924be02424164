//! `template.yaml` as AWS sees it after the SAM transform: what is asserted here is what AWS would be given.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use crate::python::Tools;
use crate::workspace;

const TRANSFORM: &str = include_str!("template/transform.py");

/// The linter's only ignored check: every resource that could hold data should say what becomes of it. Queues and logs go
/// with their stack, as they do where nothing is said; what becomes of the tables is a test of its own.
const IGNORED: &str = "I3011";

/// The transformed template.
#[derive(Clone, Debug)]
pub struct Template {
    pub json: Value,
}

/// That a role lets its function do one thing with one resource of the stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// As IAM spells it: `dynamodb:GetItem`.
    pub action: String,
    /// The logical id of a table or queue, and an index behind it where it is one: `StateTable/index/attention`.
    pub resource: String,
}

impl Template {
    pub fn transformed(tools: &Tools) -> Self {
        let source = fs::File::open(workspace::root().join("template.yaml")).expect("the template can be read");
        let output = Command::new(&tools.python)
            .args(["-c", TRANSFORM])
            .stdin(source)
            .stderr(Stdio::inherit())
            .output()
            .expect("Python starts");
        assert!(output.status.success(), "the SAM transform refuses the template: see above");
        Self { json: serde_json::from_slice(&output.stdout).expect("the transform prints JSON") }
    }

    /// What cfn-lint finds in it, down to mere information; empty where all is well.
    pub fn findings(&self, tools: &Tools) -> String {
        let mut file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file can be made");
        write!(file, "{:#}", self.json).expect("the file can be written");
        let output = Command::new(&tools.cfn_lint)
            .args(["--format", "parseable", "--include-checks", "I", "--non-zero-exit-code", "informational"])
            .args(["--ignore-checks", IGNORED, "--"])
            .arg(file.path())
            .output()
            .expect("cfn-lint starts");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success() != said.contains(".json:"), "cfn-lint did not do its work:\n{said}");
        said
    }

    pub fn resources(&self) -> &Map<String, Value> {
        self.json["Resources"].as_object().expect("a template has resources")
    }

    pub fn parameters(&self) -> &Map<String, Value> {
        self.json["Parameters"].as_object().expect("the template has parameters")
    }

    /// The properties of everything of one type, with the logical ids.
    pub fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let all = self.resources().iter();
        all.filter(move |(_, resource)| resource["Type"] == kind).map(|(id, resource)| (&**id, &resource["Properties"]))
    }

    pub fn properties(&self, id: &str) -> &Value {
        let resource = self.resources().get(id).unwrap_or_else(|| panic!("there is no resource {id}"));
        &resource["Properties"]
    }

    /// What a function's role lets it do with tables and queues.
    pub fn grants(&self, function: &str) -> BTreeSet<Grant> {
        let role = target(&self.properties(function)["Role"]);
        let grants = self.statements(&role).into_iter().flat_map(granted);
        grants.filter(|grant| self.remembers_or_hints(&grant.resource)).collect()
    }

    /// The statements of a role's own policies.
    pub fn statements(&self, role: &str) -> Vec<&Value> {
        let policies = each(&self.properties(role)["Policies"]);
        policies.into_iter().flat_map(|policy| each(&policy["PolicyDocument"]["Statement"])).collect()
    }

    fn remembers_or_hints(&self, resource: &str) -> bool {
        let id = resource.split('/').next().unwrap_or(resource);
        let kind = &self.resources()[id]["Type"];
        kind == "AWS::DynamoDB::Table" || kind == "AWS::SQS::Queue"
    }
}

/// The logical id that a `Ref`, a `GetAtt` or a `Sub` of an ARN points at, with what the `Sub` appends.
///
/// Any other form is refused: what is not understood here must not count as granting nothing.
pub fn target(reference: &Value) -> String {
    let found = if let Some(id) = reference["Ref"].as_str() {
        Some(id.to_owned())
    } else if let Some(id) = reference["Fn::GetAtt"][0].as_str() {
        Some(id.to_owned())
    } else {
        let substituted = reference["Fn::Sub"].as_str().and_then(|text| text.strip_prefix("${"));
        substituted.and_then(|text| text.split_once(".Arn}")).map(|(id, rest)| format!("{id}{rest}"))
    };
    found.unwrap_or_else(|| panic!("this reference is not understood: {reference}"))
}

/// What may be a list may also be its one element.
pub fn each(one_or_many: &Value) -> Vec<&Value> {
    match one_or_many {
        Value::Null => Vec::new(),
        Value::Array(many) => many.iter().collect(),
        one => vec![one],
    }
}

fn granted(statement: &Value) -> Vec<Grant> {
    assert_eq!(statement["Effect"], "Allow", "a denial would have to be subtracted: {statement}");
    let mut grants = Vec::new();
    for action in each(&statement["Action"]) {
        let action = action.as_str().expect("an action is a text");
        let resources = each(&statement["Resource"]).into_iter().map(target);
        grants.extend(resources.map(|resource| Grant { action: action.to_owned(), resource }));
    }
    grants
}
