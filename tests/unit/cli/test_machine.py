"""What reports for machines are given: names as the repository has them, reasons of rules, texts of fixes."""

import pytest

from policycheck.adapters.cli.machine import failing, relative
from policycheck.app import rulebook
from policycheck.app.replaced import differences, replacements
from policycheck.app.words import rationale
from policycheck.lint.finding import Finding, Place
from policycheck.source.document import DocumentId, Span
from policycheck.source.edit import Change, apply


@pytest.fixture
def repository(tmp_path):
    for folder in ("work/repo/.git", "work/repo/clusters/prod", "work/other/.git", "work/loose"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path / "work" / "repo"


def test_names_are_from_the_root_of_the_repository(repository):
    name = relative(str(repository / "clusters"))
    assert name("prod/q.yaml") == "clusters/prod/q.yaml"
    assert name("./prod/../q.yaml") == "clusters/q.yaml"
    assert name("../q.yaml") == "q.yaml"
    assert name(str(repository / "clusters/prod/q.yaml")) == "clusters/prod/q.yaml"


def test_a_file_elsewhere_is_named_by_its_own_repository_or_whole(repository):
    name = relative(str(repository))
    assert name("../other/a/q.yaml") == "a/q.yaml"
    assert name("../loose/q.yaml") == str(repository.parent / "loose/q.yaml")


def test_what_is_no_file_keeps_its_name(repository):
    assert relative(str(repository))("<stdin>") == "<stdin>"


def test_without_a_repository_names_are_from_the_working_folder(tmp_path):
    assert relative(str(tmp_path))("a/q.yaml") == "a/q.yaml"


def test_severities_that_fail():
    assert failing("error") == ("error",)
    assert failing("info") == ("error", "warning", "info")
    assert failing("never") == ()


def test_every_rule_says_why():
    book = rulebook()
    why = rationale(())
    silent = [rule.id for rule in book.rules if len(why(rule)) < 20]
    assert silent == []


def test_a_rule_whose_file_is_gone_says_nothing(tmp_path):
    rule = rulebook().rules[0]
    assert rationale((str(tmp_path),))(rule._replace(system="own")) == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a: 1\nb: 2\n", "a: 1\nb: 3\n"),
        ("a: 1\nb: 2\nc: 3\n", "a: 1\nc: 3\n"),
        ("a: 1\n", "a: 1\nb: 2\n"),
        ("a: 1\r\nb: 2\r\n", "a: 2\r\nb: 1\r\n"),
        ("", "a: 1\n"),
        ("a: 1", ""),
        ("same\n", "same\n"),
        ("a: 1\nx\nx\nb: 1\n", "a: 2\nx\nx\nb: 2\n"),
        ("é: 1\n", "é: 2\n"),
    ],
)
def test_differences_make_the_new_text(old, new):
    found = list(differences(old, new))
    assert apply(old, found) == new
    assert sum(len(one.new) + one.end - one.start for one in found) <= len(old) + len(new)
    if old == new:
        assert found == []


def test_differences_are_as_short_as_can_be():
    (one,) = differences("a:\n  nominalQuota: 16\n", "a:\n  nominalQuota: 18\n")
    assert (one.start, one.end, one.new) == (20, 21, "8")


def finding(*changes):
    return Finding("KQ101", "n", "error", "high", "m", "", "", Place("q.yaml", Span(1, 1, 1, 2)), "", None, "",
                   fix="safe", changes=changes)  # fmt: skip


def test_a_fix_as_text():
    texts = {"q.yaml": b"kind: A\nspec: {a: 1}\n---\nkind: B\nspec:\n  b: 2  # why\n"}
    change = Change(DocumentId("q.yaml", 1), ("spec", "b"), "set", 30)
    (one,) = replacements(texts.__getitem__)(finding(change))
    assert (one.file, one.text) == ("q.yaml", "30")
    assert one.span == Span(6, 6, 6, 7)


@pytest.mark.parametrize("file", ["<stdin>", "chart/<rendered>"])
def test_what_nobody_can_edit_has_no_text(file):
    change = Change(DocumentId(file, 0), ("a",), "set", 2)
    assert replacements(lambda _: b"a: 1\n")(finding(change)) == ()


def test_a_fix_that_can_not_be_made_whole_has_no_text():
    one = Change(DocumentId("q.yaml", 0), ("a",), "set", 2)
    gone = Change(DocumentId("q.yaml", 0), ("b", "c"), "remove")
    assert replacements(lambda _: b"a: 1\n")(finding(one, gone)) == ()
    assert replacements(lambda _: b"\xff\xfe\x00")(finding(one)) == ()


def test_a_file_that_is_gone_has_no_text():
    def gone(name):
        raise FileNotFoundError(name)

    assert replacements(gone)(finding(Change(DocumentId("q.yaml", 0), ("a",), "set", 2))) == ()
