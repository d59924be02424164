//! Following: a job whose runs come of the ends of another job's. What an end means to a follower, what the list of followers lets in, and what
//! a follower makes of an end are the three tables of this file.
//!
//! The job in front keeps the list, in its head; each of its runs has pinned at its birth who follows it. A follower has the last word:
//! it is asked again when the end is settled.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::Moment;
use crate::id::{JobId, RunKey};
use crate::job::{Job, NotAdmitted, Status};
use crate::limits::{FOLLOW_DEPTH, FOLLOWERS};
use crate::run::{Run, Skip, State};
use crate::schedule::When;
use crate::trace::Traced;
use crate::workflow::edge::{Ended, On};

/// Who follows, and for which ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Follower {
    pub job: JobId,
    pub on: On,
}

/// A follower in the list of the job in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    pub follower: Follower,
    /// That of the follower's head which this entry was made for. Once its head is at this one and says otherwise, nobody needs the entry.
    pub generation: u64,
    pub since: Moment,
}

/// What a run came of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follows {
    pub run: RunKey,
    /// How many runs stand before it, each the follower of the one before.
    pub depth: u8,
}

/// What an end is to a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comes {
    Nothing,
    /// A run.
    Run,
    /// The record that it did not run: what it waits for came to nothing.
    Record,
}

/// Why a job cannot follow another.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotToFollow {
    #[error("there is no job {0}")]
    NoJob(JobId),
    #[error("job {0} was deleted")]
    Deleted(JobId),
    #[error("a cycle: {}", said(.0))]
    Cycle(Vec<JobId>),
    #[error("there are {FOLLOW_DEPTH} jobs before it already, each behind the next, and a chain has at most so many")]
    TooDeep,
    #[error("job {0} has {FOLLOWERS} followers, and can have no more; a workflow has as many tasks as it takes")]
    Full(JobId),
}

fn said(cycle: &[JobId]) -> String {
    let jobs: Vec<String> = cycle.iter().map(ToString::to_string).collect();
    jobs.join(" follows ")
}

impl Follower {
    /// What the end of `run` is to it. Where nobody failed it is no news to who waits for a failure.
    pub fn comes_of(self, run: &Run) -> Comes {
        match run.ended_for_followers() {
            Some(ended) if self.on.holds_for(ended) => Comes::Run,
            Some(_) if self.on == On::Success => Comes::Record,
            Some(_) | None => Comes::Nothing,
        }
    }
}

impl Run {
    /// How it ended, where that is an end to who follows: it was to run and came to its turn. Not where somebody called it off, or its job;
    /// and not where another run stands for it, which has an end of its own.
    pub fn ended_for_followers(&self) -> Option<Ended> {
        match &self.state {
            State::Scheduled { .. } | State::Waiting(_) | State::Running(_) | State::Cancelled { .. } => None,
            State::Succeeded { .. } => Some(Ended::Succeeded),
            State::Failed { .. } | State::TimedOut { .. } => Some(Ended::Failed),
            State::Skipped { why, .. } => match why {
                Skip::Missed | Skip::Upstream | Skip::Condition | Skip::Overlap | Skip::Vetoed => Some(Ended::Skipped),
                Skip::Coalesced
                | Skip::Paused
                | Skip::Cancelled
                | Skip::Superseded
                | Skip::Abandoned
                | Skip::Calendar
                | Skip::DstGap
                | Skip::Cooldown
                | Skip::Cycle => None,
            },
        }
    }

    /// Whether its end brings something about for who follows.
    pub fn owes_followers(&self) -> bool {
        self.followers.iter().any(|follower| follower.comes_of(self) != Comes::Nothing)
    }

    /// The jobs for which its end may bring something about, and the keys of what that is. A job that was being changed when this run was born
    /// may be pinned for two kinds of ends, and is here once: its head says which of them counts.
    pub fn followed_by(&self) -> BTreeMap<JobId, RunKey> {
        let Some(at) = self.finished_at() else { return BTreeMap::new() };
        let concerned = self.followers.iter().filter(|follower| follower.comes_of(self) != Comes::Nothing);
        concerned.map(|follower| (follower.job, RunKey::following(self.key, follower.job, at))).collect()
    }
}

