//! A rule of notifications on the wire. Where its messages go is in the request that writes it; an answer shows only the host: the address of a
//! chat's webhook is itself a secret.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::JobId;
use minutehand_domain::limits::{
    COOLDOWN_SECONDS, DEFAULT_DIGEST_SECONDS, DEFAULT_LATE_SECONDS, DIGEST_SECONDS, HEALTH_RUNS, LATE_SECONDS,
    LEAST_DIGEST_SECONDS, NOTIFICATION_HEADERS, NOTIFICATION_IN_A_ROW, NOTIFICATION_JOBS, PAGE, WORD_CHARS,
};
use minutehand_domain::notification::{Rule, SlackUrl, To, When, Whose};
use minutehand_domain::run::{Attempt, Run, Skip, State};
use minutehand_domain::secret::SecretName;
use minutehand_domain::target::{Header, Method, Target, host_and_rest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::object::{maybe_object, object};
use crate::page::DEFAULT_LIMIT;
use crate::target::{HeaderSpec, HttpTarget, MASK, SnsTarget, TargetCheck, TargetSpec};
use crate::texts::{AliasText, CursorText, JobIdText, Line, NotificationText, RunIdText, UrlText};
use crate::whole_number::whole_number;
use crate::word::Word;
use crate::words::{ErrorCodeWord, NotifiedOfWord};

/// What is told, of which jobs, how often at most, and to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotificationRequest {
    #[schemars(with = "BTreeSet<NotifiedOfWord>", length(min = 1))]
    pub when: Vec<Word<When>>,
    /// Failures of a job in a row before anything is told of them (each from then on), or of its recovery.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = NOTIFICATION_IN_A_ROW), extend("default" = 1))]
    pub after_in_a_row: Option<u64>,
    /// Of these jobs alone. Without it and `tags`: of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<JobIdText>>", length(min = 1, max = NOTIFICATION_JOBS))]
    pub jobs: Option<Vec<String>>,
    /// Of jobs that have one of these tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Line<WORD_CHARS>>>", length(min = 1, max = NOTIFICATION_JOBS))]
    pub tags: Option<Vec<String>>,
    /// A run is late that begins more than so many seconds after it was due.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = LATE_SECONDS), extend("default" = DEFAULT_LATE_SECONDS))]
    pub late_seconds: Option<u64>,
    /// What happens in so many seconds is told in one message, when they are over. They stand on the clock: sixty begin with each minute.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = LEAST_DIGEST_SECONDS, max = DIGEST_SECONDS), extend("default" = DEFAULT_DIGEST_SECONDS))]
    pub digest_seconds: Option<u64>,
    /// For so long after a message that was received nothing more is told; what happens in it is counted as suppressed. 0 if it is not given.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = COOLDOWN_SECONDS), extend("default" = 0))]
    pub cooldown_seconds: Option<u64>,
    #[serde(deserialize_with = "object")]
    pub to: NotificationToSpec,
    /// False: nothing is gathered, and nothing told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
}

/// Who is told: exactly one kind, named by its field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NotificationToRequest", extend("minProperties" = 1, "maxProperties" = 1))]
pub struct NotificationToSpec {
    /// The digest as JSON, signed as calls to targets are.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookSpec>,
    /// `{"text": …}`, as the incoming webhooks of Slack and of those like it take it.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub slack: Option<SlackSpec>,
    /// A topic that the operator has declared.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub sns: Option<TopicSpec>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NotificationWebhookRequest")]
pub struct WebhookSpec {
    #[schemars(with = "UrlText")]
    pub url: String,
    /// Texts, or `{"secret": "name"}`. Answers mask every text; a mask that is sent back is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = NOTIFICATION_HEADERS))]
    pub headers: Option<BTreeMap<String, HeaderSpec>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NotificationSlackRequest")]
pub struct SlackSpec {
    /// A secret: no answer shows it.
    #[schemars(with = "UrlText", extend("writeOnly" = true))]
    pub url: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NotificationSnsRequest")]
pub struct TopicSpec {
    #[schemars(with = "AliasText")]
    pub alias: String,
}

/// What a request asks for, once it is known to be possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRule {
    pub when: BTreeSet<When>,
    pub whose: Whose,
    pub in_a_row: u16,
    pub late: Duration,
    pub digest: Duration,
    pub cooldown: Duration,
    pub to: To,
    pub enabled: bool,
    /// That must be there.
    pub secrets: BTreeSet<SecretName>,
}

impl NotificationRequest {
    pub fn checked(&self, check: TargetCheck<'_>) -> Result<CheckedRule, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let mut seconds = |pointer, asked: Option<u64>, usual: u64, range| {
            Duration::from_secs(errors.in_range(pointer, asked.unwrap_or(usual), range))
        };
        let late = seconds("/late_seconds", self.late_seconds, DEFAULT_LATE_SECONDS, 1..=LATE_SECONDS);
        let digest = LEAST_DIGEST_SECONDS..=DIGEST_SECONDS;
        let digest = seconds("/digest_seconds", self.digest_seconds, DEFAULT_DIGEST_SECONDS, digest);
        let cooldown = seconds("/cooldown_seconds", self.cooldown_seconds, 0, 0..=COOLDOWN_SECONDS);
        let in_a_row =
            errors.in_range("/after_in_a_row", self.after_in_a_row.unwrap_or(1), 1..=NOTIFICATION_IN_A_ROW.into());
        let (when, whose) = (self.when_checked(&mut errors), self.whose_checked(&mut errors));
        let to = self.to.checked(check, &mut errors);
        let checked = to.map(|to| CheckedRule {
            when,
            whose,
            in_a_row: u16::try_from(in_a_row).unwrap_or(NOTIFICATION_IN_A_ROW),
            late,
            digest,
            cooldown,
            secrets: to.target().secrets(),
            to,
            enabled: self.enabled.unwrap_or(true),
        });
        errors.settle(checked)
    }

