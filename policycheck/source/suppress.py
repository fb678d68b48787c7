"""What people ask to be ignored, as written: in comments, and in annotations of objects.

``# policycheck: ignore[RULE, rule-name] until=2027-01-31 owner=@team-x: reason`` covers its own line when it
stands behind something, else the next line with content; at the head of an object (above its first line, or
beside or above the ``---`` that opens it) the whole object. The twin for objects that live in a cluster is
the annotation ``policycheck.dev/ignore.RULE: "until=2027-01-31; owner=@team-x; reason"``.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator

import yaml
from yaml._yaml import CParser
from yaml.events import ScalarEvent, StreamEndEvent
from yaml.reader import ReaderError

from policycheck.record import NamedTuple
from policycheck.source.document import Document, DocumentId, Path, Span
from policycheck.source.text import Lines, Piece, pieces

MARK = "policycheck:"
ANNOTATION = "policycheck.dev/ignore."

_COMMENT = re.compile(r"(?:(?<=[ \t\r\n])|\A)#[ \t]*policycheck:([^\r\n]*)")
_ASKED = re.compile(
    r"[ \t]*ignore[ \t]*(?:\[(?P<rules>[^\]]*)\])?(?P<words>(?:[ \t]+[\w-]+=[^\s:]*)*)[ \t]*(?P<rest>.*)",
    re.DOTALL,
)
_NO_CONTENT = re.compile(r"---[ \t]*(?:#.*)?|%.*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_HOW = "write `# policycheck: ignore[RULE] until=2027-01-31 owner=@team: reason`"


class Suppression(NamedTuple):
    """A request to ignore findings. It covers ``lines`` (first and last), or all of ``document``.

    ``wrong`` says why it can not be honoured; then it covers nothing. There is none without a rule.
    """

    rules: tuple[str, ...]
    file: str
    span: Span  # of the comment; of the annotation once its path is looked up
    lines: tuple[int, int] | None = None
    document: DocumentId | None = None
    path: Path = ()  # of the annotation
    until: str = ""  # ISO date, the last day on which it holds; "" is without end
    owner: str = ""
    reason: str = ""
    wrong: str = ""


def comments(file: str, text: str, documents: Iterable[Document]) -> tuple[Suppression, ...]:
    """The suppressions in the comments of a file, in their order. ``documents`` are what parse found in it.

    Text in quotes and block scalars is no comment; pieces that do not parse have no comments.
    """
    if MARK not in text:
        return ()
    found = list(_COMMENT.finditer(text))
    if not found:
        return ()
    lines = Lines(text)
    parts = pieces(text)
    ends = [piece.end for piece in parts]
    grouped = _by_piece(documents, ends, lines)
    scalars: dict[int, list[tuple[int, int]] | None] = {}
    inside: dict[int, _Inside] = {}
    suppressions = []
    for match in found:
        at = match.start()
        number = bisect_right(ends, at)
        piece = parts[number] if number < len(parts) else None
        if piece is not None and number not in scalars:
            scalars[number] = _scalars(text[piece.start : piece.end], piece.start)
        texts = scalars.get(number) if piece is not None else []
        if texts is None or _is_inside(at, texts):
            continue
        if piece is not None and number not in inside:
            inside[number] = _look(piece, lines, grouped.get(number, []))
        covers = _covers(at, lines, inside.get(number))
        span = lines.span(at, at + len(match.group().rstrip()))
        suppressions.append(_asked(match.group(1), Suppression((), file, span, *covers)))
    return tuple(suppressions)


def annotated(document: Document) -> tuple[Suppression, ...]:
    """The suppressions in an object's annotations; ``span`` is to be looked up by ``path``."""
    metadata = document.value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict):
        return ()
    span = Span(document.line, 1, document.line, 2)
    found = [
        _annotation(key.removeprefix(ANNOTATION), value, document.id, span)
        for key, value in annotations.items()
        if key.startswith(ANNOTATION)
    ]
    bare = ANNOTATION.removesuffix(".")
    if bare in annotations:
        wrong = f"the annotation names no rule: write {ANNOTATION}RULE"
        path: Path = ("metadata", "annotations", bare)
        found.append(Suppression((), document.id.file, span, None, document.id, path, wrong=wrong))
    return tuple(found)


def _is_inside(at: int, stretches: list[tuple[int, int]]) -> bool:
    """Whether an offset is in one of some stretches, which are in order and apart."""
    before = bisect_right(stretches, (at, sys.maxsize)) - 1
    return before >= 0 and at < stretches[before][1]


def _asked(text: str, empty: Suppression) -> Suppression:
    """``empty`` filled with what the comment says after its mark."""
    match = _ASKED.fullmatch(text.strip())
    if match is None:
        return empty._replace(wrong=f"`{text.strip()}` is no request that is known: {_HOW}")
    rules = tuple(rule.strip() for rule in (match["rules"] or "").split(",") if rule.strip())
    filled = empty._replace(rules=rules)
    for word in match["words"].split():
        key, _, value = word.partition("=")
        filled = _with(filled, key, value)
    rest = match["rest"].strip()
    if rest and not rest.startswith(":") and not filled.wrong:
        filled = filled._replace(wrong=f"a `:` is missing before `{rest}`: {_HOW}")
    return _checked(filled._replace(reason=rest.removeprefix(":").strip()))


