"""A simulation as text and as JSON: what is said, how wide it is, and that nothing unknown passes for 0."""

import json
import re

import pytest
from story_help import LIVES, QUEUES, story
from story_help import result as result_of
from timeline_help import life, line, stay, step, timeline

from policycheck.report.screen import Style, width
from policycheck.report.simulation import render_json
from policycheck.report.simulation_text import render_text
from policycheck.report.simulation_words import percent, span
from policycheck.simulate.quantile import Ratio
from policycheck.simulate.timeline import PENDING

PAINT = re.compile(r"\x1b\[[\d;]*m")
# Null here is an answer and no lack of one.
ANSWERS = re.compile(r"\.(cohort|class|finished|worst|healthy)$|series\[")


def text(one, **style):
    return render_text([one], Style(**style))


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0s"),
        (1, "1ms"),
        (999, "999ms"),
        (1000, "1s"),
        (1250, "1.2s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (750_000, "12m30s"),
        (3_600_000, "1h"),
        (18_720_000, "5h12m"),
        (273_600_000, "3d4h"),
    ],
)
def test_times_are_said_in_two_units(ms, said):
    assert span(ms) == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 0, "-"),
        (0, 9, "0%"),
        (9, 9, "100%"),
        (1, 100_000, "<0.1%"),
        (99_999, 100_000, "99.9%"),
        (1, 3, "33.3%"),
        (3, 2, "150%"),
    ],
)
def test_what_is_not_all_is_not_rounded_to_it(part, whole, said):
    assert percent(Ratio(part, whole)) == said


