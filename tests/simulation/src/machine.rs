//! The machine: one process that answers requests, sweeps and carries out, with its queues inside it. When it dies its
//! queues are gone, and a supervisor starts another over the same store.

use std::sync::Arc;

use minutehand_domain::id::Tenant;
use minutehand_executor::{Executed, execute};
use minutehand_io::Ports as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::queues::embedded::{self, EmbeddedQueues};
use minutehand_io::queues::{Delivery, Inbox as _};
use minutehand_io::store::Store as _;
use minutehand_protocol::sweep::take_over::start_over;
use minutehand_sweeper::tick;

use crate::client::Client;
use crate::engine::Process;
use crate::hosting::{PAUSE_AFTER_A_FAULT, word_for};
use crate::ports::{ProcessClock, SimPorts};
use crate::queues::Receipt;
use crate::world::World;

/// Hints that it takes at once.
const TAKE: usize = 64;
/// How soon the supervisor sees that it died.
const SUPERVISED: i64 = 1_000;
const TICK: i64 = 60_000;

type Queues = Arc<EmbeddedQueues<ProcessClock>>;

/// A machine that runs.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) process: Arc<Process>,
    pub(crate) ports: SimPorts,
}

impl World {
    /// Starts the machine, and another one, up to a minute and a half later, whenever it died.
    pub fn supervise(&self) {
        self.start_machine();
        self.look_after_the_machine();
    }

    fn look_after_the_machine(&self) {
        let world = self.clone();
        self.sim().at(self.sim().now() + SUPERVISED, move |sim| {
            if world.listening().is_some() {
                return world.look_after_the_machine();
            }
            let pause = sim.dice(|dice| dice.magnitude(2.0, 5.0));
            sim.at(sim.now() + pause, move |_| world.supervise());
        });
    }

    /// Where nothing listens at the moment, nobody is answered.
    pub(crate) fn listening(&self) -> Option<Machine> {
        self.machine().filter(|machine| !machine.process.is_dead())
    }

    /// Who asks the machine, where it listens.
    pub fn client(&self, tenant: Tenant) -> Option<Client> {
        self.listening().map(|machine| Client::of(machine.ports, tenant))
    }

    /// Whatever the machine is at stands still until then.
    pub(crate) fn put_the_machine_to_sleep(&self, until: i64) {
        if let Some(machine) = self.listening() {
            let is_suspended = self.sim().dice(|dice| dice.chance(0.5));
            machine.process.sleep(self.sim().now(), until, is_suspended);
            self.sim().count("machine slept");
        }
    }

    fn start_machine(&self) {
        if let Some(dead) = self.machine() {
            self.sim().bury(&dead.process);
            self.sim().count("machine started over");
        }
        let process = self.sim().process("machine", self.setting().skew);
        let queues: Queues = Arc::new(EmbeddedQueues::new(ProcessClock::of(self.sim(), &process)));
        let ports = SimPorts::of_machine(self.clone(), Arc::clone(&process), Arc::clone(&queues));
        self.sim().spawn(&process, self.clone().host(Arc::clone(&process), ports.clone(), queues));
        self.set_machine(Machine { process, ports });
    }

    /// What the host of one machine does at its start, and then until it dies.
    async fn host(self, process: Arc<Process>, ports: SimPorts, queues: Queues) {
        if self.start_over(&ports).await.is_err() {
            self.sim().count("machine did not start");
            return process.die();
        }
        let watched = Arc::clone(&queues);
        self.sim().spawn(&process, async move { match watched.watch_over_sleep().await {} });
        self.receive(&process, &ports, &queues);
        loop {
            let _the_next_pass_starts_where_it_did = tick(&ports).await;
            self.sim().sleep_until(self.sim().now() + TICK).await;
        }
    }

    async fn start_over(&self, ports: &SimPorts) -> Result<(), minutehand_io::Fault> {
        let first = self.whole_store().first_timer()?;
        for shard in 0..ports.store().shards() {
            if start_over(ports, shard, first).await? > 0 {
                self.sim().count("runs taken over");
            }
        }
        Ok(())
    }

    /// By a hand for each hint, or by as many as the setting says.
    fn receive(&self, process: &Arc<Process>, ports: &SimPorts, queues: &Queues) {
        let Some(hands) = self.setting().concurrency else {
            let receiving = self.clone().receiving(Arc::clone(process), ports.clone(), Arc::clone(queues));
            return self.sim().spawn(process, receiving);
        };
        queues.set_concurrency(hands);
        for _ in 0..hands {
            self.sim().spawn(process, self.clone().hand(ports.clone(), Arc::clone(queues)));
        }
    }

    async fn hand(self, ports: SimPorts, queues: Queues) {
        loop {
            for delivery in queues.receive(1).await {
                self.clone().carry_out(ports.clone(), Arc::clone(&queues), delivery).await;
            }
        }
    }

    async fn receiving(self, process: Arc<Process>, ports: SimPorts, queues: Queues) {
        loop {
            for delivery in queues.receive(TAKE).await {
                let carrying_out = self.clone().carry_out(ports.clone(), Arc::clone(&queues), delivery);
                self.sim().spawn(&process, carrying_out);
            }
        }
    }

    async fn carry_out(self, ports: SimPorts, queues: Queues, delivery: embedded::Delivery) {
        let leaving = self.sim().sleep_until(self.leaving());
        let embedded::Delivery { hint, lane, receipt } = delivery;
        let delivery = Delivery { hint, lane, receipt: Receipt::Embedded(receipt) };
        match execute(&ports, &delivery, leaving).await {
            Ok(done @ Executed::ComeAgain(then)) => {
                self.sim().count(word_for(&done));
                queues.give_back(&receipt, then);
            }
            Ok(done) => {
                self.sim().count(word_for(&done));
                queues.done(&receipt);
            }
            Err(_fault) => {
                queues.give_back(&receipt, ports.clock().now() + PAUSE_AFTER_A_FAULT);
            }
        }
    }
}
