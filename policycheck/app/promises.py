"""Which promises a scope is held against: those of its own file, of the file that was named, or none written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from policycheck.certify.written import GROUP, KIND, VERSION, WrittenError, read
from policycheck.source.document import DocumentId, Path, TextTrouble
from policycheck.source.spans import Spans
from policycheck.source.yamldoc import ParsedFile, digest, parse

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered, Sources
    from policycheck.certify.writtenmodel import PromisesModel

FILES = ("promises.yaml", "promises.yml")
_BEGIN = f"it begins with apiVersion: {GROUP}/{VERSION} and kind: {KIND}"


class PromisesError(ValueError):
    """The promises can not be read; the message has a line for each problem, with its place."""


class Found(NamedTuple):
    """Written promises, and where. ``digest`` is that of the values: equal promises have equal ones."""

    written: PromisesModel
    file: str
    digest: str
    id: DocumentId
    spans: Spans

    def at(self, path: Path) -> str:
        """``promises.yaml:12``: file, without its folders, and line of a path."""
        span = self.spans.locate(self.id, path, on_key=True).span
        return f"{os.path.basename(self.file)}:{span.line}"  # noqa: PTH119 - of a name, not of a file


def find(scope: Gathered, sources: Sources, given: str) -> Found | None:
    """The promises of a scope; ``given`` names the file that counts instead. Raises PromisesError."""
    if given:
        return _in_file(given, sources)
    known = [e for e in scope.entries if (e.facts.key.group, e.facts.key.kind) == (GROUP, KIND)]
    if len(known) > 1:
        places = ", ".join(f"{e.origin.id.file}:{e.origin.line}" for e in known)
        raise PromisesError(f"promises of one cluster stand in one document; found {places}")
    if known:
        origin = known[0].origin
        _refuse(origin.id.file, scope.texts.get(origin.id, ()))
        return _made(known[0].facts.value, origin.id, origin.digest, _spans(scope, sources))
    beside = _beside(scope, sources)
    return _in_file(beside, sources) if beside else None


def _beside(scope: Gathered, sources: Sources) -> str:
    """A file that is called promises and was not taken for such: beside a kustomization, or of another kind."""
    for name, parsed in sorted(scope.parsed.items()):
        if os.path.basename(name) in FILES and not parsed.documents:  # noqa: PTH119 - as above
            return name
    if not sources.in_memory and scope.name and sources.tree.is_folder(scope.name):
        names = (f"{scope.name}/{name}" for name in FILES)
        return next((name for name in names if sources.tree.is_file(name) and name not in scope.parsed), "")
    return ""


def _in_file(name: str, sources: Sources) -> Found:
    try:
        data = sources.read(name)
    except OSError as error:
        raise PromisesError(f"{name}: can not be read: {error.strerror or error}") from error
    parsed = parse(name, data)
    documents = [d for d in parsed.documents if d.value.get("kind") == KIND]
    if not documents or len(parsed.documents) > 1:
        raise PromisesError(_other(name, parsed))
    (document,) = documents
    _refuse(name, document.troubles)
    from policycheck.model.conform import prune

    return _made(prune(document.value), document.id, document.digest, Spans(lambda _: data))


def _refuse(file: str, troubles: Iterable[TextTrouble]) -> None:
    """A key that stands there twice, and the like: what is promised is not clear."""
    found = [f"{file}:{t.span.line}:{t.span.column}: {t.message}" for t in troubles]
    if found:
        raise PromisesError("\n".join(found))


def _other(name: str, parsed: ParsedFile) -> str:
    """What a file holds that is no file of promises."""
    if parsed.report.failed:
        return f"{name}:{parsed.report.line or 1}: {parsed.report.why}"
    if len(parsed.documents) > 1:
        return f"{name}:{parsed.documents[1].line}: a second document; a file of promises is one: {_BEGIN}"
    kinds = sorted({str(d.value.get("kind") or "a document without kind") for d in parsed.documents})
    what = ", ".join(kinds) or "no document of a kind"
    return f"{name}:1: found {what}; a file of promises has kind {KIND}: {_BEGIN}"


def _made(value: Mapping[str, Any], identity: DocumentId, sha: str, spans: Spans) -> Found:
    try:
        written = read(value)
    except WrittenError as error:
        raise PromisesError("\n".join(_placed(error, identity, spans))) from error
    return Found(written, identity.file, sha or digest(value), identity, spans)


def _placed(error: WrittenError, identity: DocumentId, spans: Spans) -> Iterable[str]:
    for problem in error.problems:
        span = spans.locate(identity, problem.path, on_key=problem.on_key).span
        yield f"{identity.file}:{span.line}:{span.column}: {problem.message}"


def _spans(scope: Gathered, sources: Sources) -> Spans:
    return Spans(lambda file: scope.rendered.get(file) or sources.read(file))
