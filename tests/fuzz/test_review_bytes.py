"""Bytes that claim to be reviews: the right status, no exception but ours, and never a wrong admission.

Bodies come from a real denied review by random edits of its bytes and of its JSON; of what still is a review of
that very object, every answer has to be the refusal.
"""

import copy
import json
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "webhook"))
import admission_worlds as worlds

from policycheck.adapters.webhook import review
from policycheck.adapters.webhook.answer import encode
from policycheck.adapters.webhook.review import BadReviewError, read
from policycheck.adapters.webhook.service import Conditions, Service
from policycheck.lint.settings import Admission

STATUSES = {400, 413, 415}
VALUES = (
    None,
    True,
    0,
    -1,
    2**63,
    1e400,
    0.5,
    "",
    "x" * 3000,
    "\ud800",
    [],
    {},
    [[[]]],
    {"a": {"b": 1}},
    "2Gi",
)


def service():
    judge = worlds.judge_of(worlds.small())
    conditions = Conditions(
        Admission(), lambda: "2026-06-01", lambda: "2026-06-01T00:00:00Z", lambda: 0.0, lambda: None
    )
    return Service(judge, conditions)


def denied():
    value = worlds.job("big", pods=40)
    request = {
        "uid": "u",
        "operation": "CREATE",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "namespace": "team-a",
        "name": "big",
        "object": value,
        "userInfo": {"username": "eve", "groups": ["dev"]},
        "options": {},
    }
    return {"apiVersion": review.API_VERSION, "kind": review.KIND, "request": request}


def places(value):
    """Every place in a JSON value: the holder and the key."""
    todo = [value]
    while todo:
        one = todo.pop()
        for key, held in one.items() if isinstance(one, dict) else enumerate(one):
            yield one, key
            if isinstance(held, (dict, list)):
                todo.append(held)


def edited(rng, value):
    made = copy.deepcopy(value)
    for _ in range(rng.randint(1, 3)):
        holder, key = rng.choice(list(places(made)))
        chance = rng.random()
        if chance < 0.3:
            if isinstance(holder, dict):
                del holder[key]
            else:
                holder.pop(key)
        elif chance < 0.8:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        elif isinstance(holder, dict):
            holder[rng.choice(("x", "metadata", "spec", "", "kind", "annotations"))] = rng.choice(VALUES)
    return json.dumps(made).encode("utf-8", "surrogatepass")


def spoilt(rng, data):
    made = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        chance = rng.random()
        at = rng.randrange(len(made)) if made else 0
        if chance < 0.35:
            made[at : at + 1] = bytes([rng.randrange(256)])
        elif chance < 0.6:
            del made[at : at + rng.randint(1, 40)]
        elif chance < 0.8:
            made[at:at] = bytes(rng.choices(b'{}[]",:\\ 0123456789eE+-.\x00\xff', k=rng.randint(1, 30)))
        else:
            made = made[: rng.randint(0, len(made))]
    return bytes(made)


def drawn(rng, number):
    kind = number % 4
    if kind == 0:
        return edited(rng, denied())
    if kind == 1:
        return spoilt(rng, json.dumps(denied()).encode())
    if kind == 2:
        return rng.randbytes(rng.randint(0, 2000))
    return bytes(rng.choices(b'{}[]",:\\ 01eE-. \n"ab', k=rng.randint(0, 3000)))


def is_the_denied_one(request):
    """Whether a request is still about an object that can never be admitted, in a place where it is judged."""
    if request.operation != "CREATE" or request.subresource or request.namespace != "team-a":
        return False
    if (request.group, request.version, request.kind) != ("batch", "v1", "Job"):
        return False
    wanted = worlds.job("big", pods=40)
    new = request.new or {}
    return new.get("spec") == wanted["spec"] and new.get("metadata") == wanted["metadata"]


def asked(body):
    try:
        return read(body), 0
    except BadReviewError as error:
        return None, error.status


def hold(numbers, seed):
    rng = random.Random(seed)
    made = service()
    counted = {"refused": 0, "answered": 0, "the denied one": 0}
    for number in numbers:
        body = drawn(rng, number)
        request, refused = asked(body)
        if request is None:
            assert refused in STATUSES
            counted["refused"] += 1
            continue
        outcome = made.at_once(request) or made.review(request, lambda: False, critical=True)
        answer = json.loads(encode(request.uid, outcome.answer))
        assert answer["response"]["uid"] == request.uid
        assert isinstance(answer["response"]["allowed"], bool)
        assert outcome.verdict != "failed", outcome.why
        counted["answered"] += 1
        if is_the_denied_one(request):
            assert answer["response"]["allowed"] is False, body
            counted["the denied one"] += 1
    return counted


def test_bodies_that_may_be_anything():
    counted = hold(range(2000), seed=1)
    assert counted["refused"] > 1000
    assert counted["answered"] > 200
    assert counted["the denied one"] > 20


@pytest.mark.slow
def test_ten_thousand_bodies_that_may_be_anything():
    counted = hold(range(10_000), seed=2)
    assert counted["answered"] > 1000
    assert counted["the denied one"] > 100


def test_the_review_that_is_spoilt_is_denied():
    made = service()
    assert not made.review(read(json.dumps(denied()).encode()), lambda: False, critical=True).answer.allowed
