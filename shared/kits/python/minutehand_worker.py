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
import contextlib
import http.client
import inspect
import json
import logging
import math
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
from urllib.parse import urlsplit

__all__ = ["Cancelled", "Context", "Effect", "Fail", "HandBack", "Inline", "Refused", "Worker"]

# What the server takes.
MOST_LEASES = 100
MOST_LINES = 100
MOST_LINE = 2048
MOST_STAGE = 128
MOST_MESSAGE = 1024
# In bytes: of a checkpoint as compact JSON, and of the body of a request.
MOST_CHECKPOINT = 256 * 1024
MOST_BODY = 320 * 1024
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
# The lease is over, or was never this worker's. Any other refusal is of what was said.
OF_THE_LEASE = (401, 403, 404, 409)
# What the bell rings with when somebody calls `stop`: no signal has this number.
STOP = b"\0"
STOPS = (STOP, bytes([signal.SIGTERM]), bytes([signal.SIGINT]))

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
    """The server says no, and would say it again: the key, the pool or the address is wrong, or a checkpoint is too large."""

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
        # The checkpoint that was handed over last, and its number; that of the holder before has none.
        self._last: tuple[int, Any] = (0, lease.get("checkpoint"))
        self._keeping = threading.Lock()
        self._sink = sink
        self._cancelled = threading.Event()
        self._on_cancel: Callable[[], object] | None = None

    @property
    def checkpoint(self) -> Any:
        """What was kept last: by this attempt, or by the holder before. None where nothing was. It is so from when it was handed to
        `keep`; where the server refuses it, it is again what the server has."""
        return self._sink.standing(*self._last)

    @checkpoint.setter
    def checkpoint(self, value: Any) -> None:
        self.keep(value)

    def keep(self, value: Any, *, now: bool = False) -> None:
        """Keeps a value (any JSON but null) for the next holder. It goes with the next heartbeat; with `now` it is sent at once,
        and `keep` returns when the server has it, or raises `Refused` where the server refuses it, `Cancelled` where the lease is
        lost. One of more than 256 KiB is `Refused` before anything is sent, and what was kept before stays. None is a `ValueError`:
        the server takes null for no checkpoint given."""
        text = json.dumps(value, allow_nan=False)
        if text == "null":
            raise ValueError("a checkpoint cannot be None: the server takes null for no checkpoint given")
        _check_checkpoint(text)
        number = self._hand_over(value, text, now)
        if now:
            self._sink.until_kept(number)

    def _hand_over(self, value: Any, text: str, now: bool) -> int:
        # Of two threads that keep something the later one is the later one everywhere.
        with self._keeping:
            number = self._last[0] + 1
            self._last = (number, value)
            self._sink.keep(number, text, now)
            return number

    def effect(self, key: str) -> Effect:
        """Claims an effect before it is made. Raises `Cancelled` where the lease is lost."""
        answer = self._sink.effect(key, None)
        return Effect(key, answer["first"], answer["outcome"], self._sink)

    def progress(self, fraction: float, stage: str | None = None) -> None:
        """How far it is, from 0 to 1, and with what it is busy. What is beyond is cut to that, infinity too; NaN counts as 0."""
        share = float(fraction)
        share = 0.0 if math.isnan(share) else min(max(share, 0.0), 1.0)
        self._sink.progress(share, None if stage is None else _line(stage, MOST_STAGE))

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
        # Where the program was told of its signals before the bell was; -1 is nowhere.
        self._bell_before = -1

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
        self._bell.send(STOP)

    def run(self) -> None:
        """Works until SIGTERM or SIGINT, then takes no more, lets handlers finish and hands the rest back. Raises `Refused` where
        the server will not have this worker."""
        if not self._handlers:
            raise ValueError("a worker without a handler has nothing to do: @worker.job(name) gives it one")
        before = self._listen_to_signals()
        taking = threading.Thread(target=self._take, name="minutehand-take", daemon=True)
        try:
            taking.start()
            while not self._asked_to_stop(None):
                pass
            self._drain(taking)
        finally:
            self._stopping = True
            for number, handler in before.items():
                signal.signal(number, handler)
            if before:
                signal.set_wakeup_fd(self._bell_before)
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
        self._bell_before = signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        return {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}

    def _asked_to_stop(self, seconds: float | None) -> bool:
        """Whether the next ring within so many seconds is for that. The bell rings for every signal that the program has a handler for."""
        heard, _, _ = select.select([self._ear], [], [], seconds)
        ring = self._ear.recv(1) if heard else b""
        if ring and ring not in STOPS:
            self._pass_on(ring)
        return ring in STOPS

    def _pass_on(self, ring: bytes) -> None:
        """A signal that is the program's own affair: an event loop, perhaps, waits to be told of it."""
        if self._bell_before >= 0:
            with contextlib.suppress(OSError):
                os.write(self._bell_before, ring)

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

    def keep(self, number: int, value: str, now: bool) -> None:
        raise NotImplementedError

    def until_kept(self, number: int) -> None:
        """Until the server has this checkpoint, or a later one."""
        raise NotImplementedError

    def standing(self, number: int, value: Any) -> Any:
        """This checkpoint, which was handed over last; or where it was refused what the server has."""
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

    def keep(self, number: int, value: str, now: bool) -> None:
        self.inline.checkpoints.append(json.loads(value))

    def until_kept(self, number: int) -> None:
        pass

    def standing(self, number: int, value: Any) -> Any:
        return value

    def progress(self, fraction: float, stage: str | None) -> None:
        self.inline.progress.append((fraction, stage))

    def line(self, line: str) -> None:
        self.inline.logs.append(line)

    def effect(self, key: str, outcome: str | None) -> dict[str, Any]:
        effects = self.inline.effects
        before = {"first": outcome is None and key not in effects, "outcome": effects.get(key)}
        effects[key] = effects.get(key) if outcome is None else json.loads(outcome)
        return before


