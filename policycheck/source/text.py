"""Bytes to text, offsets to lines and columns, a file to the pieces that hold one YAML document each."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from policycheck.record import NamedTuple
from policycheck.source.document import Span

_BREAK = re.compile(r"\r\n|\n|\r")
# A line `---` is a boundary wherever it stands at column 1, inside block scalars too (YAML 1.1, 9.1), so
# cutting there needs no parser. Directives (%YAML) belong to the document that follows them.
_BOUNDARY = re.compile(r"---(?=[ \t\r\n]|\Z)|\.\.\.(?=[ \t]*(?:[\r\n]|\Z))")
_BLANK = re.compile(r"(?>[ \t\r\n\ufeff]+|#[^\r\n]*)*+\Z")
_DIRECTIVE = re.compile(r"%(?:YAML|TAG)[ \t]")


class TextError(Exception):
    """Text that can not be read, with the offset (code points) at which that shows."""

    def __init__(self, offset: int, why: str, code: str = "syntax") -> None:
        super().__init__(why)
        self.offset = offset
        self.why = why
        self.code = code


class Piece(NamedTuple):
    """The stretch of text that holds one YAML document; offsets in code points, ``end`` exclusive."""

    start: int
    end: int


class Lines:
    """Where lines begin. LF, CRLF and lone CR break lines, as editors have it."""

    def __init__(self, text: str) -> None:
        self.text = text
        if "\r" in text:
            self._starts = [0, *(m.end() for m in _BREAK.finditer(text))]
        else:  # the same, in half the time
            self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))][:-1]

    def __len__(self) -> int:
        return len(self._starts)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column from 1, in code points."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """The span from one offset up to another."""
        return Span(*self.place(start), *self.place(end))

    def start(self, line: int) -> int:
        """Offset at which a line (from 1) begins; the length of the text for lines beyond the last."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def line(self, number: int) -> str:
        """The text of a line (from 1) without its break; empty beyond the last."""
        return self.text[self.start(number) : self.start(number + 1)].rstrip("\r\n")


def decode(data: bytes) -> str:
    """Text of a file: UTF-8, or UTF-16 with a byte order mark, the mark taken off.

    Raises TextError with the offset of the first bad byte.
    """
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        raise TextError(0, "the file is UTF-32: save it as UTF-8", "not-utf8")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError as error:
            raise TextError(
                0, f"the file is broken UTF-16 ({error.reason}): save it as UTF-8", "not-utf8"
            ) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if b"\0" in data[:8192]:
            raise TextError(0, "the file is binary, not text", "not-utf8") from error
        # The codec counts after the mark that it took off.
        at = error.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
        byte = data[at]
        before = data[:at].decode("utf-8-sig", "replace")
        why = f"byte 0x{byte:02x} is not UTF-8: save the file as UTF-8"
        raise TextError(
            len(before),
            why,
            "not-utf8",
        ) from error


def encode_like(text: str, data: bytes) -> bytes:
    """The bytes of a text in the encoding, and with the byte order mark, that ``data`` has."""
    for mark, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return mark + text.encode(name)
    return text.encode()


def pieces(text: str) -> list[Piece]:
    """The documents of a file in order; stretches of comments and blank lines alone are none.

    Positions in this list are the document numbers of DocumentId, whether the documents parse or not.
    """
    if "---" not in text and "..." not in text:
        return [] if _BLANK.match(text) else [Piece(0, len(text))]
    found: list[Piece] = []
    start, opened = 0, False
    for boundary in _BOUNDARY.finditer(text):
        at = boundary.start()
        if at and text[at - 1] not in "\r\n":
            continue
        begins = text[at] == "-"
        body = text[start:at]
        cut = at
        if begins and "%" in body:
            cut -= _directives(body)
        if opened or not _BLANK.match(text[start:cut]):
            found.append(Piece(start, cut if begins else boundary.end()))
        start, opened = (cut, True) if begins else (boundary.end(), False)
    if opened or not _BLANK.match(text[start:]):
        found.append(Piece(start, len(text)))
    return found


def _directives(body: str) -> int:
    """Length of the directives, with comments among them, at the end of what stands before a `---`."""
    length = taken = 0
    for line in reversed(body.splitlines(keepends=True)):
        length += len(line)
        if _DIRECTIVE.match(line):
            taken = length
        elif line.strip() and not line.startswith("#"):
            break
    return taken
