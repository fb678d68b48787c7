"""The promises of two configurations held against each other: which verdicts a change turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.app.certify import (
    SCENARIOS,
    SEED,
    Options,
    Prepared,
    chosen_claims,
    once,
    prepare,
    verdicts_of,
)
from policycheck.simulate.comparison import VerdictChange

if TYPE_CHECKING:
    from policycheck.app.gather import Sources
    from policycheck.certify.claim import Claim
    from policycheck.certify.promise import Promises
    from policycheck.certify.verdict import Verdict
    from policycheck.lint.settings import Settings

Watch = Callable[[str], None]
# Settled by arithmetic for the most part: seconds where the others take minutes on many teams.
QUICK = ("guarantees-fit", "burst-usable", "inference-protected", "gang-whole", "topology-honoured")


class Trial(NamedTuple):
    """What is tested on both sides; ``claims`` by name, () for all."""

    claims: tuple[str, ...] = QUICK
    scenarios: int = SCENARIOS
    seed: int = SEED
    processes: int = 1
    promises: str = ""  # a file that counts instead of those in sight


class Judged(NamedTuple):
    """What both sides came to in one scope, and whose promises they were held against."""

    changes: tuple[VerdictChange, ...]
    note: str


class Sides(NamedTuple):
    """Where both configurations are read from."""

    old: Sources
    old_settings: Settings
    new: Sources
    new_settings: Settings


def judged(
    sides: Sides, scopes: Sequence[tuple[str, str]], trial: Trial, watch: Watch = lambda _: None
) -> Mapping[str, Judged]:
    """By the name of the new scope, for pairs of (old scope, new scope).

    The promises are those that were made before the change, so that it can not move what it is held against:
    the written ones of the old side; where it has none those of the new side; where nothing is written, what
    the old configuration gives. Raises PromisesError, UnknownClaimError and TargetError.
    """
    options = Options(trial.claims, trial.scenarios, trial.seed, processes=trial.processes)
    chosen = chosen_claims(options)
    new_sources = once(sides.new)
    before = _prepared(sides.old, sides.old_settings, trial.promises, new_sources)
    after = _prepared(new_sources, sides.new_settings, trial.promises, new_sources)
    found = {}
    for was_name, name in scopes:
        was, now = before.get(was_name), after.get(name)
        if was is not None and now is not None:
            watch(f"holding promises against both sides{f' of {name}' if len(scopes) > 1 else ''}")
            found[name] = _judged(was, now, new_sources, chosen, options)
    return found


def _prepared(
    sources: Sources, settings: Settings, promises: str, present: Sources
) -> Mapping[str, Prepared]:
    """A file that is named is read as it is now, also where the rest comes from an earlier revision."""
    if promises:
        then, now = sources.read, present.read
        sources = sources._replace(read=lambda name: now(name) if name == promises else then(name))
    made, _ = prepare(once(sources), settings, promises)
    return {one.scope.name: one for one in made}


def _judged(
    was: Prepared, now: Prepared, sources: Sources, claims: Sequence[Claim], options: Options
) -> Judged:
    promises, note = _promises(was, now, sources)
    old = _told(verdicts_of(was._replace(promises=promises), claims, options))
    new = _told(verdicts_of(now._replace(promises=promises), claims, options))
    keys = dict.fromkeys((*old, *new))
    return Judged(tuple(_change(key, old.get(key), new.get(key)) for key in keys), note)


def _promises(was: Prepared, now: Prepared, sources: Sources) -> tuple[Promises, str]:
    """The promises that both sides are held against, and a sentence on whose they are."""
    if was.promises.source:
        if was.promises.digest == now.promises.digest:
            return was.promises, ""
        return was.promises, (
            "the promises change too; both sides are held against the old ones, and `policycheck certify` "
            "holds the new configuration against the new ones"
        )
    if now.promises.source:
        from policycheck.app.promises import find
        from policycheck.certify.written import settle

        found = find(now.scope, sources, "")
        if found is not None:
            settled = settle(found.written, was.arena, source=found.file, digest=found.digest, at=found.at)
            return settled.promises, "the promises are new; both sides are held against them"
    return was.promises, (
        "no promises are written; both sides are held against what the old configuration gives, and teams "
        "that come anew are not judged"
    )


def _told(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], Verdict]:
    return {(verdict.claim, verdict.subject): verdict for verdict in verdicts}


def _change(key: tuple[str, str], old: Verdict | None, new: Verdict | None) -> VerdictChange:
    claim, subject = key
    return VerdictChange(
        claim,
        subject,
        old.outcome if old else "",
        new.outcome if new else "",
        old.headline if old else "",
        new.headline if new else "",
        required=any(one.required for one in (old, new) if one is not None),
    )
