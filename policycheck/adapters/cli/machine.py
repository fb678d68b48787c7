"""What reports for machines need beside the result: rules, their reasons, and names as the repository has them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from policycheck.lint.finding import SEVERITIES
from policycheck.lint.rule import Rule
from policycheck.lint.settings import Settings
from policycheck.report import View

# Formats that are read by a forge or a dashboard, which knows the repository and no working directory.
FORMATS = frozenset({"sarif", "github", "gitlab", "junit", "checkstyle", "rdjson"})


def equipped(view: View, settings: Settings, read: Callable[[str], bytes], *, is_compared: bool) -> View:
    """``view`` with what reports for machines use."""
    from policycheck.app import rulebook
    from policycheck.app.replaced import replacements
    from policycheck.app.words import rationale

    @cache
    def rules() -> dict[str, Rule]:
        return {rule.id: rule for rule in rulebook(settings.rules).rules}

    return view._replace(
        rule=lambda name: rules().get(name),
        replacements=replacements(read),
        rationale=rationale(settings.rules),
        relative=relative(os.getcwd()),  # noqa: PTH109 - names are text here
        is_compared=is_compared,
        fails=failing(settings.fail_on),
    )


def failing(fail_on: str) -> tuple[str, ...]:
    """The severities that make a run fail."""
    return () if fail_on == "never" else SEVERITIES[: SEVERITIES.index(fail_on) + 1]


def relative(here: str) -> Callable[[str], str]:
    """Gives a file's name from the root of the repository that ``here`` lies in, '/' separated. A file elsewhere is
    named from the root of its own repository, and absolutely where it is in none. What is no file (standard
    input) keeps its name.
    """
    root = _root(here) or here
    roots = cache(_root)

    @cache
    def name(file: str) -> str:
        if file.startswith("<"):
            return file
        full = os.path.normpath(os.path.join(here, file))  # noqa: PTH118 - as above
        for top in (root, roots(os.path.dirname(full))):  # noqa: PTH120 - as above
            below = os.path.relpath(full, top) if top else os.pardir
            if below.split(os.sep, 1)[0] != os.pardir:
                return below.replace(os.sep, "/")
        return full.replace(os.sep, "/")

    return name


def _root(at: str) -> str:
    """The nearest folder from ``at`` upwards that is a repository; "" when there is none."""
    while not os.path.exists(f"{at}/.git"):  # noqa: PTH110 - as above
        above = os.path.dirname(at)  # noqa: PTH120 - as above
        if above == at:
            return ""
        at = above
    return at
