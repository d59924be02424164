// A worker that does what its payload says, and tells in lines of JSON on stdout what it meets.

import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { Cancelled, Fail, Refused, Worker } from "../../../../shared/kits/typescript/minutehand-worker.mjs";

const { POOL: pool, NAME: name, LEASE_SECONDS: leaseSeconds = "10" } = process.env;
const worker = new Worker({
  pool: pool ?? "inline",
  name,
  slots: 4,
  leaseSeconds: Number(leaseSeconds),
  waitSeconds: 1,
  drainSeconds: 15,
  graceSeconds: 0.5,
});

const print = (line) => writeSync(1, `${JSON.stringify(line)}\n`);
const tell = (ctx, told) => print({ told, run: ctx.runId, fence: ctx.fence });

/** Lists in lists, deeper than the server reads them. */
const deep = () => Array.from({ length: 200 }).reduce((inner) => [inner], 0);
/** What is said where it is; null where it is not. */
const refused = async (keep) => {
  try {
    await keep();
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
  return null;
};

const scenes = {
  /** Says all there is to say. */
  async add(ctx) {
    ctx.progress(0.5, "adding");
    for (const number of ctx.payload.numbers) ctx.log(`adding ${number}`);
    await ctx.keep({ added: ctx.payload.numbers.length }, { now: true });
    return { sum: ctx.payload.numbers.reduce((sum, number) => sum + number, 0), key: ctx.idempotencyKey, trace: ctx.traceparent };
  },
  refuse() {
    throw new Fail("no_such_invoice", "there is no invoice 7", { retryable: false });
  },
  /** Fails the first time, as code does that has a mistake. */
  stumble(ctx) {
    if (ctx.attempt === 1) throw new RangeError("the first one stumbles");
    return { attempt: ctx.attempt };
  },
  /** Goes on where the holder before was, which hangs half way. */
  async count(ctx) {
    const begin = ctx.checkpoint?.at ?? 0;
    for (let at = begin + 1; at <= 6; at += 1) {
      await ctx.keep({ at }, { now: true });
      if (at === 3 && begin === 0) {
        tell(ctx, "half way");
        await delay(600_000);
      }
    }
    return { from: begin };
  },
  /** Makes one effect, and dies in the middle of another. The next holder tells what it is told of both. */
  async pay(ctx) {
    const charge = await ctx.effect("charge/7?of=100%");
    if (charge.first) await charge.done({ id: "ch_1" });
    const mail = await ctx.effect("mail");
    if (mail.first) {
      tell(ctx, "half way");
      await delay(600_000);
    }
    await mail.done("sent");
    return [charge.first, charge.outcome, mail.first, mail.outcome];
  },
  /** Waits to be told to stop, for ten minutes. The second time it has nothing to wait for. */
  async wait(ctx) {
    if (ctx.attempt > 1) return { attempt: ctx.attempt };
    await delay(600_000, undefined, { signal: ctx.signal }).catch(() => {});
    tell(ctx, ctx.cancelled ? "cancelled" : "not cancelled");
    ctx.check();
  },
  /** Takes a while, and listens to nobody. The second time it is quick. */
  async rest(ctx) {
    await delay(ctx.attempt === 1 ? ctx.payload.seconds * 1000 : 0);
    return { attempt: ctx.attempt };
  },
  /** Says what is no number from 0 to 1, and keeps what is nothing. */
  odd(ctx) {
    for (const fraction of [NaN, Infinity, -Infinity]) ctx.progress(fraction);
    try {
      ctx.keep(null);
    } catch (error) {
      return { refused: error.message };
    }
  },
  /** Keeps what is too deep, and says what cannot be a stage, beside what is good. */
  async spoil(ctx) {
    ctx.progress(0.25, "counting");
    ctx.log("before");
    const why = await refused(() => ctx.keep(deep(), { now: true }));
    const found = [ctx.checkpoint];
    ctx.progress(0.5, "");
    ctx.log("after");
    await ctx.keep({ at: 1 }, { now: true });
    await refused(() => ctx.keep(deep(), { now: true }));
    found.push(ctx.checkpoint);
    ctx.log("last");
    ctx.keep(deep());
    return { refused: why, found };
  },
  /** Keeps what is too deep, over and over. */
  async insist(ctx) {
    const end = Date.now() + ctx.payload.seconds * 1000;
    let count = 0;
    while (Date.now() < end) {
      count += (await refused(() => ctx.keep(deep(), { now: true }))) !== null;
      await delay(500);
    }
    return { attempt: ctx.attempt, refused: count > 0 };
  },
  /** Keeps and says what is too large, after the largest that is not and with a good one that waits. */
  async swell(ctx) {
    await ctx.keep("\u00e9".repeat(131_071), { now: true });
    ctx.keep({ at: 1 });
    const large = "x".repeat(5_000_000);
    // Without `now` it is thrown, not a promise that nobody may wait for.
    const later = await refused(() => void ctx.keep(large));
    const now = await refused(() => ctx.keep(large, { now: true }));
    const effect = await refused(async () => (await ctx.effect("mail")).done(large));
    return { refused: [later, now, effect], found: ctx.checkpoint };
  },
  /** Its result is too large. */
  flood: () => "x".repeat(5_000_000),
  /** Keeps another while one is under way, and finds what was kept last. */
  async overtake(ctx) {
    const first = ctx.keep("first", { now: true });
    await ctx.effect("sent");
    const found = [ctx.checkpoint];
    ctx.keep("second");
    await ctx.effect("release");
    await first;
    return [...found, ctx.checkpoint];
  },
  /** Says more than can wait, and more when some of it is known to be missing. */
  async babble(ctx) {
    for (let at = 0; at < 1500; at += 1) ctx.log(`line ${at}`);
    await ctx.effect("noticed");
    for (let at = 1500; at < 2500; at += 1) ctx.log(`line ${at}`);
    await ctx.effect("over");
  },
  /** Leaves somebody behind who wants an effect, and then a checkpoint. */
  linger(ctx) {
    const isCancelled = (error) => error instanceof Cancelled;
    const want = async () => {
      const both = [await ctx.effect("late").catch(isCancelled), await ctx.keep("late", { now: true }).catch(isCancelled)];
      if (both.every((each) => each === true)) tell(ctx, "over");
    };
    want();
  },
  /** Says too much of everything, with a character of two units where it is cut; and half of such a one. */
  shorten(ctx) {
    ctx.progress(0.5, "y".repeat(127) + "\u{1f600}".repeat(2));
    ctx.log("x".repeat(2047) + "\u{1f600}".repeat(2));
    ctx.log("half \ud83d");
    throw new Fail("too_long", "z".repeat(1023) + "\u{1f600}".repeat(2) + "z".repeat(5_000_000), { retryable: false });
  },
  /** Computes, and lets nothing else of its program go on that waits for it. */
  block(ctx) {
    const end = Date.now() + ctx.payload.seconds * 1000;
    while (Date.now() < end);
    return { attempt: ctx.attempt, cancelled: ctx.cancelled };
  },
};

worker.job("act", (ctx) => {
  tell(ctx, "begun");
  return scenes[ctx.payload.scene](ctx);
});

const { INLINE: payload, CHECKPOINT: checkpoint } = process.env;
if (payload) {
  const done = await worker.runInline("act", JSON.parse(payload), { checkpoint: JSON.parse(checkpoint) });
  const [progress, stages] = [0, 1].map((part) => done.progress.map((each) => each[part]));
  print({ result: done.result, logs: done.logs, checkpoints: done.checkpoints, progress, stages });
} else {
  // As a program does that has signals of its own.
  process.on("SIGHUP", () => print({ told: "hung up", run: "" }));
  await worker.run();
  print({ told: "stopped" });
  // A handler that listened to nobody would keep the process.
  process.exit(0);
}
