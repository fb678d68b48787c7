"""The rulebook, and what lint is told of the systems, since it may import none of them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from policycheck import __version__
from policycheck.lint import rulebook as books
from policycheck.lint.rule import Check, Systems
from policycheck.systems import registry

if TYPE_CHECKING:
    from policycheck.lint.rulebook import Rulebook
    from policycheck.model.schema import Table

# The letters of built-in rule ids, and the folder of their system.
PREFIXES = {
    "KQ": "kueue",
    "VC": "volcano",
    "SV": "serving",
    "RY": "ray",
    "GP": "gpu",
    "CR": "core",
    "OB": "observability",
}


@lru_cache(maxsize=1)
def _tables() -> dict[str, Table]:
    made: dict[str, Table] = {}
    for table in registry.tables().values():
        made[table.name] = table
        if not table.group:
            made[f"core/{table.kind}"] = table
    return made


def _near(word: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _table(name: str) -> Table:
    found = _tables().get(name)
    if found is None:
        raise LookupError(f"no kind {name!r} is known{_near(name, list(_tables()))}")
    return found


def _check(name: str) -> Check:
    found: Any = registry.resolve(name)
    if found is None:
        raise LookupError(f"no check {name!r}; a check is system.function, and the function has to exist")
    return found  # type: ignore[no-any-return]


def systems() -> Systems:
    """Prefixes, field tables and checks of every system."""
    return Systems(PREFIXES, _table, lambda: tuple(sorted(_tables())), _check)


def stamp() -> str:
    """Changes when a field table may have: compiled rules are typed against those."""
    return f"{__version__} {registry.stamp()}"


def rulebook(folders: tuple[str, ...] = ()) -> Rulebook:
    """The built-in rules and those in the user's own ``folders``."""
    from policycheck import data

    cache = data.cache()
    every = (books.built_in(cache), *(books.own(folder, cache) for folder in folders))
    return books.load(every, systems(), stamp())
