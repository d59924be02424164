//! The scenes that each kit plays, all at once, each in a pool of its own.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::actor::{Actor, Kit};
use crate::client::{Client, text};
use crate::patience::eventually;
use crate::server::{KEY, Server, minutehand};
use crate::stub::{RUN, Said, Stub};

/// Beside some thirty processes on two cores, where some runs must first be offered again, when a lease of 10 s has run out.
const PATIENCE: Duration = Duration::from_secs(120);

struct Stage {
    kit: Kit,
    server: Server,
    client: Client,
}

pub(crate) async fn play(kit: Kit) {
    if !kit.is_there() {
        return;
    }
    let mut command = minutehand();
    command.args(["serve", "--listen", "127.0.0.1:0", "--memory"]).env("MINUTEHAND_KEY", KEY);
    let server = Server::started(command);
    let client = server.client();
    let stage = Stage { kit, server, client };

    stage.without_a_server();
    tokio::join!(
        stage.every_end(),
        stage.what_is_said(),
        stage.cancelled(),
        stage.keeping_a_lease_while_blocking(),
        stage.killed_half_way(),
        stage.killed_between_a_claim_and_its_outcome(),
        stage.asleep_past_its_lease(),
        stage.terminated(),
        stage.refused(),
        stage.refused_in_part(),
        stage.too_large(),
        stage.overtaken(),
        stage.through_an_outage(),
        stage.after_the_end(),
        stage.cut(),
        stage.signalled(),
    );
}

impl Stage {
    /// A handler can be tried without a server.
    ///
    /// Tried: with NaN let through, what the handler said is no JSON; with null let through, there is a checkpoint and no refusal.
    fn without_a_server(&self) {
        let added = self.kit.inline(&json!({ "scene": "add", "numbers": [1, 2] }), &Value::Null);
        let counted = self.kit.inline(&json!({ "scene": "count" }), &json!({ "at": 2 }));
        let odd = self.kit.inline(&json!({ "scene": "odd" }), &Value::Null);

        assert_eq!(added["result"]["sum"], 3);
        assert_eq!(added["logs"], json!(["adding 1", "adding 2"]));
        assert_eq!((&added["progress"], &added["stages"]), (&json!([0.5]), &json!(["adding"])));
        assert_eq!(added["checkpoints"], json!([{ "added": 2 }]));
        assert_eq!(counted["result"], json!({ "from": 2 }));
        assert_eq!(counted["checkpoints"], json!([{ "at": 3 }, { "at": 4 }, { "at": 5 }, { "at": 6 }]));
        let said: Vec<_> = odd["progress"].as_array().expect("progress").iter().filter_map(Value::as_f64).collect();
        assert_eq!(said, [0.0, 1.0, 0.0], "{odd}");
        assert!(text(&odd["result"], "refused").contains("cannot be"), "{odd}");
        assert_eq!(odd["checkpoints"], json!([]), "{odd}");
    }

    /// A failure for good is not tried again; a mistake is.
    async fn every_end(&self) {
        let _worker = self.worker("ends", "a");
        let refused = self.run("ends", &json!({ "scene": "refuse" }), 3).await;
        let stumbled = self.run("ends", &json!({ "scene": "stumble" }), 3).await;

        let (refused, stumbled) = tokio::join!(self.over(&refused), self.over(&stumbled));

        let error = json!({ "code": "no_such_invoice", "message": "there is no invoice 7", "retryable": false });
        assert_eq!(refused["status"], "failed", "{refused}");
        assert_eq!(outcomes(&refused), ["failed"], "{refused}");
        assert_eq!(refused["attempts"][0]["error"], error, "{refused}");
        assert_eq!(stumbled["status"], "succeeded", "{stumbled}");
        assert_eq!(outcomes(&stumbled), ["failed", "succeeded"], "{stumbled}");
        let class = match self.kit {
            Kit::Rust => "ParseIntError",
            Kit::Python => "ValueError",
            Kit::TypeScript => "RangeError",
        };
        assert_eq!(stumbled["attempts"][0]["error"]["code"], class, "{stumbled}");
    }

