import json
from contextlib import closing

import pytest
import yaml

from policycheck.adapters import cli
from policycheck.adapters.live import connect as module
from policycheck.adapters.live import kinds
from policycheck.adapters.live.connect import ApiError, LiveError, connect
from policycheck.adapters.live.listing import Listing
from policycheck.adapters.live.snapshot import fetch, snapshot
from policycheck.systems import registry
from tests.unit.live.fake import KUEUE, node, queue


def command(capsys, *args):
    code = cli.main(list(args))
    told = capsys.readouterr()
    return code, told.out, told.err


def test_every_kind_that_is_read_of_a_cluster_is_one_that_some_system_reads():
    known = {kind for name in registry.SYSTEMS for kind in _kinds(name)}
    assert set(kinds.ALL) <= known
    # And what is left out is left out on purpose.
    assert known - set(kinds.ALL) == {
        ("apps", "ReplicaSet"),
        ("resource.k8s.io", "ResourceClaim"),
        ("config.kueue.x-k8s.io", "Configuration"),
        ("kubelet.config.k8s.io", "KubeletConfiguration"),
        ("policycheck.dev", "Promises"),
    }


def _kinds(name):
    from importlib import import_module

    return import_module(f"policycheck.systems.{name}").KINDS


def test_the_preferred_version_is_taken_and_another_one_where_that_lacks_the_kind(server, way):
    server.has[KUEUE]["v1beta1"]["Topology"] = ("topologies", False)
    found = kinds.discover(way.get, [(KUEUE, "ClusterQueue"), (KUEUE, "Topology"), ("ray.io", "RayJob")])
    assert {kind: one.version for kind, one in found.served.items()} == {
        (KUEUE, "ClusterQueue"): "v1beta2",
        (KUEUE, "Topology"): "v1beta1",
    }
    assert found.served[KUEUE, "ClusterQueue"].path == f"/apis/{KUEUE}/v1beta2/clusterqueues"


def test_config_maps_are_read_in_the_namespace_of_the_scheduler_alone(server, way, monkeypatch):
    server.has[""]["v1"]["ConfigMap"] = ("configmaps", True)
    found = kinds.discover(way.get, [("", "ConfigMap")])
    assert found.served["", "ConfigMap"].path == "/api/v1/namespaces/kueue-system/configmaps"
    monkeypatch.setenv(kinds.VARIABLE, "queues")
    found = kinds.discover(way.get, [("", "ConfigMap")])
    assert found.served["", "ConfigMap"].path == "/api/v1/namespaces/queues/configmaps"
    monkeypatch.setenv(kinds.VARIABLE, "")
    assert not kinds.discover(way.get, [("", "ConfigMap")]).served


def test_all_pages_are_taken_and_items_get_their_kind(server, way):
    for number in range(7):
        server.put("nodes", node(f"n{number}"))
    served = kinds.discover(way.get, [("", "Node")]).served["", "Node"]
    listing = Listing(way.get, served, page=3)
    found = list(listing)
    assert [one["metadata"]["name"] for one in found] == [f"n{number}" for number in range(7)]
    assert {(one["apiVersion"], one["kind"]) for one in found} == {("v1", "Node")}
    assert listing.version == str(server.version)
    assert [p.get("limit") for path, p in server.asked if path == "/api/v1/nodes"] == ["3", "3", "3"]


@pytest.mark.parametrize(
    ("gone", "limits"), [(1, ["1", "1", "4", "4"]), (3, ["1", "1", "4", "4", "16", "16", None])]
)
def test_a_list_whose_pages_are_too_old_is_asked_for_in_larger_ones(server, way, gone, limits):
    names = {f"n{number:02}" for number in range(7 if gone == 1 else 20)}
    for name in names:
        server.put("nodes", node(name))
    server.gone_pages = gone
    served = kinds.discover(way.get, [("", "Node")]).served["", "Node"]
    assert {one["metadata"]["name"] for one in Listing(way.get, served, page=1)} == names
    assert [p.get("limit") for path, p in server.asked if path == "/api/v1/nodes"] == limits


def test_a_busy_server_is_asked_again_and_one_that_stays_busy_is_told(server, kubeconfig):
    pauses = []
    with closing(connect(sleep=pauses.append)) as way:
        server.busy = 2
        assert "groups" in way.get("/apis")
        assert pauses == [0.5, 1.0]
        server.busy = 99
        with pytest.raises(ApiError, match="busy"):
            way.get("/apis")
    assert len(pauses) == 5


