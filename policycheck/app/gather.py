"""From paths to read documents, scope by scope, with an account of every file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from policycheck.app.plan import Part, parts
from policycheck.app.reading import Read, Text, packed, pays, read
from policycheck.garbage import no_collection
from policycheck.model.cluster import Entry
from policycheck.model.facts import Facts
from policycheck.model.inventory import Inventory
from policycheck.model.origin import DocumentId, Origin
from policycheck.record import NamedTuple
from policycheck.source.document import Document, FileReport, TextTrouble
from policycheck.source.files import unreadable
from policycheck.source.scope import Render, Rerender
from policycheck.source.tree import DISK, Tree
from policycheck.source.yamldoc import ParsedFile, Unchecked

if TYPE_CHECKING:
    from policycheck.app.again import Memory
    from policycheck.app.kept import Kept
    from policycheck.lint.settings import Settings
    from policycheck.systems.crds import Crds

# Comments and annotations that ask for something to be ignored begin so (source.suppress).
_MARK = b"policycheck"
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # UTF-16: no text is looked for in its bytes
HARDWARE = frozenset({"Node", "Pod", "DaemonSet", "ResourceSlice", "Namespace"})


class Sources(NamedTuple):
    """What the user pointed at, and how to read it. ``read`` is the only way to bytes."""

    paths: tuple[str, ...]
    read: Callable[[str], bytes]  # "-" is standard input; raises OSError
    context: tuple[str, ...] = ()  # read, never reported
    inventory: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()  # "system=0.19,Gate=false"
    rules: tuple[str, ...] = ()  # folders of the user's own rules
    render: Render | None = None  # a kustomization or chart folder to manifests
    today: str = ""  # ISO date, for suppressions that end
    crds: tuple[str, ...] = ()  # CustomResourceDefinitions to validate with
    tree: Tree = DISK  # where names are looked up
    in_memory: bool = False  # names are no files: nothing is looked up on disk
    before: Sources | None = None  # the same at an earlier time: only what is new since is reported
    rerender: Rerender | None = None  # a chart's folder with values changed to manifests
    kept: Kept | None = None  # what earlier runs read of the same files
    jobs: int = 1  # processes at once, where several are faster
    memory: Memory | None = None  # what rules found the last time


class Gathered(NamedTuple):
    """One scope's documents, read, and what became of its files."""

    name: str
    entries: tuple[Entry, ...]
    documents: Mapping[DocumentId, Document]
    files: tuple[FileReport, ...]
    texts: Mapping[DocumentId, tuple[TextTrouble, ...]]
    parsed: Mapping[str, ParsedFile]
    hardware: Inventory = Inventory()  # of inventory files that hold no Kubernetes objects
    targets: tuple[str, ...] = ()
    rendered: Mapping[str, bytes] = {}
    is_named: bool = False  # a cluster, kustomization or chart: two contents of one object are an error
    marked: frozenset[str] = frozenset()  # files whose text mentions us: they may hold suppressions
    crds: Crds | None = None  # the user's definitions, the same for all scopes
    unseen: frozenset[tuple[str, str]] = frozenset()  # kind and name of what could not be read; see Cluster

    @property
    def by_id(self) -> Mapping[DocumentId, Entry]:
        """Every document by identity."""
        return {entry.origin.id: entry for entry in self.entries}


class Shared:
    """What was parsed and read of files that two states have alike."""

    def __init__(self) -> None:
        self.parsed: dict[tuple[str, str], ParsedFile] = {}
        self.facts: dict[tuple[DocumentId, str], Entry] = {}


class _Shelf:
    """Every file parsed once, whichever scopes it is in."""

    def __init__(self, sources: Sources, crds: Crds | None, shared: Shared | None) -> None:
        self.read = sources.read
        self.keeper = sources.kept
        self.jobs = sources.jobs
        self.crds = crds
        self.shared = Shared() if shared is None else shared
        self.kept: dict[str, ParsedFile] = {}
        self.facts = self.shared.facts
        self.marked: set[str] = set()

    def file(self, name: str, rendered: Mapping[str, bytes]) -> ParsedFile:
        if name not in self.kept:
            self.fill([name], rendered)
        return self.kept[name]

    def fill(self, names: Iterable[str], rendered: Mapping[str, bytes]) -> None:
        """Reads the files that are not yet: those that are new together, so that processes can share them."""
        new: list[Text] = []
        for name in dict.fromkeys(names):
            if name in self.kept:
                continue
            try:
                text = Text.of(
                    name, self._look(name, rendered[name] if name in rendered else self.read(name))
                )
            except OSError as error:
                self.kept[name] = ParsedFile((), unreadable(name, error))
                continue
            parsed = self.shared.parsed.get(_key(text))
            if parsed is not None:
                self.kept[name] = parsed
                continue
            found = self.keeper.find(text) if self.keeper is not None else None
            if found is None:
                new.append(text)
            else:
                self._put(text, found)
        if new:
            self._read(new)

    def _read(self, new: list[Text]) -> None:
        if not pays(new, self.jobs):
            for text in new:
                self._take(text, read(text))
            return
        from policycheck.app.kept import unpacked

        for text, blob in zip(new, packed(new, self.jobs), strict=True):
            self._take(text, unpacked(blob), blob)

    def _take(self, text: Text, found: Read, blob: bytes | None = None) -> None:
        if self.keeper is not None:
            self.keeper.add(text, found, blob)
        self._put(text, found)

    def _put(self, text: Text, found: Read) -> None:
        self.kept[text.name] = self.shared.parsed[_key(text)] = found.parsed
        for document, facts in zip(found.parsed.documents, found.facts, strict=True):
            origin = Origin(document.id, document.line, document.digest)
            self.facts.setdefault((document.id, document.digest), Entry(facts, origin))

    def _look(self, name: str, data: bytes) -> bytes:
        if _MARK in data or data.startswith(_WIDE):
            self.marked.add(name)
        return data

    def entry(self, document: Document, *, reported: bool) -> Entry:
        key = (document.id, document.digest)
        entry = self.facts[key]
        # A document that moved within its file is the same, and stands elsewhere.
        if entry.origin.line != document.line:
            origin = Origin(document.id, document.line, document.digest)
            entry = self.facts[key] = Entry(entry.facts, origin)
        return entry if reported else Entry(entry.facts, entry.origin._replace(reported=False))


