"""Repairs of failed claims: what to change, and the change as a diff."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from policycheck.certify.repair import Repaired
from policycheck.report.markdown import escape
from policycheck.report.screen import Style, clean, hang, wrap

_NONE = "Nothing failed, so there is nothing to repair."


def values(found: Sequence[Repaired]) -> list[dict[str, Any]]:
    """As JSON: ``changes`` in words, ``diff`` as git reads it, ``why`` where nothing helped."""
    return [
        {
            "claim": one.claim,
            "subject": one.subject,
            "changes": list(one.words),
            "diff": one.diff or None,
            "tried": one.tried,
            "why": one.why or None,
        }
        for one in found
    ]


def _title(one: Repaired) -> str:
    return f"{one.claim} ({one.subject})" if one.subject else one.claim


def render_text(found: Sequence[Repaired], style: Style) -> str:
    """Each failed claim with the smallest change that was seen to mend it, by itself."""
    if not found:
        return f"{_NONE}\n"
    lines = [style.paint("strong", "Repairs, each tried by itself and tested again")]
    for one in found:
        lines += ["", style.paint("strong", f"  {clean(_title(one))}")]
        if not one.diff:
            lines += hang("    ", wrap(clean(one.why), style.width - 6))
            continue
        for words in one.words:
            lines += hang("    ", wrap(clean(words), style.width - 6))
        lines += [f"    {_painted(line, style)}" for line in one.diff.splitlines()]
    return "\n".join(lines) + "\n"


def _painted(line: str, style: Style) -> str:
    text = clean(line)
    if line.startswith(("+++", "---")):
        return style.paint("strong", text)
    roles = {"+": "help", "-": "error", "@": "gutter"}
    return style.paint(roles[line[:1]], text) if line[:1] in roles else text


def render_markdown(found: Sequence[Repaired]) -> str:
    """The same for a pull request."""
    if not found:
        return f"{_NONE}\n"
    blocks = ["### Repairs", "Each was tried by itself, and its claim tested again."]
    for one in found:
        what = "; ".join(one.words) if one.diff else one.why
        blocks.append(f"**{escape(_title(one))}**: {escape(what)}")
        if one.diff:
            fence = "`" * max(3, 1 + max((len(n) for n in _runs(one.diff)), default=0))
            blocks.append(f"{fence}diff\n{one.diff.rstrip()}\n{fence}")
    return "\n\n".join(blocks) + "\n"


def _runs(text: str) -> list[str]:
    """Every run of backticks, so that none of them ends the block."""
    found, run = [], ""
    for char in text:
        run = run + char if char == "`" else ""
        if run:
            found.append(run)
    return found