def test_a_forbidden_kind_is_told_and_the_others_are_read(server, kubeconfig):
    server.put("nodes", node("n0"))
    server.put("clusterqueues", queue("a"))
    server.forbidden = {"pods", "clusterqueues"}
    found = snapshot("here")
    assert set(found.refused) == {"cluster:here/ClusterQueue.json"}
    assert "cannot list" in found.refused["cluster:here/ClusterQueue.json"]
    assert "cluster:here/nodes.json" in found.files
    assert "not checked: Pod (pods is forbidden" in found.note
    assert "Cohort" in found.note


def test_a_group_whose_server_is_down_is_not_taken_for_one_that_is_not_installed(server, way):
    server.broken_groups = {KUEUE}
    found = fetch(way, [(KUEUE, "ClusterQueue"), ("", "Node")])
    assert not found.absent
    assert found.refused[KUEUE, "ClusterQueue"] == "no endpoints available"


def test_files_are_as_kubectl_prints_objects_without_managed_fields(server, kubeconfig):
    value = queue("team-a", cohortName="all")
    value["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    value["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}
    server.put("clusterqueues", value)
    text = snapshot("here").files["cluster:here/clusterqueues/team-a.json"].decode()
    assert json.loads(text)["metadata"]["annotations"] == {"a": "b"}
    assert "managedFields" not in text
    assert text.splitlines()[:3] == [
        "{",
        f'    "apiVersion": "{KUEUE}/v1beta2",',
        '    "kind": "ClusterQueue",',
    ]


def test_pods_of_queued_workloads_do_not_count_as_taking_from_hardware(server, kubeconfig):
    for name, labels in (("loose", {}), ("queued", {f"{KUEUE}/podset": "main"})):
        server.put("pods", {"metadata": {"name": name, "namespace": "a", "labels": labels}, "spec": {}})
    items = json.loads(snapshot("here", is_hardware=True).files["cluster:here/pods.json"])["items"]
    assert [one["metadata"]["name"] for one in items] == ["loose"]


def test_lint_reads_a_cluster_and_names_objects_as_files_of_it(server, kubeconfig, capsys):
    server.put("clusterqueues", queue("team-a", cohortName="all"))
    bad = {"name": "gone", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [bad]}
    server.put("clusterqueues", queue("team-b", resourceGroups=[group]))
    code, out, err = command(capsys, "lint", "cluster:here", "--format", "json")
    found = json.loads(out)
    assert code == 1
    assert {one["file"] for one in found["findings"] if one["object"]["name"] == "team-b"} == {
        "cluster:here/clusterqueues/team-b.json"
    }
    assert {one["scope"] for one in found["findings"]} == {"cluster:here"}
    assert "read 2 objects" in err


def test_a_context_whose_name_has_slashes_and_colons(server, kubeconfig, capsys):
    server.put("nodes", node("n0"))
    code, out, _ = command(capsys, "inventory", "cluster:there/with:slash")
    assert code == 0
    assert "1 node" in out


def test_lint_of_files_takes_a_cluster_as_inventory(server, kubeconfig, capsys, tmp_path):
    server.put("nodes", node("n0"))
    file = tmp_path / "queue.yaml"
    file.write_text(yaml.safe_dump(queue("a")))
    code, out, _ = command(
        capsys, "lint", str(file), "--inventory", "cluster:here", "--format", "json", "--exit-zero"
    )
    assert code == 0
    files = {one["file"]: one["state"] for one in json.loads(out)["summary"]["files"]}
    assert files["cluster:here/nodes.json"] == "checked"
    asked = {path for path, _ in server.asked}
    assert f"/apis/{KUEUE}/v1beta2/clusterqueues" not in asked


def test_a_refused_kind_makes_the_run_an_unread_one(server, kubeconfig, capsys):
    server.put("clusterqueues", queue("a"))
    server.forbidden = {"nodes"}
    code, out, _ = command(capsys, "lint", "cluster:here", "--format", "json", "--fail-on", "never")
    failed = {
        one["file"]: one["why"] for one in json.loads(out)["summary"]["files"] if "forbidden" in one["why"]
    }
    assert code == 3
    assert list(failed) == ["cluster:here/Node.json"]


@pytest.mark.parametrize("context", ["nowhere", "HERE"])
def test_an_unknown_context_is_told_with_those_that_there_are(kubeconfig, capsys, context):
    code, out, err = command(capsys, "lint", f"cluster:{context}")
    assert (code, out) == (2, "")
    assert f"no context '{context}'" in err
    assert "here, there/with:slash" in err


