//! `template.yaml` after the SAM transform: the tests check the form that AWS would get.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use crate::python::Tools;
use crate::workspace;

const TRANSFORM: &str = include_str!("template/transform.py");

/// The linter's only ignored check: a deletion policy on every resource that could hold data. Queues and logs are deleted with
/// their stack, which is the default; the policy of the tables has a test of its own.
const IGNORED: &str = "I3011";

/// The transformed template.
#[derive(Clone, Debug)]
pub struct Template {
    pub json: Value,
}

/// A permission of a role: one action on one resource of the stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// The action in IAM's spelling: `dynamodb:GetItem`.
    pub action: String,
    /// The logical id of a table or queue, with the index if it is one: `StateTable/index/attention`.
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

    /// The findings of cfn-lint, down to the level of information; empty if there are none.
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

    /// The properties of all resources of one type, with their logical ids.
    pub fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let all = self.resources().iter();
        all.filter(move |(_, resource)| resource["Type"] == kind).map(|(id, resource)| (&**id, &resource["Properties"]))
    }

    pub fn properties(&self, id: &str) -> &Value {
        let resource = self.resources().get(id).unwrap_or_else(|| panic!("there is no resource {id}"));
        &resource["Properties"]
    }

    /// The permissions of a function's role on tables and queues.
    pub fn grants(&self, function: &str) -> BTreeSet<Grant> {
        let role = target(&self.properties(function)["Role"]);
        let grants = self.statements(&role).into_iter().flat_map(granted);
        grants.filter(|grant| self.remembers_or_hints(&grant.resource)).collect()
    }

    /// The statements of a role's own policies, and of those that are put on it.
    pub fn statements(&self, role: &str) -> Vec<&Value> {
        let own = each(&self.properties(role)["Policies"]).into_iter().flat_map(in_any_case);
        let policies = self.of_type("AWS::IAM::Policy").map(|(_, policy)| policy);
        let put_on_it = policies.filter(|policy| each(&policy["Roles"]).into_iter().any(|of| target(of) == role));
        own.chain(put_on_it).flat_map(|policy| each(&policy["PolicyDocument"]["Statement"])).collect()
    }

    fn remembers_or_hints(&self, resource: &str) -> bool {
        let id = resource.split('/').next().unwrap_or(resource);
        let kind = self.resources().get(id).map(|resource| &resource["Type"]);
        kind.is_some_and(|kind| kind == "AWS::DynamoDB::Table" || kind == "AWS::SQS::Queue")
    }
}

/// The logical id that a `Ref`, a `GetAtt` or a `Sub` of an ARN points at, with what the `Sub` appends.
///
/// Any other form is refused: a form that is not recognized must not count as no permission.
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

/// What may stand where a condition decides: whatever it says, it is looked at.
fn in_any_case(value: &Value) -> Vec<&Value> {
    match value["Fn::If"].as_array() {
        Some(choice) => {
            choice.iter().skip(1).filter(|case| case["Ref"] != "AWS::NoValue").flat_map(in_any_case).collect()
        }
        None => vec![value],
    }
}

/// A list, which IAM also accepts as its only element.
pub fn each(one_or_many: &Value) -> Vec<&Value> {
    match one_or_many {
        Value::Null => Vec::new(),
        Value::Array(many) => many.iter().collect(),
        one => vec![one],
    }
}

fn is_of_traces(action: &Value) -> bool {
    action.as_str().is_some_and(|action| action.starts_with("xray:"))
}

fn granted(statement: &Value) -> Vec<Grant> {
    assert_eq!(statement["Effect"], "Allow", "a denial would have to be subtracted: {statement}");
    let mut grants = Vec::new();
    // Traces have no resource, and nothing of the stack is among theirs.
    for action in each(&statement["Action"]).into_iter().filter(|action| !is_of_traces(action)) {
        let action = action.as_str().expect("an action is a text");
        let resources = each(&statement["Resource"]).into_iter().flat_map(in_any_case).map(target);
        grants.extend(resources.map(|resource| Grant { action: action.to_owned(), resource }));
    }
    grants
}
