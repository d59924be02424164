//! A campaign: many histories at once, and what they came to together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Instant;

use minutehand_judge::Violation;

use crate::graphs;
use crate::history::{Verdict, history};
use crate::staged::{backfills, callbacks, followers, letters, notifications};
use crate::workers;

/// What histories are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    /// Jobs of every kind, under all that goes wrong.
    Jobs,
    Graphs,
    Workers,
    Callbacks,
    Followers,
    Letters,
    Notifications,
    Backfills,
}

impl Of {
    pub const ALL: [Self; 8] = [
        Self::Jobs,
        Self::Graphs,
        Self::Workers,
        Self::Callbacks,
        Self::Followers,
        Self::Letters,
        Self::Notifications,
        Self::Backfills,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Graphs => "graphs",
            Self::Workers => "workers",
            Self::Callbacks => "callbacks",
            Self::Followers => "followers",
            Self::Letters => "letters",
            Self::Notifications => "notifications",
            Self::Backfills => "backfills",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.as_str() == name)
    }

    /// Plays the history of a seed and has it judged.
    pub fn history(self) -> fn(u64) -> Verdict {
        match self {
            Self::Jobs => history,
            Self::Graphs => graphs::history,
            Self::Workers => workers::history,
            Self::Callbacks => callbacks::history,
            Self::Followers => followers::history,
            Self::Letters => letters::history,
            Self::Notifications => notifications::history,
            Self::Backfills => backfills::history,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Campaign {
    pub histories: u64,
    pub steps: u64,
    pub seconds: f64,
    pub tally: BTreeMap<String, u64>,
    /// The seeds of the histories in which something was wrong.
    pub failed: BTreeMap<u64, Vec<Violation>>,
}

impl Campaign {
    /// The histories of the seeds from `first` on.
    pub fn play(of: Of, first: u64, histories: u64, threads: u64) -> Self {
        let history = of.history();
        let begin = Instant::now();
        let whole = std::thread::scope(|scope| {
            let parts: Vec<_> = (0..threads.max(1))
                .map(|part| {
                    scope.spawn(move || {
                        let seeds = (first..first + histories).filter(|seed| seed % threads.max(1) == part);
                        seeds.fold(Self::default(), |campaign, seed| campaign.with(seed, played(history, seed)))
                    })
                })
                .collect();
            parts.into_iter().map(|part| part.join().expect("a history panicked")).fold(Self::default(), Self::and)
        });
        Self { seconds: begin.elapsed().as_secs_f64(), ..whole }
    }

    fn with(mut self, seed: u64, verdict: Verdict) -> Self {
        self.histories += 1;
        self.steps += verdict.steps;
        for (what, count) in verdict.tally {
            *self.tally.entry(what).or_default() += count;
        }
        if !verdict.violations.is_empty() {
            self.failed.insert(seed, verdict.violations);
        }
        self
    }

    fn and(mut self, other: Self) -> Self {
        self.histories += other.histories;
        self.steps += other.steps;
        for (what, count) in other.tally {
            *self.tally.entry(what).or_default() += count;
        }
        self.failed.extend(other.failed);
        self
    }

    /// How often something happened whose name begins so.
    pub fn count(&self, what: &str) -> u64 {
        self.tally.range(what.to_owned()..).take_while(|(name, _)| name.starts_with(what)).map(|(_, count)| count).sum()
    }
}

/// What a history that panics found is told with its seed as well, and the others are played.
pub fn played(history: fn(u64) -> Verdict, seed: u64) -> Verdict {
    std::panic::catch_unwind(|| history(seed)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()));
        let detail = said.unwrap_or_else(|| "it does not say why".to_owned());
        let violations = vec![Violation { rule: "no panic", job: 0, instant: 0, detail }];
        Verdict { violations, tally: BTreeMap::new(), steps: 0 }
    })
}

impl fmt::Display for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.tally {
            writeln!(f, "{count:>12}  {what}")?;
        }
        let mut rules: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (seed, violations) in &self.failed {
            for rule in violations.iter().map(|violation| violation.rule).collect::<BTreeSet<_>>() {
                rules.entry(rule).or_default().push(*seed);
            }
        }
        for (rule, seeds) in &rules {
            let first = self.failed[&seeds[0]].iter().find(|violation| violation.rule == *rule);
            writeln!(
                f,
                "BROKEN {rule}: {} histories, seeds {:?}: {first:?}",
                seeds.len(),
                &seeds[..seeds.len().min(5)]
            )?;
        }
        let (histories, failed) = (self.histories, self.failed.len());
        write!(f, "{histories} histories, {} steps, {:.1} s: {failed} failed", self.steps, self.seconds)
    }
}
