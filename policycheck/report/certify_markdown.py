"""Verdicts for a pull request or a job page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policycheck.certify.verdict import FAILS, HOLDS, NOT_APPLICABLE, UNKNOWN, Verdict
from policycheck.report.certify import Certified, basis_of, overall, tally
from policycheck.report.markdown import BYTES, escape

_MARK = {FAILS: "fails", UNKNOWN: "unknown", HOLDS: "holds", NOT_APPLICABLE: "not promised"}
_ROWS = 200


def render_markdown(done: Sequence[Certified]) -> str:
    """A headline, a table of what fails or is unknown, the stories, and what holds."""
    blocks = [f"## policycheck certify: {overall(done)}", escape(tally(done))]
    for one in done:
        if len(done) > 1 and one.scope:
            blocks.append(f"### {escape(one.scope)}: {one.result.outcome}")
        blocks.extend(_scope(one))
    text = ""
    for block in blocks:
        if len((text + block).encode()) > BYTES:
            return f"{text}and more; the log has all of it\n"
        text += f"{block}\n\n"
    return text.rstrip("\n") + "\n"


def _scope(one: Certified) -> Iterator[str]:
    bad = [v for v in one.verdicts if v.outcome in (FAILS, UNKNOWN)]
    bad.sort(key=lambda v: v.outcome != FAILS)
    if bad:
        rows = ["| outcome | claim | of | what |", "|---|---|---|---|"]
        rows += [_row(v) for v in bad[:_ROWS]]
        more = f"\n\nand {len(bad) - _ROWS} more" if len(bad) > _ROWS else ""
        yield "\n".join(rows) + more
    yield from (_story(v) for v in bad[:_ROWS] if v.counterexample is not None)
    held = [v for v in one.verdicts if v.outcome == HOLDS]
    if held:
        yield _details(f"{len(held)} hold", [f"{_name(v)} ({basis_of(v)})" for v in held])
    notes = list(dict.fromkeys(note for v in one.verdicts for note in v.assumptions))
    if notes:
        yield _details("assumed", notes)


def _name(verdict: Verdict) -> str:
    return f"{verdict.claim}: {verdict.subject}" if verdict.subject else verdict.claim


def _row(verdict: Verdict) -> str:
    how = f" ({basis_of(verdict)})" if verdict.outcome == FAILS else ""
    what = f"{verdict.headline}{how}"
    return (
        f"| {_MARK[verdict.outcome]} | {escape(verdict.claim)} | {escape(verdict.subject)} | {escape(what)} |"
    )


def _story(verdict: Verdict) -> str:
    found = verdict.counterexample
    assert found is not None  # noqa: S101 - asked for those alone
    title = f"{_name(verdict)}: the story, with {found.workloads} workloads"
    return _details(title, list(found.timeline))


def _details(title: str, items: Sequence[str]) -> str:
    body = "\n".join(f"- {escape(item)}" for item in items)
    return f"<details><summary>{escape(title)}</summary>\n\n{body}\n\n</details>"