    fn when_checked(&self, errors: &mut FieldErrors) -> BTreeSet<When> {
        if self.when.is_empty() {
            errors.add("/when", "name at least one of what is to be told");
        }
        let each = self.when.iter().enumerate();
        each.filter_map(|(n, when)| errors.word(&format!("/when/{n}"), Some(when))).collect()
    }

    fn whose_checked(&self, errors: &mut FieldErrors) -> Whose {
        match (&self.jobs, &self.tags) {
            (None, None) => Whose::All,
            (Some(_), Some(_)) => {
                errors.add("/tags", "give `jobs` or `tags`, or neither for all jobs");
                Whose::All
            }
            (Some(jobs), None) => {
                some("/jobs", jobs.len(), errors);
                let id = |(n, text): (usize, &String)| {
                    let not_one =
                        |why: minutehand_domain::id::NotAnId| errors.add(format!("/jobs/{n}"), why.to_string());
                    text.parse::<JobId>().map_err(not_one).ok()
                };
                Whose::Jobs(jobs.iter().enumerate().filter_map(id).collect())
            }
            (None, Some(tags)) => {
                some("/tags", tags.len(), errors);
                for (n, tag) in tags.iter().enumerate() {
                    errors.line(format!("/tags/{n}"), tag, WORD_CHARS);
                }
                Whose::Tags(tags.iter().cloned().collect())
            }
        }
    }
}

fn some(pointer: &str, count: usize, errors: &mut FieldErrors) {
    if !(1..=NOTIFICATION_JOBS).contains(&count) {
        errors.add(pointer, format!("name from 1 to {NOTIFICATION_JOBS}, or leave it out for all"));
    }
}

impl NotificationToSpec {
    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<To> {
        let mut within = FieldErrors::default();
        let to = match (&self.webhook, &self.slack, &self.sns) {
            (Some(webhook), None, None) => webhook.checked(check, &mut within),
            (None, Some(SlackSpec { url }), None) => match http(url, None).checked(check, &mut within) {
                Some(Target::Http(http)) => Some(To::Slack(SlackUrl(http.url))),
                _refused => None,
            },
            (None, None, Some(TopicSpec { alias })) => {
                let topic = TargetSpec::Sns(SnsTarget { alias: alias.clone(), group: None });
                match topic.checked(check, &mut within) {
                    Some(Target::Service(service)) => Some(To::Sns(service.alias)),
                    _refused => None,
                }
            }
            _none_or_several => {
                errors.add("/to", "give exactly one of webhook, slack and sns");
                None
            }
        };
        let kind = if self.webhook.is_some() { "webhook" } else { "slack" };
        errors.checked_elsewhere(within, "/target/http", &format!("/to/{kind}"));
        to
    }
}

impl WebhookSpec {
    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<To> {
        if self.headers.as_ref().is_some_and(|headers| headers.len() > NOTIFICATION_HEADERS) {
            errors.add("/target/http/headers", format!("has more than {NOTIFICATION_HEADERS}"));
        }
        match http(&self.url, self.unmasked(errors)).checked(check, errors) {
            Some(Target::Http(http)) => Some(To::Webhook(http)),
            _refused => None,
        }
    }