impl Job {
    /// The job that this one runs behind, and for which of its ends.
    pub fn follows(&self) -> Option<(JobId, On)> {
        in_front(&self.schedule.when)
    }

    /// Who follows it, as its runs pin it at their birth.
    pub fn pinned(&self) -> Vec<Follower> {
        self.followers.iter().map(|listed| listed.follower).collect()
    }

    /// The same job with this entry in its list, in the place of an earlier one of the same follower. What the list says of other ends for that
    /// job stays, since the head that is to say otherwise may never be written. Nor does an entry fall back behind a later generation: whoever
    /// made it for that one may be about to write the head.
    pub fn listing(&self, new: Listed) -> Result<Self, NotToFollow> {
        let (same, mut followers): (Vec<Listed>, Vec<Listed>) =
            self.followers.iter().partition(|listed| listed.follower == new.follower);
        let jobs: BTreeSet<JobId> = followers.iter().map(|listed| listed.follower.job).collect();
        if jobs.len() >= FOLLOWERS && !jobs.contains(&new.follower.job) {
            return Err(NotToFollow::Full(self.id));
        }
        let generation = same.iter().map(|listed| listed.generation).fold(new.generation, u64::max);
        followers.push(Listed { generation, ..new });
        Ok(Self { followers, ..self.clone() })
    }

    /// The same job without this entry; none where it is not there, or was made anew.
    pub fn unlisting(&self, gone: &Listed) -> Option<Self> {
        let mut followers = self.followers.clone();
        followers.retain(|listed| listed != gone);
        (followers.len() < self.followers.len()).then(|| Self { followers, ..self.clone() })
    }

    /// The same job without the entries that `follower` has left; none where it has left none.
    pub fn left_by(&self, follower: &Self) -> Option<Self> {
        let mut followers = self.followers.clone();
        followers.retain(|entry| entry.follower.job != follower.id || !follower.has_left(self.id, entry));
        (followers.len() < self.followers.len()).then(|| Self { followers, ..self.clone() })
    }

    /// Whether this job has no need of that entry in the list of `front`. Who is about to write a head that does makes an entry for that
    /// generation: until then it is needed.
    pub fn has_left(&self, front: JobId, entry: &Listed) -> bool {
        self.generation >= entry.generation && !self.is_behind(front, entry.follower.on)
    }

    /// Whether that run has pinned this job for ends that it does not run behind, or not any more.
    pub fn is_wrongly_pinned_by(&self, before: &Run) -> bool {
        let mut pinned = before.followers.iter().filter(|follower| follower.job == self.id);
        pinned.any(|follower| !self.is_behind(before.key.job, follower.on))
    }

    fn is_behind(&self, front: JobId, on: On) -> bool {
        self.status != Status::Cancelled && self.follows() == Some((front, on))
    }

    /// What this job makes of the end of `before`, which has pinned it: a run, or the record of why there is none. None where it does not follow
    /// that job any more, and did not until its last change.
    pub fn after_the_end_of(&self, before: &Run, now: Moment) -> Option<Run> {
        let (at, (on, admits)) = (before.finished_at()?, self.admits_after(before)?);
        let depth = before.follows.map_or(0, |follows| follows.depth).saturating_add(1);
        let key = RunKey::following(before.key, self.id, at);
        let run = self.run(key);
        let kept = run.kept.outlasting(before);
        let trace = Traced { creator: run.trace.creator.clone(), ..Traced::after(before) };
        let run = Run { follows: Some(Follows { run: before.key, depth }), kept, trace, ..run };
        match (Follower { job: self.id, on }.comes_of(before), admits) {
            (Comes::Nothing, _) => None,
            // Nobody follows it: it is where a chain without an end ends.
            _ if depth > FOLLOW_DEPTH => Some(Run { followers: Vec::new(), ..run }.skipped(Skip::Cycle, None, now)),
            (Comes::Record, Ok(())) => Some(run.skipped(Skip::Upstream, None, now)),
            (Comes::Record | Comes::Run, Err(why)) => Some(run.skipped(why.into(), None, now)),
            (Comes::Run, Ok(())) => Some(run),
        }
    }

