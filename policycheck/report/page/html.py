"""Text made into HTML. Every text that a person or a file gave goes through ``text`` or ``script``."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from policycheck.report.screen import clean

# What can end a script element or begin a comment in one, written so that JSON means the same.
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Markup(str):
    """HTML that is safe to be put into a page as it stands."""

    __slots__ = ()


Cell = str | Markup
_TAG = re.compile(r"<[^>]*>")  # of our own markup, in which no text holds a bracket
_LONG = 22  # characters of a row's name for which more room is made
LINE, DASH, CROSS = "line", "dash", "cross"  # looks in a key that are no area


def text(value: str) -> Markup:
    """Any text as HTML: nothing in it is markup, nor can it change how what is around it reads."""
    return value if isinstance(value, Markup) else Markup(html.escape(clean(value), quote=True))


def script(value: Any) -> str:
    """A value as JSON that can stand inside a script element."""
    made = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char, code in _UNSAFE.items():
        made = made.replace(char, code)
    return made


def join(parts: Iterable[Cell]) -> Markup:
    """Parts one after the other."""
    return Markup("".join(map(text, parts)))


def element(name: str, *inside: Cell, **attributes: str) -> Markup:
    """One element; ``class_`` stands for class, and underscores for dashes. An empty attribute is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items() if value
    )
    return Markup(f"<{name}{given}>{join(inside)}</{name}>")


def bullets(items: Sequence[Cell]) -> Markup:
    """A list, or nothing when there are no items."""
    if not items:
        return Markup()
    return element("ul", *(element("li", item) for item in items))


class Column(NamedTuple):
    """A column of a table; ``hint`` says more about it than the title has room for. ``sentence``: of text
    that needs room.
    """

    title: str
    number: bool = True
    hint: str = ""
    sentence: bool = False

    @property
    def kind(self) -> str:
        """The class of its cells."""
        return "n" if self.number else "t" if self.sentence else ""


def table(
    caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], signs: Sequence[Markup] = ()
) -> Markup:
    """A table that scrolls by itself where it is wider than the window; the first cells are headings, with
    ``signs`` before them.
    """
    head = element(
        "tr",
        *(element("th", c.title, scope="col", title=c.hint, class_="n" if c.number else "") for c in columns),
    )
    lines = [
        element(
            "tr",
            element("th", *signs[number : number + 1], row[0], scope="row"),
            *(
                element("td", cell, class_=column.kind)
                for cell, column in zip(row[1:], columns[1:], strict=True)
            ),
        )
        for number, row in enumerate(rows)
    ]
    is_long = any(len(_TAG.sub("", row[0])) > _LONG for row in rows)
    whole = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", head),
        element("tbody", *lines),
        class_="long" if is_long else "",
    )
    return element("div", whole, class_="wide", tabindex="0", role="region", aria_label=caption)


def fold(title: str, inside: Cell) -> Markup:
    """What one opens to see."""
    return element("details", element("summary", title), inside)


def swatch(fill: str, stroke: str = "") -> Markup:
    """A square of a colour, or with LINE, DASH or CROSS such a mark. Colours are our own custom properties,
    and come as classes of the style sheet.
    """
    return element("i", class_=f"swatch f-{_named(fill)} s-{_named(stroke or fill)}", aria_hidden="true")


def _named(colour: str) -> str:
    return colour.removeprefix("var(--").removesuffix(")")


def key(rows: Iterable[tuple[str, str, str]]) -> Markup:
    """The meaning of colours: (fill, stroke, words)."""
    return element(
        "ul", *(element("li", swatch(fill, stroke), words) for fill, stroke, words in rows), class_="key"
    )
