from __future__ import annotations

import pytest

from policycheck.lint.settings import ClusterScope, PathOverride, Settings, Target
from policycheck.model.facts import Rename, Trouble
from policycheck.model.inventory import Inventory, Node
from policycheck.model.origin import DocumentId, ObjectKey
from policycheck.source.document import Span, TextTrouble


def places(result):
    return [(f.rule, f.place.file, f.place.span.line, f.place.span.column, f.path) for f in result.findings]


CHECK = {"expression": None, "each": None, "at": None, "message": "{what}", "remediation": "do"}
TROUBLE = {**CHECK, "subject": None, "message": "{message}", "id": "EX900", "name": "trouble"}


def test_an_expression_that_is_false_is_a_finding_with_its_place_and_words(world, rule, queue):
    (finding,) = world.lint([rule()], {"q.yaml": queue}).findings
    assert (finding.place.file, finding.place.span.line, finding.place.span.column) == ("q.yaml", 9, 23)
    assert finding.path == "spec.groups[name=g].resources[name=gpu].borrowingLimit"
    assert finding.message == "a limits gpu to 4 and has nobody to borrow from"
    assert finding.help == "Name a cohort, or drop 4."
    assert finding.object == ObjectKey("ex.org", "Queue", "", "a")
    assert (finding.severity, finding.confidence, finding.api_version) == ("error", "high", "ex.org/v2")


def test_an_expression_that_is_true_is_none(world, rule, queue):
    result = world.lint([rule()], {"q.yaml": queue.replace("spec:", "spec:\n  cohortName: c")})
    assert (result.findings, result.errors, result.skipped) == ((), (), ())


def test_a_path_that_is_not_written_points_at_the_nearest_parent(world, rule, queue):
    (finding,) = world.lint(
        [
            rule(
                each=None,
                at="spec.cohortName",
                expression="has(object.spec.cohortName)",
                message="m",
                remediation="r",
            )
        ],
        {"q.yaml": queue},
    ).findings
    assert finding.place.span.line == 5
    assert finding.path == "spec.cohortName"


def test_a_renamed_field_is_pointed_at_as_written(world, rule):
    text = "apiVersion: ex.org/v1\nkind: Queue\nmetadata: {name: a}\nspec:\n  cohort: c\n  cohortName: c\n"
    result = world.lint(
        [
            rule(
                each=None,
                at="spec.cohortName",
                expression="object.spec.cohortName != 'c'",
                message="m",
                remediation="r",
            )
        ],
        {"q.yaml": text},
        renames={"q.yaml": (Rename(("spec", "cohortName"), ("spec", "cohort")),)},
    )
    assert places(result) == [("EX101", "q.yaml", 5, 3, "spec.cohort")]


def test_a_fingerprint_survives_moves_and_other_versions_but_not_other_objects(world, rule, queue):
    def mark(text, **more):
        (finding,) = world.lint([rule()], {more.pop("file", "q.yaml"): text}, **more).findings
        return finding.fingerprint

    first = mark(queue)
    assert mark("# moved\n\n" + queue, file="elsewhere/x.yaml") == first
    assert mark(queue, scopes=("other",)) == first
    assert mark(queue.replace("- {name: gpu", "- {name: mem}\n        - {name: gpu")) == first
    assert mark(queue.replace("name: a", "name: b")) != first
    assert mark(queue.replace("name: gpu", "name: tpu")) != first


def test_findings_that_agree_in_everything_have_marks_of_their_own(world, rule, queue):
    result = world.lint([rule()], {"q.yaml": queue, "r.yaml": queue}, scopes=("one", "two"))
    assert len(result.findings) == 4
    assert len({f.fingerprint for f in result.findings}) == 4
    assert [f.scope for f in result.findings] == ["one", "one", "two", "two"]


def test_named_clusters_keep_their_findings_apart(world, rule, queue):
    settings = Settings(clusters=(ClusterScope("one", ()), ClusterScope("two", ())))
    both = world.lint([rule()], {"q.yaml": queue}, settings, scopes=("one", "two")).findings
    alone = world.lint([rule()], {"q.yaml": queue}, settings, scopes=("two",)).findings
    assert both[1].fingerprint == alone[0].fingerprint


def test_context_is_read_and_not_reported(world, rule, queue):
    result = world.lint(
        [rule()], {"q.yaml": queue, "c.yaml": queue.replace("name: a", "name: b")}, context=("c.yaml",)
    )
    assert [f.place.file for f in result.findings] == ["q.yaml"]
    assert result.documents == 1


def test_an_expression_that_fails_is_an_error_of_the_rule_and_the_rest_goes_on(world, rule, queue):
    broken = rule(id="EX102", name="broken", expression="quantity(it.nominal) > 0")
    result = world.lint([rule(), broken], {"q.yaml": queue})
    assert [f.rule for f in result.findings] == ["EX101"]
    (error,) = result.errors
    assert error.rule == "EX102"
    assert error.why == "on Queue a: the field 'nominal' is not set; guard it with has(...)"


