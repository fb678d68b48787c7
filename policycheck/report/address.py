"""Where things are for machines that follow links: files of the repository, pages of rules."""

from __future__ import annotations

import re
from urllib.parse import quote

from policycheck.lint.rule import OWN, Rule

# Halves of characters, but for those that stand for bytes of a name that are no UTF-8 (PEP 383).
_HALVES = re.compile("[\ud800-\udc7f\udd00-\udfff]")
HOME = "https://github.com/policycheck/policycheck"


def uri(file: str) -> str:
    """A file's name as a URI: relative to the root of the repository, or absolute outside of it.

    Bytes of a name that are no UTF-8 come out as they are on disk.
    """
    written = quote(_HALVES.sub("\ufffd", file), safe="/-_.~!$&'()*+,;=@", errors="surrogateescape")
    return f"file://{written}" if file.startswith("/") else written


def page(rule: Rule | None, name: str) -> str:
    """The page of a rule; "" for rules that are not ours. ``name`` is its id."""
    if rule is None or rule.system == OWN:
        return ""
    return f"{HOME}/blob/main/docs/rules/{name}.md"