    /// A result, and what is said on the way to it.
    async fn what_is_said(&self) {
        let _worker = self.worker("said", "a");
        let run = self.run("said", &json!({ "scene": "add", "numbers": [1, 2] }), 0).await;

        let over = self.over(&run).await;

        let trace = &over["result"]["trace"];
        assert_eq!(over["result"], json!({ "sum": 3, "key": run, "trace": trace }), "{over}");
        assert!(text(&over["result"], "trace").contains(&*text(&over["trace"], "trace_id")), "{over}");
        assert_eq!((&over["progress"], &over["stage"]), (&json!(0.5), &json!("adding")), "{over}");
        assert_eq!(over["checkpoint"], json!({ "added": 2 }), "{over}");
        assert_eq!(self.lines(&run).await, ["adding 1", "adding 2"]);
    }

    /// Somebody cancels the run: the handler is told.
    async fn cancelled(&self) {
        let worker = self.worker("cancel", "a");
        let run = self.run("cancel", &json!({ "scene": "wait" }), 0).await;
        worker.tells("begun", &run).await;

        let asked = self.client.post(&format!("/v1/runs/{run}/cancel"), json!({})).await;

        assert!(asked.status < 300, "{}", asked.body);
        worker.tells("cancelled", &run).await;
        assert_eq!(self.over(&run).await["status"], "cancelled");
    }

    /// A handler that computes for longer than its lease keeps it.
    async fn keeping_a_lease_while_blocking(&self) {
        let _worker = self.worker("block", "a");
        let run = self.run("block", &json!({ "scene": "block", "seconds": 20 }), 0).await;

        let over = self.over(&run).await;

        assert_eq!(over["result"], json!({ "attempt": 1, "cancelled": false }), "{over}");
        assert_eq!(outcomes(&over), ["succeeded"], "{over}");
    }

    /// `kill -9` half way: another process goes on where it was.
    async fn killed_half_way(&self) {
        let worker = self.worker("count", "a");
        let run = self.run("count", &json!({ "scene": "count" }), 0).await;
        worker.tells("half way", &run).await;
        worker.signal(Signal::KILL);

        let _next = self.worker("count", "b");
        let over = self.over(&run).await;

        assert_eq!(over["result"], json!({ "from": 3 }), "{over}");
        assert_eq!(outcomes(&over), ["lost", "succeeded"], "{over}");
    }

    /// `kill -9` in the middle of an effect: another process is told of what was made, and of what was perhaps.
    async fn killed_between_a_claim_and_its_outcome(&self) {
        let worker = self.worker("effects", "a");
        let run = self.run("effects", &json!({ "scene": "pay" }), 0).await;
        worker.tells("half way", &run).await;
        worker.signal(Signal::KILL);

        let _next = self.worker("effects", "b");
        let over = self.over(&run).await;

        assert_eq!(over["result"], json!([false, { "id": "ch_1" }, false, null]), "{over}");
        let effects = self.client.get(&format!("/v1/runs/{run}/effects")).await.body;
        let told = |at: usize| {
            json!([effects["items"][at]["key"], effects["items"][at]["outcome"], effects["items"][at]["attempt"]])
        };
        assert_eq!(
            (told(0), told(1)),
            (json!(["charge/7?of=100%", { "id": "ch_1" }, 1]), json!(["mail", "sent", 1])),
            "{effects}"
        );
    }

