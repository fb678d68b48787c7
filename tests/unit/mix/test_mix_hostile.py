"""Text of any kind gives a mix, a trace, or our own error; numbers of any size come to an end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from policycheck.simulate.generate import generate
from policycheck.simulate.mix import Door, Host, Site
from policycheck.simulate.mixfile import read
from policycheck.simulate.replay import replay
from policycheck.simulate.trace import Reading, Replaying, Row, Size, Trace
from policycheck.simulate.tracefile import read as read_trace
from policycheck.simulate.tracesetting import read as read_setting
from policycheck.simulate.trouble import ArrivalsError

GPU = "nvidia.com/gpu"
VALUES = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(-(10**30), 10**30),
    some.sampled_from(
        [
            "1h",
            "",
            "-1",
            "1e999",
            ".inf",
            ".nan",
            "a: b",
            "{}",
            "[]",
            "{1: 0.5, 8: .inf}",
            "[[[]]]",
            "*",
            "5/h",
            "x" * 300,
        ]
    ),
)
KEYS = some.sampled_from(
    [
        "name",
        "share",
        "rate",
        "jobs",
        "per",
        "arrival",
        "curve",
        "queues",
        "pods",
        "gpus",
        "job-gpus",
        "pod-gpus",
        "requests",
        "requests-per-gpu",
        "models",
        "topology",
        "priority",
        "duration",
        "startup",
        "checkpoint",
        "limit",
        "nature",
        "replicas",
        "match",
        "labels",
        "horizon",
        "load",
        "defaults",
        "failures",
    ]
)


def problems_of(use, *arguments):
    """What is told of bad input; () when it was good. Any other exception is a failure."""
    try:
        use(*arguments)
    except ArrivalsError as error:
        return error.problems
    return ()


def line(pairs):
    return "{" + ", ".join(f"{key}: {value if value is not None else 'null'}" for key, value in pairs) + "}"


@given(some.binary(max_size=200))
def test_any_bytes_give_our_own_error(data):
    for reader in (read, read_setting):
        assert all(problem.startswith("m.yaml:") for problem in problems_of(reader, "m.yaml", data))


@given(some.lists(some.tuples(KEYS, VALUES), max_size=6), some.lists(some.tuples(KEYS, VALUES), max_size=3))
def test_any_values_give_a_mix_or_our_own_error(own, whole):
    text = "mix: x\nrate: 1/h\nhorizon: 1d\nclasses:\n  - " + line([("name", "a"), ("share", 1), *own]) + "\n"
    text += "".join(
        f"{key}: {value if value is not None else 'null'}\n" for key, value in whole if key != "name"
    )

    def use():
        mix = read("m.yaml", text.encode())._replace(resource=GPU)
        return generate(mix, Site((Door("a", "b", "c", 8),), 64), 1)

    assert "" not in problems_of(use)


@given(some.lists(some.text(alphabet='0123456789,.-e"ab :\n\r\x00\ud800é', max_size=40), max_size=8))
def test_any_lines_give_a_trace_or_our_own_error(lines):
    data = [
        b"id,submit,duration,gpus,queue\n",
        *(f"{text}\n".encode("utf-8", "surrogatepass") for text in lines),
    ]
    assert "" not in problems_of(read_trace, "t.csv", data, Reading(keep_good=True))


SITE = Site((Door("a", "b", "c", 8),), 2**62, tuple(Host(f"n{n}") for n in range(50)))
WAVES = "curve: {daily: [" + ", ".join(["1", "2"] * 12) + "]}\nclasses:\n"
HEAD = "mix: x\nresource: nvidia.com/gpu\nhorizon: 7d\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "load: 1\nclasses:\n  - {name: a, share: 1, gpus: 1, duration: 1h}\n",
            "up to 2,000,000 jobs can be simulated",
        ),
        (
            "classes:\n  - {name: a, nature: service, gpus: 1, replicas: {share: 1}}\n",
            "replicas would run; up to 100,000",
        ),
        (
            "horizon: 5000d\n"
            + WAVES
            + "  - {name: a, nature: service, gpus: 1, replicas: {most: 2, period: 1s}}\n",
            "its load would be looked at 432,000,000 times; choose a longer 'period'",
        ),
        (
            "classes:\n  - {name: a, rate: 1/h, gpus: 1, duration: 1h}\nfailures: [{mtbf: 1ms, repair: 1ms}]\n",
            "about 15,120,000,000 failures of nodes; up to 1,000,000 can be simulated: check 'mtbf'",
        ),
    ],
)
def test_what_would_not_end_is_refused(text, why):
    head = HEAD.replace("horizon: 7d\n", "") if "horizon" in text else HEAD
    with pytest.raises(ArrivalsError) as error:
        generate(read("m.yaml", (head + text).encode()), SITE, 1)
    assert why in str(error.value)


def test_an_order_of_arrival_that_would_not_end_is_refused():
    trace = Trace("t.csv", (Row(2, "a", 0, 1, Size(1, 1, 1000, 0, 0), "c", "", (), ""),), "")
    with pytest.raises(
        ArrivalsError, match=r"jobs are needed to ask for 130% of .*; up to 2,000,000 can be simulated"
    ):
        replay(trace, SITE, GPU, 1, Replaying("arrival"))


def test_jobs_are_counted_while_they_are_made(monkeypatch):
    for module in ("generate", "layout"):
        monkeypatch.setattr(f"policycheck.simulate.{module}.MOST_JOBS", 1000)
    text = (
        HEAD
        + WAVES
        + "  - {name: a, nature: service, gpus: 1, replicas: {least: 0, most: 200, period: 30m}}\n"
    )
    with pytest.raises(
        ArrivalsError, match="up to 1,000 jobs can be simulated, and more than that would arrive"
    ):
        generate(read("m.yaml", text.encode()), SITE, 1)