def _annotation(rule: str, value: object, identity: DocumentId, span: Span) -> Suppression:
    path = ("metadata", "annotations", ANNOTATION + rule)
    filled = Suppression((rule,) if rule else (), identity.file, span, None, identity, path)
    if not isinstance(value, str):
        return filled._replace(wrong='its value is no text: write "until=2027-01-31; owner=@team; reason"')
    reasons = []
    for part in value.split(";"):
        key, equals, word = part.strip().partition("=")
        if equals and key in ("until", "owner"):
            filled = _with(filled, key, word.strip())
        elif part.strip():
            reasons.append(part.strip())
    return _checked(filled._replace(reason="; ".join(reasons)))


def _with(filled: Suppression, key: str, value: str) -> Suppression:
    if key == "owner":
        return filled._replace(owner=value)
    if key != "until":
        return filled._replace(wrong=f"`{key}=` is not known; until= and owner= are")
    if not is_date(value):
        return filled._replace(wrong=f"`until={value}` is no date: write it like until=2027-01-31")
    return filled._replace(until=value)


def _checked(filled: Suppression) -> Suppression:
    if filled.wrong:
        return filled
    if not filled.rules:
        return filled._replace(wrong="it names no rule: write ignore[RULE] with the rules that are meant")
    bad = next((rule for rule in filled.rules if not _NAME.fullmatch(rule)), None)
    return filled._replace(wrong=f"`{bad}` can not be a rule's name") if bad else filled


def is_date(text: str) -> bool:
    """Whether a text is a day of the Gregorian calendar, written YYYY-MM-DD."""
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups())
    if not 1 <= month <= 12 or year == 0:
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    length = 29 if month == 2 and leap else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    return 1 <= day <= length


class _Inside(NamedTuple):
    """What a piece holds, worked out once for all comments in it."""

    last: int  # line
    content: list[int]  # numbers of lines that are more than blank or comment
    documents: list[Document]
    first: int  # line on which the first object begins; 0 without any
    items: dict[int, DocumentId]  # items of a List by the line on which they begin


def _look(piece: Piece, lines: Lines, documents: list[Document]) -> _Inside:
    items = {d.line: d.id for d in reversed(documents) if d.id.prefix}
    last = lines.place(max(piece.end - 1, piece.start))[0]
    first = min((d.line for d in documents), default=0)
    return _Inside(last, list(_content(piece, lines, last)), documents, first, items)


def _covers(
    at: int, lines: Lines, inside: _Inside | None
) -> tuple[tuple[int, int] | None, DocumentId | None]:
    """The lines, or else the object, that a comment at an offset speaks of."""
    own = lines.place(at)[0]
    before = lines.text[lines.start(own) : at].strip()
    if inside is None:
        return (own, own), None
    is_head = own < inside.first and not inside.items
    if is_head and before in ("", "---"):
        return None, inside.documents[0].id
    if before and before != "---":
        return (own, own), None
    after = bisect_right(inside.content, own)
    target = inside.content[after] if after < len(inside.content) else own
    item = inside.items.get(target)
    if item is not None and _begins_item(lines.line(target)):
        return None, item
    if inside.documents and own < (inside.content or [0])[0]:
        return (own, inside.last), None
    return (target, target), None


def _begins_item(line: str) -> bool:
    return line.lstrip().startswith("- ")


def _content(piece: Piece, lines: Lines, last: int) -> Iterator[int]:
    """The numbers of the lines of a piece that are more than blank or comment."""
    for number in range(lines.place(piece.start)[0], last + 1):
        line = lines.line(number).strip()
        if line and not line.startswith("#") and not _NO_CONTENT.fullmatch(line):
            yield number


def _by_piece(documents: Iterable[Document], ends: list[int], lines: Lines) -> dict[int, list[Document]]:
    """The documents by the number of the piece that holds the end of their first line."""
    grouped: dict[int, list[Document]] = {}
    for document in documents:
        number = bisect_right(ends, max(lines.start(document.line + 1) - 1, 0))
        grouped.setdefault(min(number, len(ends) - 1), []).append(document)
    return grouped


def _scalars(text: str, base: int) -> list[tuple[int, int]] | None:
    """The stretches of a piece in which a `#` is text; None when the piece does not parse."""
    stretches = []
    try:
        parser = CParser(text)
        try:
            while (event := parser.get_event()) is not None and not isinstance(event, StreamEndEvent):
                if isinstance(event, ScalarEvent):
                    start, end = event.start_mark.index, event.end_mark.index  # type: ignore[union-attr]
                    if event.style in ("|", ">"):
                        # Behind the indicator of a block scalar a comment is still a comment.
                        start = min((i for i in (text.find("\n", start), end) if i >= 0), default=end)
                    stretches.append((base + start, base + end))
        finally:
            parser.dispose()
    except (yaml.MarkedYAMLError, ReaderError):
        return None
    return stretches
