//! The audit: what admins did, and what people decided about runs of workflows, on record. A record is written before its act, and says afterwards what came of it; so an act without
//! a record cannot be, and a record that says nothing of an outcome is of an act that may or may not have been done: whoever
//! wrote it went away in between.

use std::borrow::Cow;
use std::time::Duration;

use crate::Moment;
use crate::access::By;
use crate::id::Tenant;
use crate::limits::AUDIT_DAYS;

/// One act of an admin. It never holds what a secret says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// Whose things it was about.
    pub tenant: Tenant,
    pub key: ActKey,
    pub by: By,
    /// What the key that did it was called then; the deployment's own has no name.
    pub by_name: Option<String>,
    pub deed: Cow<'static, str>,
    /// What it was done to: an id, a name.
    pub subject: String,
    /// The request that asked for it.
    pub request_id: String,
    pub outcome: Option<Outcome>,
    /// Why, where who did it said so.
    pub note: Option<String>,
}

/// When it was done, and what tells it from others of that instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActKey {
    pub at: Moment,
    pub number: u64,
}

/// What came of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// It was refused after all; nothing was changed.
    NotDone,
}

/// What an admin does; and what people do to jobs and runs, one or many at once, which schedules and retries do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    CreateKey,
    RotateKey,
    RevokeKey,
    SetSecret,
    DeleteSecret,
    SetQuota,
    RotateSigningSecret,
    SetNotification,
    DeleteNotification,
    TestNotification,
    Repair,
    SetCalendar,
    DeleteCalendar,
    CancelWorkflowRun,
    ResumeWorkflowRun,
    ApproveTask,
    RejectTask,
    RetryTask,
    SkipTask,
    SucceedTask,
    FailTask,
    PauseJob,
    ResumeJob,
    DeleteJob,
    PauseWorkflow,
    ResumeWorkflow,
    DeleteWorkflow,
    CancelRun,
    RetryRun,
    RedriveLetter,
    DismissLetter,
    StartOperation,
    PauseOperation,
    ResumeOperation,
    CancelOperation,
    Backup,
    EraseTenant,
}

impl Deed {
    pub const ALL: [Self; 37] = [
        Self::CreateKey,
        Self::RotateKey,
        Self::RevokeKey,
        Self::SetSecret,
        Self::DeleteSecret,
        Self::SetQuota,
        Self::RotateSigningSecret,
        Self::SetNotification,
        Self::DeleteNotification,
        Self::TestNotification,
        Self::Repair,
        Self::SetCalendar,
        Self::DeleteCalendar,
        Self::CancelWorkflowRun,
        Self::ResumeWorkflowRun,
        Self::ApproveTask,
        Self::RejectTask,
        Self::RetryTask,
        Self::SkipTask,
        Self::SucceedTask,
        Self::FailTask,
        Self::PauseJob,
        Self::ResumeJob,
        Self::DeleteJob,
        Self::PauseWorkflow,
        Self::ResumeWorkflow,
        Self::DeleteWorkflow,
        Self::CancelRun,
        Self::RetryRun,
        Self::RedriveLetter,
        Self::DismissLetter,
        Self::StartOperation,
        Self::PauseOperation,
        Self::ResumeOperation,
        Self::CancelOperation,
        Self::Backup,
        Self::EraseTenant,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CreateKey => "key.create",
            Self::RotateKey => "key.rotate",
            Self::RevokeKey => "key.revoke",
            Self::SetSecret => "secret.set",
            Self::DeleteSecret => "secret.delete",
            Self::SetQuota => "quota.set",
            Self::RotateSigningSecret => "signing_secret.rotate",
            Self::SetNotification => "notification.set",
            Self::DeleteNotification => "notification.delete",
            Self::TestNotification => "notification.test",
            Self::Repair => "repair",
            Self::SetCalendar => "calendar.set",
            Self::DeleteCalendar => "calendar.delete",
            Self::CancelWorkflowRun => "workflow_run.cancel",
            Self::ResumeWorkflowRun => "workflow_run.resume",
            Self::ApproveTask => "task.approve",
            Self::RejectTask => "task.reject",
            Self::RetryTask => "task.retry",
            Self::SkipTask => "task.skip",
            Self::SucceedTask => "task.succeed",
            Self::FailTask => "task.fail",
            Self::PauseJob => "job.pause",
            Self::ResumeJob => "job.resume",
            Self::DeleteJob => "job.delete",
            Self::PauseWorkflow => "workflow.pause",
            Self::ResumeWorkflow => "workflow.resume",
            Self::DeleteWorkflow => "workflow.delete",
            Self::CancelRun => "run.cancel",
            Self::RetryRun => "run.retry",
            Self::RedriveLetter => "dead_letter.redrive",
            Self::DismissLetter => "dead_letter.dismiss",
            Self::StartOperation => "operation.start",
            Self::PauseOperation => "operation.pause",
            Self::ResumeOperation => "operation.resume",
            Self::CancelOperation => "operation.cancel",
            Self::Backup => "backup",
            Self::EraseTenant => "tenant.erase",
        }
    }
}

impl Act {
    /// Until when it stands on record.
    pub fn kept_until(&self) -> Moment {
        self.key.at + Duration::from_secs(AUDIT_DAYS * 86_400)
    }

    #[must_use]
    pub fn ended(&self, outcome: Outcome) -> Self {
        Self { outcome: Some(outcome), ..self.clone() }
    }
}
