"""A worker that does what its payload says, and tells in lines of JSON on stdout what it meets."""

import json
import logging
import math
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4] / "shared" / "kits" / "python"))
from minutehand_worker import Cancelled, Context, Fail, Refused, Worker  # noqa: E402

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
    charge = ctx.effect("charge/7?of=100%")
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


def odd(ctx: Context) -> Any:
    """Says what is no number from 0 to 1, and keeps what is nothing."""
    for fraction in (math.nan, math.inf, -math.inf):
        ctx.progress(fraction)
    try:
        ctx.keep(None)
    except ValueError as error:
        return {"refused": str(error)}


def deep() -> Any:
    """Lists in lists, deeper than the server reads them."""
    value: Any = 0
    for _ in range(200):
        value = [value]
    return value


def refused(keep: Callable[[], object]) -> str | None:
    """What is said where it is."""
    try:
        keep()
    except Refused as error:
        return str(error)
    return None


def spoil(ctx: Context) -> Any:
    """Keeps what is too deep, and says what cannot be a stage, beside what is good."""
    ctx.progress(0.25, stage="counting")
    ctx.log("before")
    why = refused(lambda: ctx.keep(deep(), now=True))
    found = [ctx.checkpoint]
    ctx.progress(0.5, stage="")
    ctx.log("after")
    ctx.keep({"at": 1}, now=True)
    refused(lambda: ctx.keep(deep(), now=True))
    found.append(ctx.checkpoint)
    ctx.log("last")
    ctx.keep(deep())
    return {"refused": why, "found": found}


def insist(ctx: Context) -> Any:
    """Keeps what is too deep, over and over."""
    end, count = time.monotonic() + ctx.payload["seconds"], 0
    while time.monotonic() < end:
        count += refused(lambda: ctx.keep(deep(), now=True)) is not None
        time.sleep(0.5)
    return {"attempt": ctx.attempt, "refused": count > 0}


def swell(ctx: Context) -> Any:
    """Keeps and says what is too large, after the largest that is not and with a good one that waits."""
    ctx.keep("\u00e9" * 131_071, now=True)
    ctx.keep({"at": 1})
    large = "x" * 5_000_000
    tries = (
        lambda: ctx.keep(large),
        lambda: ctx.keep(large, now=True),
        lambda: ctx.effect("mail").done(large),
    )
    return {"refused": [refused(each) for each in tries], "found": ctx.checkpoint}


def flood(ctx: Context) -> Any:
    """Its result is too large."""
    return "x" * 5_000_000


def overtake(ctx: Context) -> Any:
    """Keeps another while one is under way, and finds what was kept last."""
    first = threading.Thread(target=lambda: ctx.keep("first", now=True))
    first.start()
    ctx.effect("sent")
    found = [ctx.checkpoint]
    ctx.keep("second")
    ctx.effect("release")
    first.join()
    return [*found, ctx.checkpoint]


def babble(ctx: Context) -> Any:
    """Says more than can wait, and more when some of it is known to be missing."""
    for at in range(1500):
        ctx.log(f"line {at}")
    ctx.effect("noticed")
    for at in range(1500, 2500):
        ctx.log(f"line {at}")
    ctx.effect("over")


def linger(ctx: Context) -> Any:
    """Leaves somebody behind who wants an effect, and then a checkpoint."""

    def want() -> None:
        for each in (lambda: ctx.effect("late"), lambda: ctx.keep("late", now=True)):
            try:
                each()
            except Cancelled:
                continue
            return
        tell(ctx, "over")

    threading.Thread(target=want, daemon=True).start()


def shorten(ctx: Context) -> Any:
    """Says too much of everything, with a character of two units where it is cut; and half of such a one."""
    ctx.progress(0.5, stage="y" * 127 + "\N{GRINNING FACE}" * 2)
    ctx.log("x" * 2047 + "\N{GRINNING FACE}" * 2)
    ctx.log("half \ud83d")
    raise Fail("too_long", "z" * 1023 + "\N{GRINNING FACE}" * 2 + "z" * 5_000_000, retryable=False)


def block(ctx: Context) -> Any:
    """Computes, and lets nothing else of its program go on that waits for it."""
    end = time.monotonic() + ctx.payload["seconds"]
    steps = 0
    while time.monotonic() < end:
        steps += 1
    return {"attempt": ctx.attempt, "cancelled": ctx.cancelled}


def run() -> None:
    """As a program does that has signals of its own, and an event loop that waits to be told of them."""
    signal.signal(signal.SIGHUP, lambda *_: print(json.dumps({"told": "hung up", "run": ""}), flush=True))
    bell, ear = socket.socketpair()
    bell.setblocking(False)
    signal.set_wakeup_fd(bell.fileno())
    worker.run()
    assert signal.set_wakeup_fd(-1) == bell.fileno(), "the loop is told of signals as before"
    heard = list(ear.recv(64)) if select.select([ear], [], [], 0)[0] else []
    print(json.dumps({"told": "stopped", "heard": heard}), flush=True)


SCENES = {
    each.__name__: each
    for each in (
        add,
        refuse,
        stumble,
        count,
        pay,
        wait,
        rest,
        odd,
        spoil,
        insist,
        swell,
        flood,
        overtake,
        babble,
        linger,
        shorten,
        block,
    )
}

if "INLINE" in os.environ:
    done = worker.run_inline("act", json.loads(os.environ["INLINE"]), checkpoint=json.loads(os.environ["CHECKPOINT"]))
    notes = {"result": done.result, "logs": done.logs, "checkpoints": done.checkpoints}
    progress = [fraction for fraction, _ in done.progress]
    print(json.dumps(notes | {"progress": progress, "stages": [stage for _, stage in done.progress]}), flush=True)
else:
    run()
