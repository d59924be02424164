"""A worker that does what its payload says, and tells in lines of JSON on stdout what it meets."""

import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4] / "shared" / "kits" / "python"))
from minutehand_worker import Context, Fail, Worker  # noqa: E402

logging.basicConfig(level=logging.INFO)

worker = Worker(
    pool=os.environ.get("POOL", "inline"),
    name=os.environ.get("NAME"),
    slots=4,
    lease_seconds=int(os.environ.get("LEASE_SECONDS", "10")),
    wait_seconds=1,
    drain_seconds=15,
    grace_seconds=0.5,
)


def tell(ctx: Context, what: str) -> None:
    print(json.dumps({"told": what, "run": ctx.run_id, "fence": ctx.fence}), flush=True)


@worker.job("act")
def act(ctx: Context) -> Any:
    tell(ctx, "begun")
    return SCENES[ctx.payload["scene"]](ctx)


def add(ctx: Context) -> Any:
    """Says all there is to say."""
    ctx.progress(0.5, stage="adding")
    for number in ctx.payload["numbers"]:
        ctx.log(f"adding {number}")
    ctx.keep({"added": len(ctx.payload["numbers"])}, now=True)
    return {"sum": sum(ctx.payload["numbers"]), "key": ctx.idempotency_key, "trace": ctx.traceparent}


def refuse(ctx: Context) -> Any:
    raise Fail("no_such_invoice", "there is no invoice 7", retryable=False)


def stumble(ctx: Context) -> Any:
    """Fails the first time, as code does that has a mistake."""
    if ctx.attempt == 1:
        raise ValueError("the first one stumbles")
    return {"attempt": ctx.attempt}


def count(ctx: Context) -> Any:
    """Goes on where the holder before was, which hangs half way."""
    begin = (ctx.checkpoint or {"at": 0})["at"]
    for at in range(begin + 1, 7):
        ctx.keep({"at": at}, now=True)
        if at == 3 and begin == 0:
            tell(ctx, "half way")
            time.sleep(600)
    return {"from": begin}


def pay(ctx: Context) -> Any:
    """Makes one effect, and dies in the middle of another. The next holder tells what it is told of both."""
    charge = ctx.effect("charge/7")
    if charge.first:
        charge.done({"id": "ch_1"})
    mail = ctx.effect("mail")
    if mail.first:
        tell(ctx, "half way")
        time.sleep(600)
    mail.done("sent")
    return [charge.first, charge.outcome, mail.first, mail.outcome]


def wait(ctx: Context) -> Any:
    """Waits to be told to stop, for ten minutes. The second time it has nothing to wait for."""
    if ctx.attempt > 1:
        return {"attempt": ctx.attempt}
    is_cancelled = ctx.wait_cancelled(600)
    tell(ctx, "cancelled" if is_cancelled else "not cancelled")
    ctx.check()


def rest(ctx: Context) -> Any:
    """Takes a while, and listens to nobody. The second time it is quick."""
    time.sleep(ctx.payload["seconds"] if ctx.attempt == 1 else 0)
    return {"attempt": ctx.attempt}


def block(ctx: Context) -> Any:
    """Computes, and lets nothing else of its program go on that waits for it."""
    end = time.monotonic() + ctx.payload["seconds"]
    steps = 0
    while time.monotonic() < end:
        steps += 1
    return {"attempt": ctx.attempt, "cancelled": ctx.cancelled}


SCENES = {each.__name__: each for each in (add, refuse, stumble, count, pay, wait, rest, block)}

if "INLINE" in os.environ:
    done = worker.run_inline("act", json.loads(os.environ["INLINE"]), checkpoint=json.loads(os.environ["CHECKPOINT"]))
    notes = {"result": done.result, "logs": done.logs, "checkpoints": done.checkpoints}
    progress = [fraction for fraction, _ in done.progress]
    print(json.dumps(notes | {"progress": progress, "stages": [stage for _, stage in done.progress]}), flush=True)
else:
    worker.run()
    print(json.dumps({"told": "stopped"}), flush=True)
