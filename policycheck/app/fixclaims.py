"""Promises before and after a fix of quota or policy: what held must not fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from policycheck.app.fix import Claims, Test, overlaid
from policycheck.app.gather import Sources
from policycheck.digest import sha256

if TYPE_CHECKING:
    from policycheck.app.certify import Prepared
    from policycheck.lint.settings import Settings

SCENARIOS = 10  # drawn for a verdict: what was made for it counts, and is tried whatever this is
_SHOWN = 3
Files = Mapping[str, bytes]
Said = dict[tuple[str, str, str], str]  # (scope, claim, subject) to an outcome
Watch = Callable[[str], None]


def claim_runner(sources: Sources, settings: Settings, watch: Watch = lambda _: None) -> Test:
    """Tests every claim of the scopes that the changed files belong to, have queues and an inventory; each state
    of a scope once.
    """
    work = _Runner(sources, settings, watch)

    def test(before: Files, after: Files) -> Claims:
        changed = {name for name, data in after.items() if before.get(name) != data}
        old = work.said(before, changed)
        if isinstance(old, str):
            return Claims(idle=old)
        new = work.said(after, changed)
        if isinstance(new, str):
            return Claims(idle=new)
        broken = [key for key, outcome in old.items() if outcome == "HOLDS" and new.get(key) == "FAILS"]
        names = [f"{claim} ({subject})" if subject else claim for _, claim, subject in broken]
        more = (f"{len(names) - _SHOWN} more",) if len(names) > _SHOWN else ()
        return Claims((*names[:_SHOWN], *more))

    return test


class _Runner:
    """Verdicts by scope and by what its files hold."""

    def __init__(self, sources: Sources, settings: Settings, watch: Watch) -> None:
        self._sources, self._settings, self._watch = sources, settings, watch
        self._known: dict[object, Said] = {}

    def said(self, files: Files, changed: set[str]) -> Said | str:
        """Outcomes of the scopes that hold a changed file; or why there are none."""
        from policycheck.app.certify import prepare

        try:
            scopes, _ = prepare(overlaid(self._sources, files), self._settings, "")
            mine = [one for one in scopes if not changed.isdisjoint(one.scope.parsed)]
            tested = [one for one in mine if one.cluster.inventory.known]
            if not tested:
                return "no inventory is in sight" if mine else "no queue is in sight"
            return {key: outcome for one in tested for key, outcome in self._scope(one, files).items()}
        except Exception as error:
            # Our own exceptions say what is wrong with promises, targets and definitions.
            if not type(error).__module__.startswith("policycheck."):
                raise
            return str(error)

    def _scope(self, one: Prepared, files: Files) -> Said:
        from policycheck.app.apart import processors
        from policycheck.app.certify import Options, chosen_claims, verdicts_of

        held = (
            f"{name} {sha256(files[name]).hexdigest()}" for name in sorted(files) if name in one.scope.parsed
        )
        key = (one.scope.name, tuple(held))
        if key not in self._known:
            options = Options(scenarios=SCENARIOS, processes=processors())
            verdicts = verdicts_of(one, chosen_claims(options), options, self._watch)
            self._known[key] = {(v.scope, v.claim, v.subject): v.outcome for v in verdicts}
        return self._known[key]