    /// A worker that slept past its lease does not end what is another's, and its handler is told to stop.
    async fn asleep_past_its_lease(&self) {
        let sleeper = self.worker("asleep", "a");
        let run = self.run("asleep", &json!({ "scene": "wait" }), 0).await;
        sleeper.tells("begun", &run).await;
        sleeper.signal(Signal::STOP);
        let _next = self.worker("asleep", "b");
        let over = self.over(&run).await;

        sleeper.signal(Signal::CONT);

        sleeper.tells("cancelled", &run).await;
        sleeper.signal(Signal::TERM);
        let ended = sleeper.ended(PATIENCE);
        assert!(self.kit == Kit::Rust || ended.stderr.contains("is lost"), "{ended:?}");
        let still = self.seen(&run).await;
        assert_eq!(still["result"], json!({ "attempt": 2 }), "{still}");
        assert_eq!(outcomes(&still), outcomes(&over));
        assert_eq!(outcomes(&still), ["lost", "succeeded"], "{still}");
    }

    /// SIGTERM costs no attempt: what is nearly done is done, and the rest is handed back and done by another, of a job that is
    /// never tried again after a failure.
    async fn terminated(&self) {
        let worker = self.worker("term", "a");
        let short = self.run("term", &json!({ "scene": "rest", "seconds": 2 }), 0).await;
        let long = self.run("term", &json!({ "scene": "rest", "seconds": 600 }), 0).await;
        worker.tells("begun", &short).await;
        worker.tells("begun", &long).await;

        worker.signal(Signal::TERM);
        let ended = worker.ended(PATIENCE);

        assert!(ended.status.success(), "{ended:?}");
        let (short, handed_back) = (self.seen(&short).await, self.seen(&long).await);
        assert_eq!(
            (&short["status"], outcomes(&short)),
            (&json!("succeeded"), vec!["succeeded".to_owned()]),
            "{short}"
        );
        assert_eq!(handed_back["status"], "queued", "{handed_back}");
        let _next = self.worker("term", "b");
        let over = self.over(&long).await;
        assert_eq!((&over["status"], &over["result"]), (&json!("succeeded"), &json!({ "attempt": 2 })), "{over}");
    }

    /// A key that may do nothing ends the worker, which says why.
    async fn refused(&self) {
        let key = self.client.post("/v1/keys", json!({ "name": "looks", "role": "viewer" })).await.text("secret");
        let worker = self.kit.works_with(&key, self.server.address(), "refused", "a");

        let ended = worker.ended(PATIENCE);

        assert!(!ended.status.success(), "{ended:?}");
        assert!(format!("{}{}", ended.stderr, ended.stdout).contains("403"), "{ended:?}");
    }

    /// What the server refuses of a heartbeat is left out alone, and whoever waits for it is told.
    ///
    /// Tried: where a refused heartbeat counts as sent, nobody is told; where what it carried is dropped as a whole, the line "before" is
    /// missing, and the checkpoint that comes with a bad stage; without the bare heartbeat the lease of who insists is lost; where a refusal
    /// does not take back what was handed over, the handler still finds it.
    async fn refused_in_part(&self) {
        let _worker = self.worker("spoil", "a");
        let run = self.run("spoil", &json!({ "scene": "spoil" }), 0).await;
        let insisting = self.run("spoil", &json!({ "scene": "insist", "seconds": 12 }), 0).await;

        let (over, insisted) = tokio::join!(self.over(&run), self.over(&insisting));

        assert!(text(&over["result"], "refused").contains("recursion limit"), "{over}");
        assert_eq!(over["result"]["found"], json!([null, { "at": 1 }]), "{over}");
        assert_eq!(over["checkpoint"], json!({ "at": 1 }), "{over}");
        assert_eq!((&over["progress"], &over["stage"]), (&json!(0.5), &json!("counting")), "{over}");
        assert_eq!(self.lines(&run).await, ["before", "after", "last"]);
        assert_eq!(insisted["result"], json!({ "attempt": 1, "refused": true }), "{insisted}");
    }