@pytest.mark.parametrize("columns", [40, 44, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(columns):
    lines = text(story(), width=columns, verbose=True).splitlines()
    # A single word is never cut, so that it can be copied.
    assert [row for row in lines if width(row) > columns and " " in row.strip()] == []


def test_what_an_engineer_reads_first():
    said = text(story())
    head = said.splitlines()
    assert head[0] == "Simulated 2d of preset example as Some 1.2 does (version assumed)"
    assert head[1] == "10 jobs · 5 queues · 128 GPUs on 16 nodes · seed 7 · horizon 2d"
    flat = " ".join(said.split())
    for part in (
        "7 of 10 started · 5 finished · 2 running at the end · 2 waiting · 1 refused",
        # Of 7 started jobs 2 were preempted: 4 times in all.
        "28.6% of started jobs at least once, at or above the line of 5%; 3 by InClusterQueue; 1 by InCohortReclamation",
        "1 job preempted 3 times or more, team/eval-2 3 times",
        "team/eval-2, team/pretrain went round in a circle 4 times",
        "100% of 1 gang within one rack",
        "1 job had quota and no node for 3 pods",
        "2 ExceedsMaxQuota (1,024 GPUs), the longest team/huge of vision for 1d22h",
        "512 nvidia.com/gpu asked, the queue may have 96 at most",
        "1 NoLocalQueue (8 GPUs), the longest team/lost",
        "1 job waited more than 5 times the own run time while others went ahead; the longest team/eval-3",
        "no durations are written for 3 jobs: 4h assumed",
        "how busy the hardware in use is can not be known",
        "waits: sys_admission_wait_seconds",
        "policycheck why WORKLOAD clusters/prod",
    ):
        assert part in flat


def test_every_queue_has_a_row_and_its_guarantee():
    rows = {row.split()[0]: row.split() for row in text(story(), width=110).splitlines() if row.strip()}
    # foundation asked for its 48 from 0 to 26 h and lacked them from 4 to 10 h: 20 of 26.
    assert "76.9%" in rows["foundation"]
    assert rows["idle"].count("-") >= 6
    assert "≥1d22h" in rows["vision"]


def test_colour_says_nothing_that_the_words_do_not():
    painted = text(story(), color=True)
    assert "\x1b[" in painted
    assert PAINT.sub("", painted) == text(story())


def test_a_terminal_without_unicode():
    said = text(story(), ascii=True)
    assert said.isascii()
    assert ">=1d22h" in said


def test_quiet_is_the_result_alone():
    said = text(story(), quiet=True)
    for part in ("Next", "Assumed", "dashboards", "p50 to p99"):
        assert part not in said
    assert "Waiting at the end" in said


def test_names_that_drive_terminals_are_harmless():
    bad = life("x\x1b]0;y\x07", 0, 9, state=PENDING, queue="q\u202e", reason="No\x1b[31m", why="w\r\nz")
    one = result_of(timeline(99, [bad], [line("q\u202e", step(0, 0, 8, 8))]))
    one = one._replace(scenario=one.scenario._replace(source="\x1b[2J", scope="s\x07", paths=("\x1b",)))
    said = text(one)
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "\u202e" not in said


def test_many_queues_show_those_that_are_worst_off():
    queues = [line(f"q{n:02}", step(0, 8)) for n in range(30)]
    queues[17] = line("q17", step(0, 0, 8, 8))
    one = result_of(timeline(99, [life("a", 0, 9, stay(0, 9), queue="q03")], queues))
    rows = text(one).splitlines()
    first = next(n for n, row in enumerate(rows) if row.startswith("queue ")) + 1
    assert rows[first].startswith("q17")
    assert rows[first + 20] == "and 10 queues more that fared better (--verbose shows all)"
    assert sum(row.startswith("q") for row in text(one, verbose=True).splitlines()) == 31


def test_quota_without_admission_is_told_as_such():
    one = life("a", 0, 9, stay(5, admitted=-1, ready=-1), state="running")
    said = " ".join(text(result_of(timeline(60, [one], [line("a", step(0, 8))]))).split())
    assert "1 with quota but not admitted" in said
    assert "1 with quota, not admitted: a check or a place on nodes is missing (8 GPUs)" in said


def test_nothing_arrived():
    said = text(result_of(timeline(60, [], QUEUES)))
    assert "Nothing arrived, so there is nothing to tell." in said


def test_no_queue_and_nothing_started():
    said = text(result_of(timeline(60, [life("a", 0, 9, state=PENDING, queue="", reason="NoQueue")])))
    assert "0 of 1 started" in said
    assert "- (no job was started)" in said
    assert "1 NoQueue" in said


def test_scopes_stand_apart():
    said = render_text([story(scope="a"), story(scope="b")], Style())
    assert "\n\nSimulated 2d of preset example in b as Some 1.2 does" in said
    found = json.loads(render_json([story(scope="a"), story(scope="b")]))
    assert [scope["scope"] for scope in found["scopes"]] == ["a", "b"]
    assert found["schemaVersion"] == 1


def test_json_has_what_the_contract_names():
    found = json.loads(render_json([story()], events=True))
    assert found["schemaVersion"] == 1
    assert {key: found["scenario"][key] for key in ("digests", "seed", "horizon")} == {
        "digests": {"trace": "sha256:00ff"},
        "seed": 7,
        "horizon": 172_800,
    }
    metrics = found["metrics"]
    assert set(metrics["utilisation"]) >= {"allocated", "saturatedShareOfTime"}
    vision = metrics["queues"]["vision"]
    assert {key: vision["wait"][key] for key in ("p50", "p90", "p99", "max", "censored")} == {
        "p50": 162_000,  # 45 h
        "p90": 165_600,  # 46 h
        "p99": 165_600,
        "max": 165_600,
        "censored": 2,
    }
    assert vision["wait"]["lowerBounds"] == ["p50", "p90", "p99", "max"]
    foundation = metrics["queues"]["foundation"]
    assert foundation["borrowedGpuHours"] == 16 * 20  # 16 beyond 48, 4 h and 16 h
    assert foundation["guaranteeHonoured"] == 0.769231
    assert foundation["reclaimLatency"]["max"] == 6 * 3600
    assert (foundation["reserved"], foundation["pending"], foundation["preemptedJobs"]) == (1, 0, 1)
    jobs = metrics["jobs"]
    assert (jobs["submitted"], jobs["started"], jobs["finished"]) == (10, 7, 5)
    assert jobs["preemptedShare"] == 0.285714
    assert set(jobs["stretch"]) >= {"p50", "p99", "over5", "over10"}
    assert {"fragmentation", "topology"} <= set(metrics)
    assert [job["workload"] for job in found["stuck"]] == ["team/huge", "team/also-huge"]
    assert found["stuck"][0]["gpus"] == 512
    assert found["events"] == [
        {"time": 0, "event": "submitted", "workload": "team/pretrain", "detail": ""},
        {"time": 0.001, "event": "reserved", "workload": "team/chat", "detail": "serving"},
    ]
    assert "events" not in json.loads(render_json([story()]))


def nulls(value, place):
    if value is None:
        yield place
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from nulls(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from nulls(inner, f"{place}[{number}]")


@pytest.mark.parametrize(
    "whole",
    [
        story().timeline,
        timeline(0),
        timeline(60, [], QUEUES),
        timeline(60, [life("a", 0, 9, state=PENDING)], [line("a", nominal=0)]),
        timeline(60, [life("a", 0, 9, state=PENDING)], [line("a", nominal=2**63 - 1)]),
        timeline(60, [one for one in LIVES if not one.stays], QUEUES),
    ],
    ids=["story", "nothing", "no-jobs", "no-quota", "no-limit", "none-started"],
)
def test_every_value_that_is_not_known_says_why(whole):
    found = json.loads(render_json([result_of(whole)]))
    unknown = found["unknown"]
    silent = [
        place
        for place in nulls(found["metrics"], "metrics")
        if not ANSWERS.search(place) and place not in unknown and place.rpartition(".")[0] not in unknown
    ]
    assert silent == []
    assert all(unknown.values())


def test_cores_are_counted_in_cores():
    whole = timeline(3600, [life("a", 0, 3600, stay(0, 3600), amount=1500)], [line("a", step(0, 1500))])
    one = result_of(whole._replace(resource="cpu"))
    found = json.loads(render_json([one]))["metrics"]
    assert found["queues"]["a"]["peak"] == 1.5
    assert found["work"]["gpuHours"] == 1.5
    assert "cores" in text(one)


def test_the_same_bytes():
    one = story()
    shuffled = result_of(one.timeline._replace(lives=one.timeline.lives[::-1]))
    assert render_json([shuffled]) == render_json([one])
