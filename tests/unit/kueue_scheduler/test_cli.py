import gzip
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from policycheck.adapters.cli import main
from policycheck.adapters.cli.simulate import simulate

sys.path.insert(0, str(Path(__file__).parents[2]))

from conformance.compact import expand

DOC = {
    "name": "n",
    "area": "schedule",
    "queues": {"q1": "| f1 cpu=4"},
    "work": {"w": "q1 t=-5 ; main 1x cpu=3"},
}


@pytest.fixture
def ran(tmp_path):
    def run(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return CliRunner().invoke(simulate, ["--case", str(path), "--format", "json"])

    return run


def case(name="n"):
    return json.dumps(expand({**DOC, "name": name}))


def test_a_line_for_each_line(ran):
    result = ran("cases.jsonl", f"{case('a')}\n\n{case('b')}\n".encode())
    assert result.exit_code == 0
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [a["name"] for a in answers] == ["a", "b"]
    assert answers[0]["reserved"][0]["admission"]["podSetAssignments"][0]["resourceUsage"] == {"cpu": "3"}


def test_one_object_over_many_lines_and_gzipped(ran):
    text = json.dumps(json.loads(case()), indent=2).encode()
    assert ran("case.json", text).stdout == ran("case.json.gz", gzip.compress(text)).stdout != ""


def test_what_cannot_be_read_is_said_and_the_rest_answered(ran):
    result = ran("cases.jsonl", f"{{\n[1]\n{case()}\n".encode())
    assert result.exit_code == 3
    assert len(result.stdout.splitlines()) == 1
    assert "line 1: not JSON" in result.stderr
    assert "line 2: a situation is a JSON object" in result.stderr
    missing = CliRunner().invoke(simulate, ["--case", "/no/such/file"])
    assert missing.exit_code == 3
    assert missing.stdout == ""


def test_with_nothing_given_it_says_what_would_do(capsys):
    assert main(["simulate"]) == 2
    assert "--mix with a preset that brings its own: " in capsys.readouterr().err
