//! The words for programs: what an instant came to, and the rule that decided. Each is stable.

use super::told::fires_in_time;
use super::{Known, NotAdmitted, Question, Run, Silence, Skip, State, Turned, Waiting, Why};
use crate::id::Origin;
use crate::slot::SlotName;

/// What an instant came to, or will.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It became a run, which is over.
    Fired,
    /// It became a run, which is under way.
    Running,
    /// Its time has come, and it has to wait.
    Waiting,
    WillFire,
    /// It was called off before it began.
    Cancelled,
    /// It did not fire.
    Skipped,
    /// It did not fire, and the record of an earlier occurrence says so.
    Covered,
    /// Its time has not come, and it will not fire as things are.
    WillNotFire,
    NotAnOccurrence,
    /// What was in force then is not remembered, and nothing is on record.
    Unknown,
}

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    Schedule,
    DstGap,
    DstOverlap,
    StartAt,
    EndAt,
    MaxFires,
    OnDemand,
    /// It runs behind another job.
    After,
    BeforeCreation,
    ScheduleChange,
    Paused,
    Cancelled,
    CatchUp,
    Abandoned,
    Upstream,
    Condition,
    /// What becomes of runs of one job that meet.
    Overlap,
    /// A calendar took it, or moved it.
    Calendar,
    /// More runs stood one behind the other than may.
    Cycle,
    /// Whoever is asked before a run.
    Hook,
    /// How long a rule of notifications says nothing after it has told of something.
    Cooldown,
    /// Nobody has claimed it.
    Claim,
    Retry,
    Rate,
    Concurrency,
    Quota,
    MaxConcurrentRuns,
    /// For how long what is over is kept.
    Retention,
}

impl Verdict {
    pub const ALL: [Self; 10] = [
        Self::Fired,
        Self::Running,
        Self::Waiting,
        Self::WillFire,
        Self::Cancelled,
        Self::Skipped,
        Self::Covered,
        Self::WillNotFire,
        Self::NotAnOccurrence,
        Self::Unknown,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fired => "fired",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::WillFire => "will_fire",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::Covered => "covered",
            Self::WillNotFire => "will_not_fire",
            Self::NotAnOccurrence => "not_an_occurrence",
            Self::Unknown => "unknown",
        }
    }
}

impl Rule {
    pub const ALL: [Self; 28] = [
        Self::Schedule,
        Self::DstGap,
        Self::DstOverlap,
        Self::StartAt,
        Self::EndAt,
        Self::MaxFires,
        Self::OnDemand,
        Self::After,
        Self::BeforeCreation,
        Self::ScheduleChange,
        Self::Paused,
        Self::Cancelled,
        Self::CatchUp,
        Self::Abandoned,
        Self::Upstream,
        Self::Condition,
        Self::Overlap,
        Self::Calendar,
        Self::Cycle,
        Self::Hook,
        Self::Cooldown,
        Self::Claim,
        Self::Retry,
        Self::Rate,
        Self::Concurrency,
        Self::Quota,
        Self::MaxConcurrentRuns,
        Self::Retention,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::DstGap => "dst_gap",
            Self::DstOverlap => "dst_overlap",
            Self::StartAt => "start_at",
            Self::EndAt => "end_at",
            Self::MaxFires => "max_fires",
            Self::OnDemand => "on_demand",
            Self::After => "after",
            Self::BeforeCreation => "before_creation",
            Self::ScheduleChange => "schedule_change",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::CatchUp => "catch_up",
            Self::Abandoned => "abandoned",
            Self::Upstream => "upstream",
            Self::Condition => "condition",
            Self::Overlap => "overlap",
            Self::Calendar => "calendar",
            Self::Cycle => "cycle",
            Self::Hook => "hook",
            Self::Cooldown => "cooldown",
            Self::Claim => "claim",
            Self::Retry => "retry",
            Self::Rate => "rate",
            Self::Concurrency => "concurrency",
            Self::Quota => "quota",
            Self::MaxConcurrentRuns => "max_concurrent_runs",
            Self::Retention => "retention",
        }
    }

    /// That of a record that something did not fire.
    pub const fn of_skip(why: Skip) -> Self {
        match why {
            Skip::Coalesced | Skip::Missed => Self::CatchUp,
            Skip::Paused => Self::Paused,
            Skip::Cancelled => Self::Cancelled,
            Skip::Superseded => Self::ScheduleChange,
            Skip::Abandoned => Self::Abandoned,
            Skip::Upstream => Self::Upstream,
            Skip::Condition => Self::Condition,
            Skip::Overlap => Self::Overlap,
            Skip::Calendar => Self::Calendar,
            Skip::DstGap => Self::DstGap,
            Skip::Cycle => Self::Cycle,
            Skip::Vetoed => Self::Hook,
            Skip::Cooldown => Self::Cooldown,
        }
    }

    const fn of_slot(slot: &SlotName) -> Self {
        match slot {
            SlotName::Job(_) | SlotName::Queue(_) => Self::Overlap,
            SlotName::Workflow(_) => Self::MaxConcurrentRuns,
            SlotName::Root(_) | SlotName::Key(_) => Self::Concurrency,
            SlotName::Quota => Self::Quota,
        }
    }

    const fn of_refusal(why: NotAdmitted) -> Self {
        match why {
            NotAdmitted::Cancelled => Self::Cancelled,
            NotAdmitted::Paused => Self::Paused,
            NotAdmitted::Superseded => Self::ScheduleChange,
            NotAdmitted::Excluded => Self::Calendar,
        }
    }

    const fn of_silence(silence: &Silence) -> Self {
        match silence {
            Silence::OnDemand => Self::OnDemand,
            Silence::Follows(..) => Self::After,
            Silence::NotStarted(_) => Self::StartAt,
            Silence::Ended(_) => Self::EndAt,
            Silence::UsedUp { .. } => Self::MaxFires,
            Silence::Taken => Self::Calendar,
            Silence::Turned(turned) => Self::of_turn(turned),
            Silence::Unnamed => Self::Schedule,
        }
    }

    const fn of_turn(turned: &Turned) -> Self {
        match turned {
            Turned::Skipped { .. } | Turned::Shifted => Self::DstGap,
            Turned::Twice { .. } => Self::DstOverlap,
        }
    }
}

