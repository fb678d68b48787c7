"""``simulate --seeds``: many runs as one report."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from policycheck.adapters.cli import main

sys.path.insert(0, str(Path(__file__).parents[1] / "compare"))

from test_compare import MIX, NEW, OLD, cluster, trace


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mix.yaml").write_text(MIX)
    cluster(tmp_path / "old", OLD)
    cluster(tmp_path / "new", NEW)
    return tmp_path


def sweep(capsys, *args, mix=("--mix", "mix.yaml"), form="json", code=0):
    given = main(["simulate", *args, *mix, "--target", "kueue=0.18", "--format", form])
    captured = capsys.readouterr()
    assert given == code, captured.err
    return captured.out


def figure(of, name):
    return next(f for f in of["figures"] if f["name"] == name)


def test_the_same_bytes_whatever_computes_and_however_many(here, capsys):
    args = ("old", "new", "--seeds", "1..3")
    alone = sweep(capsys, *args)
    assert sweep(capsys, *args, "--backend", "here") == alone
    assert sweep(capsys, *args, "--jobs", "2") == alone
    assert sweep(capsys, *args, "--backend", "processes", "--jobs", "3") == alone
    assert len(json.loads(alone)["configurations"]) == 2


def test_a_seed_comes_out_as_it_does_alone(here, capsys):
    (found,) = json.loads(sweep(capsys, "new", "--seeds", "5..7"))["configurations"]
    for number, seed in enumerate((5, 6, 7)):
        one = json.loads(sweep(capsys, "new", "--seed", str(seed)))
        waits = one["metrics"]["jobs"]["wait"]
        assert figure(found, "wait p90")["values"][number] == pytest.approx(waits["p90"])
        assert figure(found, "jobs started")["values"][number] == one["metrics"]["jobs"]["started"]
        assert found["jobs"][number] == one["metrics"]["jobs"]["submitted"]
        allocated = one["metrics"]["utilisation"]["allocated"]
        assert figure(found, "utilisation")["values"][number] == pytest.approx(allocated, abs=1e-5)
        red = next(f for f in found["queues"]["red"] if f["name"] == "wait p50")
        assert red["values"][number] == pytest.approx(one["metrics"]["queues"]["red"]["wait"]["p50"])


def test_more_seeds_leave_the_first_as_they_are(here, capsys):
    two, three = (
        json.loads(sweep(capsys, "new", "--seeds", n))["configurations"][0]["figures"] for n in ("2", "3")
    )
    assert [f["values"] for f in two] == [f["values"][:2] for f in three]
    assert json.loads(sweep(capsys, "new", "--seed", "4", "--seeds", "2"))["seeds"] == [4, 5]


def test_the_order_of_configurations_is_the_order_of_the_report_alone(here, capsys):
    one = json.loads(sweep(capsys, "old", "new", "--seeds", "2"))["configurations"]
    other = json.loads(sweep(capsys, "new", "old", "--seeds", "2"))["configurations"]
    assert sorted(one, key=str) == sorted(other, key=str)


def test_several_mixes_and_traces(here, capsys):
    (here / "light.yaml").write_text(MIX.replace("mix: small", "mix: light").replace("1.5", "0.3"))
    found = json.loads(sweep(capsys, "new", "--mix", "light.yaml"))["configurations"]
    assert [one["source"].rpartition(" ")[2] for one in found] == ["light", "small"]
    used = {one["source"].rpartition(" ")[2]: figure(one, "utilisation")["mean"] for one in found}
    assert used["light"] < used["small"]
    (one,) = json.loads(sweep(capsys, "new", "--seeds", "2", mix=("--trace", trace(here))))["configurations"]
    assert one["jobs"] == [60, 60]
    assert figure(one, "jobs started")["values"] == [60, 60]


def test_csv_has_a_line_a_figure(here, capsys):
    text = sweep(capsys, "old", "new", "--seeds", "2", form="csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    found = json.loads(sweep(capsys, "old", "new", "--seeds", "2"))["configurations"]
    assert len(rows) == sum(len(c["figures"]) + sum(map(len, c["queues"].values())) for c in found)
    row = next(
        r for r in rows if r["configuration"] == "new" and not r["queue"] and r["figure"] == "utilisation"
    )
    assert float(row["mean"]) == figure(found[1], "utilisation")["mean"]
    assert row["seeds"] == "2"


def test_text_is_eighty_columns_wide(here, capsys):
    text = sweep(capsys, "old", "new", "--seeds", "3", form="text")
    assert max(map(len, text.splitlines())) <= 80
    assert "3 seeds" in text
    assert "1  old as Kueue 0.18" in text
    assert "2  new as Kueue 0.18" in text


def test_one_run_is_the_same_report_whatever_computes(here, capsys):
    assert sweep(capsys, "new", "--jobs", "2") == sweep(capsys, "new")


def test_a_preset_that_brings_its_own_cluster_needs_no_path(here, capsys):
    args = ("--seeds", "2", "--horizon", "1h", "--no-nodes")
    (found,) = json.loads(sweep(capsys, *args, mix=("--mix", "twelve-teams")))["configurations"]
    assert min(found["jobs"]) > 10


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("new", "--seeds", "0"), "1 to"),
        (("new", "--seeds", "9..3"), "1 to"),
        (("new", "--seeds", "few"), "neither a number"),
        (("new", "--seeds", "1.5"), "neither a number"),
        (("new", "--seeds", "1..999999999"), "1 to"),
        (("new", "--seeds", "2", "--format", "html"), "for one run"),
        (("new", "--seeds", "2", "--events"), "for one run"),
        (("new", "--format", "csv"), "--seeds"),
        (("new", "--seeds", "2", "--backend", "dask"), "--scheduler"),
        (("new", "--seeds", "2", "--backend", "processes", "--scheduler", "tcp://a:1"), "does not go with"),
        (("new", "--seeds", "2", "--scheduler", "tcp://a:1", "--jobs", "2"), "--jobs"),
        (("new", "--seeds", "2", "--mix", "absent"), "absent"),
        (("--seeds", "2"), "nothing to simulate"),
    ],
)
def test_errors_of_use(here, capsys, args, said):
    assert main(["simulate", *args]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_errors_while_runs_are_computed_elsewhere_are_errors_of_use(here, capsys):
    (here / "other.yaml").write_text(MIX.replace("share: 1\n  gpus", "share: 1\n  queues: [nowhere]\n  gpus"))
    assert main(["simulate", "new", "--mix", "other.yaml", "--seeds", "2"]) == 2
    alone = capsys.readouterr().err
    assert "nowhere" in alone
    assert main(["simulate", "new", "--mix", "other.yaml", "--seeds", "2", "--jobs", "2"]) == 2
    assert capsys.readouterr().err == alone


def test_a_trace_with_broken_lines_is_unread(here, capsys):
    name = trace(here)
    Path(name).write_text(Path(name).read_text() + "j99,soon,10,1,1,red\n")
    args = ["simulate", "new", "--trace", name, "--seeds", "2", "--format", "json"]
    assert main(args) == 3
    assert "62" in capsys.readouterr().err
    assert main([*args, "--accept", "broken-lines"]) == 0
