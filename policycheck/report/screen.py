"""Text that other people wrote, made fit for a terminal: harmless, measured, wrapped, painted."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.record import NamedTuple

TAB = "    "
# Line breaks of other alphabets and the overrides of reading direction can hide what a line says
# (CVE-2021-42574); surrogates can not be encoded at all.
_MISLEADING = frozenset(
    "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)
_PAINT = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "gutter": "1;34",
    "strong": "1",
    "help": "1;32",
    "dim": "2",
}


class Style(NamedTuple):
    """How the output is to look. ``width`` in terminal cells; ``ascii`` when nothing else can be shown."""

    width: int = 80
    color: bool = False
    ascii: bool = False
    verbose: bool = False
    quiet: bool = False

    def paint(self, role: str, text: str) -> str:
        """The text in the colour of its role; colour repeats what the words say, never more."""
        return f"\x1b[{_PAINT[role]}m{text}\x1b[0m" if self.color and text else text

    @property
    def more(self) -> str:
        """Stands for text that was cut."""
        return "..." if self.ascii else "…"

    @property
    def dot(self) -> str:
        """Stands between parts of a summary."""
        return " | " if self.ascii else " · "


def cell(char: str, *, ascii_only: bool = False) -> tuple[str, int]:
    """What is shown for one code point, and how many terminal cells it takes."""
    if " " <= char <= "~":
        return char, 1
    if char == "\t":
        return TAB, len(TAB)
    if char < " " or "\x7f" <= char <= "\x9f" or char in _MISLEADING or "\ud800" <= char <= "\udfff":
        return ("?" if ascii_only else "\ufffd"), 1
    wide = _width(char)
    return ("?" * wide, wide) if ascii_only else (char, wide)


def _width(char: str) -> int:
    import unicodedata

    if unicodedata.category(char) in {"Mn", "Me", "Cf"} and char != "\u00ad":
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def clean(text: str, *, ascii_only: bool = False) -> str:
    """One line that can do a terminal no harm: breaks become spaces, control characters a mark."""
    if text.isascii() and text.isprintable():
        return text
    joined = text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ").replace("\t", " ")
    return "".join(cell(char, ascii_only=ascii_only)[0] for char in joined)


def width(text: str) -> int:
    """Terminal cells that a clean text takes."""
    return len(text) if text.isascii() else sum(cell(char)[1] for char in text)


def wrap(text: str, limit: int) -> list[str]:
    """Lines of at most ``limit`` cells, broken at spaces; a longer word stays whole, to be copied."""
    lines: list[str] = []
    current, used = "", 0
    for word in text.split():
        size = width(word)
        if current and used + 1 + size > limit:
            lines.append(current)
            current, used = word, size
        else:
            used += size + (1 if current else 0)
            current = f"{current} {word}" if current else word
    return [*lines, current] if current or not lines else lines


def paragraphs(text: str, limit: int, *, ascii_only: bool = False) -> list[str]:
    """Wrapped lines of a text that has lines of its own; indentation of examples is kept."""
    lines: list[str] = []
    for raw in text.strip("\r\n").splitlines() or [""]:
        line = clean(raw.rstrip(), ascii_only=ascii_only)
        indent = line[: len(line) - len(line.lstrip())]
        lines.extend(indent + part for part in wrap(line, max(20, limit - len(indent))))
    return lines


def hang(first: str, lines: Sequence[str]) -> list[str]:
    """Lines behind a lead-in, the later ones aligned beneath the first."""
    indent = " " * width(first)
    return [((first if number == 0 else indent) + line).rstrip() for number, line in enumerate(lines)]