    /// What no server would read is not sent, and costs neither the lease nor what waits.
    ///
    /// Removed: `keep` knows how large a checkpoint may be. The good one that waits gives way to the large one, which is never kept. Removed:
    /// what is sent is measured. The server closes the connection, and how the run ended is said again until the lease is lost; in Python so is
    /// the effect.
    async fn too_large(&self) {
        let _worker = self.worker("large", "a");
        let kept = self.run("large", &json!({ "scene": "swell" }), 0).await;
        let told = self.run("large", &json!({ "scene": "flood" }), 0).await;

        let (kept, told) = tokio::join!(self.over(&kept), self.over(&told));

        let refused: Vec<_> =
            kept["result"]["refused"].as_array().into_iter().flatten().map(Value::to_string).collect();
        assert!(refused[..2].iter().all(|why| why.contains("at most 262144 bytes")), "{kept}");
        assert!(refused[2].contains("at most 327680 bytes"), "{kept}");
        assert_eq!(
            (&kept["result"]["found"], &kept["checkpoint"]),
            (&json!({ "at": 1 }), &json!({ "at": 1 })),
            "{kept}"
        );
        let error = &told["attempts"][0]["error"];
        assert_eq!((&told["status"], outcomes(&told)), (&json!("failed"), vec!["failed".to_owned()]), "{told}");
        assert_eq!((&error["code"], &error["retryable"]), (&json!("result_refused"), &json!(false)), "{told}");
        assert!(text(error, "message").contains("at most 327680 bytes"), "{told}");
    }

    /// The answer of an earlier checkpoint comes after a later one was kept.
    ///
    /// Removed: a checkpoint is kept from when it was handed over. Then the handler finds none while the first one is under way, and goes back
    /// from the second to the first when that is answered.
    async fn overtaken(&self) {
        let stub = Stub::start("overtake", |said, heard| {
            let is_first = |said: &Said| said.body["checkpoint"] == "first";
            let is_held_back = (is_first(said) && !heard.iter().any(|said| said.asks_for("release")))
                || (said.asks_for("sent") && !heard.iter().any(is_first));
            (!is_held_back).then_some(200)
        })
        .await;

        let _worker = self.kit.works_for(&stub);

        assert_eq!(stub.result().await, json!(["first", "second"]));
    }

    /// Each line arrives, or is counted among those that were too many.
    ///
    /// Removed: the count waits apart from the lines. As one of them it was put back after a failure, and was the next to be thrown away.
    async fn through_an_outage(&self) {
        let is_notice = |line: &str| line.ends_with("were too many)");
        let stub = Stub::start("babble", |said, heard| {
            let is_noticed = || heard.iter().any(|said| said.lines().any(|line| line.ends_with("were too many)")));
            let is_away = said.lines().next().is_some() && !heard.iter().any(|said| said.asks_for("over"));
            if said.asks_for("noticed") && !is_noticed() {
                return None;
            }
            Some(if is_away { 503 } else { 200 })
        })
        .await;

        let _worker = self.kit.works_for(&stub);
        stub.result().await;

        let (notices, lines): (Vec<_>, Vec<_>) = stub.lines().into_iter().partition(|line| is_notice(line));
        let counts = notices.iter().filter_map(|notice| notice[1..].split(' ').next()?.parse::<usize>().ok());
        assert_eq!(
            (counts.sum::<usize>() + lines.len(), lines.last().unwrap().as_str()),
            (2_500, "line 2499"),
            "{notices:?}"
        );
    }

    /// What a handler left behind still wants something when its run is over: it is told that nobody answers.
    ///
    /// Removed: the kits for TypeScript and Rust know that of an effect, and that for TypeScript of a checkpoint. It waited for ever.
    async fn after_the_end(&self) {
        let stub = Stub::start("linger", |said, heard| {
            let is_claimed = || heard.iter().any(|said| said.asks_for("late"));
            match said {
                said if said.asks_for("late") => Some(503),
                said if said.is("/complete") => is_claimed().then_some(200),
                _ => Some(200),
            }
        })
        .await;

        let worker = self.kit.works_for(&stub);

        worker.tells("over", RUN).await;
    }

