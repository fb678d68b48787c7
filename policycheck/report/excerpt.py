"""Source lines with the spans marked beneath them, as rustc shows them."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.lint.finding import Place
from policycheck.record import NamedTuple
from policycheck.report import Lines
from policycheck.report.screen import Style, cell, clean, width, wrap


class _Mark(NamedTuple):
    place: Place
    sign: str  # "^" for the primary place, "-" for the others
    role: str


class _Row(NamedTuple):
    """A source line as shown, and where in it the mark stands; in cells."""

    text: str
    start: int
    size: int


def excerpt(primary: Place, related: Sequence[Place], severity: str, lines: Lines, style: Style) -> list[str]:
    """Rows for a finding: its own place first, other places in the same file around it, other files beneath."""
    marks = [_Mark(primary, "^", severity), *(_Mark(place, "-", "gutter") for place in related)]
    files = list(dict.fromkeys(mark.place.file for mark in marks))
    gutter = max(len(str(mark.place.span.line)) for mark in marks)
    rows: list[str] = []
    for number, file in enumerate(files):
        mine = [mark for mark in marks if mark.place.file == file]
        arrow = "-->" if number == 0 else ":::"
        at = mine[0].place.span
        where = f"{clean(file, ascii_only=style.ascii)}:{at.line}:{at.column}"
        rows.append(f"{' ' * gutter}{style.paint('gutter', arrow)} {where}")
        rows.extend(_file(mine, lines(file), gutter, style))
    return rows


def _file(marks: Sequence[_Mark], text: Sequence[str], gutter: int, style: Style) -> list[str]:
    bar = style.paint("gutter", "|")
    blank = f"{' ' * gutter} {bar}"
    room = max(20, style.width - gutter - 3)
    ordered = sorted(marks, key=lambda mark: (mark.place.span.line, mark.sign != "^", mark.place.span.column))
    rows, shown, last = [blank], "", 0
    for mark in ordered:
        line = mark.place.span.line
        if not 0 < line <= len(text):
            rows.extend(f"{blank} {part}" for part in _orphan(mark, room, style))
            continue
        row = _row(text[line - 1], mark, room, style)
        if last and line > last + 1:
            rows.append(style.paint("gutter", "..."))
        if line != last or row.text != shown:
            number = style.paint("gutter", f"{line:>{gutter}}")
            rows.append(f"{number} {bar} {row.text}".rstrip())
        rows.extend(f"{blank} {part}" for part in _underline(row, mark, room, style))
        shown, last = row.text, line
        if mark.place.span.end_line > line and mark.place.span.end_column > 1:
            rows.append(style.paint("gutter", "..."))
            last = min(mark.place.span.end_line, len(text))
    return rows if len(rows) > 1 else []


def _orphan(mark: _Mark, room: int, style: Style) -> list[str]:
    """The label of a place whose text is not at hand (rendered, or gone since)."""
    return wrap(clean(mark.place.label, ascii_only=style.ascii), room) if mark.place.label else []


def _row(source: str, mark: _Mark, room: int, style: Style) -> _Row:
    source = source.rstrip("\r\n")
    cells = [cell(char, ascii_only=style.ascii) for char in source]
    offsets = [0]
    for _, size in cells:
        offsets.append(offsets[-1] + size)
    span = mark.place.span
    first = min(max(span.column - 1, 0), len(cells))
    last = len(source.rstrip()) if span.end_line > span.line else min(span.end_column - 1, len(cells))
    start, end = offsets[first], offsets[max(first, last)]
    return _cut(cells, offsets, _Row("", start, max(1, end - start)), room, style.more)


def _cut(cells: list[tuple[str, int]], offsets: list[int], mark: _Row, room: int, more: str) -> _Row:
    """The stretch of a long line around the mark, with what stands for the rest."""
    total = offsets[-1]
    if total <= room:
        return mark._replace(text="".join(shown for shown, _ in cells))
    left = 0
    if mark.start + mark.size > room - len(more):
        lead = max(len(more) + 4, (room - mark.size) // 2)
        left = max(0, min(mark.start - lead, total - room))
    low = left + (len(more) if left else 0)
    high = left + room - (len(more) if left + room < total else 0)
    inside = [n for n in range(len(cells)) if low <= offsets[n] and offsets[n + 1] <= high]
    pad = " " * (offsets[inside[0]] - low) if inside else ""
    text = (more if left else "") + pad + "".join(cells[n][0] for n in inside)
    if left + room < total:
        text += " " * (high - left - width(text)) + more
    size = min(mark.size, max(1, left + room - mark.start))
    return _Row(text, mark.start - left, size)


def _underline(row: _Row, mark: _Mark, room: int, style: Style) -> list[str]:
    carets = " " * row.start + style.paint(mark.role, mark.sign * row.size)
    label = clean(mark.place.label, ascii_only=style.ascii)
    if not label:
        return [carets]
    free = room - row.start - row.size - 1
    if width(label) <= free:
        return [f"{carets} {style.paint(mark.role, label)}"]
    indent = min(row.start, max(0, room - min(width(label), 40)))
    beneath = wrap(label, room - indent)
    return [carets, *(" " * indent + style.paint(mark.role, part) for part in beneath)]
