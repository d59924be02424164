"""A worker of Minutehand in one file, with nothing but the standard library. Python 3.10 or newer.

    from minutehand_worker import Context, Fail, Worker

    worker = Worker("http://127.0.0.1:8080", "a key", pool="web1")

    @worker.job("invoice.send")
    def send(ctx: Context) -> object:
        ctx.log(f"sending invoice {ctx.payload['invoice']}")
        return {"sent": True}

    worker.run()

What a handler returns is the run's result. What it raises fails the attempt, which is tried again as the job says; `Fail` says more.
A handler is called again after a crash: what it does elsewhere is guarded by `ctx.idempotency_key`, `ctx.fence` or `ctx.effect()`.

Each run has two threads: one carries it out, the other keeps its lease. So a handler that computes for a minute in Python keeps it;
one call of C code that holds the interpreter's lock for longer than a lease does not: such work belongs in a process of its own.
"""

from __future__ import annotations

import asyncio
import http.client
import inspect
import json
import logging
import os
import random
import re
import secrets
import select
import signal
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

__all__ = ["Cancelled", "Context", "Effect", "Fail", "HandBack", "Inline", "Refused", "Worker"]

# What the server takes.
MOST_LEASES = 100
MOST_LINES = 100
MOST_LINE = 2048
MOST_STAGE = 128
MOST_MESSAGE = 1024
# Of all lines of a heartbeat, in bytes: beside the largest checkpoint there is room for so much.
MOST_LOG_BYTES = 48 * 1024
# Lines that wait for a heartbeat; the oldest give way, and that is said.
MOST_WAITING_LINES = 1000
# Waits between tries, in seconds.
FIRST_WAIT = 0.2
LONGEST_WAIT = 30.0
# A heartbeat that failed is said again soon: the lease runs meanwhile.
LONGEST_BEAT_WAIT = 2.0
# Nothing but a poll takes longer than this.
REQUEST_SECONDS = 10.0

log = logging.getLogger("minutehand.worker")

Handler = Callable[["Context"], Any]
H = TypeVar("H", bound=Handler)


class Fail(Exception):
    """The attempt has failed; with `retryable=False` so has the run."""

    def __init__(self, code: str, message: str = "", *, retryable: bool = True) -> None:
        super().__init__(message or code)
        self.code, self.message, self.retryable = code, message or code, retryable


class HandBack(Exception):
    """Somebody else is to do it: the run is ready again at once, and this costs no attempt."""


class Cancelled(Exception):
    """`ctx.check()` raises it when the handler is to stop."""


