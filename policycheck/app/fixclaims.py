"""Promises before and after a fix of quota or policy: what held must not fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from policycheck.app.fix import Claims, Test, overlaid
from policycheck.app.gather import Sources
from policycheck.digest import sha256

if TYPE_CHECKING:
    from policycheck.certify.verdict import Verdict
    from policycheck.lint.settings import Settings

SCENARIOS = 10  # drawn for a verdict: what was made for it counts, and is tried whatever this is
_SHOWN = 3
Files = Mapping[str, bytes]
Said = dict[tuple[str, str, str], str]  # (scope, claim, subject) to an outcome


def tester(sources: Sources, settings: Settings) -> Test:
    """Tests every claim of every scope that has queues and an inventory; each state of the files once."""
    known: dict[tuple[tuple[str, str], ...], Said | str] = {}

    def said(files: Files) -> Said | str:
        key = tuple(sorted((name, sha256(data).hexdigest()) for name, data in files.items()))
        if key not in known:
            known[key] = _said(overlaid(sources, files), settings)
        return known[key]

    def test(before: Files, after: Files) -> Claims:
        old = said(before)
        if isinstance(old, str):
            return Claims(idle=old)
        new = said(after)
        if isinstance(new, str):
            return Claims(idle=new)
        broken = [key for key, outcome in old.items() if outcome == "HOLDS" and new.get(key) == "FAILS"]
        names = [f"{claim} ({subject})" if subject else claim for _, claim, subject in broken]
        more = (f"{len(names) - _SHOWN} more",) if len(names) > _SHOWN else ()
        return Claims((*names[:_SHOWN], *more))

    return test


def _said(sources: Sources, settings: Settings) -> Said | str:
    """Outcomes by scope, claim and subject; or why there are none."""
    from policycheck.app.apart import processors
    from policycheck.app.certify import Options, chosen_claims, prepare, verdicts_of

    options = Options(scenarios=SCENARIOS, processes=processors())
    try:
        scopes, _ = prepare(sources, settings, "")
        tested = [one for one in scopes if one.cluster.inventory.known]
        if not tested:
            return "no inventory is in sight" if scopes else "no queue is in sight"
        claims = chosen_claims(options)
        return _by_subject([v for one in tested for v in verdicts_of(one, claims, options)])
    except Exception as error:
        # Our own exceptions say what is wrong with promises, targets and definitions.
        if not type(error).__module__.startswith("policycheck."):
            raise
        return str(error)


def _by_subject(verdicts: Sequence[Verdict]) -> Said:
    return {(one.scope, one.claim, one.subject): one.outcome for one in verdicts}