impl Question<'_> {
    pub(super) fn verdict(&self, why: &Why<'_>) -> Verdict {
        match why {
            Why::Recorded(run) => self.verdict_of_run(run),
            Why::Covered(..) => Verdict::Covered,
            Why::Coming => Verdict::WillFire,
            Why::Unclaimed => Verdict::Waiting,
            Why::Refused(_) if self.is_ahead() => Verdict::WillNotFire,
            Why::Refused(_) | Why::TooLate => Verdict::Skipped,
            Why::BeforeCreation | Why::NotInForce { .. } | Why::Silent(_) => Verdict::NotAnOccurrence,
            Why::Forgotten { .. } | Why::Expired => Verdict::Unknown,
        }
    }

    fn verdict_of_run(&self, run: &Run) -> Verdict {
        match &run.state {
            State::Scheduled { due } if fires_in_time(run) && self.now < *due => Verdict::WillFire,
            State::Scheduled { .. } | State::Waiting(Waiting::Slot { .. }) => Verdict::Waiting,
            State::Running(_) | State::Waiting(Waiting::Tasks(_) | Waiting::Answer { .. }) => Verdict::Running,
            State::Cancelled { .. } if run.started_at.is_none() => Verdict::Cancelled,
            State::Succeeded { .. } | State::Failed { .. } | State::TimedOut { .. } | State::Cancelled { .. } => {
                Verdict::Fired
            }
            State::Skipped { .. } => Verdict::Skipped,
        }
    }

    pub(super) fn rule(&self, why: &Why<'_>, known: &Known<'_>) -> Rule {
        match why {
            Why::Recorded(run) => self.rule_of_run(run, known),
            Why::Covered(_, why) => Rule::of_skip(*why),
            Why::Coming => self.what_named_it(),
            Why::Unclaimed => of_place_or(Rule::Claim, known),
            Why::TooLate => Rule::CatchUp,
            Why::Expired => Rule::Retention,
            Why::Refused(why) => Rule::of_refusal(*why),
            Why::BeforeCreation => Rule::BeforeCreation,
            Why::Forgotten { .. } | Why::NotInForce { .. } => Rule::ScheduleChange,
            Why::Silent(silence) => Rule::of_silence(silence),
        }
    }

    fn rule_of_run(&self, run: &Run, known: &Known<'_>) -> Rule {
        match (&run.state, self.verdict_of_run(run)) {
            (State::Skipped { why, .. }, _) => Rule::of_skip(*why),
            (State::Scheduled { .. }, Verdict::Waiting) if known.place.is_some() => of_place_or(Rule::Claim, known),
            (State::Scheduled { due }, Verdict::Waiting) if run.admission.turn == Some(*due) => Rule::Rate,
            (State::Scheduled { due }, Verdict::Waiting) if self.now < *due && run.is_put_off() => Rule::CatchUp,
            (State::Scheduled { due }, Verdict::Waiting) if self.now < *due => Rule::Retry,
            (State::Scheduled { .. }, Verdict::Waiting) => Rule::Claim,
            (_, Verdict::Waiting) => of_place_or(Rule::MaxConcurrentRuns, known),
            (_, Verdict::Cancelled) => Rule::Cancelled,
            (_, _fires) if run.key.origin == Origin::Follow => Rule::After,
            (_, _fires) => self.what_named_it(),
        }
    }

    /// Of an occurrence: whether a calendar or a turn of the clock had a part in it.
    fn what_named_it(&self) -> Rule {
        if self.occurrence().is_some_and(|occurrence| self.job.moved_from(occurrence.effective).is_some()) {
            return Rule::Calendar;
        }
        self.turned().map_or(Rule::Schedule, |turned| Rule::of_turn(&turned))
    }
}

/// The rule of the place that is waited for, where one is known.
fn of_place_or(otherwise: Rule, known: &Known<'_>) -> Rule {
    known.place.map_or(otherwise, |(bound, _)| Rule::of_slot(&bound.slot))
}
