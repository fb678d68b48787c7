"""Findings in rendered text, placed where a person wrote what they are about: in an overlay's patch, in the base,
in the values of a chart. What can not be told stays in the rendered text, and a note says so.

A kustomization is followed from the overlay inwards: the outermost file that writes the very value wins, as it does
when kustomize builds it. A value of a chart is found by changing it and rendering again: it is the one whose change
reaches the place of the finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from policycheck.app.overlay import Written, resolved, steps_of, writers
from policycheck.lint.finding import Finding, LintResult, Place
from policycheck.model.origin import ObjectKey, Path
from policycheck.record import NamedTuple
from policycheck.source.document import DocumentId, Span
from policycheck.source.edit import nested
from policycheck.source.kustomize import kustomization_file
from policycheck.source.spans import Spans
from policycheck.source.text import TextError
from policycheck.source.yamldoc import load_values, parse

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered, Sources

_SOURCE = "# Source: "
_TRIES = 12  # values of a chart that are changed for one finding
_RENDERS = 60  # in all: each is a process of its own
_VALUES = "values.yaml"


class _Text(NamedTuple):
    """Rendered text: the folder it comes from, and the values of its objects."""

    folder: str
    data: bytes
    objects: Mapping[ObjectKey, tuple[DocumentId, int, Mapping[str, Any]]]  # with the line of each


def placed(result: LintResult, scopes: Iterable[Gathered], sources: Sources) -> LintResult:
    """``result`` with findings in rendered text at the place where they are written."""
    texts = {name: _text(name, scope) for scope in scopes for name in scope.rendered}
    found = (*result.findings, *result.before, *(one.finding for one in result.suppressed))
    if not any(one.place.file in texts for one in found):
        return result
    search = _Search(texts, sources)
    findings = search.all(result.findings)
    before = search.all(result.before)
    suppressed = tuple(one._replace(finding=search.one(one.finding)) for one in result.suppressed)
    return result._replace(
        findings=tuple(sorted(findings, key=lambda one: one.order)),
        before=tuple(sorted(before, key=lambda one: one.order)),
        suppressed=suppressed,
        notes=(*result.notes, *_untold([*findings, *before], texts)),
    )


def _text(name: str, scope: Gathered) -> _Text:
    objects = {
        entry.facts.key: (entry.origin.id, entry.origin.line, scope.documents[entry.origin.id].value)
        for entry in scope.entries
        if entry.origin.id.file == name and entry.origin.id in scope.documents
    }
    return _Text(name.rpartition("/")[0], scope.rendered[name], objects)


def _untold(findings: Iterable[Finding], texts: Mapping[str, _Text]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for one in findings:
        if one.place.file in texts:
            counts[one.place.file] = counts.get(one.place.file, 0) + 1
    for name, number in sorted(counts.items()):
        what = "1 finding stands" if number == 1 else f"{number} findings stand"
        yield f"{what} in the rendered text of {texts[name].folder}: no file could be told that writes it so"


class _Search:
    """Where rendered things are written; what was read or rendered is kept."""

    def __init__(self, texts: Mapping[str, _Text], sources: Sources) -> None:
        self._texts, self._sources = texts, sources
        self._spans = Spans(sources.read)
        self._writers: dict[str, tuple[Written, ...]] = {}
        self._values: dict[str, tuple[tuple[Path, Any], ...]] = {}
        self._renders: dict[tuple[str, Path], bytes | None] = {}

    def all(self, findings: Iterable[Finding]) -> list[Finding]:
        return [self.one(finding) for finding in findings]

    def one(self, finding: Finding) -> Finding:
        """The finding at its place; itself where that can not be told."""
        text = self._texts.get(finding.place.file)
        if text is None or finding.object is None or finding.object not in text.objects:
            return finding
        steps = steps_of(finding.path)
        if steps is None:
            return finding
        identity, line, value = text.objects[finding.object]
        if kustomization_file(text.folder, self._sources.tree) is not None:
            return self._in_overlay(finding, text.folder, steps, value)
        return self._in_chart(finding, text, identity, line, steps)

    # -- kustomizations -------------------------------------------------------------------------

    def _in_overlay(
        self, finding: Finding, folder: str, steps: tuple[object, ...], value: Mapping[str, Any]
    ) -> Finding:
        assert finding.object is not None  # noqa: S101 - the caller knows
        if folder not in self._writers:
            self._writers[folder] = tuple(writers(folder, self._sources.read, self._sources.tree))
        about = [one for one in self._writers[folder] if one.is_about(finding.object)]
        path, is_there, held = resolved(value, steps)
        if is_there:
            for one in about:
                at = one.writes(path, steps, held)
                if at is not None:
                    return self._at(finding, one.id, at)
            return finding
        # Something is missing: where the object begins to be described is the nearest that there is.
        makers = [(one, resolved(one.value, steps)[0]) for one in about if one.is_resource]
        if not makers:
            return finding
        one, prefix = max(makers, key=lambda pair: len(pair[1]))
        return self._at(finding, one.id, (*one.base, *prefix), on_key=True)

    def _at(self, finding: Finding, identity: DocumentId, path: Path, *, on_key: bool = False) -> Finding:
        span = self._spans.locate(identity, path, on_key=on_key).span
        return finding._replace(place=Place(identity.file, span, finding.place.label))

    # -- charts ---------------------------------------------------------------------------------

    def _in_chart(
        self, finding: Finding, text: _Text, identity: DocumentId, line: int, steps: tuple[object, ...]
    ) -> Finding:
        assert finding.object is not None  # noqa: S101 - the caller knows
        _, is_there, held = resolved(text.objects[finding.object][2], steps)
        template = _template(text, line)
        if is_there and not isinstance(held, (dict, list)):
            for path in self._reaching(text, identity, steps, held):
                return self._at(finding, DocumentId(f"{text.folder}/{_VALUES}"), path)
        if not template or not self._sources.tree.is_file(template):
            return finding
        origin = Place(template, Span(1, 1, 1, 1), "rendered from this template")
        return finding._replace(related=(*finding.related, origin))

    def _reaching(
        self, text: _Text, identity: DocumentId, steps: tuple[object, ...], held: object
    ) -> Iterator[Path]:
        """Values whose change changes what stands at the place."""
        alike = [path for path, value in self._leaves(text.folder) if _alike(value, held)]
        for path in alike[:_TRIES]:
            changed = self._rendered_with(text.folder, path, held)
            if changed is None:
                continue
            for document in parse(identity.file, changed).documents:
                if document.id == identity:
                    _, is_there, now = resolved(document.value, steps)
                    if is_there and now != held:
                        yield path

    def _leaves(self, folder: str) -> tuple[tuple[Path, Any], ...]:
        if folder not in self._values:
            file = f"{folder}/{_VALUES}"
            try:
                found = [value for _, value in load_values(file, self._sources.read(file))]
            except (OSError, TextError):
                found = []
            self._values[folder] = tuple(_leaves(found[0])) if found else ()
        return self._values[folder]

    def _rendered_with(self, folder: str, path: Path, held: object) -> bytes | None:
        """The chart with one value changed; None when it can not be rendered so."""
        key = (folder, path)
        if self._sources.rerender is None or (key not in self._renders and len(self._renders) >= _RENDERS):
            return None
        if key not in self._renders:
            try:
                self._renders[key] = self._sources.rerender(folder, nested(path, _other(held)))
            except OSError:
                self._renders[key] = None
        return self._renders[key]


def _template(text: _Text, line: int) -> str:
    """The file that the object at ``line`` was made from, as helm says above it."""
    lines = text.data.decode("utf-8", "replace").splitlines()[: line - 1]
    said = next((one for one in reversed(lines) if one.startswith(_SOURCE)), "")
    _, slash, below = said.removeprefix(_SOURCE).strip().partition("/")
    return f"{text.folder}/{below}" if slash else ""


def _alike(value: object, held: object) -> bool:
    """Templates make text of everything."""
    return value is not None and not isinstance(value, bool) and str(value) == str(held)


def _other(held: object) -> object:
    """Another value of the same kind."""
    if isinstance(held, int) and not isinstance(held, bool):
        return held + 1
    return f"{held}1" if str(held).isdigit() else f"{held}-x"


def _leaves(value: Any) -> Iterator[tuple[Path, Any]]:
    """Scalars in maps, with their paths; lists can not be changed in part."""
    left: list[tuple[Path, Any]] = [((), value)]
    while left:
        path, at = left.pop()
        if isinstance(at, Mapping):
            left.extend(((*path, str(key)), inner) for key, inner in at.items())
        elif not isinstance(at, list):
            yield path, at
