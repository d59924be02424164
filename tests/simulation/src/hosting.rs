//! Hosting: who takes hints from the queues and carries them out. A process with a hand for each, or invocations that take
//! batches, of which there are few when a burst begins.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::lane::{Lane, Length};
use minutehand_executor::batch::{Back, Handled, execute_batch};
use minutehand_executor::{Executed, execute};
use minutehand_io::queues::Delivery;

use crate::engine::Process;
use crate::queues::Receipt;
use crate::setting::{Host, Lambda, RAMP_UP};
use crate::world::World;

/// How a process gives back what met a fault.
pub(crate) const PAUSE_AFTER_A_FAULT: Duration = Duration::from_secs(1);

/// The invocations of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Invocations {
    busy: u32,
    /// How many more than at first may be busy.
    more: u32,
    growing: bool,
}

impl World {
    pub(crate) fn somebody_takes(&self, queue: Lane) {
        match self.setting().host {
            Host::Process => self.take(queue, 1).into_iter().for_each(|delivery| self.execute(delivery)),
            Host::Lambda(lambda) => self.invoke_all(queue, lambda),
            // It takes them itself.
            Host::Machine => {}
        }
    }

    fn execute(&self, delivery: Delivery<Receipt>) {
        let (process, ports) = self.process("executor");
        let (world, its) = (self.clone(), Arc::clone(&process));
        let leaves_at = self.leaving();
        self.sim().spawn(&process, async move {
            let leaving = world.sim().sleep_until(leaves_at);
            match execute(&ports, &delivery, leaving).await {
                Ok(done @ Executed::ComeAgain(then)) => {
                    world.sim().count(word_for(&done));
                    world.hide(delivery.receipt, its.true_time(world.sim(), then));
                }
                Ok(done) => {
                    world.sim().count(word_for(&done));
                    world.used_up(delivery.receipt);
                }
                Err(_fault) => {
                    let again = its.now(world.sim()) + PAUSE_AFTER_A_FAULT;
                    world.hide(delivery.receipt, its.true_time(world.sim(), again));
                }
            }
        });
    }

    /// Now and then the process is told to go away in the middle of its work.
    pub(crate) fn leaving(&self) -> i64 {
        let sim = self.sim();
        let rough = sim.rates().crash > 0.0;
        let pause = if rough && sim.dice(|dice| dice.chance(0.02)) {
            sim.dice(|dice| dice.magnitude(2.0, 5.0))
        } else {
            i64::MAX / 4
        };
        sim.now().saturating_add(pause)
    }

    fn invoke_all(&self, queue: Lane, lambda: Lambda) {
        while self.waiting(queue) > 0 {
            let invocations = self.invocations(queue);
            if invocations.busy >= lambda.at_once(invocations.more) {
                return self.ramp_up(queue, lambda);
            }
            let batch = if queue.length == Length::Long { 1 } else { lambda.batch };
            let most = self.sim().dice(|dice| dice.within(1..i64::try_from(batch).unwrap_or(1) + 1));
            let batch = self.take(queue, usize::try_from(most).unwrap_or(1));
            if !batch.is_empty() {
                self.invoke(queue, batch, lambda);
            }
        }
    }

    /// A burst waits until the platform has got used to it.
    fn ramp_up(&self, queue: Lane, lambda: Lambda) {
        let growing = self.change_invocations(queue, |invocations| std::mem::replace(&mut invocations.growing, true));
        if growing {
            return;
        }
        self.sim().count("burst waited for invocations");
        let world = self.clone();
        self.sim().at(self.sim().now() + RAMP_UP, move |_| {
            let waits = world.waiting(queue) > 0;
            world.change_invocations(queue, |invocations| {
                invocations.growing = false;
                invocations.more = if waits { invocations.more + lambda.more } else { 0 };
            });
            world.somebody_takes(queue);
        });
    }

    fn invoke(&self, queue: Lane, batch: Vec<Delivery<Receipt>>, lambda: Lambda) {
        let (process, ports) = self.process("executor");
        let timeout = self.timeout_of_an_invocation(lambda);
        let busy = Busy::new(self, queue, &process, batch.len());
        let (world, deadline) = (self.clone(), process.now(self.sim()) + timeout);
        self.sim().count(if batch.len() > 1 { "batch of several" } else { "batch of one" });
        self.sim().spawn(&process, async move {
            let carried = execute_batch(&ports, &batch, deadline).await;
            world.answer(&batch, &carried);
            busy.answered();
        });
        let ended_at = self.sim().now() + i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX / 4);
        self.sim().at(ended_at, move |sim| sim.kill(&process));
    }

    /// Now and then an invocation has little time left.
    fn timeout_of_an_invocation(&self, lambda: Lambda) -> Duration {
        let sim = self.sim();
        let short = sim.rates().crash > 0.0 && sim.dice(|dice| dice.chance(0.02));
        let millis = if short { sim.dice(|dice| dice.magnitude(3.7, 5.0)) } else { lambda.timeout };
        Duration::from_millis(millis.unsigned_abs())
    }

    /// The platform deletes what was used up; or it never hears the answer, and all of it comes again.
    fn answer(&self, batch: &[Delivery<Receipt>], carried: &[Handled]) {
        let (sim, rates) = (self.sim(), self.sim().rates());
        let lost = sim.dice(|dice| dice.chance(rates.lose_answer));
        if lost {
            sim.count("answer of a batch lost");
        }
        if carried.iter().any(Handled::is_given_back) && !carried.iter().all(Handled::is_given_back) {
            sim.count("batch given back in part");
        }
        for (delivery, carried) in batch.iter().zip(carried) {
            match carried {
                Handled::Done(done) => {
                    sim.count(word_for(done));
                    if !lost {
                        self.used_up(delivery.receipt);
                    }
                }
                Handled::GivenBack(Back::Fault(_)) => sim.count("given back for a fault"),
                Handled::GivenBack(Back::NotYet(_)) => sim.count("given back unclaimed"),
            }
        }
    }
}

/// One invocation of a queue; it ends with its answer, its deadline or its death.
struct Busy {
    world: World,
    queue: Lane,
    process: Arc<Process>,
    hints: usize,
    answered: bool,
}

impl Busy {
    fn new(world: &World, queue: Lane, process: &Arc<Process>, hints: usize) -> Self {
        world.change_invocations(queue, |invocations| invocations.busy += 1);
        Self { world: world.clone(), queue, process: process.clone(), hints, answered: false }
    }

    fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.world.change_invocations(self.queue, |invocations| invocations.busy -= 1);
        if !self.answered && self.hints > 1 {
            self.world.sim().count("batch lost with its process");
        }
        self.process.die();
        let (world, queue) = (self.world.clone(), self.queue);
        self.world.sim().at(self.world.sim().now(), move |_| world.somebody_takes(queue));
    }
}

pub(crate) fn word_for(done: &Executed) -> String {
    match done {
        Executed::Attempted(_) if done.is_recorded() => "attempt recorded".to_owned(),
        Executed::Attempted(_) if done.was_fenced() => "attempt fenced".to_owned(),
        Executed::Attempted(_) => "attempt of a run that was over".to_owned(),
        Executed::Dropped(why) => format!("dropped: {why:?}"),
        Executed::ComeAgain(_) => "came near the end of a lease".to_owned(),
        Executed::GaveUp => "gave up before the call".to_owned(),
    }
}
