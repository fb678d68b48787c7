from __future__ import annotations

import pytest

from policycheck.model.schema import (
    FieldPathError,
    Table,
    any_,
    but,
    labels,
    list_of,
    obj,
    parse_path,
    string,
    suggest,
    walk,
)

TABLE = Table(
    "ex.org",
    "Queue",
    ("v1alpha1", "v1", "v2"),
    obj(
        cohortName=string(renamed_from="cohort"),
        shape=string(renamed_from="form", renamed_in="v1"),
        groups=list_of(obj(name=string(), labels=labels())),
        template=any_(),
        extra=but(obj(known=string()), open=True),
        fresh=string(since="v2"),
        stale=string(until="v1"),
    ),
)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", "object"),
        ("spec.cohortName", "string"),
        ("spec.groups", "list"),
        ("spec.groups[*]", "object"),
        ("spec.groups[12].name", "string"),
        ("spec.groups[*].labels['a.b/c']", "string"),
        ("spec.groups[*].labels[*]", "string"),
        ("spec.template.spec.containers[0].name", "any"),
        ("spec.extra.unknown", "any"),
        ("metadata.labels.team", "string"),
        ("status.anything", "any"),
    ],
)
def test_a_path_leads_to_its_field(path, kind):
    assert walk(TABLE.root(), path).type == kind


@pytest.mark.parametrize(
    ("path", "offset", "words"),
    [
        ("spec.cohrtName", 5, "did you mean 'cohortName'?"),
        ("spec.groups.name", 12, "this is a list"),
        ("spec.groups[*].labels[0]", 21, "this is a map"),
        ("spec[0]", 4, "an object, not a list"),
        ("spec.cohortName.x", 16, "nothing below a string"),
        ("spec..x", 5, "a name is missing"),
        ("spec.groups[x]", 11, "not [x]"),
        ("spec.groups[0", 11, "without ']'"),
        ("spec.groups[*]name", 14, "expected '.'"),
        ("spec.groups[99999999999]", 11, "write [*]"),
    ],
)
def test_a_wrong_path_is_refused_with_its_place(path, offset, words):
    with pytest.raises(FieldPathError, match=r".") as caught:
        walk(TABLE.root(), path)
    assert caught.value.offset == offset
    assert words in str(caught.value)


def test_steps_keep_quotes_and_stars_apart():
    steps = [step for step, _ in parse_path("a[*][3]['x.y']")]
    assert steps == ["a", None, 3, "x.y"]


@pytest.mark.parametrize(
    ("name", "version", "written"),
    [
        ("cohortName", "v1", "cohort"),
        ("cohortName", "v2", "cohortName"),
        ("cohortName", "v9", "cohortName"),
        ("shape", "v1alpha1", "form"),
        ("shape", "v1", "shape"),
        ("fresh", "v1", "fresh"),
    ],
)
def test_a_field_is_spelled_as_its_version_does(name, version, written):
    assert TABLE.spelled(name, TABLE.spec.fields[name], version) == written


def test_fields_come_and_go_with_versions():
    fresh, stale = TABLE.spec.fields["fresh"], TABLE.spec.fields["stale"]
    assert [TABLE.has(fresh, v) for v in (*TABLE.versions, "v3")] == [False, False, True, True]
    assert [TABLE.has(stale, v) for v in (*TABLE.versions, "v3")] == [True, True, False, False]


def test_names_of_kinds():
    assert TABLE.name == "ex.org/Queue"
    assert TABLE.newest == "v2"
    assert TABLE._replace(group="").name == "v1/Queue"


def test_a_whole_table_has_its_fields_at_the_top():
    table = TABLE._replace(whole=True)
    assert walk(table.root(), "groups[*].name").type == "string"
    with pytest.raises(FieldPathError):
        walk(table.root(), "spec.groups")


def test_a_suggestion_keeps_the_spelling_and_the_order():
    assert suggest("COHORTNAME", ["cohortName", "groups"]) == "; did you mean 'cohortName'?"
    assert suggest("zzz", ["b", "a"]) == "; allowed are a, b"
    assert suggest("zzz", [f"n{i:02}" for i in range(20)]).endswith("n11 and 8 more")
    assert suggest("zzz", []) == ""
