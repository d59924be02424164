/**
 * A worker of Minutehand in one file, without any dependency: for Node 20 or newer, from JavaScript as from TypeScript
 * (`minutehand-worker.d.mts` beside it has the types).
 *
 *     import { Worker } from "./minutehand-worker.mjs";
 *
 *     const worker = new Worker({ url: "http://127.0.0.1:8080", key: "a key", pool: "web1" });
 *
 *     worker.job("invoice.send", async (ctx) => {
 *       ctx.log(`sending invoice ${ctx.payload.invoice}`);
 *       return { sent: true };
 *     });
 *
 *     await worker.run();
 *
 * What a handler returns is the run's result. What it throws fails the attempt, which is tried again as the job says; `Fail` says
 * more. A handler is called again after a crash: what it does elsewhere is guarded by `ctx.idempotencyKey`, `ctx.fence` or
 * `ctx.effect()`.
 *
 * Leases are kept by a thread of their own, which this file is as well (see `Keeper`), so a handler that keeps the event loop busy
 * keeps its lease. What it says meanwhile goes out when it has said it; that it is to stop, it hears when the event loop goes on.
 */

import { randomUUID } from "node:crypto";
import http from "node:http";
import https from "node:https";
import os from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { Worker as Thread, isMainThread, parentPort, workerData } from "node:worker_threads";

// What the server takes.
const MOST_LEASES = 100;
const MOST_LINES = 100;
const MOST_LINE = 2048;
const MOST_STAGE = 128;
const MOST_MESSAGE = 1024;
// In bytes: of a checkpoint as JSON, and of the body of a request.
const MOST_CHECKPOINT = 256 * 1024;
const MOST_BODY = 320 * 1024;
/** Of all lines of a heartbeat, in bytes: beside the largest checkpoint there is room for so much. */
const MOST_LOG_BYTES = 48 * 1024;
/** Lines that wait for a heartbeat; the oldest give way, and that is said. */
const MOST_WAITING_LINES = 1000;
// Waits between tries, in milliseconds.
const FIRST_WAIT = 200;
const LONGEST_WAIT = 30_000;
/** A heartbeat that failed is said again soon: the lease runs meanwhile. */
const LONGEST_BEAT_WAIT = 2_000;
/** Nothing but a poll takes longer than this. */
const REQUEST_MS = 10_000;
/** The lease is over, or was never this worker's. Any other refusal is of what was said. */
const OF_THE_LEASE = [401, 403, 404, 409];
const KEEPER = "minutehand-keeper";

/** The attempt has failed; with `retryable: false` so has the run. */
export class Fail extends Error {
  constructor(code, message = code, { retryable = true } = {}) {
    super(message);
    this.name = "Fail";
    this.code = code;
    this.retryable = retryable;
  }
}

/** Somebody else is to do it: the run is ready again at once, and this costs no attempt. */
export class HandBack extends Error {
  constructor() {
    super("handed back");
    this.name = "HandBack";
  }
}

/** `ctx.check()` throws it when the handler is to stop. */
export class Cancelled extends Error {
  constructor() {
    super("cancelled");
    this.name = "Cancelled";
  }
}

/** The server says no, and would say it again: the key, the pool or the address is wrong, or a checkpoint is too large. */
export class Refused extends Error {
  constructor(status, detail) {
    super(`${detail} (${status})`);
    this.name = "Refused";
    this.status = status;
    this.detail = detail;
  }
}

/** What a handler is given: one attempt at one run. */
export class Context {
  #sink;
  #stop = new AbortController();
  /** The checkpoint that was handed over last, and its number; that of the holder before has none. */
  #last;

  constructor(lease, sink) {
    this.payload = lease.payload;
    this.runId = lease.run_id;
    this.jobId = lease.job_id;
    this.handler = lease.handler;
    this.attempt = lease.attempt;
    /** It grows with each claim: what is written elsewhere can refuse an older one. */
    this.fence = lease.fence;
    /** The same for all attempts of the run. */
    this.idempotencyKey = lease.idempotency_key;
    /** The span that this attempt is, as W3C's headers say it: what the handler does, and calls, goes on below it. */
    this.traceparent = lease.traceparent ?? null;
    this.tracestate = lease.tracestate ?? null;
    this.deadline = lease.deadline_at ? new Date(lease.deadline_at) : null;
    this.#last = { number: 0, value: lease.checkpoint ?? null };
    this.#sink = sink;
  }