def test_without_a_kubeconfig_it_says_what_to_set(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    code, _, err = command(capsys, "why", "job", "cluster:prod")
    assert code == 2
    assert "set KUBECONFIG" in err


def test_a_server_that_is_not_there_is_input_that_could_not_be_read(kubeconfig, server, capsys, monkeypatch):
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    server.http.server_close()
    server.http.shutdown()
    code, out, _ = command(capsys, "lint", "cluster:here")
    assert code == 3
    assert "can not be reached" in " ".join(out.split())


def test_several_kubeconfig_files_count_together_and_paths_in_them_from_their_folder(
    server, tmp_path, monkeypatch
):
    first, second = tmp_path / "one" / "config", tmp_path / "two" / "config"
    for file in (first, second):
        file.parent.mkdir()
    first.write_text(
        yaml.safe_dump(
            {"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"}
        )
    )
    (second.parent / "token").write_text("t")
    second.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": {"server": server.url}}],
                "users": [{"name": "u", "user": {"tokenFile": "token"}}],
                "current-context": "other",
            }
        )
    )
    monkeypatch.setenv("KUBECONFIG", f"{first}:{second}")
    with closing(connect()) as way:
        assert "groups" in way.get("/apis")


def test_a_plugin_of_the_newest_form_signs_in(server, tmp_path, monkeypatch):
    plugin = tmp_path / "plugin"
    plugin.write_text(
        '#!/bin/sh\ncase "$KUBERNETES_EXEC_INFO" in *client.authentication.k8s.io/v1*) ;; *) exit 3;; esac\n'
        'echo \'{"status": {"token": "abc"}}\'\n'
    )
    plugin.chmod(0o755)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}}
    (tmp_path / "config").write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": {"server": server.url}}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    with closing(connect("x")) as way:
        assert "groups" in way.get("/apis")


def test_a_broken_kubeconfig_is_told_with_its_name(tmp_path, monkeypatch):
    (tmp_path / "config").write_text("a: [")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    with pytest.raises(LiveError, match="config can not be read"):
        connect()


@pytest.mark.parametrize("options", [["--fix"], ["--fix", "--unsafe-fixes"]])
def test_what_a_cluster_holds_is_never_fixed(server, kubeconfig, capsys, options):
    server.put("clusterqueues", queue("team-a", namespaceSelector={}))
    code, out, err = command(capsys, "lint", "cluster:here", *options)
    assert (code, out) == (2, "")
    assert "cluster:here is only read" in err
    assert not server.asked


def with_context(file, cluster, user):
    file.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    return file


@pytest.mark.parametrize(
    ("answer", "why"),
    [('{"status": {"clientCertificateData": "x"}}', "gave no token"), ("no JSON", "gave no token")],
)
def test_a_plugin_that_gives_no_token_is_told(server, tmp_path, monkeypatch, answer, why):
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\necho '{answer}'\n")
    plugin.chmod(0o755)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}}
    monkeypatch.setenv("KUBECONFIG", str(with_context(tmp_path / "config", {"server": server.url}, user)))
    with closing(connect("x", sleep=lambda _: None)) as way, pytest.raises(LiveError, match=why):
        way.get("/apis")


def test_a_plugin_that_fails_or_is_not_there_is_told(server, tmp_path, monkeypatch):
    for command_, why in (("/nonexistent/plugin", "No such file"), ("/bin/false", "returned 1")):
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": command_}}
        file = with_context(tmp_path / "config", {"server": server.url}, user)
        monkeypatch.setenv("KUBECONFIG", str(file))
        with closing(connect("x", sleep=lambda _: None)) as way, pytest.raises(LiveError, match=why):
            way.get("/apis")


def test_the_proxy_of_a_cluster_is_used_and_another_name_of_the_server_refused(server, tmp_path, monkeypatch):
    far = {"server": "http://cluster.invalid", "proxy-url": server.url}
    monkeypatch.setenv("KUBECONFIG", str(with_context(tmp_path / "config", far, {})))
    with closing(connect("x")) as way:
        assert "groups" in way.get("/apis")
    named = {"server": server.url, "tls-server-name": "other"}
    monkeypatch.setenv("KUBECONFIG", str(with_context(tmp_path / "config", named, {})))
    with pytest.raises(LiveError, match="tls-server-name"):
        connect("x")
