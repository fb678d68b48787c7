"""A situation that is not what its suite asks for is named, never guessed at and never a bug."""

import copy
import json
import random
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[2]))

from conformance.compact import expand
from conformance.write_fixtures import TARGET

from policycheck.adapters.cli.simulate import simulate
from policycheck.systems.kueue.case import run
from policycheck.systems.kueue.cases.asked import SUITES, family

DOCS = [
    yaml.safe_load(text) for file in sorted(TARGET.glob("*.yaml")) for text in file.read_text().split("---\n")
]
CASES = [expand(doc) for doc in DOCS]
ODD = (None, [], {}, "x", -1, True)


def of(suite):
    return copy.deepcopy(next(case for case in CASES if case["suite"] == suite))


def changed(case, path, value):
    inner = case
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return case


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ({}, "suite is missing; it has to be text"),
        ({"suite": "nope", "name": "x", "objects": []}, "the suite 'nope' is not known"),
        ({"suite": "schedule", "name": "x"}, "objects holds no ClusterQueue"),
        ({"suite": "entry-ordering", "name": "x", "objects": []}, "input is missing; it has to be an object"),
        ({"suite": "schedule", "name": ["x"]}, "name is a list; it has to be text"),
    ],
)
def test_what_is_not_a_situation_says_why(case, why):
    answer = run(case)
    assert set(answer) == {"suite", "name", "unsupported"}
    assert answer["unsupported"].startswith(why)


@pytest.mark.parametrize(
    ("suite", "path", "value", "why"),
    [
        (
            "dominant-resource-share",
            ("input", "usageClusterQueue"),
            None,
            "input.usageClusterQueue is null; it has to be the",
        ),
        ("schedule", ("objects",), [], "objects holds no ClusterQueue"),
        ("schedule", ("objects",), True, "objects is true; it has to be a list"),
        ("schedule", ("objects", 0), 1, "objects[0] is 1; it has to be an object"),
        ("schedule", ("objects", 0), None, "objects[0] is null; it has to be an object"),
        ("schedule", ("objects", 0, "metadata", "name"), ["q"], "objects[0].metadata.name is a list; it has"),
        (
            "schedule",
            ("configuration", "cycles"),
            "x",
            'configuration.cycles is "x"; it has to be a whole num',
        ),
        (
            "schedule",
            ("configuration", "cycles"),
            [],
            "configuration.cycles is []; it has to be a whole number",
        ),
        ("schedule", ("configuration",), -1, "configuration is -1; it has to be an object"),
        ("schedule", ("now",), "today", 'now is "today"; it has to be a time such as'),
        ("random-events", ("events", 0, "cycle"), {}, "events[0].cycle is {}; it has to be a whole number"),
        (
            "preemption",
            ("input", "targetClusterQueue"),
            "no",
            'input.targetClusterQueue is "no"; it has to be',
        ),
        (
            "flavorassigner",
            ("input", "preemptionOracle", "default", "possibility"),
            "Maybe",
            "input.preemptionOracle.d",
        ),
    ],
)
def test_one_value_that_is_wrong_is_named_with_what_is_allowed(suite, path, value, why):
    case = of(suite)
    assert "unsupported" not in run(case)
    assert run(changed(case, path, value))["unsupported"].startswith(why)


def test_a_wrong_type_deep_inside_an_object_is_named():
    case = of("schedule")
    number = next(n for n, o in enumerate(case["objects"]) if o["kind"] == "ClusterQueue")
    case["objects"][number]["spec"]["resourceGroups"][0]["flavors"][0]["resources"] = "cpu"
    where = f"objects[{number}].spec.resourceGroups[0].flavors[0].resources"
    assert run(case)["unsupported"] == f'{where} is "cpu"; it has to be a list'


def test_an_amount_used_that_is_no_quantity_is_named():
    case = of("schedule-admission-fair-sharing")
    case["input"] = {"initialConsumedUsageByLocalQueue": {"ns/q": {"cpu": []}}}
    assert "['cpu'] is []; it has to be a quantity" in run(case)["unsupported"]


def test_an_unknown_suite_that_runs_cycles_over_queues_is_answered():
    for suite, key in (("schedule", "cycles"), ("random-flat", "maxCycles")):
        case = of(suite)
        assert key in case["configuration"]
        known = run(case)
        assert run({**case, "suite": "unheard of"}) == {**known, "suite": "unheard of"}


def test_a_suite_is_of_the_family_whose_name_it_goes_on_from():
    assert family("preemption-candidates-ordering-2") == "preemption-candidates-ordering"
    assert family("preemption-anything") == "preemption"
    assert family("tas-else") == "tas"
    assert family("schedules") == ""
    assert {family(case["suite"]) for case in CASES} >= set(SUITES) - {"big", "validation"}


def _places(case):
    found, todo = [], [((key,), case[key]) for key in case if key not in ("suite", "name", "source")]
    while todo:
        path, value = todo.pop()
        found.append(path)
        pairs = (
            value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
        )
        todo.extend(((*path, key), below) for key, below in pairs)
    return found


def test_no_changed_value_is_an_internal_error(tmp_path):
    dice = random.Random(7)
    lines = []
    for _ in range(400):
        case = copy.deepcopy(dice.choice(CASES))
        lines.append(json.dumps(changed(case, dice.choice(_places(case)), dice.choice(ODD))))
    path = tmp_path / "changed.jsonl"
    path.write_text("\n".join(lines))
    result = CliRunner().invoke(simulate, ["--case", str(path)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == len(lines)
    assert 20 < result.stdout.count('"unsupported"') < len(lines)
