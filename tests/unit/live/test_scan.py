"""What a scan writes, on a server of a few lines; a real one is in the end-to-end tests."""

import json

import pytest

from policycheck.adapters.live import scan as module
from policycheck.adapters.live.connect import ApiError, LiveError
from policycheck.adapters.live.scan import scan
from policycheck.app import Sources
from policycheck.lint.settings import Settings
from policycheck.report.policyreport import WHOLE
from tests.unit.live.fake import HAS, KUEUE, queue

GROUP = "wgpolicyk8s.io"
REPORTS = {"PolicyReport": ("policyreports", True), "ClusterPolicyReport": ("clusterpolicyreports", False)}


class Api:
    """Objects by path of their collection; versions are checked as a server does."""

    context = "cluster:test"

    def __init__(self):
        self.has = {**HAS, GROUP: {"v1alpha2": REPORTS}}
        self.objects = {}  # path: {name: object}
        self.version = 0
        self.writes = []
        self.forbidden = set()
        self.refuse = {}  # name: code

    def put(self, path, value):
        self.version += 1
        meta = {**value["metadata"], "resourceVersion": str(self.version)}
        meta.setdefault("uid", f"uid-{meta['name']}")
        self.objects.setdefault(path, {})[meta["name"]] = {**value, "metadata": meta}

    def get(self, path, params=None):
        parts = path.strip("/").split("/")
        if parts == ["apis"]:
            groups = [
                {"name": g, "versions": [{"version": v} for v in vs]} for g, vs in self.has.items() if g
            ]
            for one in groups:
                one["preferredVersion"] = one["versions"][-1]
            return {"groups": groups}
        group, version = ("", parts[1]) if parts[0] == "api" else parts[1:3]
        rest = parts[2:] if parts[0] == "api" else parts[3:]
        if not rest:
            kinds = self.has.get(group, {}).get(version, {})
            return {
                "resources": [
                    {"name": plural, "kind": kind, "namespaced": spaced, "verbs": ["list"]}
                    for kind, (plural, spaced) in kinds.items()
                ]
            }
        if rest[-1] in self.forbidden:
            raise ApiError(403, f"{rest[-1]} is forbidden")
        base = path[: path.index(rest[-1])]
        found = [
            one
            for at, held in self.objects.items()
            if at.startswith(base) and at.endswith(f"/{rest[-1]}")
            for one in held.values()
        ]
        if params and "labelSelector" in params:
            key, _, value = params["labelSelector"].partition("=")
            found = [one for one in found if one["metadata"].get("labels", {}).get(key) == value]
        return json.loads(json.dumps({"metadata": {"resourceVersion": str(self.version)}, "items": found}))

    def send(self, method, path, body):
        name = body["metadata"]["name"] if method != "DELETE" else path.rpartition("/")[2]
        if name in self.refuse:
            raise ApiError(self.refuse[name], "no")
        self.writes.append((method, name))
        if method == "POST":
            self.put(path, body)
            return
        place, _, name = path.rpartition("/")
        held = self.objects[place][name]["metadata"]
        said = body["metadata"] if method == "PUT" else body["preconditions"]
        assert said["resourceVersion"] == held["resourceVersion"]
        if method == "PUT":
            self.put(place, {**body, "metadata": {**body["metadata"], "uid": held["uid"]}})
        else:
            assert said["uid"] == held["uid"]
            del self.objects[place][name]


QUEUES = f"/apis/{KUEUE}/v1beta2/clusterqueues"
ALL = f"/apis/{GROUP}/v1alpha2/clusterpolicyreports"


@pytest.fixture
def api():
    made = Api()
    made.put(QUEUES, queue("good", namespaceSelector={}))
    made.put(QUEUES, queue("bad"))
    return made


def run(api, now=5):
    sources = Sources(paths=(), read=lambda name: (_ for _ in ()).throw(OSError(name)))
    return scan(api, sources, Settings(select=("KQ610",)), group=GROUP, now=now)


def test_one_report_for_what_has_findings_and_one_about_the_cluster(api):
    done = run(api)
    assert (done.written, done.unchanged, done.deleted) == (2, 0, 0)
    assert set(api.objects[ALL]) == {WHOLE, "policycheck-uid-bad"}
    (result,) = api.objects[ALL]["policycheck-uid-bad"]["results"]
    assert (result["rule"], result["timestamp"]["seconds"]) == ("KQ610", 5)


def test_what_says_the_same_is_not_written_again_however_late_it_is(api):
    run(api)
    api.writes.clear()
    done = run(api, now=9)
    assert (done.written, done.unchanged) == (0, 2)
    assert api.writes == []


def test_what_is_repaired_loses_its_report(api):
    run(api)
    api.put(QUEUES, queue("bad", namespaceSelector={}))
    done = run(api)
    assert (done.written, done.deleted) == (1, 1)  # the cluster's says that one more is without findings
    assert set(api.objects[ALL]) == {WHOLE}


def test_a_changed_finding_replaces_the_report(api):
    run(api)
    api.objects[ALL]["policycheck-uid-bad"]["metadata"]["annotations"] = {}
    api.writes.clear()
    assert run(api).written == 1
    assert api.writes == [("PUT", "policycheck-uid-bad")]


def test_of_a_kind_that_could_not_be_read_reports_stay(api):
    run(api)
    api.forbidden = {"clusterqueues"}
    done = run(api)
    assert done.deleted == 0
    assert "policycheck-uid-bad" in api.objects[ALL]
    assert any(file.failed for file in done.result.files)
    whole = api.objects[ALL][WHOLE]
    assert "forbidden" in json.dumps(whole["results"])


def test_what_a_controller_made_has_no_report_of_its_own(api):
    owned = queue("bad")
    owned["metadata"]["ownerReferences"] = [{"kind": "X", "name": "x", "controller": True}]
    api.put(QUEUES, owned)
    run(api)
    assert set(api.objects[ALL]) == {WHOLE}
    assert api.objects[ALL][WHOLE]["summary"]["fail"] == 0


def test_an_object_that_went_meanwhile_is_no_failure_and_a_refusal_is_told(api):
    api.refuse = {"policycheck-uid-bad": 404}
    assert run(api).failed == ()
    api.refuse = {"policycheck-uid-bad": 403}
    assert run(api).failed == ("policycheck-uid-bad: no",)


def test_there_is_a_bound_and_what_is_beyond_is_counted(api, monkeypatch):
    for number in range(5):
        api.put(QUEUES, queue(f"bad-{number}"))
    monkeypatch.setattr(module, "MOST", 3)
    done = run(api)
    assert (done.written, done.left) == (3, 4)
    assert WHOLE in api.objects[ALL]
    monkeypatch.setattr(module, "MOST", 100)
    assert run(api).written == 4
    monkeypatch.setattr(module, "MOST", 3)
    assert run(api).deleted == 0  # what is there and beyond the bound stays


def test_without_definitions_of_reports_it_says_what_to_install(api):
    del api.has[GROUP]
    with pytest.raises(LiveError, match=r"has no wgpolicyk8s.io/v1alpha2: install"):
        run(api)