    /// The headers, without those that say the mask. It is shown in the place of every text here, whatever its header is called, so none of
    /// them may be taken for what is meant.
    fn unmasked(&self, errors: &mut FieldErrors) -> Option<BTreeMap<String, HeaderSpec>> {
        let mut headers = self.headers.clone()?;
        headers.retain(|name, header| {
            let is_masked = *header == HeaderSpec::text(MASK);
            if is_masked {
                errors.add(
                    format!("/target/http/headers/{}", name.replace('~', "~0").replace('/', "~1")),
                    "is the mask that answers show: send the value, or name a secret, {\"secret\": \"name\"}",
                );
            }
            !is_masked
        });
        Some(headers)
    }
}

fn http(url: &str, headers: Option<BTreeMap<String, HeaderSpec>>) -> TargetSpec {
    TargetSpec::Http(HttpTarget {
        url: url.to_owned(),
        method: Some(Method::Post.into()),
        headers,
        ..HttpTarget::default()
    })
}

/// A rule as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationView {
    #[schemars(with = "NotificationText")]
    pub name: String,
    #[schemars(with = "Vec<NotifiedOfWord>")]
    pub when: Vec<Word<When>>,
    pub after_in_a_row: u16,
    /// Null where it is about other jobs too.
    #[schemars(with = "Option<Vec<JobIdText>>")]
    pub jobs: Option<Vec<String>>,
    pub tags: Option<Vec<String>>,
    pub late_seconds: u64,
    pub digest_seconds: u64,
    pub cooldown_seconds: u64,
    pub to: NotificationToView,
    pub enabled: bool,
    pub created_at: Instant,
    pub changed_at: Instant,
    /// What became of its newest messages. A list does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessagesView>,
}

/// Who is told, without what is secret of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationTo")]
pub struct NotificationToView {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<HostView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack: Option<HostView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sns: Option<TopicView>,
}

/// Where messages go, as far as that is no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationHost")]
pub struct HostView {
    pub host: String,
    /// Each text is masked; a secret is named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, HeaderSpec>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationTopic")]
pub struct TopicView {
    pub alias: String,
}

/// What became of a rule's newest messages, a hundred at most, tests among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationMessages")]
pub struct MessagesView {
    /// Received by whom it was for.
    pub sent: usize,
    /// Given up after three tries.
    pub failed: usize,
    /// Held back by the cooldown.
    pub suppressed: usize,
    /// Nobody wanted it any more: the rule was off, or it was cancelled.
    pub dropped: usize,
    /// Under way.
    pub pending: usize,
    pub last_sent_at: Option<Instant>,
    pub last_error: Option<MessageErrorView>,
}

/// The newest message that was not received. What was answered stands in the run, for those who may see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationError")]
pub struct MessageErrorView {
    pub at: Instant,
    #[schemars(with = "Option<ErrorCodeWord>")]
    pub code: Option<String>,
    #[schemars(with = "RunIdText")]
    pub run_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotificationsQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

impl NotificationView {
    pub fn of(rule: &Rule) -> Self {
        let (jobs, tags) = match &rule.whose {
            Whose::All => (None, None),
            Whose::Jobs(jobs) => (Some(jobs.iter().map(ToString::to_string).collect()), None),
            Whose::Tags(tags) => (None, Some(tags.iter().cloned().collect())),
        };
        Self {
            name: rule.name.as_str().to_owned(),
            when: rule.when.iter().map(|when| (*when).into()).collect(),
            after_in_a_row: rule.in_a_row,
            jobs,
            tags,
            late_seconds: rule.late.as_secs(),
            digest_seconds: rule.digest.as_secs(),
            cooldown_seconds: rule.cooldown.as_secs(),
            to: NotificationToView::of(&rule.to),
            enabled: rule.enabled,
            created_at: Instant(rule.created_at),
            changed_at: Instant(rule.changed_at),
            messages: None,
        }
    }

