"""Settings beside a trace, files that are gzipped, and recorded traces as users have them."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path

import pytest

from policycheck.app import load
from policycheck.app.arrivals import Offering, arrivals, load_trace
from policycheck.app.gather import Sources
from policycheck.data import root
from policycheck.lint.settings import Settings
from policycheck.simulate.mix import Topology
from policycheck.simulate.period import DAY, HOUR
from policycheck.simulate.trace import BY_ARRIVAL, Reading, Replaying
from policycheck.simulate.tracesetting import TraceSetting, read
from policycheck.simulate.trouble import ArrivalsError

SHARED = Path(os.environ.get("POLICYCHECK_SHARED", Path(__file__).parents[4] / "shared")) / "data" / "traces"
ALL = b"""columns: {submit: when, duration: "over-began:ms"}
resource: amd.com/gpu
pod-gpus: 4
keep-good: true
without-gpus: true
skip-states: [Failed]
window: [2h, 2d]
order: arrival
compress: 3
until: 1.5
step: 2s
queues: {LS: team-a/train, "*": spread}
priorities: {LS: 200}
checkpoint: 30m
startup: 1m
topology: {mode: preferred, level: -2, pods: 2}
"""


def test_everything_that_can_be_said():
    assert read("t.yaml", ALL) == TraceSetting(
        Reading(
            {"submit": "when", "duration": "over-began:ms"},
            pod_gpus=4,
            keep_good=True,
            without_gpus=True,
            skip_states=("Failed",),
            start=2 * HOUR,
            end=2 * DAY,
        ),
        Replaying(
            BY_ARRIVAL,
            3.0,
            1.5,
            2000,
            {"LS": "team-a/train", "*": "spread"},
            {"LS": 200},
            HOUR // 2,
            60_000,
            Topology("preferred", -2, pods=2),
        ),
        "amd.com/gpu",
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "t.yaml:1:1: the file is empty; the settings of a trace is a map of keys and values"),
        ("colums: {}\n", "t.yaml:1:1: unknown key 'colums'; did you mean 'columns'?"),
        (
            "columns: {submitted: a}\n",
            "t.yaml:1:1: 'columns' has no field 'submitted'; allowed are id, submit",
        ),
        ("window: [2h]\n", "t.yaml:1:1: 'window' is empty; it needs at least 2"),
        ("window: [2h, 1h]\n", "t.yaml:1:1: 'window' ends at 1h, before it begins at 2h"),
        ("order: random\n", "t.yaml:1:1: 'order' is 'random'; allowed are 'time', 'arrival'"),
        ("compress: 0\n", "t.yaml:1:1: 'compress' is 0; it has to be above 0"),
        ("priorities: {LS: high}\n", "t.yaml:1:14: 'priorities.LS' is 'high'; write a whole number"),
    ],
)
def test_a_mistake_is_told_with_its_place(text, why):
    with pytest.raises(ArrivalsError) as error:
        read("t.yaml", text.encode())
    assert why in str(error.value)


CSV = b"submit_s,duration_s,gpus\n0,60,1\n5,60,2\n"


def reader(held):
    def fetch(name):
        if name not in held:
            raise FileNotFoundError(2, "No such file or directory", name)
        return held[name]

    return fetch


def test_settings_are_found_beside_the_trace():
    trace, setting = load_trace(
        "t.csv", reader({"t.csv": CSV, "t.csv.yaml": b"pod-gpus: 1\ncheckpoint: 5s\n"})
    )
    assert [r.size.pods for r in trace.rows] == [1, 2]
    assert setting.replaying.checkpoint == 5000
    trace, setting = load_trace("t.csv", reader({"t.csv": CSV}))
    assert setting == TraceSetting()
    assert [r.size.pods for r in trace.rows] == [1, 1]


def test_order_of_arrival_keeps_jobs_that_never_ran():
    held = {"t.csv": CSV.replace(b"60", b"0"), "t.csv.yaml": b"order: arrival\n"}
    assert len(load_trace("t.csv", reader(held))[0].rows) == 2


def test_gzip_is_seen_by_its_first_bytes(tmp_path):
    packed = gzip.compress(CSV)
    assert len(load_trace("t.csv", reader({"t.csv": packed}))[0].rows) == 2
    (tmp_path / "t.csv.gz").write_bytes(packed)
    trace, _ = load_trace(str(tmp_path / "t.csv.gz"), reader({}))
    assert len(trace.rows) == 2
    with pytest.raises(ArrivalsError, match=r"t\.csv: the gzipped text is broken: .*; copy the file again"):
        load_trace("t.csv", reader({"t.csv": packed[:-12]}))
    with pytest.raises(ArrivalsError, match=r"^t\.csv"):
        load_trace("t.csv", reader({"t.csv": packed[:12] + b"rubbish" + packed[19:]}))


def test_a_trace_that_is_not_there_is_told():
    with pytest.raises(ArrivalsError, match=r"t\.csv: can not be read: No such file or directory"):
        load_trace("t.csv", reader({}))


@pytest.fixture(scope="module")
def demo():
    folder = str(root() / "fixtures" / "clusters" / "demo-good")
    (cluster,) = load(Sources((folder,), lambda path: Path(path).read_bytes()), Settings())
    return cluster


def test_a_trace_arrives_beside_the_services_of_the_manifests(demo):
    trace, setting = load_trace("t.csv", reader({"t.csv": CSV}))
    found = arrivals(demo, Offering(trace=trace, setting=setting))
    assert Counter(j.nature for j in found.jobs) == {"service": 7, "batch": 2}
    assert "7 services of the manifests run beside what arrives" in found.notes


def recorded(name):
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"{name} is not beside the checkout")
    return str(path)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["openb_default.jobs.csv", "openb_pod_list_default.csv"])
def test_openb_in_the_schema_and_raw_is_the_same(name, demo):
    raw = name.startswith("openb_pod")
    priorities = {"LS": 200, "BE": 100, "Burstable": 150, "Guaranteed": 150}
    columns = {"priority": "qos"} if raw else {}
    setting = TraceSetting(Reading(columns), Replaying(priorities=priorities))
    trace, setting = load_trace(recorded(name), reader({}), setting)
    assert len(trace.rows) == 6203
    assert [note.partition(": ")[2] for note in trace.notes] == [
        "1,088 jobs that ask for no accelerator are left out",
        "861 jobs that never ran, or for no time are left out",
    ]
    found = arrivals(demo, Offering(trace=trace, setting=setting))
    batch = [j for j in found.jobs if j.nature == "batch"]
    assert {j.priority for j in batch} == {100, 150, 200}
    assert sum(j.milli < 1000 for j in batch) == sum(r.size.milli < 1000 for r in trace.rows)


@pytest.mark.shared
def test_openb_in_order_of_arrival_asks_for_so_much_of_the_capacity(demo):
    setting = TraceSetting(replaying=Replaying(BY_ARRIVAL))
    trace, setting = load_trace(recorded("openb_default.jobs.csv"), reader({}), setting)
    found = arrivals(demo, Offering(trace=trace, setting=setting))
    asked = sum(
        j.pods * j.pod_sets[0].requests["nvidia.com/gpu"] * j.milli / 1000
        for j in found.jobs
        if j.nature == "batch"
    )
    assert 1.3 * 224 <= asked < 1.3 * 224 + 8


@pytest.mark.shared
def test_philly_has_gangs_of_eight_and_its_clusters_are_queues(demo):
    trace, setting = load_trace(recorded("philly_sample.jobs.csv"), reader({}))
    assert len(trace.rows) == 388
    found = arrivals(demo, Offering(trace=trace, setting=setting))
    gangs = {
        (j.pods, j.pod_sets[0].requests["nvidia.com/gpu"])
        for j in found.jobs
        if j.pods > 1 and j.nature == "batch"
    }
    assert gangs == {(2, 8), (4, 8)}
    assert any("vc-11cb48 -> " in note for note in found.notes)


@pytest.mark.shared
def test_a_file_of_run_times_alone_is_no_trace():
    with pytest.raises(ArrivalsError, match="no column tells when jobs were submitted"):
        load_trace(recorded("philly_runtime.csv"), reader({}))