  /**
   * What was kept last: by this attempt, or by the holder before. Null where nothing was. It is so from when it was handed to `keep`;
   * where the server refuses it, it is again what the server has.
   */
  get checkpoint() {
    const { number, value } = this.#last;
    return this.#sink.standing(number, value);
  }

  set checkpoint(value) {
    this.keep(value);
  }

  /**
   * Keeps a value (any JSON but null) for the next holder. It goes with the next heartbeat; with `now` it is sent at once, and the
   * promise is fulfilled when the server has it, or rejected: with `Refused` where the server refuses it, with `Cancelled` where the
   * lease is lost or the run is over. One of more than 256 KiB is `Refused` before anything is sent (without `now` that is thrown), and
   * what was kept before stays. Throws a `TypeError` for null, and for what JSON makes null of: the server takes null for no
   * checkpoint given.
   */
  keep(value, { now = false } = {}) {
    const text = JSON.stringify(value) ?? "null";
    if (text === "null") throw new TypeError("a checkpoint cannot be null: the server takes null for no checkpoint given");
    const tooLarge = tooLargeToKeep(text);
    if (tooLarge && !now) throw tooLarge;
    const kept = tooLarge ? Promise.reject(tooLarge) : this.#handOver(text, now);
    // A handler that does not wait for it does not end the program.
    kept.catch(() => {});
    return kept;
  }

