"""Why a rule matters, out of its file: the compiled form goes without, since a run of a hook never says it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

from policycheck.lint.rule import OWN, Rule
from policycheck.lint.rulebook import built_in

_EXAMPLES = "\nexamples:"  # the last and longest part of a file


def rationale(folders: tuple[str, ...]) -> Callable[[Rule], str]:
    """Gives the rationale of a rule of the rulebook with these folders of the user's; "" when it can not be read."""

    @cache
    def find(file: str, is_own: bool) -> str:
        for root in folders if is_own else (os.fspath(built_in(None).path),):
            told = _read(f"{root}/{file}").get("rationale")
            if isinstance(told, str):
                return " ".join(told.split())
        return ""

    return lambda rule: find(rule.file, rule.system == OWN)


def _read(path: str) -> dict[str, Any]:
    """What stands before the examples of a rule file."""
    import yaml

    try:
        with open(path, encoding="utf-8-sig") as file:  # noqa: PTH123 - as in rulebook.py
            head, _, _ = file.read().partition(_EXAMPLES)
        made = yaml.load(head, Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return made if isinstance(made, dict) else {}