def test_many_failures_are_told_and_counted(world, rule, queue):
    broken = rule(expression="quantity(it.nominal) > 0")
    texts = {f"{n}.yaml": queue.replace("name: a", f"name: a{n}") for n in range(9)}
    errors = world.lint([broken], texts).errors
    assert len(errors) == 4
    assert {e.why for e in errors} >= {"and 6 more like these"}


def test_an_object_with_faults_of_its_own_is_not_blamed_on_the_rule(world, rule, queue):
    broken = rule(expression="quantity(it.nominal) > 0")
    trouble = Trouble("missing-field", ("spec", "groups", 0), "a field is missing")
    reporting = rule(trouble="missing-field", **TROUBLE)
    result = world.lint([broken, reporting], {"q.yaml": queue}, troubles={"q.yaml": (trouble,)})
    assert result.errors == ()
    assert [f.rule for f in result.findings] == ["EX900"]
    assert "faults of its own" in result.skipped[0].why


def test_a_check_gives_places_and_values(world, rule, queue):
    params = {"what": {"type": "string", "default": "usual", "description": "d"}}
    text = rule(check="ex.names", params=params, **CHECK)
    (finding,) = world.lint([text], {"q.yaml": queue}).findings
    assert (finding.path, finding.message) == ("metadata.name", "usual")
    settings = Settings(params={"EX101": {"what": "other"}})
    (finding,) = world.lint([text], {"q.yaml": queue}, settings).findings
    assert finding.message == "other"


def test_a_check_that_raises_is_an_error_and_what_it_found_stands(world, rule, queue):
    result = world.lint([rule(check="ex.fails", **CHECK)], {"q.yaml": queue})
    assert [f.path for f in result.findings] == ["kind"]
    (error,) = result.errors
    assert error.why == "ex.fails raised ZeroDivisionError: no node"


def test_a_check_that_could_not_decide_is_listed(world, rule, queue):
    result = world.lint([rule(check="ex.skips", **CHECK)], {"q.yaml": queue})
    assert [(s.rule, s.why) for s in result.skipped] == [("EX101", "the tree of a is ambiguous")]


def test_a_check_that_names_no_document_is_an_error(world, rule, queue):
    (error,) = world.lint([rule(check="ex.strays", **CHECK)], {"q.yaml": queue}).errors
    assert "no document of this scope" in error.why


def test_a_message_without_its_value_is_an_error(world, rule, queue):
    text = rule(check="ex.names", **{**CHECK, "message": "{forgotten}"})
    result = world.lint([text], {"q.yaml": queue})
    assert result.findings == ()
    assert "the check gives no 'forgotten'" in result.errors[0].why


def test_a_rule_that_needs_hardware_is_skipped_without_and_runs_with(world, rule, queue):
    text = rule(needs=["inventory"])
    (skip,) = world.lint([text], {"q.yaml": queue}).skipped
    assert "--inventory" in skip.why
    hardware = Inventory((Node("n", {}),), known=True)
    assert len(world.lint([text], {"q.yaml": queue}, inventory=hardware).findings) == 1


def test_a_rule_that_needs_context_is_skipped_without(world, rule, queue):
    text = rule(needs=["context"])
    (skip,) = world.lint([text], {"q.yaml": queue}).skipped
    assert "--context" in skip.why
    other = queue.replace("name: a", "name: b")
    result = world.lint([text], {"q.yaml": queue, "c.yaml": other}, context=("c.yaml",))
    assert (len(result.findings), result.skipped) == (1, ())


def test_a_rule_with_nothing_to_look_at_is_not_listed(world, rule):
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
    result = world.lint([rule(needs=["inventory"])], {"p.yaml": pod})
    assert (result.findings, result.skipped) == ((), ())


@pytest.mark.parametrize(
    ("applies", "version", "runs"),
    [
        ({"since": "0.15"}, "0.15", True),
        ({"since": "0.15"}, "0.14.9", False),
        ({"until": "0.18"}, "0.18.5", True),
        ({"until": "0.18"}, "0.19", False),
        ({"until": "0.9"}, "0.10", False),
        ({"since": "0.15", "until": "0.18"}, "0.16", True),
        ({"since": "0.15"}, "", True),
    ],
)
def test_a_rule_about_other_versions_has_nothing_to_look_at(world, rule, queue, applies, version, runs):
    targets = {"": {"ex": Target("ex", version)}} if version else {}
    result = world.lint([rule(applies=applies)], {"q.yaml": queue}, targets=targets)
    assert (len(result.findings) == 1) is runs
    assert result.skipped == ()  # dozens of rules are about one version only; a list of them tells nothing


def test_an_expression_sees_the_target(world, rule, queue):
    text = rule(expression="!target.gates['G']", message="{target.version}", remediation="r")
    targets = {"": {"ex": Target("ex", "0.19", {"G": True}, False, "deploy.yaml:3")}}
    result = world.lint([text], {"q.yaml": queue}, targets=targets)
    assert {f.message for f in result.findings} == {"0.19"}
    assert result.targets["ex"].source == "deploy.yaml:3"