@dataclass(frozen=True)
class _Beat:
    """What one heartbeat says."""

    parts: dict[str, Any]
    # Of its checkpoint.
    number: int
    # How many lines were thrown away before its own.
    dropped: int

    def said(self) -> dict[str, Any]:
        """That lines are missing is said where they would be. It is never one of the lines that wait, or it could be thrown away as those
        were, and its count with it."""
        if not self.dropped:
            return self.parts
        notice = f"({self.dropped} lines before this one were too many)"
        return self.parts | {"logs": [notice, *self.parts["logs"]]}

    def singly(self) -> list["_Beat"]:
        """One for each part. The first says nothing: it keeps the lease though others are refused."""
        parts: list[dict[str, Any]] = [{}, *({name: value} for name, value in self.parts.items())]
        return [_Beat(part, self.number, self.dropped if "logs" in part else 0) for part in parts]


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
        # Checkpoints are numbered: the last that was said, the last that the server has, and the last that it refused, with its words.
        self.kept, self.sent = 0, 0
        self.refused: tuple[int, Refused | None] = (0, None)
        # The checkpoint that the server has.
        self.has: Any = lease.get("checkpoint")
        self.is_urgent = False
        self.change = threading.Condition()
        # One heartbeat at a time, of whichever thread.
        self.beating = threading.RLock()
        self.beats = _Connection(worker._server)
        self.ctx = Context(lease, self)

    # What the handler says.

    def keep(self, number: int, value: str, now: bool) -> None:
        with self.change:
            self.kept = number
            self._say({"checkpoint": json.loads(value)}, now)

    def until_kept(self, number: int) -> None:
        with self.change:
            self.change.wait_for(lambda: max(self.sent, self.refused[0]) >= number or self._is_done())
            sent, (refused, why) = self.sent, self.refused
        if sent >= number:
            return
        if refused >= number and why is not None:
            raise Refused(why.status, why.detail)
        raise Cancelled

    def standing(self, number: int, value: Any) -> Any:
        with self.change:
            return self.has if self.refused[0] == number else value

    def progress(self, fraction: float, stage: str | None) -> None:
        self._say({"progress": fraction} | ({} if stage is None else {"stage": stage}), False)

    def line(self, line: str) -> None:
        with self.change:
            self.lines.append(line)
            self._shed()
        self._say({}, len(self.lines) >= MOST_LINES)

    def _shed(self) -> None:
        while len(self.lines) > MOST_WAITING_LINES:
            self.lines.popleft()
            self.dropped += 1

    def effect(self, key: str, outcome: str | None) -> dict[str, Any]:
        """Until the server has heard it, or the lease is lost. Sent again, it is the same claim."""
        path = f"/v1/runs/{self.ctx.run_id}/effects"
        body = {"key": key, "token": self.token} | ({} if outcome is None else {"outcome": json.loads(outcome)})
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

    def _say(self, what: dict[str, Any], is_urgent: bool) -> None:
        with self.change:
            self.waiting |= what
            if is_urgent:
                self.is_urgent = True
                self.change.notify_all()

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
            self.lose(str(refused))
        except (_Later, OSError, http.client.HTTPException, ValueError) as why:
            log.warning("a heartbeat of %s failed: %s", self.ctx.run_id, why)
            return min(wait * 2 or FIRST_WAIT, LONGEST_BEAT_WAIT) * random.uniform(0.5, 1.0)
        return 0.0

    def _beat(self) -> None:
        """Says all that waits. Where that is refused its parts are sent one by one, so that only what is at fault is left out."""
        with self.change:
            beat = self._taken()
        try:
            self._exchange(beat)
        except Refused as refused:
            if refused.status in OF_THE_LEASE:
                raise
            self._say_singly(beat)
        except Exception:
            self._put_back(beat)
            raise

    def _say_singly(self, whole: _Beat) -> None:
        beats = whole.singly()
        for at, beat in enumerate(beats):
            try:
                self._exchange(beat)
            except Refused as refused:
                if refused.status in OF_THE_LEASE:
                    raise
                self._leave_out(beat, refused)
            except Exception:
                for rest in beats[at:]:
                    self._put_back(rest)
                raise

    def _exchange(self, beat: _Beat) -> None:
        request = {"token": self.token, "lease_seconds": self.worker.lease_seconds} | beat.said()
        begin = time.monotonic()
        seconds = min(REQUEST_SECONDS, max(self.until - begin, 0.1))
        answer = self.beats.post(f"{self.path}/heartbeat", request, seconds)
        with self.change:
            self._heard(answer, begin)
            if "checkpoint" in beat.parts:
                self.sent, self.has = beat.number, beat.parts["checkpoint"]
            self.is_urgent = self.is_urgent or len(self.lines) >= MOST_LINES
            self.change.notify_all()

    def _taken(self) -> _Beat:
        """What goes with the next heartbeat. What is said from now on goes with the one after it."""
        # That some are missing is a line as well.
        lines = _as_many(self.lines, MOST_LINES - 1 if self.dropped else MOST_LINES)
        for _ in lines:
            self.lines.popleft()
        dropped = self.dropped if lines else 0
        self.dropped -= dropped
        parts, self.waiting, self.is_urgent = self.waiting, {}, False
        return _Beat(parts | ({"logs": lines} if lines else {}), self.kept, dropped)

    def _put_back(self, beat: _Beat) -> None:
        """What did not arrive. What was said since is newer."""
        with self.change:
            self.lines.extendleft(reversed(beat.parts.get("logs", [])))
            self.dropped += beat.dropped
            self._shed()
            self.waiting = {name: value for name, value in beat.parts.items() if name != "logs"} | self.waiting

    def _leave_out(self, beat: _Beat, refused: Refused) -> None:
        """It would be refused again."""
        names = ", ".join(beat.parts) or "a bare heartbeat"
        log.error("what %s says is refused, and left out (%s): %s", self.ctx.run_id, names, refused)
        if "checkpoint" in beat.parts:
            with self.change:
                self.refused = (beat.number, refused)
                self.change.notify_all()

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
                if refused.status in OF_THE_LEASE or what == "fail":
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
                self.lose(str(refused))

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


