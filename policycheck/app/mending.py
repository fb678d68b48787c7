"""Repairs that hold together: one after another, each kept only when no verdict that held fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.app.certify import Options, Watch, certify
from policycheck.app.fix import barred, overlaid
from policycheck.app.gather import Sources
from policycheck.app.repair import mended
from policycheck.certify.repair import Repaired
from policycheck.certify.verdict import FAILS, HOLDS
from policycheck.source.text import encode_like

if TYPE_CHECKING:
    from policycheck.lint.settings import Settings
    from policycheck.report.certify import Certified
    from policycheck.source.document import FileReport

ROUNDS = 20  # repairs made in one run, at most


class Mended(NamedTuple):
    """What certifying says ``done`` of the files as they would be; the bytes of those that change, ``old`` and
    ``new``; the repairs that were ``made``, in order, and for what still fails those that were not.
    """

    done: tuple[Certified, ...]
    files: tuple[FileReport, ...]
    old: Mapping[str, bytes]
    new: Mapping[str, bytes]
    made: tuple[Repaired, ...]
    left: tuple[Repaired, ...]


def mend(
    sources: Sources,
    settings: Settings,
    options: Options,
    watch: Watch = lambda _: None,
    is_barred: Callable[[str], str] = barred,
) -> Mended:
    """Repairs until nothing helps any more. Nothing is written. Raises what ``certify`` does."""
    new: dict[str, bytes] = {}
    made: list[Repaired] = []
    done, files = certify(sources, settings, options, watch)
    left: tuple[Repaired, ...] = ()
    for _ in range(ROUNDS):
        now = overlaid(sources, new)
        texts: dict[str, Mapping[str, str]] = {}
        left = mended(now, settings, options, done, watch, texts)
        for one in left:
            changed = texts.get(one.diff, {})
            if not changed or any(is_barred(file) for file in changed):
                continue
            tried = {**new, **{name: encode_like(text, now.read(name)) for name, text in changed.items()}}
            after, files_then = certify(overlaid(sources, tried), settings, options, watch)
            if _is_better(done, after):
                new, done, files = tried, after, files_then
                made.append(one)
                break
        else:
            break
    old = {name: sources.read(name) for name in new}
    return Mended(done, files, old, new, tuple(made), tuple(one for one in left if one not in made))


def _is_better(before: Sequence[Certified], after: Sequence[Certified]) -> bool:
    """Whether less fails, and nothing that held."""
    old, new = _outcomes(before), _outcomes(after)
    broken = any(outcome == HOLDS and new.get(key) == FAILS for key, outcome in old.items())
    return not broken and _failing(new) < _failing(old)


def _outcomes(done: Sequence[Certified]) -> dict[tuple[str, str, str], str]:
    return {(v.scope, v.claim, v.subject): v.outcome for one in done for v in one.verdicts}


def _failing(outcomes: Mapping[tuple[str, str, str], str]) -> int:
    return sum(outcome == FAILS for outcome in outcomes.values())