def test_targets_that_differ_are_told_by_scope(world, rule, queue):
    targets = {"a": {"ex": Target("ex", "1")}, "b": {"ex": Target("ex", "2")}, "c": {"ex": Target("ex", "1")}}
    result = world.lint([rule()], {"q.yaml": queue}, targets=targets)
    assert {name: one.version for name, one in result.targets.items()} == {"ex": "1", "b/ex": "2"}


def test_troubles_of_reading_and_of_text_are_findings_of_their_rules(world, rule, queue):
    texts = {DocumentId("q.yaml"): (TextTrouble("duplicate-key", Span(3, 4, 3, 9), "twice"),)}
    troubles = {"q.yaml": (Trouble("unknown-field", ("spec", "groups"), "unknown"),)}
    text = rule(trouble=["duplicate-key", "unknown-field"], **TROUBLE)
    result = world.lint([text], {"q.yaml": queue}, noticed=texts, troubles=troubles)
    assert [(f.place.span.line, f.place.span.column, f.message) for f in result.findings] == [
        (3, 4, "twice"),
        (6, 3, "unknown"),
    ]


def test_a_trouble_that_no_rule_reports_is_an_error(world, rule, queue):
    troubles = {"q.yaml": (Trouble("odd", (), "odd"),)}
    (error,) = world.lint([rule()], {"q.yaml": queue}, troubles=troubles).errors
    assert "'odd'" in error.why


def test_a_rule_for_a_kind_speaks_instead_of_the_one_for_anything_even_when_ignored(world, rule, queue):
    general = rule(trouble="odd", **TROUBLE)
    special = rule(trouble="odd", **{**TROUBLE, "id": "EX901", "name": "special", "subject": "ex.org/Queue"})
    troubles = {"q.yaml": (Trouble("odd", (), "odd"),)}
    result = world.lint([general, special], {"q.yaml": queue}, troubles=troubles)
    assert [f.rule for f in result.findings] == ["EX901"]
    result = world.lint([general, special], {"q.yaml": queue}, Settings(ignore=("EX901",)), troubles=troubles)
    assert (result.findings, result.errors) == ((), ())


def test_ignoring_in_paths_keeps_the_reason(world, rule, queue):
    settings = Settings(per_path=(PathOverride(("old/*",), ("EX",), "goes away"),), file=".policycheck.yaml")
    result = world.lint([rule()], {"old/deep/q.yaml": queue, "new/q.yaml": queue}, settings)
    assert [f.place.file for f in result.findings] == ["new/q.yaml"]
    (one,) = result.suppressed
    assert (one.reason, one.place.file) == ("goes away", ".policycheck.yaml")


def test_severity_is_the_users(world, rule, queue):
    settings = Settings(severity={"limit-outside-cohort": "info"})
    assert world.lint([rule()], {"q.yaml": queue}, settings).findings[0].severity == "info"


def test_the_order_of_documents_changes_nothing(world, rule, queue):
    names = ["b.yaml", "a.yaml", "c.yaml"]
    texts = {name: queue.replace("name: a", f"name: {name[0]}") for name in names}
    one = world.lint([rule()], texts)
    assert one == world.lint([rule()], dict(sorted(texts.items())))
    assert [f.place.file for f in one.findings] == sorted(names)


def test_bounds_of_a_users_own_rule_are_about_its_subjects_system(world, rule, queue):
    book = world.book(rule(id="ACME100", applies={"since": "0.15"}), own=True)
    assert book.problems == ()
    for version, found in (("0.14", 0), ("0.15", 1)):
        result = world.run(book, {"q.yaml": queue}, targets={"": {"ex": Target("ex", version)}})
        assert (len(result.findings), len(result.skipped)) == (found, 0)


def test_a_rule_about_the_cluster_runs_when_anything_is_known(world, rule, queue):
    text = rule(check="ex.names", subject="cluster", **CHECK)
    assert len(world.lint([text], {"q.yaml": queue}).findings) == 1
    unknown = "apiVersion: other.org/v1\nkind: Thing\nmetadata: {name: t}\n"
    assert world.lint([text], {"t.yaml": unknown}).findings == ()


def test_settings_that_fit_no_rule_are_errors_and_no_clean_run(world, rule, queue):
    result = world.lint([rule()], {"q.yaml": queue}, Settings(select=("EX1O1",)))
    assert [(e.rule, e.why) for e in result.errors] == [
        ("settings", "select: no rule 'EX1O1'; did you mean 'EX101'?")
    ]


def test_an_object_that_is_too_large_for_ones_own_rule_is_skipped_not_judged(world, rule, queue):
    own = rule(
        id="ACME100", name="mine", each=None, at="metadata.name", message="m", remediation="r",
        expression="object.metadata.name.split('').all(c, c != 'z')",
    )  # fmt: skip
    book = world.book(own, own=True)
    assert not book.problems
    small = world.run(book, {"q.yaml": queue, "r.yaml": queue.replace("name: a", "name: z")})
    assert [f.place.file for f in small.findings] == ["r.yaml"]
    large = world.run(book, {"q.yaml": queue.replace("name: a", "name: " + "z" * 60_000)})
    assert (large.findings, large.errors) == ((), ())
    (skip,) = large.skipped
    assert "is larger than this expression may see (53,687 characters)" in skip.why