def gather(
    sources: Sources,
    settings: Settings,
    shared: Shared | None = None,
    planned: tuple[Part, ...] | None = None,
) -> tuple[Gathered, ...]:
    """Every scope that the paths and the settings make, read; ``planned`` when it is known which these are. Raises
    DefinitionError.
    """
    crds = None
    if sources.crds:
        from policycheck.app.definition import definitions

        crds = definitions(sources.crds, sources.read, sources.tree)
    shelf = _Shelf(sources, crds, shared)
    with no_collection():
        every = scoped(sources, settings) if planned is None else planned
        for part in every:
            shelf.fill((*part.files, *part.context, *part.inventory), part.rendered)
        return tuple(_gather(part, shelf) for part in every)


def _key(text: Text) -> tuple[str, str]:
    return text.name, text.digest


def _gather(part: Part, shelf: _Shelf) -> Gathered:
    entries: dict[DocumentId, Entry] = {}
    documents: dict[DocumentId, Document] = {}
    texts: dict[DocumentId, tuple[TextTrouble, ...]] = {}
    reports = list(part.reports)
    parsed: dict[str, ParsedFile] = {}
    unread: list[tuple[Unchecked, ...]] = []
    for name in part.files:
        found = parsed[name] = shelf.file(name, part.rendered)
        unread.append(found.unchecked)
        made = [(d, shelf.entry(d, reported=True)) for d in found.documents]
        reports.append(account(found.report, made, shelf.crds))
        for document, entry in made:
            entries[document.id] = entry
            documents[document.id] = document
            if document.troubles:
                texts[document.id] = document.troubles
    tables = []
    for name in (*part.context, *part.inventory):
        found = shelf.file(name, part.rendered)
        if name in part.inventory and not _holds_objects(found):
            tables.append(name)
            continue
        if name not in parsed:
            reports.append(
                account(
                    found.report, [(d, shelf.entry(d, reported=False)) for d in found.documents], shelf.crds
                )
            )
        unread.append(found.unchecked)
        for document in found.documents:
            entries.setdefault(document.id, shelf.entry(document, reported=False))
            documents.setdefault(document.id, document)
    hardware = Inventory()
    if tables:
        from policycheck.systems.core.inventory import load

        loaded = load(tables, shelf.read)
        hardware = loaded.inventory
        reports.extend(loaded.files)
    return Gathered(
        part.name,
        tuple(entries.values()),
        documents,
        tuple(reports),
        texts,
        parsed,
        hardware,
        part.targets,
        part.rendered,
        part.is_named,
        frozenset(name for name in part.files if name in shelf.marked),
        shelf.crds,
        frozenset((one.kind, one.name) for found in unread for one in found if one.kind),
    )


def _holds_objects(parsed: ParsedFile) -> bool:
    return any(d.value.get("kind") in HARDWARE for d in parsed.documents)


def account(
    report: FileReport, entries: Iterable[tuple[Document, Entry]], crds: Crds | None = None
) -> FileReport:
    """The account of a file, with the kinds that no system and no definition knows: those are not checked."""
    unread = [(d.line, e.facts) for d, e in entries if not e.facts.system and not _defined(e.facts, crds)]
    if not unread or report.state == "notChecked":
        return report
    kinds = sorted({f.key.kind or "an object without kind" for _, f in unread})
    why = f"nothing reads {', '.join(kinds)}"
    whole = len(unread) == report.documents
    if report.state == "checked" and whole:
        return report._replace(state="notChecked", line=unread[0][0], why=why)
    if report.state == "checked":
        return report._replace(state="partly", line=unread[0][0], why=why)
    return report._replace(why=f"{report.why}; {why}")


_STATES = {"checked": 0, "partly": 1, "notChecked": 2}


def accounts(scopes: Iterable[Gathered]) -> tuple[FileReport, ...]:
    """What became of each file, once each, by name. A file that failed in one scope has failed; one that
    was checked in one counts as checked, whatever it is to another.
    """
    found: dict[str, FileReport] = {}
    for scope in scopes:
        for report in scope.files:
            known = found.get(report.file)
            if known is None or _order(report) < _order(known):
                found[report.file] = report
    return tuple(found[name] for name in sorted(found))


def _order(report: FileReport) -> tuple[bool, int]:
    return not report.failed, _STATES[report.state]


def _defined(facts: Facts, crds: Crds | None) -> bool:
    return crds is not None and crds.has(facts.key.group, facts.key.kind)


def scoped(sources: Sources, settings: Settings) -> tuple[Part, ...]:
    """Which files make which scope."""
    if sources.in_memory:
        name = settings.clusters[0].name if settings.clusters else ""
        return (Part(name, sources.paths, sources.context, sources.inventory, is_named=bool(name)),)
    return parts(sources, settings)