class Refused(Exception):
    """The server says no, and would say it again: the key, the pool or the address is wrong."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{detail} ({status})")
        self.status, self.detail = status, detail


@dataclass(frozen=True)
class Effect:
    """What a handler does to the world outside, and must not do twice however often its run is tried."""

    key: str
    # It is to be made now. Where it is not, somebody claimed it before, and made it perhaps.
    first: bool
    # What came of it; None where nobody has said so.
    outcome: Any
    _sink: "_Sink" = field(repr=False, compare=False)

    def done(self, outcome: Any = True) -> None:
        """Says what came of it, for whoever comes later."""
        if outcome is not None:
            self._sink.effect(self.key, json.dumps(outcome, allow_nan=False))


class Context:
    """What a handler is given: one attempt at one run."""

    def __init__(self, lease: dict[str, Any], sink: "_Sink") -> None:
        self.payload: Any = lease.get("payload")
        self.run_id: str = lease["run_id"]
        self.job_id: str = lease.get("job_id", "")
        self.handler: str = lease["handler"]
        self.attempt: int = lease["attempt"]
        # It grows with each claim: what is written elsewhere can refuse an older one.
        self.fence: int = lease["fence"]
        # The same for all attempts of the run.
        self.idempotency_key: str = lease["idempotency_key"]
        # The span that this attempt is, as W3C's headers say it: what the handler does, and calls, goes on below it.
        self.traceparent: str | None = lease.get("traceparent")
        self.tracestate: str | None = lease.get("tracestate")
        self.deadline: datetime | None = _instant(lease.get("deadline_at"))
        self._checkpoint: Any = lease.get("checkpoint")
        self._sink = sink
        self._cancelled = threading.Event()
        self._on_cancel: Callable[[], object] | None = None

    @property
    def checkpoint(self) -> Any:
        """What was kept last: by this attempt, or by the holder before. None where nothing was."""
        return self._checkpoint

    @checkpoint.setter
    def checkpoint(self, value: Any) -> None:
        self.keep(value)

    def keep(self, value: Any, *, now: bool = False) -> None:
        """Keeps a value (any JSON) for the next holder. It goes with the next heartbeat; with `now` it is sent at once,
        and `keep` returns when the server has it, or raises `Cancelled` where the lease is lost."""
        self._sink.keep(json.dumps(value, allow_nan=False), now)
        self._checkpoint = value

    def effect(self, key: str) -> Effect:
        """Claims an effect before it is made. Raises `Cancelled` where the lease is lost."""
        answer = self._sink.effect(key, None)
        return Effect(key, answer["first"], answer["outcome"], self._sink)

    def progress(self, fraction: float, stage: str | None = None) -> None:
        """How far it is, from 0 to 1, and with what it is busy."""
        self._sink.progress(min(max(float(fraction), 0.0), 1.0), None if stage is None else _line(stage, MOST_STAGE))

    def log(self, text: object) -> None:
        """Each line is a line of the run's log."""
        for line in str(text).splitlines() or [""]:
            self._sink.line(_line(line, MOST_LINE))

    @property
    def cancelled(self) -> bool:
        """The handler is to stop: somebody cancelled the run, the lease is lost, or the worker goes away."""
        return self._cancelled.is_set()

    def wait_cancelled(self, seconds: float | None = None) -> bool:
        """Sleeps, but not for longer than the handler may go on."""
        return self._cancelled.wait(seconds)

    def check(self) -> None:
        """Raises `Cancelled` when the handler is to stop."""
        if self.cancelled:
            raise Cancelled

    def _cancel(self) -> None:
        self._cancelled.set()
        if (also := self._on_cancel) is not None:
            also()


@dataclass
class Inline:
    """What a handler did without a server."""

    result: Any = None
    logs: list[str] = field(default_factory=list)
    checkpoints: list[Any] = field(default_factory=list)
    progress: list[tuple[float, str | None]] = field(default_factory=list)
    # What was claimed, and what came of it.
    effects: dict[str, Any] = field(default_factory=dict)


