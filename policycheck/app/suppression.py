"""Suppressions as they are written in comments and annotations, in the form that the runner wants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from policycheck.lint.finding import Place
from policycheck.lint.suppression import Suppression
from policycheck.source import suppress
from policycheck.source.document import Change, DocumentId
from policycheck.source.text import TextError, decode

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered
    from policycheck.model.cluster import Entry
    from policycheck.source.spans import Spans


def suppressions(
    scopes: tuple[Gathered, ...], spans: Spans, read: Callable[[str], bytes]
) -> tuple[Suppression, ...]:
    """Every suppression in the files that are reported, each file's once."""
    found: list[Suppression] = []
    seen: set[str] = set()
    for scope in scopes:
        entries = scope.by_id if scope.marked else {}
        for file in scope.parsed:
            if file in seen or file not in scope.marked:
                continue
            seen.add(file)
            written = [one for d in scope.parsed[file].documents for one in suppress.annotated(d)]
            if file not in scope.rendered:  # rendering keeps no comments of people's
                written.extend(_in_comments(file, scope, read))
            found.extend(_convert(one, scope.name, entries, spans) for one in written)
    return tuple(found)


def _in_comments(
    file: str, scope: Gathered, read: Callable[[str], bytes]
) -> tuple[suppress.Suppression, ...]:
    try:
        text = decode(read(file))
    except (OSError, TextError):
        return ()
    return suppress.comments(file, text, scope.parsed[file].documents)


def _convert(
    one: suppress.Suppression, scope: str, entries: Mapping[DocumentId, Entry], spans: Spans
) -> Suppression:
    span = one.span
    if one.path and one.document is not None:
        span = spans.locate(one.document, one.path).span
    entry = entries.get(one.document) if one.document is not None else None
    return Suppression(
        rules=one.rules,
        place=Place(one.file, span),
        lines=one.lines,
        object=entry.facts.key if entry else None,
        api_version=entry.facts.api_version if entry else "",
        scope=scope,
        until=one.until,
        owner=one.owner,
        reason=one.reason,
        wrong=one.wrong,
        cuts=(_cut(one),),
    )


def _cut(one: suppress.Suppression) -> Change:
    """What takes a suppression away: its annotation, or its comment."""
    if one.path and one.document is not None:
        return Change(one.document, one.path, "remove")
    return Change(DocumentId(one.file), (), "uncomment", one.span)
