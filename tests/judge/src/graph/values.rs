//! What a step must be given, as a fresh evaluation says.

use super::{Answer, Answered, Bench, Does, Flow, Given, Over, Params, Step, When};

/// What became of a run as a value: its number, and its list where it has one. Only targets answer with lists.
pub(super) struct Said {
    pub(super) n: i64,
    list: Option<Vec<i64>>,
}

/// Why a step cannot be made.
pub(super) struct Unmade;

impl<'a> Bench<'a> {
    /// What a run of a workflow was given.
    pub(super) fn params(&self, id: &str) -> Option<Params> {
        let run = self.run(id)?;
        let Some(place) = &run.place else { return Some(run.params.clone()) };
        let flow = self.flow_above(place)?;
        let (above, inside) = (&self.account.flows[flow], &self.account.flows[self.flow_of(id)?]);
        let numbers = self.given(above, &above.steps[place.step], self.top_of(id)?, place.branch).ok()?;
        let n = numbers.first().and_then(|n| n.parse().ok()).unwrap_or(inside.defaults.n);
        Some(Params { n, list: inside.defaults.list.clone() })
    }

    /// The run of the whole workflow that a run is a step or a branch of.
    pub(super) fn top_of(&self, id: &str) -> Option<&'a str> {
        let place = self.run(id)?.place.as_ref()?;
        let parent = place.parent.as_str();
        if place.branch.is_some() {
            self.run(parent)?.place.as_ref().map(|above| above.parent.as_str())
        } else {
            Some(parent)
        }
    }

    /// What a step is given below `top`, each as JSON.
    pub(super) fn given(
        &self,
        flow: &Flow,
        step: &Step,
        top: &str,
        branch: Option<usize>,
    ) -> Result<Vec<String>, Unmade> {
        step.given.iter().map(|given| self.one(flow, step, *given, top, branch)).collect()
    }

    fn one(&self, flow: &Flow, step: &Step, given: Given, top: &str, branch: Option<usize>) -> Result<String, Unmade> {
        match given {
            Given::Param => Ok(self.params(top).ok_or(Unmade)?.n.to_string()),
            Given::Number(of) => Ok(self.answered(top, of).ok_or(Unmade)?.n.to_string()),
            Given::Status(of) => Ok(format!("\"{}\"", self.status(top, of))),
            Given::Index => Ok(branch.ok_or(Unmade)?.to_string()),
            Given::Item => {
                let items = self.items(flow, step, top)?;
                Ok(items.get(branch.ok_or(Unmade)?).ok_or(Unmade)?.to_string())
            }
            Given::Outcome => Ok(format!("\"{}\"", self.outcome_of_main(top).unwrap_or("succeeded"))),
        }
    }

    /// What a step answered, by its last try.
    fn answered(&self, top: &str, step: usize) -> Option<Said> {
        self.answer_of(self.last_try(top, step, None)?)
    }

    /// What a run answered: what its target did, or what people or its own tasks made of it.
    pub(super) fn answer_of(&self, id: &str) -> Option<Said> {
        let run = self.run(id)?;
        if run.status == "failed" || run.status == "timed_out" {
            return (run.verdict.as_deref() == Some("succeed")).then(|| number(run.result.as_deref()?)).flatten();
        }
        if run.status != "succeeded" {
            return None;
        }
        if let Some(done) = &run.reused {
            return self.answer_of(done);
        }
        let (_, step, _) = self.step_of(id)?;
        match step.does {
            _ if self.is_each(id) => None,
            Does::Call => {
                self.calls.get(id)?.iter().find(|call| call.fence == run.fence).and_then(|call| match &call.answer {
                    Some(Answer::Succeeded(Answered { n, list })) => Some(Said { n: *n, list: Some(list.clone()) }),
                    _ => None,
                })
            }
            Does::Ask { .. } => number(run.result.as_deref()?),
            Does::Flow(flow) => {
                let output = self.account.flows[flow].output?;
                Some(Said { n: self.answered(id, output)?.n, list: None })
            }
        }
    }

    /// What became of a step, in the words that conditions and payloads see.
    pub(super) fn status(&self, top: &str, step: usize) -> String {
        let Some(id) = self.last_try(top, step, None) else { return "cancelled".to_owned() };
        let Some(run) = self.run(id) else { return "cancelled".to_owned() };
        match run.verdict.as_deref().filter(|_| self.is_held(id)) {
            Some("skip") => "skipped".to_owned(),
            Some("succeed") => "succeeded".to_owned(),
            _ => run.status.clone(),
        }
    }

    /// The numbers of the items of a `for_each`.
    pub(super) fn items(&self, _flow: &Flow, step: &Step, top: &str) -> Result<Vec<i64>, Unmade> {
        match step.each.as_ref().map(|each| &each.over) {
            Some(Over::List(list)) => Ok(list.clone()),
            Some(Over::Params) => Ok(self.params(top).ok_or(Unmade)?.list),
            Some(Over::ListOf(of)) => self.answered(top, *of).and_then(|said| said.list).ok_or(Unmade),
            Some(Over::ResultsOf(of)) => {
                let each = self.last_try(top, *of, None).ok_or(Unmade)?;
                let count = self.run(each).and_then(|run| run.branches).ok_or(Unmade)?;
                let answers = (0..count).filter_map(|branch| self.answer_of(self.last_try(each, *of, Some(branch))?));
                Ok(answers.map(|answered| answered.n).collect())
            }
            None => Err(Unmade),
        }
    }

    /// Whether a step's condition is true; unmade where it cannot be said.
    pub(super) fn when(&self, when: When, top: &str) -> Result<bool, Unmade> {
        match when {
            When::StatusIs(of, word) => Ok(self.status(top, of) == word),
            When::ResultAtLeast(of, least) => Ok(self.answered(top, of).ok_or(Unmade)?.n >= least),
            When::ParamAtLeast(least) => Ok(self.params(top).ok_or(Unmade)?.n >= least),
        }
    }
}

/// The number in what people answered: `{"n":7}`.
fn number(json: &str) -> Option<Said> {
    let n = json.strip_prefix("{\"n\":")?.split([',', '}']).next()?.parse().ok()?;
    Some(Said { n, list: None })
}
