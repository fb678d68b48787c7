from policycheck.model.conform import conform, prune
from policycheck.model.schema import Table, boolean, but, integer, list_of, obj, quantity, required, string
from policycheck.systems import registry

TABLE = Table(
    "example.org",
    "Queue",
    ("v1", "v2"),
    obj(
        cohortName=string(renamed_from="cohort"),
        gone=list_of(string(), until="v1", note="write strategy.checks"),
        fresh=boolean(since="v2"),
        policy=but(
            obj(within=string(enum=("Never", "Any"), aliases={"All": "Any"}, default="Never")), default={}
        ),
        flavors=required(
            list_of(obj(name=string(required=True), quota=quantity(minimum=0)), key="name", max_items=2)
        ),
        weight=integer(maximum=10),
    ),
)


def conformed(spec, version="v2"):
    return conform({"apiVersion": f"example.org/{version}", "kind": "Queue", "spec": spec}, TABLE, version)


def codes(made):
    return [(t.code, t.path) for t in made.troubles]


def test_old_names_move_and_remember_where_they_were_written():
    made = conformed({"cohort": "a", "flavors": []}, "v1")
    assert made.value["spec"]["cohortName"] == "a"
    assert [(r.new, r.written) for r in made.renames] == [(("spec", "cohortName"), ("spec", "cohort"))]
    assert codes(made) == []


def test_the_other_versions_name_is_dropped_and_said():
    for version, key, instead in (("v2", "cohort", "cohortName"), ("v1", "cohortName", "cohort")):
        made = conformed({key: "a", "flavors": []}, version)
        assert "cohortName" not in made.value["spec"]
        assert codes(made) == [("other-version-field", ("spec", key))]
        assert f"in {version} write {instead}" in made.troubles[0].message
        assert made.troubles[0].on_key


def test_fields_of_one_version_only():
    assert codes(conformed({"gone": [], "flavors": []}, "v1")) == []
    dropped = conformed({"gone": [], "flavors": []}, "v2")
    assert codes(dropped) == [("other-version-field", ("spec", "gone"))]
    assert "write strategy.checks" in dropped.troubles[0].message
    assert codes(conformed({"fresh": True, "flavors": []}, "v1")) == [
        ("other-version-field", ("spec", "fresh"))
    ]


def test_unknown_fields_are_dropped_with_a_suggestion():
    made = conformed({"flavours": [], "flavors": []})
    assert codes(made) == [("unknown-field", ("spec", "flavours"))]
    assert "did you mean 'flavors'" in made.troubles[0].message
    assert "flavours" not in made.value["spec"]


def test_defaults_are_filled_in_below_a_missing_parent():
    assert conformed({"flavors": []}).value["spec"]["policy"] == {"within": "Never"}
    assert conformed({"flavors": [], "policy": {}}).value["spec"]["policy"] == {"within": "Never"}


def test_enums_convert_in_the_old_version_only():
    old = conformed({"flavors": [], "policy": {"within": "All"}}, "v1")
    assert old.value["spec"]["policy"]["within"] == "Any"
    assert codes(old) == []
    new = conformed({"flavors": [], "policy": {"within": "All"}}, "v2")
    assert codes(new) == [("bad-enum", ("spec", "policy", "within"))]
    assert "allowed are Never, Any" in new.troubles[0].message


def test_wrong_types_missing_fields_limits_and_doubles():
    made = conformed(
        {
            "cohortName": 5,
            "weight": 11,
            "flavors": [{"name": "a", "quota": -1}, {"name": "a"}, {"quota": "lots"}],
        }
    )
    assert set(codes(made)) == {
        ("wrong-type", ("spec", "cohortName")),
        ("out-of-range", ("spec", "weight")),
        ("out-of-range", ("spec", "flavors")),
        ("out-of-range", ("spec", "flavors", 0, "quota")),
        ("duplicate-item", ("spec", "flavors", 1, "name")),
        ("missing-field", ("spec", "flavors", 2, "name")),
        ("bad-quantity", ("spec", "flavors", 2, "quota")),
    }
    assert codes(conformed({})) == [("missing-field", ("spec", "flavors"))]


def test_nulls_are_pruned_as_if_absent_however_deep():
    deep: dict = {"a": None}
    for _ in range(5000):
        deep = {"b": deep, "gone": None}
    made = prune(deep)
    for _ in range(5000):
        assert set(made) == {"b"}
        made = made["b"]
    assert made == {}
    assert prune([None, {"x": None}]) == [None, {}]


def test_a_dead_version_reads_with_the_oldest_names():
    table = TABLE._replace(dead={"v0": "write v2"})
    assert conform({"spec": {"cohort": "a", "flavors": []}}, table, "v0").value["spec"]["cohortName"] == "a"


def test_tables_of_all_systems_are_keyed_by_their_own_kind():
    found = registry.tables()
    assert all(key == (table.group, table.kind) for key, table in found.items())
    assert ("kueue.x-k8s.io", "ClusterQueue") in found
    assert ("batch", "Job") in found