  #handOver(text, isNow) {
    const number = this.#last.number + 1;
    this.#last = { number, value: JSON.parse(text) };
    return this.#sink.keep(number, text, isNow);
  }

  /**
   * Claims an effect before it is made: what the handler does to the world outside, once for the run however often it is tried. With
   * `first` it is to be made now; else it was claimed before, and `outcome` is what came of it, null where nobody has said so.
   * `done(outcome)` says it. Rejected with `Cancelled` where the lease is lost.
   */
  async effect(key) {
    const { first, outcome } = await this.#sink.effect(key);
    return { key, first, outcome, done: async (what = true) => void (what !== null && (await this.#sink.effect(key, what))) };
  }

  /** How far it is, from 0 to 1, and with what it is busy. What is beyond is cut to that; what is no number counts as 0. */
  progress(fraction, stage) {
    this.#sink.progress(Math.min(Math.max(Number(fraction) || 0, 0), 1), stage === undefined ? undefined : lineOf(stage, MOST_STAGE));
  }

  /** Each line is a line of the run's log. */
  log(text) {
    this.#sink.lines(String(text).replace(/\r?\n$/, "").split(/\r?\n/).map((line) => lineOf(line, MOST_LINE)));
  }

  /** Aborted when the handler is to stop: for `fetch` and all that take a signal. */
  get signal() {
    return this.#stop.signal;
  }

  /** The handler is to stop: somebody cancelled the run, the lease is lost, or the worker goes away. */
  get cancelled() {
    return this.#stop.signal.aborted;
  }

  /** Throws `Cancelled` when the handler is to stop. */
  check() {
    if (this.cancelled) throw new Cancelled();
  }

  /** Of the worker. */
  _cancel() {
    this.#stop.abort(new Cancelled());
  }
}

/** Takes runs of one pool and carries them out, `slots` at a time. */
export class Worker {
  #server;
  #handlers = new Map();
  #held = new Map();
  #keeper;
  #refused;
  #stops = 0;
  #onStop = new AbortController();
  #onSecondStop = new AbortController();
  #wakeUp = [];

  /**
   * Without `url` and `key` the variables MINUTEHAND_URL and MINUTEHAND_KEY are used. A worker that is gone loses its runs after
   * `leaseSeconds`. When it is asked to stop, running handlers have `drainSeconds` to finish and, once they are told to stop,
   * `graceSeconds` more.
   */
  constructor(options) {
    const { url, key, pool, name, slots = 4, leaseSeconds = 30, waitSeconds = 5 } = options;
    this.#server = serverOf(
      url || process.env.MINUTEHAND_URL || "http://127.0.0.1:8080",
      key || process.env.MINUTEHAND_KEY || "",
    );
    Object.assign(this, { pool, name: name || usualName(), slots, leaseSeconds, waitSeconds });
    this.drainSeconds = options.drainSeconds ?? 30;
    this.graceSeconds = options.graceSeconds ?? 5;
    this.log = options.log ?? ((line) => console.error(`minutehand: ${line}`));
  }

  /** The function carries out the runs of this handler. */
  job(handler, carryOut) {
    this.#handlers.set(handler, carryOut);
    return carryOut;
  }

  /** Carries a handler out here and now, without a server, for your own tests. What it throws is thrown. */
  async runInline(handler, payload = null, { checkpoint = null, attempt = 1, effects = {} } = {}) {
    const inline = { result: undefined, logs: [], checkpoints: [], progress: [], effects: { ...effects } };
    const sink = {
      keep: async (_number, text) => void inline.checkpoints.push(JSON.parse(text)),
      standing: (_number, value) => value,
      progress: (fraction, stage) => void inline.progress.push([fraction, stage ?? null]),
      lines: (lines) => void inline.logs.push(...lines),
      effect: async (key, outcome) => {
        const before = { first: outcome === undefined && !(key in inline.effects), outcome: inline.effects[key] ?? null };
        inline.effects[key] = outcome ?? before.outcome;
        return before;
      },
    };
    const ids = { run_id: "run_inline", job_id: "job_inline", idempotency_key: "run_inline" };
    const lease = { ...ids, payload, checkpoint, handler, attempt, fence: attempt };
    const carryOut = this.#handlers.get(handler);
    if (!carryOut) throw new Error(`there is no handler ${handler}`);
    inline.result = await carryOut(new Context(lease, sink));
    return inline;
  }

  /** Asks it to stop, as SIGTERM does: a second time, not to wait for handlers any more. */
  stop() {
    this.#stops += 1;
    this.#onStop.abort();
    if (this.#stops > 1) this.#onSecondStop.abort();
    this.#changed();
  }

  /**
   * Works until SIGTERM or SIGINT, then takes no more, lets handlers finish and hands the rest back. Rejected with `Refused` where
   * the server will not have this worker.
   */
  async run() {
    if (this.#handlers.size === 0) throw new Error("a worker without a handler has nothing to do: worker.job(name, handler)");
    const stop = () => this.stop();
    process.on("SIGTERM", stop).on("SIGINT", stop);
    this.#startKeeper();
    try {
      const taking = this.#take();
      await this.#until(() => this.#stops > 0);
      await this.#drain(taking);
    } finally {
      process.off("SIGTERM", stop).off("SIGINT", stop);
      await this.#keeper.terminate();
    }
    if (this.#refused) throw this.#refused;
  }

  // Taking.

  async #take() {
    let wait = FIRST_WAIT;
    while (this.#stops === 0) {
      const free = this.slots - this.#held.size;
      if (free <= 0) {
        await this.#until(() => this.#stops > 0 || this.#held.size < this.slots);
        continue;
      }
      try {
        const leases = await this.#ask(free);
        wait = FIRST_WAIT;
        await Promise.all(leases.map((lease) => this.#begin(lease)));
      } catch (why) {
        if (why instanceof Refused) {
          this.#refused = why;
          return this.stop();
        }
        if (this.#stops > 0) return;
        const pause = Math.min(why.after ?? wait, LONGEST_WAIT) * (1 + Math.random() / 4);
        this.log(`no answer of ${this.#server.url}, asked again in ${(pause / 1000).toFixed(1)} s: ${why.message}`);
        await delay(pause, undefined, { signal: this.#onStop.signal }).catch(() => {});
        wait = Math.min(wait * 2, LONGEST_WAIT);
      }
    }
  }

  async #ask(free) {
    const request = {
      pool: this.pool,
      worker_id: this.name,
      handlers: [...this.#handlers.keys()].sort(),
      max: Math.min(free, MOST_LEASES),
      slots: this.slots,
      wait_seconds: this.waitSeconds,
      lease_seconds: this.leaseSeconds,
    };
    // A connection of its own: an answer that is lost on an old one would cost its runs a lease.
    const once = { ...this.#server, agent: false };
    const ms = this.waitSeconds * 1000 + REQUEST_MS;
    return (await post(once, "/v1/leases", request, ms, this.#onSecondStop.signal)).leases;
  }

  /** Fulfilled at once, but where it came when nobody was to have it any more: then, when it was handed back. */
  async #begin(lease) {
    const { lease_id: id, token } = lease;
    const { promise: ended, resolve: end } = withResolvers();
    // Checkpoints are numbered: `seq` is the last that was said, `refused` the last that the server refused, and `kept` has those that
    // somebody waits for. `has` is what the server has.
    const checkpoints = { seq: 0, refused: 0, kept: new Map(), has: lease.checkpoint ?? null };
    const held = { id, token, isLeaving: false, isOver: false, ...checkpoints, ended, end };
    held.ctx = new Context(lease, this.#sinkOf(held));
    this.#held.set(id, held);
    const times = { expires: millis(lease.lease_expires_at), deadline: millis(lease.deadline_at) };
    this.#keeper.postMessage({ do: "hold", id, token, run: lease.run_id, until: now() + this.leaseSeconds * 1000, ...times });
    const handler = this.#handlers.get(lease.handler);
    if (this.#stops > 0 || !handler) return this.#giveBack(held);
    this.#carryOut(handler, held);
  }

  async #carryOut(handler, held) {
    const [what, body] = await this.#outcome(handler, held);
    this.#keeper.postMessage({ do: "end", id: held.id, what, body });
    await held.ended;
    this.#held.delete(held.id);
    this.#changed();
  }

  async #outcome(handler, held) {
    let result;
    try {
      result = await handler(held.ctx);
    } catch (error) {
      if (error instanceof HandBack) return ["hand-back", {}];
      if (error instanceof Fail) return ["fail", failure(error.code, error.message, error.retryable)];
      // It was told to stop because the worker goes away: that is no failure of the run.
      if (held.isLeaving) return ["hand-back", {}];
      const isStop = held.ctx.cancelled && (error instanceof Cancelled || error?.name === "AbortError");
      if (!isStop) this.log(`the handler ${held.ctx.handler} failed: ${error?.stack ?? error}`);
      return ["fail", failure(isStop ? "cancelled" : (error?.name ?? "Error"), String(error?.message ?? error), true)];
    }
    try {
      const text = JSON.stringify(result);
      return ["complete", text === undefined ? {} : { result: JSON.parse(text) }];
    } catch (error) {
      // It would be no JSON the next time either.
      return ["fail", failure("result_not_json", String(error.message), false)];
    }
  }

  #sinkOf(held) {
    const say = (what, lines, isUrgent) => {
      this.#keeper.postMessage({ do: "say", id: held.id, seq: held.seq, what, lines, isUrgent });
    };
    return {
      keep: (seq, text, isNow) => {
        held.seq = seq;
        say({ checkpoint: JSON.parse(text) }, [], isNow);
        if (!isNow) return Promise.resolve();
        // Nobody would say any more what became of it.
        if (held.isOver) return Promise.reject(new Cancelled());
        return new Promise((resolve, reject) => held.kept.set(seq, { resolve, reject }));
      },
      standing: (seq, value) => (held.refused === seq ? held.has : value),
      progress: (fraction, stage) => say(stage === undefined ? { progress: fraction } : { progress: fraction, stage }, [], false),
      lines: (lines) => say({}, lines, false),
      effect: (key, outcome) => this.#effect(held, key, outcome),
    };
  }

  /** Until the server has heard it, or the lease is lost, or the run over. Sent again, it is the same claim. */
  async #effect(held, key, outcome) {
    const path = `/v1/runs/${held.ctx.runId}/effects`;
    const isClaim = outcome === undefined;
    const headers = isClaim ? { "idempotency-key": randomUUID() } : {};
    for (let wait = FIRST_WAIT; !held.isOver; wait = Math.min(wait * 2, LONGEST_BEAT_WAIT)) {
      try {
        const body = isClaim ? { key, token: held.token } : { key, token: held.token, outcome };
        return await post({ ...this.#server, agent: false }, path, body, REQUEST_MS, undefined, headers);
      } catch (why) {
        if (why instanceof Refused && !(isClaim && why.status === 409)) throw why;
        if (why instanceof Refused) break;
        this.log(`the effect ${key} of ${held.ctx.runId} is not answered: ${why.message}`);
        await delay(wait * (0.5 + Math.random() / 2));
      }
    }
    throw new Cancelled();
  }

  // The thread that keeps the leases.

  #startKeeper() {
    const { agent: _, ...server } = this.#server;
    const data = { [KEEPER]: { server, leaseMs: this.leaseSeconds * 1000 } };
    this.#keeper = new Thread(new URL(import.meta.url), { workerData: data });
    this.#keeper.on("message", (message) => this.#heard(message));
    this.#keeper.on("error", (error) => {
      this.#refused ??= error;
      for (const held of this.#held.values()) this.#lose(held);
      this.stop();
    });
  }

  #heard({ did, id, seq, text, checkpoint, refused }) {
    if (did === "log") return this.log(text);
    const held = this.#held.get(id);
    if (!held) return;
    if (did === "cancel") held.ctx._cancel();
    if (did === "lost") this.#lose(held);
    if (did === "ended") this.#end(held);
    if (did === "kept") this.#kept(held, seq, checkpoint);
    if (did === "refused") this.#notKept(held, seq, new Refused(refused.status, refused.detail));
  }

  #kept(held, seq, checkpoint) {
    held.has = checkpoint;
    this.#settle(held, seq, ({ resolve }) => resolve());
  }

  #notKept(held, seq, why) {
    held.refused = seq;
    this.#settle(held, seq, ({ reject }) => reject(why));
  }

  /** Of this checkpoint, and of those before it that it took the place of. */
  #settle(held, seq, settle) {
    for (const [mine, waiting] of held.kept) {
      if (mine > seq) continue;
      held.kept.delete(mine);
      settle(waiting);
    }
  }

  #lose(held) {
    held.ctx._cancel();
    this.#end(held);
  }

  /** Nothing more is said of it. */
  #end(held) {
    held.isOver = true;
    for (const { reject } of held.kept.values()) reject(new Cancelled());
    held.kept.clear();
    held.end();
  }

  // Stopping.

  async #drain(taking) {
    if (!this.#refused) {
      this.log(`stopping: no more runs are taken, ${this.#held.size} are being carried out`);
      this.#sayDraining();
    }
    let isTaking = true;
    taking.finally(() => {
      isTaking = false;
      this.#changed();
    });
    const isUrgent = () => this.#stops > 1 && !this.#refused;
    await this.#until(() => (this.#held.size === 0 && !isTaking) || isUrgent(), this.drainSeconds * 1000);
    // An open request is not given up: what its answer brings would be nobody's until its lease is over. It is over before anything
    // is handed back, or it would bring just that.
    await this.#until(() => !isTaking || isUrgent());
    this.#cancelAll();
    await this.#until(() => this.#held.size === 0 || isUrgent(), this.graceSeconds * 1000);
    await Promise.all([...this.#held.values()].map((held) => this.#giveBack(held)));
    await taking;
  }

  #cancelAll() {
    for (const held of this.#held.values()) {
      held.isLeaving = true;
      held.ctx._cancel();
    }
  }

  /** The worker goes away; whatever the handler does from now on is nobody's. */
  async #giveBack(held) {
    this.#keeper.postMessage({ do: "end", id: held.id, what: "hand-back", body: {}, isOnce: true });
    await held.ended;
    this.#held.delete(held.id);
    this.#changed();
  }

  async #sayDraining() {
    const request = { pool: this.pool, worker_id: this.name, slots: this.slots, draining: true };
    const sent = post({ ...this.#server, agent: false }, "/v1/leases", request, REQUEST_MS);
    await sent.catch((why) => this.log(`that this worker is draining could not be said: ${why.message}`));
  }

  // Waiting.

  #changed() {
    for (const wake of this.#wakeUp.splice(0)) wake();
  }

  async #until(isSo, ms) {
    const end = ms === undefined ? Infinity : now() + ms;
    while (!isSo() && now() < end) {
      const { promise, resolve } = withResolvers();
      this.#wakeUp.push(resolve);
      const timer = ms === undefined ? undefined : setTimeout(resolve, end - now());
      await promise;
      clearTimeout(timer);
    }
  }
}

/** The other side of this file: the thread that keeps the leases, and speaks of them with the server. */
class Keeper {
  #held = new Map();

  constructor({ server, leaseMs }) {
    this.server = { ...server, agent: agentOf(server) };
    this.leaseMs = leaseMs;
    parentPort.on("message", (message) => this.#told(message));
  }

  #told(message) {
    if (message.do === "hold") {
      const held = new Held(this, message);
      this.#held.set(message.id, held);
      held.keep();
      return;
    }
    const held = this.#held.get(message.id);
    if (message.do === "say") held?.say(message);
    if (message.do === "end") held ? held.end(message) : this.say({ did: "ended", id: message.id });
  }

  forget(id) {
    this.#held.delete(id);
  }

  say(message) {
    parentPort.postMessage(message);
  }

  log(text) {
    this.say({ did: "log", text });
  }
}

/** A lease: what is to be said with its next heartbeat, and until when it is this worker's by the clock of this machine. */
class Held {
  #keeper;
  #waiting = {};
  #lines = [];
  #dropped = 0;
  /** The number of the last checkpoint. */
  #seq = 0;
  #isUrgent = false;
  #isLost = false;
  #isOver = false;
  #wake = () => {};
  /** One thing at a time is said of a lease. */
  #turn = Promise.resolve();

  constructor(keeper, { id, token, run, until, expires, deadline }) {
    this.#keeper = keeper;
    Object.assign(this, { id, token, run, until, expires, deadline });
    this.path = `/v1/leases/${id}`;
  }

  get #isDone() {
    return this.#isLost || this.#isOver;
  }

  say({ seq, what, lines, isUrgent }) {
    Object.assign(this.#waiting, what);
    this.#seq = seq;
    this.#lines.push(...lines);
    this.#shed();
    if (isUrgent || this.#lines.length >= MOST_LINES) {
      this.#isUrgent = true;
      this.#wake();
    }
  }

  #shed() {
    this.#dropped += this.#lines.splice(0, Math.max(this.#lines.length - MOST_WAITING_LINES, 0)).length;
  }

  async keep() {
    let wait = 0;
    while (!this.#isDone) {
      const pause = wait || (this.#keeper.leaseMs / 3) * (0.8 + Math.random() / 5);
      await this.#sleep(Math.min(pause, Math.max(this.until - now(), 0)), wait === 0);
      if (!this.#isDone) wait = await this.#inTurn(() => this.#beatOrWait(wait));
    }
  }

  async #sleep(ms, isWoken) {
    if (isWoken && this.#isUrgent) return;
    const { promise, resolve } = withResolvers();
    const timer = setTimeout(resolve, ms);
    this.#wake = () => (isWoken || this.#isDone) && resolve();
    await promise;
    clearTimeout(timer);
  }

  #inTurn(speak) {
    const mine = this.#turn.then(speak);
    this.#turn = mine.then(() => {}, () => {});
    return mine;
  }

  /** How long to wait until it is said again; 0 where it went well. */
  async #beatOrWait(wait) {
    if (this.#isDone || this.#isPast()) return 0;
    try {
      await this.#beat();
      return 0;
    } catch (why) {
      if (why instanceof Refused) {
        this.#lose(why.message);
        return 0;
      }
      this.#keeper.log(`a heartbeat of ${this.run} failed: ${why.message}`);
      return Math.min(wait * 2 || FIRST_WAIT, LONGEST_BEAT_WAIT) * (0.5 + Math.random() / 2);
    }
  }

  /** Says all that waits. Where that is refused its parts are sent one by one, so that only what is at fault is left out. */
  async #beat() {
    const beat = this.#taken();
    try {
      await this.#exchange(beat);
    } catch (why) {
      if (isOfWhatWasSaid(why)) return this.#saySingly(beat);
      this.#putBack(beat);
      throw why;
    }
  }

  async #saySingly(whole) {
    const beats = singly(whole);
    for (const [at, beat] of beats.entries()) {
      try {
        await this.#exchange(beat);
      } catch (why) {
        if (!isOfWhatWasSaid(why)) {
          for (const rest of beats.slice(at)) this.#putBack(rest);
          throw why;
        }
        this.#leaveOut(beat, why);
      }
    }
  }

  async #exchange(beat) {
    const request = { token: this.token, lease_seconds: this.#keeper.leaseMs / 1000, ...saidBy(beat) };
    const begin = now();
    const ms = Math.min(REQUEST_MS, Math.max(this.until - begin, 100));
    this.#heard(await post(this.#keeper.server, `${this.path}/heartbeat`, request, ms), begin);
    const { seq, parts: { checkpoint } } = beat;
    if (checkpoint !== undefined) this.#keeper.say({ did: "kept", id: this.id, seq, checkpoint });
    this.#isUrgent ||= this.#lines.length >= MOST_LINES;
  }

  /**
   * What goes with the next heartbeat: its parts, the number of its checkpoint, and how many lines were thrown away before its own. What
   * is said from now on goes with the one after it.
   */
  #taken() {
    // That some are missing is a line as well.
    const logs = asMany(this.#lines, this.#dropped > 0 ? MOST_LINES - 1 : MOST_LINES);
    this.#lines.splice(0, logs.length);
    const dropped = logs.length > 0 ? this.#dropped : 0;
    this.#dropped -= dropped;
    const parts = logs.length > 0 ? { ...this.#waiting, logs } : this.#waiting;
    [this.#waiting, this.#isUrgent] = [{}, false];
    return { parts, seq: this.#seq, dropped };
  }

  /** What did not arrive. What was said since is newer. */
  #putBack({ parts: { logs = [], ...what }, dropped }) {
    this.#lines.unshift(...logs);
    this.#dropped += dropped;
    this.#shed();
    this.#waiting = { ...what, ...this.#waiting };
  }

  /** It would be refused again. */
  #leaveOut({ parts, seq }, { message, status, detail }) {
    const names = Object.keys(parts).join(", ") || "a bare heartbeat";
    this.#keeper.log(`what ${this.run} says is refused, and left out (${names}): ${message}`);
    if ("checkpoint" in parts) this.#keeper.say({ did: "refused", id: this.id, seq, refused: { status, detail } });
  }

  #heard(answer, begin) {
    const [expires, whole] = [millis(answer.lease_expires_at), begin + this.#keeper.leaseMs];
    const isWhole = !answer.cancel_requested && (this.deadline === null || expires < this.deadline);
    // One that is not kept for as long as was asked: by as much as the server's own clock moved its end.
    this.until = isWhole ? whole : Math.min(this.until + Math.max(expires - this.expires, 0), whole);
    this.expires = expires;
    if (answer.cancel_requested) this.#keeper.say({ did: "cancel", id: this.id });
  }

  #isPast() {
    if (now() >= this.until) this.#lose("its heartbeats did not arrive in time");
    return this.#isLost;
  }

  #lose(why) {
    if (this.#isDone) return;
    this.#isLost = true;
    this.#wake();
    this.#keeper.log(`the lease of ${this.run} is lost: ${why}`);
    this.#keeper.say({ did: "lost", id: this.id });
  }

  /** Says how it went, until the server has heard it or the lease is over. */
  async end({ what, body, isOnce = false }) {
    let wait = 0;
    let isSaid = false;
    const telling = { what, body };
    while (!isSaid && !this.#isDone && !this.#isPast()) {
      // No heartbeat comes between: it would be refused, and look like a lost lease.
      isSaid = (await this.#inTurn(() => this.#tell(telling))) || isOnce;
      if (!isSaid) {
        wait = Math.min(wait * 2 || FIRST_WAIT, LONGEST_BEAT_WAIT);
        await delay(wait * (0.5 + Math.random() / 2));
      }
    }
    this.#isOver = true;
    this.#wake();
    this.#keeper.forget(this.id);
    this.#keeper.say({ did: "ended", id: this.id });
  }

  /** Whether there is nothing more to say. */
  async #tell(telling) {
    if (this.#isDone) return true;
    try {
      await this.#flush();
      if (this.#isDone) return true;
      const ms = Math.min(REQUEST_MS, Math.max(this.#keeper.leaseMs / 3, 1000));
      await post(this.#keeper.server, `${this.path}/${telling.what}`, { token: this.token, ...telling.body }, ms);
      this.#isOver = true;
      return true;
    } catch (why) {
      this.#keeper.log(`how ${this.run} ended is not taken: ${why.message}`);
      if (!(why instanceof Refused)) return false;
      if (OF_THE_LEASE.includes(why.status) || telling.what !== "complete") return true;
      Object.assign(telling, { what: "fail", body: failure("result_refused", why.detail, false) });
      return false;
    }
  }

  /** What the handler said last is said before its end. */
  async #flush() {
    while ((this.#lines.length > 0 || Object.keys(this.#waiting).length > 0) && !this.#isLost) {
      await this.#beat().catch((why) => {
        if (!(why instanceof Refused)) throw why;
        this.#lose(why.message);
      });
    }
  }
}

/** As go with one heartbeat. */
function asMany(lines, most) {
  let room = MOST_LOG_BYTES;
  const first = lines.slice(0, most);
  const end = first.findIndex((line) => (room -= Buffer.byteLength(JSON.stringify(line))) < 0);
  return end < 0 ? first : first.slice(0, end);
}

/**
 * What a heartbeat says. That lines are missing is said where they would be. It is never one of the lines that wait, or it could be
 * thrown away as those were, and its count with it.
 */
function saidBy({ parts, dropped }) {
  return dropped > 0 ? { ...parts, logs: [`(${dropped} lines before this one were too many)`, ...parts.logs] } : parts;
}

/** One for each part of a heartbeat. The first says nothing: it keeps the lease though others are refused. */
function singly({ parts, seq, dropped }) {
  const each = [{}, ...Object.entries(parts).map(([name, value]) => ({ [name]: value }))];
  return each.map((part) => ({ parts: part, seq, dropped: "logs" in part ? dropped : 0 }));
}

/**
 * Why a checkpoint is not kept. That is known before it takes the place of one that waits: the server would refuse it, and what waited
 * would be lost with it.
 */
function tooLargeToKeep(text) {
  const size = Buffer.byteLength(text);
  if (size <= MOST_CHECKPOINT) return undefined;
  return new Refused(413, `a checkpoint has at most ${MOST_CHECKPOINT} bytes, and this one has ${size}`);
}

/** What is said would be refused again; the lease is as good as before. */
function isOfWhatWasSaid(why) {
  return why instanceof Refused && !OF_THE_LEASE.includes(why.status);
}

/** One line, without what would move a terminal's cursor. */
function lineOf(text, most) {
  return cut(text, most).replace(/\p{Cc}/gu, " ");
}

/** So many characters as the server counts them. The half of one is refused: each is replaced, and none is made. */
function cut(text, most) {
  // A character has two units at most: of a text of megabytes no more is looked at.
  return [...String(text).slice(0, 2 * most)].slice(0, most).join("").toWellFormed();
}

function failure(code, message, retryable) {
  const word = String(code).replace(/[^A-Za-z0-9._-]/g, "_").slice(0, 64) || "error";
  return { error: { code: word, message: cut(message, MOST_MESSAGE), retryable } };
}

// HTTP.

function serverOf(url, key) {
  const parsed = new URL(url);
  if (!["http:", "https:"].includes(parsed.protocol)) throw new Error(`${url} is no address of a server: it begins with http:// or https://`);
  return { url, base: parsed.href.replace(/\/$/, ""), key };
}

function agentOf({ base }) {
  return base.startsWith("https:") ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true });
}

