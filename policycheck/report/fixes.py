"""What fixes come to: a diff of the files, what was mended, and what is left to people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from policycheck.lint.finding import Finding
from policycheck.report.screen import Style, clean, hang, paragraphs, wrap
from policycheck.source.document import Change
from policycheck.wording import plural

_LONGEST = 80  # characters of a value in words
Why = Callable[[Finding], str]


def describe(change: Change) -> str:
    """A change in words: ``set spec.cohortName: training``."""
    import json

    from policycheck.source.spans import dotted

    at = dotted(change.path, None)
    match change.action:
        case "uncomment":
            return "take the comment away"
        case "unrepeat":
            return "take the earlier of the two keys away"
        case "remove":
            return f"remove {at}"
        case "rename":
            return f"rename {at} to {change.value}"
    value = json.dumps(change.value, ensure_ascii=False)
    return f"set {at}: {value if len(value) <= _LONGEST else value[: _LONGEST - 1] + '…'}"


def diff(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> str:
    """A unified diff of files, as git and patch read it."""
    import difflib  # three milliseconds that most runs do without

    parts: list[str] = []
    for name in sorted(new):
        before, after = _lines(old[name]), _lines(new[name])
        lines = difflib.unified_diff(before, after, f"a/{name.lstrip('/')}", f"b/{name.lstrip('/')}")
        parts += (n if n.endswith("\n") else f"{n}\n\\ No newline at end of file\n" for n in lines)
    return "".join(parts)


def _lines(data: bytes) -> list[str]:
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    # Only "\n" ends a line of a diff.
    parts = data.decode(encoding, "replace").split("\n")
    return [*(f"{part}\n" for part in parts[:-1]), *([parts[-1]] if parts[-1] else [])]


def painted(text: str, style: Style) -> str:
    """A diff in the colours of diffs."""
    if not style.color:
        return text
    roles = {"+": "help", "-": "error", "@": "gutter"}
    rows = []
    for row in text.split("\n"):
        role = "strong" if row.startswith(("+++", "---")) else roles.get(row[:1], "")
        rows.append(style.paint(role, clean(row)) if role else clean(row))
    return "\n".join(rows)


def left(findings: Sequence[Finding], why: Why, style: Style) -> str:
    """Findings that stay, each with what to do about it; ``why`` says why a fix was not made, if there is one.

    "" when none stays.
    """
    if not findings:
        return ""
    rows = [style.paint("strong", f"left to you, {plural(len(findings), 'finding')}:")]
    for finding in findings:
        span = finding.place.span
        lead = f"{finding.severity}[{finding.rule}]"
        text = clean(f"{finding.place.file}:{span.line}: {lead} {finding.message}", ascii_only=style.ascii)
        rows += hang("  ", wrap(text, style.width - 2))
        for word, said in (
            ("help", finding.help),
            ("suggestion", _suggestion(finding)),
            ("fix", why(finding)),
        ):
            if said:
                head = f"    = {word}: "
                rows += hang(head, paragraphs(said, style.width - len(head), ascii_only=style.ascii))
    return "\n".join(rows) + "\n"


def _suggestion(finding: Finding) -> str:
    """What a person may write, for a fix that nobody else can make."""
    if finding.fix != "manual":
        return ""
    return "; ".join(describe(change) for change in finding.changes)


def made(fixed: Sequence[Finding], files: Sequence[str]) -> str:
    """What was mended, a line a finding."""
    rows = [f"fixed {plural(len(fixed), 'finding')} in {plural(len(files), 'file')}:"]
    for finding in sorted(fixed, key=lambda one: one.order):
        what = "; ".join(dict.fromkeys(describe(change) for change in finding.changes))
        where = f"{finding.place.file}:{finding.place.span.line}"
        rows += hang("  ", wrap(clean(f"{where}: {finding.rule} {what}"), 100))
    return "\n".join(rows) + "\n"


def refused(found: Sequence[tuple[Finding, str]]) -> str:
    """Fixes that were not made, with the reason of each; "" when there are none."""
    if not found:
        return ""
    rows = ["1 fix not made:" if len(found) == 1 else f"{len(found):,} fixes not made:"]
    for finding, why in found:
        where = f"{finding.place.file}:{finding.place.span.line}"
        rows += hang("  ", wrap(clean(f"{where}: {finding.rule}: {why}"), 100))
    return "\n".join(rows) + "\n"


def is_fixable(finding: Finding) -> bool:
    """Whether a fix can be made without a person who fills something in."""
    return finding.fix in ("safe", "unsafe") and bool(finding.changes)


def fixable(findings: Sequence[Finding]) -> str:
    """``3 fixable with --fix (2 more with --unsafe-fixes)``; "" when nothing is."""
    safe = sum(one.fix == "safe" and is_fixable(one) for one in findings)
    unsafe = sum(one.fix == "unsafe" and is_fixable(one) for one in findings)
    if safe and unsafe:
        return f"{safe:,} fixable with --fix ({unsafe:,} more with --unsafe-fixes)"
    if unsafe:
        return f"{unsafe:,} fixable with --fix --unsafe-fixes"
    return f"{safe:,} fixable with --fix" if safe else ""
