"""Explanations of surviving mutants are about lines that are there, and the page says what they say."""

from pathlib import Path

import pytest
from code_mutation import EXPLAINED, PAGE, PREFIX, ROOT, change, explained, functions, page

SYSTEM = ROOT.joinpath(*PREFIX.strip(".").split("."))


def source(at):
    module = at.split(".")[0]
    found = [p for p in (SYSTEM / f"{module}.py", SYSTEM / "scheduler" / f"{module}.py") if p.is_file()]
    assert len(found) == 1, at
    return found[0].read_text()


@pytest.mark.parametrize("one", sorted(explained()), ids=lambda c: f"{c.at}: {c.now}")
def test_an_explained_line_is_in_the_code(one):
    text = " ".join(line.strip() for line in source(one.at).splitlines())
    assert one.was in text
    assert one.was != one.now
    assert f"def {one.at.rpartition('.')[2]}(" in text


def test_the_page_says_what_the_explanations_say():
    assert PAGE.read_text() == page(), f"python {Path(__file__).with_name('code_mutation.py').name} --write"


def test_a_change_is_told_by_function_and_line():
    known = functions(
        "class Tree:\n"
        "    def xǁTreeǁfree__mutmut_orig(self):\n        return max(0, value)\n"
        "    def xǁTreeǁfree__mutmut_1(self):\n        return max(1, value)\n"
    )
    got = change("policycheck.systems.kueue.quota.xǁTreeǁfree__mutmut_1", known)
    assert got == ("quota.Tree.free", "return max(0, value)", "return max(1, value)")


def test_every_reason_explains_something():
    assert EXPLAINED.is_file()
    assert all(len(reason) > 20 for reason in explained().values())
