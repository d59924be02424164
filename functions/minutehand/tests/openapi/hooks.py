"""What a request's generator cannot know: where a call may go, and what no schema can say."""

import itertools
import re

import schemathesis
from schemathesis import GenerationMode
from schemathesis.generation.jsonschema import strategy as drawing

# Nobody listens there: a call ends before it begins.
NOBODY = "http://127.0.0.1:9"
USED_KEYS = set()
LONGEST_KEY = 255
FAST = itertools.count()
MOST_FAST = 5
AUTHORITY = re.compile(r"^\s*https?:[/\\]*[^/\\?#]*", re.IGNORECASE)


def built_once(build):
    """What a pattern's texts are drawn from is built anew for each place that has the pattern, which takes longer than all requests do. Which texts are
    drawn stays as it is."""
    built = {}

    def kept(pattern, context):
        key = (pattern, context.alphabet)
        if key not in built:
            built[key] = build(pattern, context)
        return built[key]

    return kept


drawing._from_pattern = built_once(drawing._from_pattern)


@schemathesis.hook
def before_call(context, case, kwargs):
    call_no_stranger(case.body)
    leave_our_own_quota_alone(case)
    erase_nobody_who_is_asked_about(case)
    wait_for_nothing(case)
    fire_seldom(case)
    if case.meta and case.meta.generation.mode is GenerationMode.POSITIVE:
        say_one_idempotency_key(case)
        begin_before_the_end(case)


def call_no_stranger(value):
    """The jobs that are made are carried out, and a name that was made up may be somebody's."""
    if isinstance(value, list):
        for item in value:
            call_no_stranger(item)
    elif isinstance(value, dict):
        if isinstance(value.get("url"), str):
            value["url"] = AUTHORITY.sub(NOBODY, value["url"])
        for item in value.values():
            call_no_stranger(item)


def leave_our_own_quota_alone(case):
    """The key that asks is of the tenant `default`: one request a second would be the end of the test."""
    if case.method == "PUT" and (case.path_parameters or {}).get("tenant") == "default":
        case.path_parameters["tenant"] = "acme"


def erase_nobody_who_is_asked_about(case):
    """An erasure goes on for twenty minutes, in which neither keys nor quotas of its tenant can be made: a tenant that nothing else asks about."""
    if case.method == "DELETE" and case.path == "/v1/tenants/{tenant}":
        tenant = (case.path_parameters or {}).get("tenant")
        if isinstance(tenant, str) and case.meta and case.meta.generation.mode is GenerationMode.POSITIVE:
            case.path_parameters["tenant"] = "erased"


def wait_for_nothing(case):
    """A worker that asks where nothing is ready waits for seconds, and hundreds of them ask."""
    if case.path != "/v1/leases" or not isinstance(case.body, dict):
        return
    wait = case.body.get("wait_seconds")
    if not isinstance(wait, bool) and wait in [None, *range(21)]:  # what is refused stays as it is
        case.body["wait_seconds"] = 0


def fire_seldom(case):
    """The shortest interval is an edge of the schema that comes again and again. A few such jobs show that they are carried out; the runs of all of them would
    take more of the machine than the requests."""
    schedule = case.body.get("schedule") if isinstance(case.body, dict) else None
    every = schedule.get("every_seconds") if isinstance(schedule, dict) else None
    if type(every) is int and 1 <= every < 60 and next(FAST) >= MOST_FAST:
        schedule["every_seconds"] = every + 3600


def say_one_idempotency_key(case):
    """The header and the field mean the same and must agree; and for another request it is another one. Without this hardly
    a job would be made: the same few keys are tried with a thousand bodies."""
    body = case.body if isinstance(case.body, dict) else {}
    headers = case.headers or {}
    if isinstance(body.get("idempotency_key"), str):
        headers.pop("Idempotency-Key", None)
        body["idempotency_key"] = unused(body["idempotency_key"])
    elif isinstance(headers.get("Idempotency-Key"), str):
        headers["Idempotency-Key"] = unused(headers["Idempotency-Key"])


def unused(key):
    if key in USED_KEYS:
        key = f"{key}-{len(USED_KEYS)}"[-LONGEST_KEY:]
    USED_KEYS.add(key)
    return key


def begin_before_the_end(case):
    query = case.query or {}
    if isinstance(query.get("from"), str) and isinstance(query.get("to"), str) and query["from"] > query["to"]:
        query["from"], query["to"] = query["to"], query["from"]
