"""Findings known from before: a file of fingerprints, and what of it is still found.

A fingerprint has no line in it, so that an edit elsewhere in a file changes nothing. Rule, object, path,
message and file stand beside it for people; of these only the file is used, to tell which of several
equal findings is the old one, and whether an entry could have been found at all. The file is JSON, one
entry a line and sorted, so that changes are read and merged line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from policycheck.lint.finding import Finding, LintResult
from policycheck.lint.rule import Rule
from policycheck.lint.rulebook import Rulebook
from policycheck.record import NamedTuple

KIND = "baseline"
VERSION = 1
_MOST_BYTES = 64_000_000
_FINGERPRINT = re.compile(r"[0-9a-f]{32}\Z")
_MOST = 1_000_000  # of one finding


class BaselineError(ValueError):
    """A file that can not serve as a baseline, with its name and what to do."""


class Entry(NamedTuple):
    """One known finding, ``times`` often ("count" in the file). ``file`` is as seen from the folder of the baseline."""

    rule: str
    object: str
    path: str
    message: str
    file: str
    fingerprint: str
    times: int = 1


_TEXTS = Entry._fields[:-1]


class Baseline(NamedTuple):
    """What is known, and the paths that were looked at when it was: only a run on all of them can tell
    that something is gone, since rules look across files. Paths are seen from the folder of the baseline.
    """

    entries: tuple[Entry, ...]
    paths: tuple[str, ...] = (".",)


class Compared(NamedTuple):
    """A run held against a baseline.

    ``left`` are the entries that still stand; ``gone`` those that were looked
    for and not found; ``unseen`` those whose file or rule was no part of the run, which stand in ``left`` too.
    ``strange`` are rules that entries name and the rulebook does not have.
    """

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    left: tuple[Entry, ...]
    gone: int
    unseen: int
    strange: tuple[str, ...]


def parse(data: bytes, shown: str) -> Baseline:
    """The baseline in a file. Raises BaselineError."""
    if len(data) > _MOST_BYTES:
        raise BaselineError(f"{shown}: larger than {_MOST_BYTES:,} bytes: no baseline")
    try:
        whole = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        conflict = "; it has marks of a merge, which has to be finished" if b"<<<<<<<" in data else ""
        raise BaselineError(
            f"{shown}:{error.lineno}:{error.colno}: no JSON ({error.msg.lower()}){conflict}; a baseline is written "
            "by --write-baseline"
        ) from None
    except (ValueError, RecursionError):
        raise BaselineError(f"{shown}: no JSON; a baseline is written by --write-baseline") from None
    if not isinstance(whole, dict) or whole.get("policycheck") != KIND:
        raise BaselineError(
            f"{shown}: no baseline of policycheck (it does not begin with "
            f'"policycheck": "{KIND}"); give the file that --write-baseline wrote'
        )
    version = whole.get("version")
    if version != VERSION:
        raise BaselineError(
            f"{shown}: a baseline of version {version!r}; this policycheck reads {VERSION}. Use the policycheck that "
            "wrote it, or take the file away and write it again"
        )
    entries = whole.get("entries")
    if not isinstance(entries, list):
        raise BaselineError(
            f"{shown}: 'entries' is missing or no list; take the file away and write it again"
        )
    made = tuple(_entry(one, f"{shown}: entries[{at}]") for at, one in enumerate(entries))
    seen: dict[str, int] = {}
    for at, entry in enumerate(made):
        if seen.setdefault(entry.fingerprint, at) != at:
            raise BaselineError(
                f"{shown}: entries[{seen[entry.fingerprint]}] and entries[{at}] have one fingerprint "
                f"({entry.fingerprint}); keep one of them"
            )
    paths = whole.get("paths", ["."])
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise BaselineError(f"{shown}: 'paths' is no list of paths; write those that were looked at")
    return Baseline(made, tuple(paths))


def _entry(one: Any, where: str) -> Entry:
    if not isinstance(one, dict):
        raise BaselineError(f"{where} is no map; take it away")
    extra = sorted(one.keys() - {*_TEXTS, "count"})
    if extra:
        raise BaselineError(f"{where}: unknown key {extra[0]!r}; known are {', '.join(_TEXTS)}, count")
    count = one.get("count", 1)
    texts = {name: one.get(name, "") for name in _TEXTS}
    wrong = next((name for name, text in texts.items() if not isinstance(text, str)), None)
    if wrong:
        raise BaselineError(f"{where}: {wrong!r} is no text")
    if not texts["rule"] or not _FINGERPRINT.match(texts["fingerprint"]):
        raise BaselineError(f"{where}: an entry has a rule and a fingerprint of 32 hexadecimal digits")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
        raise BaselineError(f"{where}: 'count' is {count!r}; write how often it is found, from 1 on")
    return Entry(**texts, times=count)


def dump(baseline: Baseline) -> str:
    """The text of a baseline: the same entries, the same bytes."""
    order = sorted(baseline.entries, key=lambda one: (one.rule, one.object, one.path, one.fingerprint))
    lines = [json.dumps(_plain(one), ensure_ascii=True) for one in order]
    body = ",\n    ".join(lines)
    listed = f"[\n    {body}\n  ]" if lines else "[]"
    paths = json.dumps(sorted(set(baseline.paths)))
    head = f'"policycheck": "{KIND}",\n  "version": {VERSION},\n  "paths": {paths}'
    return f'{{\n  {head},\n  "entries": {listed}\n}}\n'


def _plain(one: Entry) -> dict[str, Any]:
    """An entry without what is empty or usual."""
    plain: dict[str, Any] = {name: getattr(one, name) for name in _TEXTS if getattr(one, name)}
    return {**plain, "count": one.times} if one.times > 1 else plain


def entries_of(findings: Iterable[Finding], home: Callable[[str], str]) -> tuple[Entry, ...]:
    """Findings as entries; equal ones are counted. ``home`` gives a file as the baseline calls it."""
    found: dict[str, Entry] = {}
    for finding in sorted(findings, key=lambda one: one.order):
        mark = finding.fingerprint
        one = found.get(mark)
        found[mark] = one._replace(times=one.times + 1) if one else _described(finding, home)
    return tuple(found.values())


def _described(finding: Finding, home: Callable[[str], str]) -> Entry:
    return Entry(
        finding.rule,
        _object(finding),
        finding.path,
        finding.message,
        home(finding.place.file),
        finding.fingerprint,
    )


def _object(finding: Finding) -> str:
    """``Job.batch team-a/train``: what a finding is about, the same in every version of its API."""
    key = finding.object
    if key is None:
        return ""
    kind = f"{key.kind}.{key.group}" if key.group else key.kind
    return f"{kind} {key.namespace}/{key.name}" if key.namespace else f"{kind} {key.name}"


def compare(
    result: LintResult,
    entries: Sequence[Entry],
    rulebook: Rulebook,
    home: Callable[[str], str],
    looked_at: Callable[[str], bool],
) -> Compared:
    """``result`` held against a baseline.

    Of findings that are equal but for their place, as many as the entry counts are known, those in the
    entry's own file first. An entry of a retired rule stands for the same place found by its heir.
    ``looked_at`` tells of a file, as the baseline calls it, whether this run would have found what is in it.
    """
    free: dict[str, list[Finding]] = {}
    for finding in sorted((*result.findings, *result.before), key=lambda one: one.order):
        free.setdefault(finding.fingerprint, []).append(finding)
    matched: list[tuple[Entry, list[Finding]]] = []
    for entry in entries:
        near = free.get(entry.fingerprint, [])
        near.sort(key=lambda one, file=entry.file: home(one.place.file) != file)  # type: ignore[misc]
        matched.append((entry, near[: entry.times]))
        del near[: entry.times]
    rules = {rule.id: rule for rule in rulebook.rules}
    heirs = {name: rule.replaced_by for name, rule in rules.items() if rule.replaced_by}
    _inherit(matched, free, heirs)
    partly = {skip.rule for skip in result.skipped} | {error.rule for error in result.errors}
    whole = {name for name in result.ran if name not in partly}
    left: list[Entry] = []
    gone = unseen = 0
    for entry, found in matched:
        missing = entry.times - len(found)
        told = _ran(entry.rule, rules, whole) and looked_at(entry.file)
        gone += missing if told else 0
        unseen += 0 if told else missing
        left.extend(_left(entry, found, 0 if told else missing, home))
    known = {id(finding) for _, found in matched for finding in found}
    return Compared(
        tuple(one for one in result.findings if id(one) not in known),
        tuple(one for one in result.findings if id(one) in known),
        together(left),
        gone,
        unseen,
        tuple(sorted({entry.rule for entry in entries if entry.rule not in rules})),
    )


def _left(entry: Entry, found: Sequence[Finding], unseen: int, home: Callable[[str], str]) -> Iterable[Entry]:
    """What stays of an entry. It is left as it was written, so that a smaller baseline is a shorter one and
    nothing else; its file is brought up to date when nothing of it is there any more.
    """
    own = [one for one in found if one.fingerprint == entry.fingerprint]
    yield from entries_of([one for one in found if one.fingerprint != entry.fingerprint], home)
    if own and not any(home(one.place.file) == entry.file for one in own):
        entry = entry._replace(file=home(own[0].place.file))
    if len(own) + unseen:
        yield entry._replace(times=len(own) + unseen)


def _ran(name: str, rules: Mapping[str, Rule], whole: set[str]) -> bool:
    """Whether a rule, or the heir of a retired one, looked at everything; a retired one without is done with."""
    seen: set[str] = set()
    while name in rules and rules[name].status == "deprecated" and name not in whole | seen:
        seen.add(name)
        name = rules[name].replaced_by
        if not name:
            return True
    return name in whole


def _inherit(
    matched: list[tuple[Entry, list[Finding]]], free: Mapping[str, list[Finding]], heirs: Mapping[str, str]
) -> None:
    """Gives entries of retired rules what their heirs find at the same place."""
    if not any(entry.rule in heirs for entry, _ in matched):
        return
    by_place: dict[tuple[str, str, str], list[Finding]] = {}
    for findings in free.values():
        for one in findings:
            by_place.setdefault((one.rule, _object(one), one.path), []).append(one)
    for entry, found in matched:
        heir, seen = entry.rule, {entry.rule}
        while heir in heirs and heirs[heir] not in seen:
            heir = heirs[heir]
            seen.add(heir)
        near = by_place.get((heir, entry.object, entry.path), []) if heir != entry.rule else []
        while near and len(found) < entry.times:
            found.append(near.pop(0))


def together(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Entries of one fingerprint as one."""
    made: dict[str, Entry] = {}
    for entry in entries:
        one = made.get(entry.fingerprint)
        made[entry.fingerprint] = one._replace(times=one.times + entry.times) if one else entry
    return tuple(made.values())
