#!/usr/bin/env python3
"""Makes a data directory with one of everything that a version stores: see README.md.

    make.py BINARY VERSION        writes VERSION/minutehand.redb.gz and VERSION/expected.json beside this file

Only what the HTTP API offers is used, and only what Python itself brings. It takes about seven minutes: an outage has to be
longer than timers stand ahead.
"""

import gzip
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
# Timers stand five minutes ahead: only what lies beyond them is coalesced.
OUTAGE_SECONDS = 380
# Longer than a body that stays inside its record.
LONG = "x" * 700


class Target(http.server.BaseHTTPRequestHandler):
    """Answers as its path says; on /hang never."""

    def answer(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        word = self.path.strip("/").split("/")[0]
        if word == "hang":
            time.sleep(3600)
        status = int(word) if word.isdigit() else 200
        body = {"long": {"text": LONG}, "empty": None}.get(word, {"seen": word})
        payload = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_):
        pass


class Server:
    """The process under a directory, and a client of it."""

    def __init__(self, binary, directory):
        self.binary, self.directory, self.process = binary, directory, None

    def start(self):
        command = [self.binary, "serve", "--listen", "127.0.0.1:0", "--data", str(self.directory)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if "http://" in line:
                self.base = "http://" + line.split("http://")[1].split()[0].strip("/.,")
                break
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.key = (self.directory / "admin.key").read_text().strip()
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None, key=None, headers=None):
        headers = {"authorization": f"Bearer {key or self.key}", **(headers or {})}
        data = None
        if body is not None:
            data, headers["content-type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def job(self, key=None, **definition):
        definition.setdefault("target", {"noop": {}})
        return self.ask("POST", "/v1/jobs", definition, key)["job_id"]

    def run(self, job, body=None, headers=None, key=None):
        return self.ask("POST", f"/v1/jobs/{job}/run", body or {}, key, headers)["run_id"]

    def runs(self, job):
        return self.ask("GET", f"/v1/jobs/{job}/runs?limit=200")["items"]

    def until(self, what, holds, seconds=60):
        end = time.time() + seconds
        while not holds():
            if time.time() > end:
                raise SystemExit(f"in vain: {what}")
            time.sleep(0.1)

    def until_run(self, run, status, seconds=60):
        self.until(f"{run} {status}", lambda: self.ask("GET", f"/v1/runs/{run}")["status"] == status, seconds)


def http_target(port, path, method="POST", headers=None):
    return {"http": {"url": f"http://127.0.0.1:{port}/{path}", "method": method, "headers": headers or {}}}


def schedules(server):
    """Every kind of schedule, every way to write one."""
    recurring = {"start_at": "2026-01-01T00:00:00Z", "end_at": "2190-01-01T00:00:00Z", "max_fires": 10}
    cron = {"cron": "30 2 * * *", "timezone": "America/New_York"}
    return {
        "at": server.job(name="at", schedule={"at": "2190-05-06T07:08:09.010Z"}),
        "at, long ago": server.job(name="at", schedule={"at": now(-30)}),
        "after": server.job(schedule={"after_seconds": 3_000_000_000}),
        "now": server.job(),
        "every": server.job(schedule={"every_seconds": 7200, **recurring, "jitter_seconds": 40}),
        "cron": server.job(schedule={**cron, "days": "both", "dst_gap": "skip", "dst_overlap": "both"}),
        "cron, first": server.job(schedule={**cron, "dst_overlap": "first", "jitter_seconds": 600}),
        "cron, second": server.job(schedule={**cron, "dst_overlap": "second", "max_fires": 3}),
        "cron, seconds": server.job(schedule={"cron": "15/20 0 9 1 JAN ? 2027-2199/2"}),
        "cron, days": server.job(schedule={"cron": "0 2 L-3,15 * MON#2", "start_at": "2027-01-01T00:00:00Z"}),
        "cron, either": server.job(schedule={"cron": "0 2 13 * FRI", "days": "either"}),
        "cron, H": server.job(schedule={"cron": "H H(2-5) H * *"}),
        "@daily": server.job(schedule={"cron": "@daily", "timezone": "Europe/Paris"}),
        "@every": server.job(schedule={"cron": "@every 1h30m"}),
        "rate": server.job(schedule={"cron": "rate(90 minutes)", "timezone": "Asia/Tokyo"}),
        "at()": server.job(schedule={"cron": "at(2190-12-24T18:00:00)", "timezone": "Europe/Berlin"}),
        "cron()": server.job(schedule={"cron": "cron(0 9 ? * 2-6 *)"}),
        "on demand": server.job(schedule={"on_demand": True}),
    }


def definitions(server, port):
    """Every target, body, term and policy that a job may have. None of them fires by itself."""
    jobs, waiting = {}, {"schedule": {"on_demand": True}}
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"]:
        target = http_target(port, "small", method, {"x-team": "finance", "x-key": "v"})
        jobs[method] = server.job(target=target, **waiting)
    for backoff in ["fixed", "linear", "exponential"]:
        for jitter in ["none", "equal", "full", "decorrelated"]:
            retry = {"max_retries": 7, "backoff": backoff, "jitter": jitter, "initial_delay_seconds": 2}
            retry |= {"max_delay_seconds": 50, "give_up_after_seconds": 900, "break_after_instant_failures": 4}
            jobs[f"{backoff} {jitter}"] = server.job(retry=retry, **waiting)
    for priority in ["critical", "high", "normal", "low"]:
        jobs[priority] = server.job(priority=priority, **waiting)
    jobs["described"] = server.job(name="Überweisung", owner="finance", tags=["eu", "reports"], **waiting)
    jobs["payload inside"] = server.job(payload={"n": 12345678901234567890, "f": 1.50, "s": "é\n"}, **waiting)
    jobs["payload apart"] = server.job(payload={"text": LONG}, **waiting)
    jobs["at most once"] = server.job(delivery="at_most_once", timeout_seconds=840, **waiting)
    policies = [{"policy": "last", "window_seconds": 60}, {"policy": "none"}]
    for policy in [*policies, {"policy": "all", "max_runs": 5, "window_seconds": 3600}]:
        jobs["catch up " + policy["policy"]] = server.job(catch_up=policy, schedule={"every_seconds": 86_400})
    return jobs


def changes(server):
    """Jobs that were changed, paused, deleted, asked for twice."""
    jobs = {name: server.job(schedule={"every_seconds": 5}) for name in ["paused", "deleted", "rescheduled", "resumed"]}
    for job in jobs.values():
        server.until("its first run", lambda job=job: server.runs(job))
    server.ask("POST", f"/v1/jobs/{jobs['paused']}/pause")
    server.ask("DELETE", f"/v1/jobs/{jobs['deleted']}")
    server.ask("PATCH", f"/v1/jobs/{jobs['rescheduled']}", {"schedule": {"cron": "0 4 * * *"}, "name": "moved"})
    server.ask("POST", f"/v1/jobs/{jobs['resumed']}/pause")
    server.ask("POST", f"/v1/jobs/{jobs['resumed']}/resume")
    server.ask("PATCH", f"/v1/jobs/{jobs['resumed']}", {"schedule": {"every_seconds": 86_400}})
    again = {"target": {"noop": {}}, "schedule": {"on_demand": True}, "name": "asked twice"}
    jobs["asked twice"] = server.ask("POST", "/v1/jobs", again, headers={"idempotency-key": "job-1"})["job_id"]
    return jobs, {"headers": {"idempotency-key": "job-1"}, "path": "/v1/jobs", "body": again}


def runs(server, port):
    """Runs in every state but those that need an outage."""
    waiting, never, soon = {"schedule": {"on_demand": True}}, {"max_retries": 0}, {"jitter": "none", "backoff": "fixed"}
    soon |= {"initial_delay_seconds": 1}
    on = lambda path, **more: server.job(target=http_target(port, path), **waiting, **more)
    found = {}

    def start(name, job, status, body=None):
        found[name] = server.run(job, body, {"idempotency-key": f"run {name}"})
        server.until_run(found[name], status)

    start("small result", on("small"), "succeeded", {"payload": {"just": "this once"}})
    start("long result", on("long"), "succeeded", {"payload": {"text": LONG}})
    start("no result", on("empty"), "succeeded")
    start("failed", on("404", retry=never), "failed")
    start("timed out", on("hang", retry=never, timeout_seconds=1), "timed_out")
    start("many attempts", on("500", retry={**soon, "max_retries": 6}), "failed")
    start("instant failures", on("500", retry={**soon, "max_retries": 6, "break_after_instant_failures": 2}), "failed")
    backoff = on("503", retry={**soon, "initial_delay_seconds": 86_400, "max_delay_seconds": 86_400})
    start("in backoff", backoff, "scheduled")
    server.until("its first attempt", lambda: server.ask("GET", f"/v1/runs/{found['in backoff']}")["attempts"])
    given_up = on("503", retry={**soon, "initial_delay_seconds": 86_400})
    start("cancelled in backoff", given_up, "scheduled")
    server.until("one more", lambda: server.ask("GET", f"/v1/runs/{found['cancelled in backoff']}")["attempts"])
    server.ask("POST", f"/v1/runs/{found['cancelled in backoff']}/cancel")
    ahead = server.job(schedule={"every_seconds": 3600})
    found["cancelled ahead"] = server.ask("GET", f"/v1/jobs/{ahead}")["next_run_id"]
    server.ask("POST", f"/v1/runs/{found['cancelled ahead']}/cancel")
    for name, body in [("redrive", {}), ("redrive with payload", {"payload": {"edited": True}})]:
        headers = {"idempotency-key": name}
        found[name] = server.ask("POST", f"/v1/runs/{found['failed']}/retry", body, headers=headers)["run_id"]
        server.until_run(found[name], "failed")
    lost = {"target": http_target(port, "hang"), "timeout_seconds": 600, **waiting}
    endless = {"lost": server.job(delivery="at_most_once", **lost), "poison": server.job(**lost)}
    endless["cancel asked"] = server.job(**lost)
    for name, job in endless.items():
        start(name, job, "running")
    server.ask("POST", f"/v1/runs/{found['cancel asked']}/cancel")
    return found


def access(server):
    """Keys of every role in two tenants, rotated and revoked; quotas; signing secrets, one of them rotated twice."""
    keys = []
    for tenant in ["default", "acme"]:
        for role in ["viewer", "operator", "admin"]:
            body = {"name": f"{tenant} {role}", "role": role, "tenant": tenant}
            made = server.ask("POST", "/v1/keys", body)
            keys.append({"tenant": tenant, "role": role, "key_id": made["key_id"], "secret": made["secret"], "opens": True})
    revoked, rotated = keys[0], keys[3]
    server.ask("DELETE", f"/v1/keys/{revoked['key_id']}?tenant={revoked['tenant']}")
    revoked["opens"] = False
    path = f"/v1/keys/{rotated['key_id']}/rotate?tenant={rotated['tenant']}"
    rotated["former_secret"] = rotated["secret"]
    rotated["secret"] = server.ask("POST", path, {"grace_seconds": 604_800})["secret"]
    limits = {"max_jobs": 100, "max_fires_per_minute": 1000, "max_concurrent_runs": 50, "max_requests_per_second": 500}
    server.ask("PUT", "/v1/quotas/acme", limits)
    server.ask("PUT", "/v1/quotas/other", {"max_jobs": 1})
    acme = next(key["secret"] for key in keys if key["tenant"] == "acme" and key["role"] == "admin")
    for key in [None, None, acme]:
        server.ask("POST", "/v1/signing-secret/rotate", {"grace_seconds": 86_400}, key)
    jobs = [server.job(key=acme, name="acme's", schedule={"cron": "0 3 * * *"})]
    return {"keys": keys, "acme": {"key": acme, "jobs": jobs}}


def outages(server, port):
    """What only an outage leaves: coalesced and missed occurrences, lost leases, poison."""
    every = {"schedule": {"every_seconds": 15}}
    all_of = {"policy": "all", "max_runs": 2, "window_seconds": 60}
    jobs = {
        "recurring": server.job(name="recurring", schedule={"every_seconds": 5}),
        "coalesced": server.job(catch_up={"policy": "last", "window_seconds": 86_400}, **every),
        "missed": server.job(catch_up={"policy": "last", "window_seconds": 60}, **every),
        "capped": server.job(catch_up=all_of, **every),
    }
    for job in jobs.values():
        server.until("its first run", lambda job=job: server.runs(job))
    server.kill()
    time.sleep(OUTAGE_SECONDS)
    server.start()
    skipped = lambda job, why: any(run["reason"] == why for run in server.runs(job))
    server.until("coalesced", lambda: skipped(jobs["coalesced"], "coalesced"), 120)
    passed_over = lambda job: skipped(job, "missed") or skipped(job, "coalesced")
    server.until("capped", lambda: passed_over(jobs["capped"]), 120)
    return jobs


def two_more_starts(server, found):
    """The leases that were lost before are lost again, until the run is taken for poison."""
    for number in [2, 3]:
        newest = lambda: server.ask("GET", f"/v1/runs/{found['poison']}")["attempts"][-1]["number"]
        server.until("taken over", lambda number=number: newest() == number, 120)
        server.kill()
        server.start()
    server.until_run(found["poison"], "failed", 120)
    server.until_run(found["lost"], "failed", 120)
    server.until_run(found["cancel asked"], "cancelled", 120)


def expected(server, jobs, found, running):
    """All of it as it is read back."""
    acme = found.pop("access")
    read = {"admin_key": server.key, "jobs": {}, "runs": {}, "keys": acme["keys"], "acme": acme["acme"]}
    read["running"] = running
    for name, job in jobs.items():
        read["jobs"][name] = server.ask("GET", f"/v1/jobs/{job}")
    for job in jobs.values():
        for run in server.runs(job):
            if run["status"] == "skipped":
                found.setdefault(f"skipped {run['reason']}", run["run_id"])
    for name, run in found.items():
        whole = server.ask("GET", f"/v1/runs/{run}")
        read["runs"][name] = {"run": whole, "events": server.ask("GET", f"/v1/runs/{run}/events")}
    for job in acme["acme"]["jobs"]:
        read["acme"]["job"] = server.ask("GET", f"/v1/jobs/{job}", key=acme["acme"]["key"])
    read["key_lists"] = {tenant: server.ask("GET", f"/v1/keys?tenant={tenant}") for tenant in ["default", "acme"]}
    read["quotas"] = [server.ask("GET", f"/v1/quotas/{tenant}") for tenant in ["default", "acme", "other"]]
    read["signing"] = server.ask("GET", "/v1/signing-secret")
    return read


def now(offset):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + offset))


def main(binary, version):
    target = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
    target.daemon_threads = True
    threading.Thread(target=target.serve_forever, daemon=True).start()
    port = target.server_address[1]
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory) / "data"
        server = Server(binary, directory).start()
        jobs = schedules(server) | definitions(server, port)
        changed, asked = changes(server)
        jobs |= changed
        found = runs(server, port) | {"access": access(server)}
        jobs |= outages(server, port)
        two_more_starts(server, found)
        hanging = server.job(target=http_target(port, "hang"), timeout_seconds=600, schedule={"on_demand": True})
        running = server.run(hanging)
        server.until_run(running, "running")
        read = expected(server, jobs, found, running) | {"asked": asked}
        server.kill()
        place = HERE / version
        place.mkdir(exist_ok=True)
        data = (directory / "minutehand.redb").read_bytes()
        (place / "minutehand.redb.gz").write_bytes(gzip.compress(data, 9, mtime=0))
        (place / "expected.json").write_text(json.dumps(read, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
