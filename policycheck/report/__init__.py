"""Foreign formats out. A format is a module here with ``render(result, view) -> str``, named below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

from policycheck.lint.finding import Finding, LintResult, Replacement
from policycheck.lint.rule import Rule
from policycheck.record import NamedTuple
from policycheck.report.screen import Style

FORMATS = (
    "text",
    "concise",
    "json",
    "markdown",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "checkstyle",
    "rdjson",
)

Lines = Callable[[str], Sequence[str]]


class View(NamedTuple):
    """What a format may use beside the result.

    ``lines`` gives the lines of a file, without their breaks; none when the text is not at hand.
    """

    lines: Lines
    style: Style = Style()
    next_steps: tuple[str, ...] = ()
    statistics: bool = False  # how often each rule fired, in place of the findings
    rule: Callable[[str], Rule | None] = lambda _: None  # a rule of the rulebook by its id
    replacements: Callable[[Finding], tuple[Replacement, ...]] = lambda _: ()  # the text of a finding's fix
    rationale: Callable[[Rule], str] = lambda _: ""  # why it hurts, as its file has it
    relative: Callable[[str], str] = lambda file: file  # a file's name as the repository knows it
    is_compared: bool = False  # with an earlier state: what is reported is new
    fails: tuple[str, ...] = ("error",)  # severities that fail the run


def render(name: str, result: LintResult, view: View) -> str:
    """The result in one of FORMATS; the module loads when it is used."""
    module = import_module(f"policycheck.report.{name}")
    return cast("str", module.render(result, view))