    /// What is longer than the server takes is cut between two characters.
    ///
    /// Tried: where the kit for TypeScript cuts between units, or lets half a character be, stage and lines are refused, and so is how the run
    /// ended. Removed: the kit for Rust cuts the message. How the run ended could not be said, and its lease was lost.
    async fn cut(&self) {
        let _worker = self.worker("cut", "a");
        let run = self.run("cut", &json!({ "scene": "shorten" }), 0).await;

        let over = self.over(&run).await;

        let error = json!({ "code": "too_long", "message": "z".repeat(160), "retryable": false });
        assert_eq!((&over["status"], &over["attempts"][0]["error"]), (&json!("failed"), &error), "{over}");
        assert_eq!(over["stage"], "y".repeat(127) + "\u{1f600}", "{over}");
        let half = if self.kit == Kit::Python { "half ?" } else { "half \u{fffd}" };
        assert_eq!(self.lines(&run).await, ["x".repeat(2_047), half.to_owned()]);
    }

    /// A signal that is the program's own affair stops no worker, and the program is told of it.
    ///
    /// Tried: where any ring of the bell of the kit for Python is a stop, the second run is not taken; without what it passes on, nothing is
    /// heard; with -1 in place of where signals were told before, the program's own assertion fails.
    async fn signalled(&self) {
        let worker = self.worker("signal", "a");
        let before = self.run("signal", &json!({ "scene": "rest", "seconds": 0 }), 0).await;
        self.over(&before).await;

        worker.signal(Signal::HUP);

        worker.tells("hung up", "").await;
        let after = self.run("signal", &json!({ "scene": "rest", "seconds": 0 }), 0).await;
        assert_eq!(self.over(&after).await["status"], "succeeded");
        worker.signal(Signal::TERM);
        let ended = worker.ended(PATIENCE);
        assert!(ended.status.success(), "{ended:?}");
        assert!(self.kit != Kit::Python || ended.stdout.contains(r#""heard": [1]"#), "{ended:?}");
    }

    fn worker(&self, pool: &str, name: &str) -> Actor {
        self.kit.works_with(KEY, self.server.address(), pool, name)
    }

    /// A run of a new job that is tried again so often.
    async fn run(&self, pool: &str, payload: &Value, retries: u32) -> String {
        let job = json!({
            "schedule": { "on_demand": true }, "target": { "worker": { "pool": pool, "handler": "act" } },
            "payload": payload, "timeout_seconds": 900, "retry": { "max_retries": retries, "initial_delay_seconds": 1 },
        });
        let job = self.client.post("/v1/jobs", job).await;
        assert_eq!(job.status, 201, "{}", job.body);
        let run = self.client.post(&format!("/v1/jobs/{}/run", job.text("job_id")), json!({})).await;
        assert_eq!(run.status, 202, "{}", run.body);
        run.text("run_id")
    }

    async fn seen(&self, run: &str) -> Value {
        self.client.get(&format!("/v1/runs/{run}")).await.body
    }

    /// Of its log.
    async fn lines(&self, run: &str) -> Vec<String> {
        let logs = self.client.get(&format!("/v1/runs/{run}/logs")).await.body;
        logs["items"].as_array().expect("lines").iter().map(|line| text(line, "line")).collect()
    }

    async fn over(&self, run: &str) -> Value {
        let is_over = || async {
            let seen = self.seen(run).await;
            let is = ["succeeded", "failed", "timed_out", "cancelled", "skipped"].contains(&seen["status"].as_str()?);
            is.then_some(seen)
        };
        eventually(PATIENCE, &format!("{run} is over"), is_over).await
    }
}

fn outcomes(run: &Value) -> Vec<String> {
    let attempts = run["attempts"].as_array().expect("attempts");
    attempts.iter().filter_map(|attempt| attempt["outcome"].as_str().map(str::to_owned)).collect()
}
