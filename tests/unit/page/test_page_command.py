"""``policycheck inventory --picture``, and what it shows of the demo cluster."""

import sys
from pathlib import Path

import pytest

from policycheck import data
from policycheck.adapters.cli import common, main
from policycheck.app.racks import bare, racks
from policycheck.model.inventory import Inventory
from policycheck.report.page.racks.legend import lacking
from policycheck.report.page.racks.scene import PLACED, UNPLACED, WAITING

sys.path[:0] = [str(Path(__file__).parent)]

from page_lives import nodes  # noqa: E402 - tests are no package

CLUSTERS = data.root() / "fixtures" / "clusters"


def scene_of(folder):
    paths = (str(folder),)
    settings = common.load_settings(None, paths)
    ((_, scene),), _ = racks(common.sources_of(paths, settings), settings)
    return scene


@pytest.fixture(scope="module")
def before():
    return scene_of(CLUSTERS / "demo-bad")


@pytest.fixture(scope="module")
def after():
    return scene_of(CLUSTERS / "demo-good")


def labels(scene, state):
    return {gang.label for gang in scene.gangs if gang.state == state}


def test_before_the_repair_the_largest_job_waits_and_says_why(before):
    assert "pretrain-32b" in labels(before, WAITING)
    (why,) = [gang.why for gang in before.gangs if gang.label == "pretrain-32b"]
    assert why.startswith("TopologyPlacementFailed: ")
    assert "only 4 out of 8" in why


def test_after_the_repair_it_runs_on_whole_nodes(after):
    assert "pretrain-32b" in labels(after, PLACED)
    (gang,) = [gang for gang in after.gangs if gang.label == "pretrain-32b"]
    held = [one for one in after.held if one.gang == gang.id]
    assert (gang.units, gang.pods) == (64, 8)
    assert sorted(one.units for one in held) == [8] * 8


def test_both_have_the_same_nodes_levels_and_queues(before, after):
    assert before.levels == after.levels == ("topology.example.com/block", "topology.example.com/rack")
    assert [n.name for n in before.nodes] == [n.name for n in after.nodes]
    assert set(before.queues()) - {""} == set(after.queues())
    assert before.title.startswith("demo-bad: ")


def test_jobs_are_called_as_their_manifests_call_them(after):
    assert {"reranker-0", "reranker-3", "notebook-jun"} <= labels(after, PLACED)


def test_slices_are_held_by_their_own_resource(after):
    assert {one.resource for one in after.held if one.node.startswith("a100-01")} == {
        "nvidia.com/mig-2g.20gb",
        "nvidia.com/mig-3g.40gb",
    }


def written(tmp_path, text):
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "all.yaml").write_text(text, encoding="utf-8")
    return folder


def test_where_no_topology_chooses_the_default_scheduler_does(tmp_path):
    scene = scene_of(written(tmp_path, SMALL))
    assert labels(scene, PLACED) == {"train"}
    assert [(held.units, held.gang) for held in scene.held] == [(8, "team/job-train")] * 2
    assert len({held.node for held in scene.held}) == 2
    assert scene.levels == ("topology.kubernetes.io/zone",)
    assert any("default scheduler" in note for note in scene.notes)


def test_pods_that_no_node_has_room_for_are_said_with_the_reason(tmp_path):
    text = SMALL.replace("nominalQuota: 16", "nominalQuota: 99").replace("parallelism: 2", "parallelism: 6")
    scene = scene_of(written(tmp_path, text.replace("completions: 2", "completions: 6")))
    (gang,) = scene.gangs
    assert (gang.state, gang.units, gang.pods) == (PLACED, 48, 6)
    assert gang.why.startswith("2 pods of main have no node: 0/4 nodes are available")
    assert sum(held.units for held in scene.held) == 32
    assert lacking(scene) == [gang]


def test_admitted_and_nowhere_to_run(tmp_path):
    text = SMALL.replace('nvidia.com/gpu: "8"}}}', 'nvidia.com/gpu: "16"}}}').replace("16}", "64}")
    scene = scene_of(written(tmp_path, text))
    assert labels(scene, UNPLACED) == {"train"}
    assert "Insufficient nvidia.com/gpu" in scene.gangs[0].why


def test_nodes_alone_have_a_picture():
    scene = bare(Inventory(nodes(3), True))
    assert scene.gangs == ()
    assert len(scene.nodes) == 3


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_the_command_writes_the_format_of_the_name(tmp_path, capsys, suffix):
    target = tmp_path / f"racks.{suffix}"
    assert main(["inventory", str(CLUSTERS / "demo-good"), "--picture", str(target)]) == 0
    assert f"wrote {target}" in capsys.readouterr().err
    begin = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!doctype html>"}[suffix]
    assert target.read_bytes().startswith(begin)


def test_nodes_that_are_a_table_can_be_drawn(tmp_path):
    table = tmp_path / "nodes.csv"
    table.write_text("name,gpus,model\nn1,8,H100\nn2,4,L4\n", encoding="utf-8")
    target = tmp_path / "racks.svg"
    assert main(["inventory", str(table), "--picture", str(target)]) == 0
    assert "n1" in target.read_text(encoding="utf-8")


def test_a_name_that_says_no_format_is_refused_before_anything_is_read(tmp_path, capsys):
    assert main(["inventory", str(tmp_path / "nowhere"), "--picture", "racks.jpg"]) == 2
    assert ".svg, .png, .html" in capsys.readouterr().err


def test_several_clusters_are_refused_by_name(tmp_path, capsys):
    both = [str(CLUSTERS / name) for name in ("demo-bad", "demo-good")]
    assert main(["inventory", *both, "--picture", str(tmp_path / "racks.svg")]) == 2
    err = capsys.readouterr().err
    assert "demo-bad" in err
    assert "demo-good" in err


def test_what_was_read_is_not_written_over(tmp_path, capsys):
    page = tmp_path / "nodes.svg"
    page.write_text("name,gpus\nn1,8\n", encoding="utf-8")
    assert main(["inventory", str(page), "--picture", str(page)]) == 2
    assert "read here" in capsys.readouterr().err


def test_a_place_that_can_not_be_written_is_said(tmp_path, capsys):
    target = tmp_path / "no" / "racks.png"
    assert main(["inventory", str(CLUSTERS / "demo-good" / "inventory"), "--picture", str(target)]) == 2
    assert "can not write" in capsys.readouterr().err


def test_without_the_libraries_the_command_says_how_to_get_them(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    target = tmp_path / "racks.svg"
    assert main(["inventory", str(CLUSTERS / "demo-good" / "inventory"), "--picture", str(target)]) == 2
    assert "pip install 'policycheck[html]'" in capsys.readouterr().err
    assert not target.exists()


SMALL = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: any
      resources: [{name: nvidia.com/gpu, nominalQuota: 16}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: team}
spec: {clusterQueue: cq}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: team, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: x, resources: {limits: {nvidia.com/gpu: "8"}}}
"""
for _n in range(4):
    SMALL += f"""---
apiVersion: v1
kind: Node
metadata:
  name: node-{_n}
  labels: {{topology.kubernetes.io/zone: z{_n % 2}, nvidia.com/gpu.product: NVIDIA-L4, kubernetes.io/hostname: node-{_n}}}
status:
  allocatable: {{nvidia.com/gpu: "8", cpu: "64", memory: 256Gi, pods: "110"}}
  capacity: {{nvidia.com/gpu: "8", cpu: "64", memory: 256Gi, pods: "110"}}
  conditions: [{{type: Ready, status: "True"}}]
"""
