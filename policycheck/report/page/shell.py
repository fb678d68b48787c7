"""The file itself: one page that holds all it needs and may not connect to anything.

Its Content-Security-Policy allows the two scripts and the style sheet that are in it, by their digests,
and nothing else: no address is loaded, no expression is compiled from text (charts run on an interpreter),
no form is sent. The same sections give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from policycheck.report.page import engine
from policycheck.report.page.colour import tokens
from policycheck.report.page.html import Cell, Markup, element, join, script, text
from policycheck.report.page.view import Figure, Section

_STATIC = Path(__file__).parent / "static"


def page(title: str, lead: Cell, sections: Sequence[Section]) -> str:
    """The whole file. Raises MissingExtraError when charts can not be drawn."""
    style, own, library = _style(), _static("page.js"), engine.bundle()
    if "</script" in library.lower() or "<!--" in library:  # would end the element that holds it
        library = library.replace("</", "<\\/").replace("<!--", "<\\!--")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_digest(library)} {_digest(own)}",
            f"style-src {_digest(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{text(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n"
    )
    body = join(
        (_header(title, lead, sections), element("main", *map(_section, sections)), _without_script())
    )
    return (
        f"{head}<body>\n{body}\n{_specs(sections)}<script>{library}</script>\n<script>{own}</script>\n"
        "</body>\n</html>\n"
    )


def _header(title: str, lead: Cell, sections: Sequence[Section]) -> Markup:
    links = [element("a", s.title, href=f"#{s.id}") for s in sections]
    nav = element("nav", *links, aria_label="Sections") if len(links) > 1 else Markup()
    return element("header", element("h1", title), lead, nav)


def _section(section: Section) -> Markup:
    small = element("div", *map(_figure, section.small), class_="small") if section.small else Markup()
    heading = element("h2", section.title, id=f"{section.id}-title")
    figures = map(_figure, section.figures)
    return element(
        "section",
        heading,
        section.before,
        *figures,
        small,
        section.after,
        id=section.id,
        aria_labelledby=f"{section.id}-title",
    )


def _figure(figure: Figure) -> Markup:
    frame = element(
        "div",
        element("p", figure.says, class_="unseen"),
        class_="chart fixed" if figure.fixed else "chart",
        data_chart=figure.id,
        data_narrow="yes" if figure.narrow is not None else "",
    )
    return element(
        "figure", element("figcaption", figure.title), frame, figure.beside, id=f"figure-{figure.id}"
    )


def _specs(sections: Sequence[Section]) -> Markup:
    """The charts as data: a type that no browser runs."""
    parts: list[str] = []
    for figure in _figures(sections):
        parts.append(_data(f"chart-{figure.id}", figure.spec))
        if figure.narrow is not None:
            parts.append(_data(f"narrow-{figure.id}", figure.narrow))
    return Markup("".join(parts))


def _figures(sections: Sequence[Section]) -> Iterable[Figure]:
    for section in sections:
        yield from section.figures
        yield from section.small


def _data(identity: str, value: object) -> str:
    return f'<script type="application/json" id="{text(identity)}">{script(value)}</script>\n'


def _without_script() -> Markup:
    return element(
        "noscript",
        element("p", "Charts are drawn by a script that is part of this page. The tables hold the numbers."),
    )


def _style() -> str:
    light, dark = tokens(dark=False), tokens(dark=True)
    rules = [
        f":root{{{_properties(light)}}}",
        f"@media (prefers-color-scheme:dark){{:root{{{_properties(dark)}}}}}",
    ]
    named = [
        f".f-{name}{{background:var(--{name})}}.s-{name}{{border-color:var(--{name})}}" for name in light
    ]
    return "".join((*rules, _static("page.css"), *named))


def _properties(values: dict[str, str] | object) -> str:
    assert hasattr(values, "items")  # noqa: S101 - a mapping
    return "".join(f"--{name}:{value};" for name, value in values.items())


def _static(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8").strip()


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
