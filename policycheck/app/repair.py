"""Repairs of failed claims: remedies tried on the user's own files, each verified by testing again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from policycheck.app.gather import Sources
from policycheck.certify.repair import ObjectEdit, Remedy, Repaired, repair
from policycheck.certify.verdict import FAILS, Verdict
from policycheck.report.fixes import diff
from policycheck.source.text import decode, encode_like

if TYPE_CHECKING:
    from policycheck.app.certify import Options, Prepared
    from policycheck.lint.settings import Settings
    from policycheck.report.certify import Certified
    from policycheck.source.edit import Change
    from policycheck.systems.kueue.arena.stage import KueueArena

Watch = Callable[[str], None]


def repairs(
    sources: Sources,
    settings: Settings,
    options: Options,
    prepared: Prepared,
    verdicts: Sequence[Verdict],
    watch: Watch = lambda _: None,
    texts: dict[str, Mapping[str, str]] | None = None,
) -> tuple[Repaired, ...]:
    """What makes each failed verdict of a scope hold, by itself; into ``texts`` go the files by the diff."""
    from policycheck.systems.kueue.arena.remedy import remedies

    found = []
    for verdict in verdicts:
        if verdict.outcome != FAILS:
            continue
        watch(f"looking for a repair of {verdict.claim} ({verdict.subject})")
        same = [v for v in verdicts if v.claim == verdict.claim]
        arena = cast("KueueArena", prepared.arena)
        known = remedies(arena, prepared.promises, verdict)
        trial = _Trial(sources, settings, options, prepared, verdict)
        found.append(repair(verdict, same, known, trial.tested))
        if texts is not None and found[-1].diff:
            texts[found[-1].diff] = trial.texts[found[-1].diff]
    return tuple(found)


def mended(
    sources: Sources,
    settings: Settings,
    options: Options,
    done: Sequence[Certified],
    watch: Watch = lambda _: None,
    texts: dict[str, Mapping[str, str]] | None = None,
) -> tuple[Repaired, ...]:
    """Repairs for everything that failed in any scope, in the order of the verdicts; see ``repairs``."""
    from policycheck.app.certify import once, prepare

    if not any(v.outcome == FAILS for one in done for v in one.verdicts):
        return ()
    sources = once(sources)
    scopes, _ = prepare(sources, settings, options.promises)
    found: list[Repaired] = []
    for prepared, one in zip(scopes, done, strict=True):
        found += repairs(sources, settings, options, prepared, one.verdicts, watch, texts)
    return tuple(found)


class _Trial:
    """The files with edits made, read and tested again."""

    def __init__(
        self, sources: Sources, settings: Settings, options: Options, prepared: Prepared, verdict: Verdict
    ) -> None:
        self._sources, self._settings, self._options = sources, settings, options
        self._prepared, self._verdict = prepared, verdict
        self.texts: dict[str, Mapping[str, str]] = {}  # the files of an edit, by its diff

    def tested(self, chosen: tuple[Remedy, ...], subject: str) -> tuple[Sequence[Verdict], str] | str:
        """The claim's verdicts after the edits, and the diff; or why the edits can not be made."""
        from policycheck.app.certify import prepare
        from policycheck.certify.claim import Effort
        from policycheck.certify.claims import find

        edited = self._edited([edit for remedy in chosen for edit in remedy.edits])
        if isinstance(edited, str):
            return edited
        before = self._sources.read

        def read(name: str) -> bytes:
            return edited[name].encode() if name in edited else before(name)

        scopes, _ = prepare(self._sources._replace(read=read), self._settings, self._options.promises)
        mine = next((one for one in scopes if one.scope.name == self._prepared.scope.name), None)
        if mine is None:
            return "the scope is not there any more"
        effort = Effort(self._options.scenarios, self._options.seed, subject)
        verdicts = find(self._verdict.claim).test(mine.arena, mine.promises, effort)
        shown = diff(
            {name: before(name) for name in edited}, {n: encode_like(t, before(n)) for n, t in edited.items()}
        )
        self.texts[shown] = edited
        return verdicts, shown

    def _edited(self, edits: Sequence[ObjectEdit]) -> dict[str, str] | str:
        from policycheck.source.edit import edit

        by_file: dict[str, list[Change]] = {}
        for one in edits:
            made = self._change(one)
            if isinstance(made, str):
                return made
            by_file.setdefault(made.id.file, []).append(made)
        texts = {}
        for file, changes in by_file.items():
            if file in self._prepared.scope.rendered:
                return f"{file} is rendered: change what it is rendered from"
            done = edit(decode(self._sources.read(file)), changes)
            if done.dropped:
                return f"{file}: {done.dropped[0].why}"
            texts[file] = done.text
        return texts

    def _change(self, one: ObjectEdit) -> Change | str:
        from policycheck.source.edit import Change

        entry = self._prepared.cluster.index.first(one.key)
        if entry is None:
            return f"{one.key} is not in sight"
        path = entry.facts.written(one.path)
        action = "remove" if one.action == "remove" else "set"
        return Change(entry.origin.id, path, action, one.value)  # type: ignore[arg-type]
