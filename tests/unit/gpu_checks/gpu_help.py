"""One rule over manifests in memory."""

from __future__ import annotations

from policycheck.app import lint_texts
from policycheck.lint.settings import Settings


def findings(text, rule, **more):
    """Path and message of what ``rule`` finds; ``more`` are the inventory and context beside."""
    found = lint_texts({"a.yaml": text}, Settings(select=(rule,)), **more)
    assert [error for error in found.errors if error.rule == rule] == []
    return [(f.path, f.message) for f in found.findings]


def messages(text, rule, **more):
    """The messages alone."""
    return [message for _, message in findings(text, rule, **more)]