def _check_checkpoint(text: str) -> None:
    """Before it takes the place of one that waits: the server would refuse it, and what waited would be lost with it."""
    size = len(_json(json.loads(text)))
    if size > MOST_CHECKPOINT:
        raise Refused(413, f"a checkpoint has at most {MOST_CHECKPOINT} bytes, and this one has {size}")


def _as_many(lines: deque[str], most: int) -> list[str]:
    """As go with one heartbeat."""
    taken: list[str] = []
    room = MOST_LOG_BYTES
    for line in lines:
        room -= len(_json(line))
        if len(taken) == most or room < 0:
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
        text = _body(body)
        is_used = self.open is not None
        try:
            return self._exchange(path, text, seconds, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            if not is_used:
                raise
            # An idle connection was closed: a new one tells.
            return self._exchange(path, text, seconds, headers)

    def _exchange(self, path: str, body: bytes, seconds: float, headers: dict[str, str] | None) -> Any:
        connection = self.open or self.server.connect(seconds)
        self.open = None
        try:
            connection.timeout = seconds
            if connection.sock is not None:
                connection.sock.settimeout(seconds)
            connection.request("POST", self.server.prefix + path, body, self.server.headers | (headers or {}))
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


def _body(request: dict[str, Any]) -> bytes:
    """The server refuses a larger one before it has read it, and closes the connection: that would look like a broken network."""
    text = _json(request)
    if len(text) > MOST_BODY:
        raise Refused(413, f"a request has at most {MOST_BODY} bytes, and this one has {len(text)}")
    return text


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
