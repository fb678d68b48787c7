"""What reading proposes: the word that is meant, the amount that is meant, the type that is wanted."""

from __future__ import annotations

import pytest

from policycheck import app
from policycheck.lint.settings import Settings
from policycheck.model.conform import respelled
from policycheck.model.schema import meant
from policycheck.source.document import Mend, Span
from policycheck.source.yamldoc import parse


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("64GB", "64G"),
        ("64 GiB", "64Gi"),
        ("64gi", "64Gi"),
        (" 8 ", "8"),
        ("1.5 Gi", "1.5Gi"),
        ("500 m", "500m"),
        ("8K", "8k"),
        ("64Gi", ""),
        ("8", ""),
        ("8 cores", ""),
        ("many", ""),
        ("", ""),
        ("8X", ""),
        ("1,000", ""),
    ],
)
def test_an_amount_is_respelled_where_that_is_plain(text, right):
    assert respelled(text) == right


@pytest.mark.parametrize(
    ("word", "allowed", "found"),
    [
        ("namespaceSelectr", ["namespaceSelector", "spec"], ("namespaceSelector", True)),
        ("bestEffortFIFO", ["StrictFIFO", "BestEffortFIFO"], ("BestEffortFIFO", True)),
        ("best-effort-fifo", ["StrictFIFO", "BestEffortFIFO"], ("BestEffortFIFO", True)),
        ("nominalQuotas", ["nominalQuota", "nominalQuotx"], ("nominalQuota", False)),
        ("borrowLimit", ["borrowingLimit", "lendingLimit"], ("borrowingLimit", True)),
        ("other", ["borrowingLimit"], ("", False)),
        ("a-b", ["ab", "a_b"], ("ab", False)),
        ("x", [], ("", False)),
    ],
)
def test_the_word_that_is_meant(word, allowed, found):
    assert meant(word, allowed) == found


QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: a
  labels: {on: "x"%s}
spec:
  namespaceSelector: {}
%s"""


def mended(spec="", labels=""):
    """Rule, safety and changes of every finding that has any, of text or schema."""
    result = app.lint_texts({"q.yaml": QUEUE % (labels, spec)}, Settings(select=("CR", "KQ0")))
    return {
        (one.rule, one.fix, change.path[-1], change.action, repr(change.value))
        for one in result.findings
        for change in one.changes
    }


@pytest.mark.parametrize(
    ("spec", "labels", "made"),
    [
        ("", ", tier: 8", ("CR003", "safe", "tier", "set", "'8'")),
        ("", ", tier: 1.10", ("CR003", "safe", "tier", "set", "'1.10'")),
        ("", ", tier: on", ("CR002", "safe", "tier", "set", "'on'")),
        ("  stopPolicy: hold\n", "", ("CR013", "safe", "stopPolicy", "set", "'Hold'")),
        ("  stopPolicy: Holding\n", "", ("CR013", "unsafe", "stopPolicy", "set", "'Hold'")),
        ("  cohort: x\n", "", ("KQ001", "safe", "cohort", "rename", "'cohortName'")),
        ("  cohortNam: x\n", "", ("CR011", "safe", "cohortNam", "rename", "'cohortName'")),
        ("  cohortName: 8\n", "", ("CR012", "safe", "cohortName", "set", "'8'")),
        ("  fairSharing: {weight: 1e1}\n", "", ("CR002", "safe", "weight", "set", "10")),
    ],
)
def test_what_reading_proposes(spec, labels, made):
    assert made in mended(spec, labels)


def test_two_keys_of_one_name_are_for_people_to_look_at():
    result = app.lint_texts({"q.yaml": QUEUE % ("", "  stopPolicy: None\n  stopPolicy: Hold\n")}, Settings())
    (one,) = [f for f in result.findings if f.rule == "CR001"]
    assert (one.fix, one.changes[0].action) == ("unsafe", "unrepeat")
    assert isinstance(one.changes[0].value, Span)


def test_paths_count_from_the_item_of_a_list():
    text = "kind: List\napiVersion: v1\nitems:\n- kind: Pod\n  apiVersion: v1\n  metadata: {labels: {a: 8}}\n"
    (document,) = parse("q.yaml", text.encode()).documents
    assert document.id.prefix == ("items", 0)
    (trouble,) = document.troubles
    assert trouble.mend == Mend(("metadata", "labels", "a"), "set", "8")