    /// For which of the ends that `before` has pinned it runs behind that job, and whether it admits what comes of one. What it is by now goes
    /// before what it was until its last change. None: it knows of none of them.
    fn admits_after(&self, before: &Run) -> Option<(On, Result<(), NotAdmitted>)> {
        let pinned = |when: &When| {
            let (front, on) = in_front(when)?;
            let is_pinned = before.followers.contains(&Follower { job: self.id, on });
            (front == before.key.job && is_pinned).then_some(on)
        };
        let is_behind = pinned(&self.schedule.when);
        let was_behind = self.before.iter().find_map(|before| pinned(&before.schedule.when));
        let on = is_behind.or(was_behind)?;
        let admits = match self.status {
            Status::Cancelled => Err(NotAdmitted::Cancelled),
            Status::Paused | Status::Active if is_behind.is_none() => Err(NotAdmitted::Superseded),
            Status::Paused => Err(NotAdmitted::Paused),
            Status::Active => Ok(()),
        };
        Some((on, admits))
    }
}

fn in_front(when: &When) -> Option<(JobId, On)> {
    match *when {
        When::Follows { job, on } => Some((job, on)),
        When::Now { .. }
        | When::At { .. }
        | When::After { .. }
        | When::Every { .. }
        | When::Cron(_)
        | When::OnDemand => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::body::Body;
    use crate::id::Tenant;
    use crate::job::{Change, Definition};
    use crate::run::Failure;
    use crate::schedule::{Plan, Schedule};

    const NOW: Moment = Moment::from_secs(1_800_000_000);
    const A: JobId = JobId::from_bytes([1; 16]);
    const B: JobId = JobId::from_bytes([2; 16]);

    fn job(id: JobId, plan: &Plan) -> Job {
        let schedule = Schedule::new(plan, NOW).unwrap();
        Job::new(Tenant::new("t").unwrap(), id, schedule, Definition::default(), 0, NOW)
    }

    fn front() -> Job {
        job(A, &Plan { every_seconds: Some(60), ..Plan::default() })
    }

    fn behind(on: On) -> Job {
        job(B, &Plan { after: Some((A, on)), ..Plan::default() })
    }

    fn entry(generation: u64) -> Listed {
        Listed { follower: Follower { job: B, on: On::Success }, generation, since: NOW }
    }

    fn ended(state: State) -> Run {
        let front = front().listing(entry(1)).unwrap();
        Run { state, ..front.run(RunKey::occurrence(A, NOW)) }
    }

    fn skipped(why: Skip) -> State {
        State::Skipped { at: NOW, why, span: None }
    }

    fn success() -> State {
        State::Succeeded { at: NOW, result: Body::Empty }
    }

    fn failure() -> State {
        State::Failed { at: NOW, why: Failure::Error }
    }

    /// The table of `docs/policies.md`, row by row.
    #[test]
    fn what_an_end_is_to_who_follows() {
        use Comes::{Nothing, Record, Run};
        let rows = [
            ("success", success(), [Run, Nothing, Run]),
            ("failure", failure(), [Record, Run, Run]),
            ("time-out", State::TimedOut { at: NOW }, [Record, Run, Run]),
            ("cancelled", State::Cancelled { at: NOW }, [Nothing; 3]),
            ("not over", State::Scheduled { due: NOW }, [Nothing; 3]),
            ("overlap", skipped(Skip::Overlap), [Record, Nothing, Run]),
            ("upstream", skipped(Skip::Upstream), [Record, Nothing, Run]),
            ("missed", skipped(Skip::Missed), [Record, Nothing, Run]),
            ("coalesced", skipped(Skip::Coalesced), [Nothing; 3]),
            ("paused", skipped(Skip::Paused), [Nothing; 3]),
            ("deleted", skipped(Skip::Cancelled), [Nothing; 3]),
            ("superseded", skipped(Skip::Superseded), [Nothing; 3]),
            ("abandoned", skipped(Skip::Abandoned), [Nothing; 3]),
            ("a cycle", skipped(Skip::Cycle), [Nothing; 3]),
        ];
        for (what, state, comes) in rows {
            let run = ended(state);
            let ons = [On::Success, On::Failure, On::Finished];
            assert_eq!(ons.map(|on| Follower { job: B, on }.comes_of(&run)), comes, "{what}");
        }
    }

    #[test]
    fn a_follower_runs_or_says_why_not() {
        let at = |job: &Job, change: Change| job.after(&change, NOW).unwrap();
        let every = Schedule::new(&Plan { every_seconds: Some(60), ..Plan::default() }, NOW).unwrap();
        let active = behind(On::Success);
        let rescheduled = at(&active, Change::reschedule(every.clone()));
        let twice = at(&rescheduled, Change::reschedule(every));
        let rows = [
            ("as it was", active.clone(), success(), Some(None)),
            ("as it was, after a failure", active.clone(), failure(), Some(Some(Skip::Upstream))),
            ("paused", at(&active, Change::Pause), success(), Some(Some(Skip::Paused))),
            ("deleted", at(&active, Change::Delete), success(), Some(Some(Skip::Cancelled))),
            ("rescheduled", rescheduled, success(), Some(Some(Skip::Superseded))),
            ("rescheduled twice", twice, success(), None),
            ("behind another end by now", behind(On::Failure), success(), None),
        ];
        for (what, job, state, expected) in rows {
            let made = job.after_the_end_of(&ended(state), NOW);
            let why = made.map(|run| match run.state {
                State::Skipped { why, .. } => Some(why),
                _due => None,
            });
            assert_eq!(why, expected, "{what}");
        }
    }

    /// A run that was born while its follower was being changed has pinned both: what that head says counts, whichever is pinned first.
    #[test]
    fn of_two_kinds_of_ends_that_are_pinned_the_head_says_which_counts() {
        let changed = behind(On::Success).after(&Change::reschedule(behind(On::Failure).schedule), NOW).unwrap();
        let rows = [
            ("not changed", behind(On::Success), success(), Some(None)),
            ("not changed, after a failure", behind(On::Success), failure(), Some(Some(Skip::Upstream))),
            ("changed", changed.clone(), failure(), Some(None)),
            ("changed, after a success", changed, success(), None),
        ];
        for (what, job, state, expected) in rows {
            for ons in [[On::Success, On::Failure], [On::Failure, On::Success]] {
                let followers = ons.map(|on| Follower { job: B, on }).to_vec();
                let run = Run { followers, ..ended(state.clone()) };

                let made = job.after_the_end_of(&run, NOW).map(|run| match run.state {
                    State::Skipped { why, .. } => Some(why),
                    _due => None,
                });

                assert_eq!((made, run.followed_by().len()), (expected, 1), "{what} {ons:?}");
                assert!(job.is_wrongly_pinned_by(&run), "{what}: one of them is to leave the list");
            }
        }
    }

    #[test]
    fn each_end_makes_one_run_whose_key_it_gives() {
        let (run, job) = (ended(success()), behind(On::Success));

        let [once, again] = [NOW, NOW + Duration::from_secs(9)].map(|now| job.after_the_end_of(&run, now));

        let (once, again) = (once.unwrap(), again.unwrap());
        assert_eq!((once.key, once.follows), (again.key, Some(Follows { run: run.key, depth: 1 })));
        assert_eq!(run.followed_by(), [(B, once.key)].into());
        let other = Run { key: RunKey::manual(A, NOW, 7), ..run };
        assert_ne!(job.after_the_end_of(&other, NOW).unwrap().key, once.key);
    }

    #[test]
    fn a_chain_that_is_too_deep_ends_in_a_record_that_nobody_follows() {
        let depth_of = |depth| {
            let follows = Some(Follows { run: RunKey::manual(B, NOW, 1), depth });
            let job =
                behind(On::Finished).listing(Listed { follower: Follower { job: A, on: On::Finished }, ..entry(1) });
            let followers = vec![Follower { job: B, on: On::Finished }];
            job.unwrap().after_the_end_of(&Run { follows, followers, ..ended(success()) }, NOW).unwrap()
        };

        let (last, beyond) = (depth_of(FOLLOW_DEPTH - 1), depth_of(FOLLOW_DEPTH));

        assert!(!last.is_finished() && last.followers.len() == 1);
        assert!(matches!(beyond.state, State::Skipped { why: Skip::Cycle, .. }) && beyond.followers.is_empty());
    }

    #[test]
    fn a_list_has_each_follower_once_and_so_many_jobs_at_most() {
        let mut front = front().listing(entry(1)).unwrap();
        front = front.listing(entry(2)).unwrap();
        assert_eq!(front.followers, [entry(2)]);
        for number in 1..FOLLOWERS {
            let job = JobId::from_bytes([u8::try_from(number + 9).unwrap(); 16]);
            front = front.listing(Listed { follower: Follower { job, on: On::Success }, ..entry(1) }).unwrap();
        }
        let another = Follower { job: JobId::from_bytes([200; 16]), on: On::Success };

        assert_eq!(front.listing(Listed { follower: another, ..entry(1) }), Err(NotToFollow::Full(A)));
        let other = Listed { follower: Follower { job: B, on: On::Failure }, ..entry(3) };
        let both = front.listing(other).expect("who is in it may say something else");
        assert!(both.followers.contains(&entry(2)) && both.followers.contains(&other), "until its head does");
        assert_eq!(front.unlisting(&entry(1)), None, "it was made anew");
        assert_eq!(front.unlisting(&entry(2)).map(|job| job.followers.len()), Some(FOLLOWERS - 1));
    }

    #[test]
    fn an_entry_does_not_fall_back_behind_a_later_generation() {
        let front = front().listing(entry(3)).unwrap();

        assert_eq!(front.listing(entry(2)).unwrap().followers, [entry(3)]);
    }

    #[test]
    fn who_has_left_leaves_with_all_of_its_entries_that_nobody_needs() {
        let entry = |on, generation| Listed { follower: Follower { job: B, on }, ..entry(generation) };
        let entries = [entry(On::Success, 1), entry(On::Failure, 1), entry(On::Finished, 2)];
        let front = entries.into_iter().fold(front(), |front, entry| front.listing(entry).unwrap());

        let left = front.left_by(&behind(On::Success)).unwrap();

        assert_eq!(left.followers, [entries[0], entries[2]]);
        assert_eq!(left.left_by(&behind(On::Success)), None);
    }

    #[test]
    fn an_entry_is_needed_until_the_head_that_it_was_made_for_says_otherwise() {
        let (there, paused) = (behind(On::Success), behind(On::Success).after(&Change::Pause, NOW).unwrap());
        let elsewhere = job(B, &Plan { on_demand: true, ..Plan::default() });
        let rows = [
            ("it follows", there.clone(), 1, false),
            ("it is paused", paused, 1, false),
            ("it was deleted", there.after(&Change::Delete, NOW).unwrap(), 1, true),
            ("it follows nobody", elsewhere.clone(), 1, true),
            ("it is about to follow", elsewhere, 2, false),
            ("it follows other ends", behind(On::Failure), 1, true),
            ("it is about to follow such ends", behind(On::Failure), 2, false),
        ];
        for (what, job, generation, left) in rows {
            assert_eq!(job.has_left(A, &entry(generation)), left, "{what}");
        }
    }

    #[test]
    fn a_cycle_is_told_job_by_job() {
        assert_eq!(NotToFollow::Cycle(vec![B, A, B]).to_string(), format!("a cycle: {B} follows {A} follows {B}"));
    }
}