class Worker:
    """Takes runs of one pool and carries them out, `slots` at a time."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        pool: str,
        name: str | None = None,
        slots: int = 4,
        lease_seconds: int = 30,
        wait_seconds: int = 5,
        drain_seconds: float = 30.0,
        grace_seconds: float = 5.0,
    ) -> None:
        """Without `url` and `key` the variables MINUTEHAND_URL and MINUTEHAND_KEY are used. A worker that is gone loses its runs
        after `lease_seconds`. When it is asked to stop, running handlers have `drain_seconds` to finish and, once they are told to
        stop, `grace_seconds` more."""
        self._server = _Server(
            url or os.environ.get("MINUTEHAND_URL") or "http://127.0.0.1:8080",
            key or os.environ.get("MINUTEHAND_KEY") or "",
        )
        self.pool, self.name, self.slots = pool, name or _usual_name(), slots
        self.lease_seconds, self.wait_seconds = lease_seconds, wait_seconds
        self.drain_seconds, self.grace_seconds = drain_seconds, grace_seconds
        self._handlers: dict[str, Handler] = {}
        self._held: set[_Held] = set()
        self._change = threading.Condition()
        self._stopping = self._is_urgent = False
        self._refused: Refused | None = None
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)

    def job(self, handler: str) -> Callable[[H], H]:
        """The decorated function carries out the runs of this handler. It may be `async`."""

        def register(function: H) -> H:
            self._handlers[handler] = function
            return function

        return register

    def run_inline(
        self,
        handler: str,
        payload: Any = None,
        checkpoint: Any = None,
        *,
        attempt: int = 1,
        effects: dict[str, Any] | None = None,
    ) -> Inline:
        """Carries a handler out here and now, without a server, for your own tests. What it raises is raised. `effects` were
        claimed before."""
        sink = _Notes(Inline(effects=dict(effects or {})))
        lease = {"payload": payload, "checkpoint": checkpoint, "handler": handler, "attempt": attempt, "fence": attempt}
        ctx = Context(lease | {"run_id": "run_inline", "job_id": "job_inline", "idempotency_key": "run_inline"}, sink)
        sink.inline.result = _carry_out(self._handlers[handler], ctx)
        return sink.inline

    def stop(self) -> None:
        """Asks it to stop, as SIGTERM does: a second time, not to wait for handlers any more."""
        self._bell.send(b"s")

    def run(self) -> None:
        """Works until SIGTERM or SIGINT, then takes no more, lets handlers finish and hands the rest back. Raises `Refused` where
        the server will not have this worker."""
        if not self._handlers:
            raise ValueError("a worker without a handler has nothing to do: @worker.job(name) gives it one")
        before = self._listen_to_signals()
        taking = threading.Thread(target=self._take, name="minutehand-take", daemon=True)
        try:
            taking.start()
            self._asked_to_stop(None)
            self._drain(taking)
        finally:
            self._stopping = True
            for number, handler in before.items():
                signal.signal(number, handler)
            if before:
                signal.set_wakeup_fd(-1)
        if self._refused:
            raise self._refused

    # Taking.

    def _take(self) -> None:
        wait = FIRST_WAIT
        while (free := self._free()) and not self._stopping:
            try:
                leases = self._ask(free)
                wait = FIRST_WAIT
            except Refused as refused:
                self._refused = refused
                self.stop()
                return
            except (_Later, OSError, http.client.HTTPException, ValueError) as why:
                pause = _later(why, wait)
                log.warning("no answer of %s, asked again in %.1f s: %s", self._server.url, pause, why)
                self._sleep(pause)
                wait = min(wait * 2, LONGEST_WAIT)
                continue
            for lease in leases:
                self._begin(lease)

    def _free(self) -> int:
        with self._change:
            self._change.wait_for(lambda: self._stopping or len(self._held) < self.slots)
            return max(1, self.slots - len(self._held))

    def _sleep(self, seconds: float) -> None:
        with self._change:
            self._change.wait_for(lambda: self._stopping, seconds)

    def _ask(self, free: int) -> list[dict[str, Any]]:
        request = {
            "pool": self.pool,
            "worker_id": self.name,
            "handlers": sorted(self._handlers),
            "max": min(free, MOST_LEASES),
            "slots": self.slots,
            "wait_seconds": self.wait_seconds,
            "lease_seconds": self.lease_seconds,
        }
        # A connection of its own: an answer that is lost on an old one would cost its runs a lease.
        answer = _Connection(self._server).post("/v1/leases", request, self.wait_seconds + REQUEST_SECONDS)
        leases: list[dict[str, Any]] = answer["leases"]
        return leases

    def _begin(self, lease: dict[str, Any]) -> None:
        held = _Held(self, lease)
        handler = self._handlers.get(lease["handler"])
        with self._change:
            is_wanted = handler is not None and not self._stopping
            if is_wanted:
                self._held.add(held)
        if not is_wanted or handler is None:
            # It came when nobody was to have it any more.
            held.give_back()
            return
        threading.Thread(target=held.keep_lease, name=f"minutehand-lease-{held.ctx.run_id}", daemon=True).start()
        threading.Thread(target=held.carry_out, args=(handler,), name=f"minutehand-{held.ctx.run_id}", daemon=True).start()

    def _over(self, held: "_Held") -> None:
        with self._change:
            self._held.discard(held)
            self._change.notify_all()

    # Stopping.

    def _listen_to_signals(self) -> dict[int, Any]:
        if threading.current_thread() is not threading.main_thread():
            return {}
        # The interpreter rings the bell itself: a handler in Python that took a lock could wait for its own thread.
        signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        return {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}

    def _asked_to_stop(self, seconds: float | None) -> bool:
        heard, _, _ = select.select([self._ear], [], [], seconds)
        return bool(heard) and bool(self._ear.recv(1))

    def _drain(self, taking: threading.Thread) -> None:
        with self._change:
            self._stopping = True
            self._change.notify_all()
            count = len(self._held)
        if self._refused is None:
            log.info("stopping: no more runs are taken, %d are being carried out", count)
            threading.Thread(target=self._say_draining, daemon=True).start()
        self._wait(lambda: not self._held and not taking.is_alive(), self.drain_seconds)
        # An open request is not given up: what its answer brings would be nobody's until its lease is over. It is over before
        # anything is handed back, or it would bring just that.
        self._wait(lambda: not taking.is_alive(), self.wait_seconds + REQUEST_SECONDS)
        self._cancel_all()
        self._wait(lambda: not self._held, self.grace_seconds)
        rest = [threading.Thread(target=held.give_back, daemon=True) for held in list(self._held)]
        for each in rest:
            each.start()
        for each in rest:
            each.join(REQUEST_SECONDS)

    def _wait(self, is_over: Callable[[], bool], seconds: float) -> None:
        """Until it is over, or for so long, or until somebody asks again."""
        end = time.monotonic() + seconds
        while not self._is_urgent and not is_over() and time.monotonic() < end:
            self._is_urgent = self._asked_to_stop(0.02)

    def _cancel_all(self) -> None:
        for held in list(self._held):
            held.is_leaving = True
            held.ctx._cancel()

    def _say_draining(self) -> None:
        try:
            request = {"pool": self.pool, "worker_id": self.name, "slots": self.slots, "draining": True}
            _Connection(self._server).post("/v1/leases", request, REQUEST_SECONDS)
        except (Refused, _Later, OSError, http.client.HTTPException, ValueError) as why:
            log.info("that this worker is draining could not be said: %s", why)


# One lease.


class _Sink:
    """Where what a handler says goes."""

    def keep(self, value: str, now: bool) -> None:
        raise NotImplementedError

    def progress(self, fraction: float, stage: str | None) -> None:
        raise NotImplementedError

    def line(self, line: str) -> None:
        raise NotImplementedError

    def effect(self, key: str, outcome: str | None) -> dict[str, Any]:
        raise NotImplementedError


class _Notes(_Sink):
    def __init__(self, inline: Inline) -> None:
        self.inline = inline

    def keep(self, value: str, now: bool) -> None:
        self.inline.checkpoints.append(json.loads(value))

    def progress(self, fraction: float, stage: str | None) -> None:
        self.inline.progress.append((fraction, stage))

    def line(self, line: str) -> None:
        self.inline.logs.append(line)

    def effect(self, key: str, outcome: str | None) -> dict[str, Any]:
        effects = self.inline.effects
        before = {"first": outcome is None and key not in effects, "outcome": effects.get(key)}
        effects[key] = effects.get(key) if outcome is None else json.loads(outcome)
        return before


class _Held(_Sink):
    """A lease: what is to be said with its next heartbeat, and until when it is this worker's by the clock of this machine."""

    def __init__(self, worker: Worker, lease: dict[str, Any]) -> None:
        self.worker = worker
        self.path, self.token = f"/v1/leases/{lease['lease_id']}", lease["token"]
        self.expires, self.deadline = _instant(lease["lease_expires_at"]), _instant(lease.get("deadline_at"))
        self.until = time.monotonic() + worker.lease_seconds
        self.is_lost = self.is_over = self.is_leaving = False
        self.waiting: dict[str, Any] = {}
        self.lines: deque[str] = deque()
        self.dropped = 0
        self.said, self.sent = 0, 0
        self.is_urgent = False
        self.change = threading.Condition()
        # One heartbeat at a time, of whichever thread.
        self.beating = threading.RLock()
        self.beats = _Connection(worker._server)
        self.ctx = Context(lease, self)

    # What the handler says.

    def keep(self, value: str, now: bool) -> None:
        mine = self._say({"checkpoint": json.loads(value)}, now)
        if now:
            with self.change:
                self.change.wait_for(lambda: self.sent >= mine or self.is_lost or self.is_over)
                if self.sent < mine:
                    raise Cancelled

    def progress(self, fraction: float, stage: str | None) -> None:
        self._say({"progress": fraction} | ({} if stage is None else {"stage": stage}), False)

    def line(self, line: str) -> None:
        with self.change:
            self.lines.append(line)
            if len(self.lines) > MOST_WAITING_LINES:
                self.lines.popleft()
                self.dropped += 1
        self._say({}, len(self.lines) >= MOST_LINES)

    def effect(self, key: str, outcome: str | None) -> dict[str, Any]:
        """Until the server has heard it, or the lease is lost. Sent again, it is the same claim."""
        path = f"/v1/runs/{self.ctx.run_id}/effects/{quote(key, safe='')}"
        body = {"token": self.token} | ({} if outcome is None else {"outcome": json.loads(outcome)})
        mark = {"idempotency-key": secrets.token_hex(16)} if outcome is None else {}
        connection, wait = _Connection(self.worker._server), 0.0
        try:
            while not self._is_past() and not self.is_over:
                try:
                    answer: dict[str, Any] = connection.post(path, body, REQUEST_SECONDS, mark)
                    return answer
                except Refused as refused:
                    if refused.status != 409 or outcome is not None:
                        raise
                    self.lose(str(refused))
                except (_Later, OSError, http.client.HTTPException, ValueError) as why:
                    log.warning("the effect %s of %s is not answered: %s", key, self.ctx.run_id, why)
                    wait = min(wait * 2 or FIRST_WAIT, LONGEST_BEAT_WAIT)
                    time.sleep(wait * random.uniform(0.5, 1.0))
        finally:
            connection.close()
        raise Cancelled

    def _say(self, what: dict[str, Any], is_urgent: bool) -> int:
        with self.change:
            self.waiting |= what
            self.said += 1
            if is_urgent:
                self.is_urgent = True
                self.change.notify_all()
            return self.said

    # The thread that keeps the lease.

    def keep_lease(self) -> None:
        wait = 0.0
        while True:
            pause = wait or self.worker.lease_seconds / 3 * random.uniform(0.8, 1.0)
            with self.change:
                left = self.until - time.monotonic()
                self.change.wait_for(lambda: self._is_done() or self.is_urgent and not wait, min(pause, max(left, 0.0)))
                if self._is_done():
                    return
            wait = self._beat_or_wait(wait)

    def _is_done(self) -> bool:
        return self.is_over or self.is_lost

    def _beat_or_wait(self, wait: float) -> float:
        """How long to wait until it is said again; 0 where it went well."""
        if self._is_past():
            return 0.0
        try:
            with self.beating:
                if not self.is_over:
                    self._beat()
        except Refused as refused:
            self._refused_beat(refused)
        except (_Later, OSError, http.client.HTTPException, ValueError) as why:
            log.warning("a heartbeat of %s failed: %s", self.ctx.run_id, why)
            return min(wait * 2 or FIRST_WAIT, LONGEST_BEAT_WAIT) * random.uniform(0.5, 1.0)
        return 0.0

    def _beat(self) -> None:
        with self.change:
            said, what = self.said, dict(self.waiting)
            lines = _as_many(self.lines)
            if self.dropped and lines:
                lines[0] = f"({self.dropped} lines before this one were too many)"
        request = {"token": self.token, "lease_seconds": self.worker.lease_seconds} | what
        if lines:
            request["logs"] = lines
        begin = time.monotonic()
        seconds = min(REQUEST_SECONDS, max(self.until - begin, 0.1))
        answer = self.beats.post(f"{self.path}/heartbeat", request, seconds)
        with self.change:
            self._heard(answer, begin)
            self._sent(said, what, lines)

    def _heard(self, answer: dict[str, Any], begin: float) -> None:
        expires, before = _instant(answer["lease_expires_at"]), self.expires
        is_whole = not answer["cancel_requested"] and (self.deadline is None or expires is None or expires < self.deadline)
        if is_whole or expires is None or before is None:
            self.until = begin + self.worker.lease_seconds
        else:
            # It is not kept for as long as was asked: by as much as the server's own clock moved its end.
            self.until = min(self.until + max((expires - before).total_seconds(), 0.0), begin + self.worker.lease_seconds)
        self.expires = expires
        if answer["cancel_requested"]:
            self.ctx._cancel()

    def _sent(self, said: int, what: dict[str, Any], lines: list[str]) -> None:
        for name, value in what.items():
            if self.waiting.get(name) is value:
                del self.waiting[name]
        if lines:
            self.dropped = 0
        for _ in lines:
            if self.lines:
                self.lines.popleft()
        self.sent = max(self.sent, said)
        self.is_urgent = len(self.lines) >= MOST_LINES or (self.is_urgent and self.said > said)
        self.change.notify_all()

    def _refused_beat(self, refused: Refused) -> None:
        if refused.status in (401, 403, 404, 409):
            self.lose(str(refused))
            return
        # What was said with it is at fault, and would be again: the lease is kept without.
        log.error("what %s says with its heartbeat is refused, and left out: %s", self.ctx.run_id, refused)
        with self.change:
            self.waiting.clear()
            self.lines.clear()
            self.is_urgent = False
            self.sent = self.said
            self.change.notify_all()

    def _is_past(self) -> bool:
        if time.monotonic() >= self.until:
            self.lose("its heartbeats did not arrive in time")
        return self.is_lost

    def lose(self, why: str) -> None:
        with self.change:
            if self.is_lost or self.is_over:
                return
            self.is_lost = True
            self.change.notify_all()
        log.warning("the lease of %s is lost: %s", self.ctx.run_id, why)
        self.ctx._cancel()

    # The thread that carries it out.

    def carry_out(self, handler: Handler) -> None:
        try:
            self._tell(self._outcome(handler))
        finally:
            with self.change:
                self.is_over = True
                self.change.notify_all()
            self.worker._over(self)
            with self.beating:
                self.beats.close()

    def _outcome(self, handler: Handler) -> tuple[str, dict[str, Any]]:
        try:
            result = _carry_out(handler, self.ctx)
        except HandBack:
            return "hand-back", {}
        except Fail as fail:
            return "fail", _error(fail.code, fail.message, fail.retryable)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the run is told
            if self.is_leaving:
                # It was told to stop because the worker goes away: that is no failure of the run.
                return "hand-back", {}
            is_stop = isinstance(error, Cancelled | asyncio.CancelledError)
            code = "cancelled" if is_stop else type(error).__name__
            if not is_stop:
                log.warning("the handler %s failed", self.ctx.handler, exc_info=error)
            return "fail", _error(code, str(error) or code, True)
        try:
            json.dumps(result, allow_nan=False)
        except (TypeError, ValueError) as error:
            # It would be no JSON the next time either.
            return "fail", _error("result_not_json", str(error), False)
        return "complete", {} if result is None else {"result": result}

    def _tell(self, outcome: tuple[str, dict[str, Any]]) -> None:
        """Says how it went, until the server has heard it or the lease is over."""
        what, body = outcome
        wait = 0.0
        while not self._is_past() and not self.is_over:
            try:
                # No heartbeat comes between: it would be refused, and look like a lost lease.
                with self.beating:
                    self._flush()
                    if self.is_lost or self.is_over:
                        return
                    seconds = min(REQUEST_SECONDS, max(self.worker.lease_seconds / 3, 1.0))
                    self.beats.post(f"{self.path}/{what}", {"token": self.token} | body, seconds)
                    self.is_over = True
                return
            except Refused as refused:
                if refused.status in (401, 403, 404, 409) or what == "fail":
                    log.warning("how %s ended is refused: %s", self.ctx.run_id, refused)
                    return
                what, body = "fail", _error("result_refused", refused.detail, False)
            except (_Later, OSError, http.client.HTTPException, ValueError) as why:
                log.warning("how %s ended could not be said yet: %s", self.ctx.run_id, why)
                wait = min(wait * 2 or FIRST_WAIT, LONGEST_BEAT_WAIT)
                time.sleep(wait * random.uniform(0.5, 1.0))

    def _flush(self) -> None:
        """What the handler said last is said before its end."""
        while (self.waiting or self.lines) and not self.is_lost:
            try:
                self._beat()
            except Refused as refused:
                self._refused_beat(refused)

    def give_back(self) -> None:
        """The worker goes away; whatever the handler does from now on is nobody's."""
        with self.change:
            if self.is_over or self.is_lost:
                return
            self.is_over = True
            self.change.notify_all()
        connection = _Connection(self.worker._server)
        try:
            with self.beating:
                if self.waiting or self.lines:
                    self._beat()
        except (Refused, _Later, OSError, http.client.HTTPException, ValueError) as why:
            log.warning("what %s said last is lost: %s", self.ctx.run_id, why)
        try:
            connection.post(f"{self.path}/hand-back", {"token": self.token}, REQUEST_SECONDS)
        except (Refused, _Later, OSError, http.client.HTTPException, ValueError) as why:
            log.warning("%s could not be handed back: %s", self.ctx.run_id, why)
        finally:
            connection.close()
            self.worker._over(self)