    /// With what became of its newest messages, newest first.
    #[must_use]
    pub fn with_messages(self, newest: &[Run]) -> Self {
        Self { messages: Some(MessagesView::of(&newest[..newest.len().min(HEALTH_RUNS)])), ..self }
    }
}

impl NotificationToView {
    fn of(to: &To) -> Self {
        let (mut webhook, mut slack, mut sns) = (None, None, None);
        match to {
            To::Webhook(http) => {
                let headers = http.headers.iter().map(|(name, header)| (name.clone(), masked(header)));
                webhook = Some(HostView { host: host_of(&http.url), headers: headers.collect() });
            }
            To::Slack(SlackUrl(url)) => slack = Some(HostView { host: host_of(url), headers: BTreeMap::new() }),
            To::Sns(alias) => sns = Some(TopicView { alias: alias.to_string() }),
        }
        Self { webhook, slack, sns }
    }
}

fn masked(header: &Header) -> HeaderSpec {
    match header {
        Header::Text(_) => HeaderSpec::text(MASK),
        Header::Secret(name) => HeaderSpec::secret(name.as_str()),
    }
}

/// The host of an address that was checked when it was written, and its port.
fn host_of(url: &str) -> String {
    host_and_rest(url).0.to_owned()
}

impl MessagesView {
    fn of(newest: &[Run]) -> Self {
        let mut messages = Self::default();
        for run in newest {
            match run.state {
                State::Succeeded { at, .. } => {
                    messages.sent += 1;
                    messages.last_sent_at = messages.last_sent_at.max(Some(Instant(at)));
                }
                State::Failed { at, .. } | State::TimedOut { at } => {
                    messages.failed += 1;
                    messages.last_error = messages.last_error.or_else(|| Some(MessageErrorView::of(run, at)));
                }
                State::Skipped { why: Skip::Cooldown, .. } => messages.suppressed += 1,
                State::Skipped { .. } | State::Cancelled { .. } => messages.dropped += 1,
                State::Scheduled { .. } | State::Waiting(_) | State::Running(_) => messages.pending += 1,
            }
        }
        messages
    }
}

impl MessageErrorView {
    fn of(run: &Run, at: Moment) -> Self {
        let error = run.attempts.last().and_then(Attempt::error);
        Self { at: Instant(at), code: error.map(|error| error.code.clone().into_owned()), run_id: run.key.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::target::HttpTarget as Called;
    use serde_json::{Value, json};

    use super::*;

    fn request(value: Value) -> NotificationRequest {
        serde_json::from_value(value).unwrap()
    }

    fn slack() -> Value {
        json!({"slack": {"url": "https://hooks.example/services/T0/B0/x"}})
    }

    #[test]
    fn what_is_not_said_has_its_default() {
        let checked = request(json!({"when": ["failed"], "to": slack()})).checked(&|_| Ok(())).unwrap();

        let seconds = [checked.late, checked.digest, checked.cooldown].map(|span| span.as_secs());
        assert_eq!((seconds, checked.in_a_row, checked.enabled), ([5, 60, 0], 1, true));
        assert_eq!(checked.whose, Whose::All);
    }

    #[test]
    fn each_mistake_is_named_where_it_is() {
        let rows = [
            (json!({"when": [], "to": slack()}), "/when"),
            (json!({"when": ["broken"], "to": slack()}), "/when/0"),
            (json!({"when": ["failed"], "to": {}}), "/to"),
            (json!({"when": ["failed"], "to": {"slack": {"url": "x"}, "sns": {"alias": "a"}}}), "/to"),
            (json!({"when": ["failed"], "to": slack(), "jobs": ["x"]}), "/jobs/0"),
            (json!({"when": ["failed"], "to": slack(), "jobs": []}), "/jobs"),
            (json!({"when": ["failed"], "to": slack(), "tags": [""]}), "/tags/0"),
            (json!({"when": ["failed"], "to": slack(), "digest_seconds": 4}), "/digest_seconds"),
            (json!({"when": ["failed"], "to": slack(), "cooldown_seconds": 86_401}), "/cooldown_seconds"),
            (json!({"when": ["failed"], "to": slack(), "after_in_a_row": 0}), "/after_in_a_row"),
            (json!({"when": ["failed"], "to": {"webhook": {"url": "bad"}}}), "/to/webhook/url"),
            (json!({"when": ["failed"], "to": {"slack": {"url": "bad"}}}), "/to/slack/url"),
            (json!({"when": ["failed"], "to": {"sns": {"alias": "no alias"}}}), "/to/sns/alias"),
        ];
        let check = |target: &Target| match target {
            Target::Http(Called { url, .. }) if url == "bad" => Err(("url", "is none".to_owned())),
            _other => Ok(()),
        };
        for (value, pointer) in rows {
            let refused = request(value.clone()).checked(&check).unwrap_err();

            assert_eq!(refused.errors[0].pointer, pointer, "{value}");
        }
    }

    #[test]
    fn a_mask_is_no_headers_value_whatever_the_header_is_called() {
        let headers = json!({"authorization": MASK, "x-a/b": MASK, "x-team": "ops"});
        let to = json!({"webhook": {"url": "https://a.example", "headers": headers}});

        let refused = request(json!({"when": ["failed"], "to": to})).checked(&|_| Ok(())).unwrap_err();

        let pointers: Vec<_> = refused.errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(pointers, ["/to/webhook/headers/authorization", "/to/webhook/headers/x-a~1b"]);
    }

    #[test]
    fn of_an_address_the_host_is_shown_and_nothing_else() {
        for (url, host) in [
            ("https://hooks.slack.com/services/T0/B0/x", "hooks.slack.com"),
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("https://a.example?token=x", "a.example"),
        ] {
            assert_eq!(host_of(url), host);
        }
    }
}
