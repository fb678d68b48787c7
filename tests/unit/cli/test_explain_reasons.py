"""Every reason that is printed has a page."""

import ast
from pathlib import Path

import pytest

from policycheck.adapters.cli import main
from policycheck.systems.kueue import taking
from policycheck.systems.kueue.reasons import REASONS, named
from policycheck.systems.kueue.scheduler import assign, entry, victims

KUEUE = Path(taking.__file__).parent
RULES = {p.name.split("-")[0] for p in (Path(__file__).parents[3] / "rules" / "kueue").glob("*.yaml")}
INACTIVE = KUEUE / "scheduler" / "compile.py"


def _strings(node):
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _is_name(text):
    return text.isalpha() and text[0].isupper() and text != text.upper()


def _said():
    """Every reason that the sources of the scheduler and of why hold: what is assigned to ``reason``,
    given as the reason of a Refused, Block or Taking, or returned by ``inactive``."""
    found = {
        *(assign.NO_MATCHING, assign.EXCEEDS, assign.WAITING, assign.TOPOLOGY),
        *(entry.MIGRATION, entry.NODE_FAILURES),
        *(victims.IN_QUEUE, victims.RECLAMATION, victims.WHILE_BORROWING, victims.FAIR),
    }
    for path in (*KUEUE.glob("scheduler/*.py"), *KUEUE.glob("why/*.py"), KUEUE / "taking.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    names = {n.attr for n in ast.walk(target) if isinstance(n, ast.Attribute)}
                    found |= _strings(node.value) if "reason" in names else set()
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Refused", "Block", "Taking"):
                found |= {a.value for a in node.args if isinstance(a, ast.Constant)}
            if isinstance(node, ast.FunctionDef) and path == INACTIVE and node.name == "inactive":
                returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value]
                found |= set().union(*(_strings(value) for value in returned))
    return {text for text in found if isinstance(text, str) and text and _is_name(text)}


def test_every_reason_that_the_scheduler_can_say_has_a_page():
    said = _said()
    assert {"PendingEvaluation", "Misconfigured", "AdmissionGated", "TopologyNotFound", "Stopped"} <= said
    assert said - {reason.name for reason in REASONS} == set()


def test_pages_are_whole_and_speak_of_rules_that_are_there():
    names = [reason.name for reason in REASONS]
    assert len(set(names)) == len(names) >= 30
    for reason in REASONS:
        assert all(text.endswith(".") for text in (reason.means, reason.when, reason.do)), reason.name
        assert set(reason.rules) <= RULES, reason.name


@pytest.mark.parametrize("word", ["NoMatchingFlavor", "nomatchingflavor"])
def test_a_reason_is_explained(word, capsys):
    assert main(("explain", word)) == 0
    out = capsys.readouterr().out
    assert out.startswith("NoMatchingFlavor\n")
    for part in ("where Kueue writes it", "what it means", "when it is said", "what to do", "KQ642"):
        assert part in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_slip_in_a_reason_is_seen(capsys):
    assert main(("explain", "InCohortReclaimation")) == 2
    assert (
        "no rule, claim or reason 'InCohortReclaimation'; did you mean 'InCohortReclamation'?"
        in capsys.readouterr().err
    )
    assert named("InCohortReclaimation") is None
