// A worker that does what its payload says, and tells in lines of JSON on stdout what it meets.

import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { Fail, Worker } from "../../../../shared/kits/typescript/minutehand-worker.mjs";

const { POOL: pool, NAME: name } = process.env;
const worker = new Worker({
  pool: pool ?? "inline",
  name,
  slots: 4,
  leaseSeconds: 10,
  waitSeconds: 1,
  drainSeconds: 15,
  graceSeconds: 0.5,
});

const print = (line) => writeSync(1, `${JSON.stringify(line)}\n`);
const tell = (ctx, told) => print({ told, run: ctx.runId, fence: ctx.fence });

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
    const charge = await ctx.effect("charge/7");
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
  await worker.run();
  print({ told: "stopped" });
  // A handler that listened to nobody would keep the process.
  process.exit(0);
}