def _carry_out(handler: Handler, ctx: Context) -> Any:
    result = handler(ctx)
    if inspect.iscoroutine(result):
        return asyncio.run(_cancellable(result, ctx))
    return result


async def _cancellable(work: Coroutine[Any, Any, Any], ctx: Context) -> Any:
    """A handler that is `async` is cancelled where it waits."""
    task, loop = asyncio.ensure_future(work), asyncio.get_running_loop()

    def cancel() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)

    ctx._on_cancel = cancel
    if ctx.cancelled:
        task.cancel()
    try:
        return await task
    finally:
        ctx._on_cancel = None


def _as_many(lines: deque[str]) -> list[str]:
    """As go with one heartbeat."""
    taken: list[str] = []
    room = MOST_LOG_BYTES
    for line in lines:
        room -= len(_json(line))
        if len(taken) == MOST_LINES or room < 0:
            break
        taken.append(line)
    return taken


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _line(text: str, most: int) -> str:
    """One line, without what would move a terminal's cursor."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text[:most])


def _error(code: str, message: str, retryable: bool) -> dict[str, Any]:
    word = re.sub(r"[^A-Za-z0-9._-]", "_", code)[:64] or "error"
    return {"error": {"code": word, "message": message[:MOST_MESSAGE], "retryable": retryable}}


# HTTP.


class _Later(Exception):
    """The server is busy, or broken for now."""

    def __init__(self, status: int, detail: str, seconds: float | None) -> None:
        super().__init__(f"{detail} ({status})")
        self.seconds = seconds


class _Server:
    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url} is no address of a server: it begins with http:// or https://")
        self.url, self.host, self.port = url, parts.hostname, parts.port
        self.prefix = parts.path.rstrip("/")
        self.tls = ssl.create_default_context() if parts.scheme == "https" else None
        self.headers = {"authorization": f"Bearer {key}", "content-type": "application/json", "user-agent": "minutehand-python"}

    def connect(self, seconds: float) -> http.client.HTTPConnection:
        if self.tls is not None:
            return http.client.HTTPSConnection(self.host, self.port, timeout=seconds, context=self.tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=seconds)


class _Connection:
    """One connection, made when it is needed and kept while it is good. Of one thread at a time."""

    def __init__(self, server: _Server) -> None:
        self.server = server
        self.open: http.client.HTTPConnection | None = None

    def post(self, path: str, body: dict[str, Any], seconds: float, headers: dict[str, str] | None = None) -> Any:
        is_used = self.open is not None
        try:
            return self._exchange(path, body, seconds, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            if not is_used:
                raise
            # An idle connection was closed: a new one tells.
            return self._exchange(path, body, seconds, headers)

    def _exchange(self, path: str, body: dict[str, Any], seconds: float, headers: dict[str, str] | None) -> Any:
        connection = self.open or self.server.connect(seconds)
        self.open = None
        try:
            connection.timeout = seconds
            if connection.sock is not None:
                connection.sock.settimeout(seconds)
            connection.request("POST", self.server.prefix + path, _json(body), self.server.headers | (headers or {}))
            response = connection.getresponse()
            text = response.read()
        except BaseException:
            connection.close()
            raise
        self.open = connection
        return _read(response, text)

    def close(self) -> None:
        if self.open is not None:
            self.open.close()
            self.open = None


def _read(response: http.client.HTTPResponse, text: bytes) -> Any:
    if 200 <= response.status < 300:
        return json.loads(text)
    try:
        problem = json.loads(text)
        detail = problem.get("detail") or problem.get("title") or response.reason
        detail += "".join(f"; {error['pointer']} {error['detail']}" for error in problem.get("errors", []))
    except (ValueError, AttributeError, KeyError, TypeError):
        detail = response.reason
    if response.status >= 500 or response.status in (408, 429):
        after = response.getheader("retry-after") or ""
        raise _Later(response.status, detail, float(after) if after.isdigit() else None)
    raise Refused(response.status, detail)


def _later(why: Exception, usual: float) -> float:
    """As long as the server says, or longer each time; never all workers at once."""
    said = why.seconds if isinstance(why, _Later) else None
    return min(said if said is not None else usual, LONGEST_WAIT) * random.uniform(1.0, 1.25)


def _instant(text: Any) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if isinstance(text, str) else None


def _usual_name() -> str:
    host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:48] or "worker"
    return f"{host}-{os.getpid()}"