/** The answer's JSON. Throws `Refused` where the server would say so again, and anything else where it may go better. */
function post({ base, key, agent }, path, body, ms, signal, more = {}) {
  const text = Buffer.from(JSON.stringify(body));
  // The server refuses a larger one before it has read it, and closes the connection: that would look like a broken network.
  if (text.length > MOST_BODY) {
    return Promise.reject(new Refused(413, `a request has at most ${MOST_BODY} bytes, and this one has ${text.length}`));
  }
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "content-length": text.length,
    "user-agent": "minutehand-typescript",
    ...more,
  };
  const late = AbortSignal.timeout(Math.ceil(ms));
  const either = signal ? AbortSignal.any([late, signal]) : late;
  return new Promise((resolve, reject) => {
    const client = base.startsWith("https:") ? https : http;
    const request = client.request(base + path, { method: "POST", headers, agent, signal: either }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        try {
          resolve(read(response, Buffer.concat(parts).toString()));
        } catch (why) {
          reject(why);
        }
      });
    });
    request.on("error", (why) => reject(late.aborted ? new Error(`no answer within ${Math.ceil(ms / 1000)} s`) : why));
    request.end(text);
  });
}

function read(response, text) {
  const status = response.statusCode;
  if (status >= 200 && status < 300) return JSON.parse(text);
  const detail = detailOf(text) ?? response.statusMessage ?? "no";
  if (status < 500 && status !== 408 && status !== 429) throw new Refused(status, detail);
  const after = Number.parseInt(response.headers["retry-after"] ?? "", 10);
  throw Object.assign(new Error(`${detail} (${status})`), Number.isNaN(after) ? {} : { after: after * 1000 });
}

function detailOf(text) {
  try {
    const { detail, title, errors = [] } = JSON.parse(text);
    return [detail || title, ...errors.map((error) => `${error.pointer} ${error.detail}`)].join("; ") || undefined;
  } catch {
    return undefined;
  }
}

function millis(instant) {
  return instant ? Date.parse(instant) : null;
}

/** Milliseconds of a clock that nobody sets, the same for all threads. */
function now() {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

function withResolvers() {
  let resolve;
  const promise = new Promise((fulfil) => (resolve = fulfil));
  return { promise, resolve };
}

function usualName() {
  return `${os.hostname().replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 48) || "worker"}-${process.pid}`;
}

if (!isMainThread && workerData?.[KEEPER]) new Keeper(workerData[KEEPER]);
