"""A run over what has not changed since comes out as it did: what it found is kept beside what was read.

The key is everything that a result depends on: the code, the rules, the settings, the day, the versions that were
said, which files make which scope, and the digest of each. What depends on more (rendered text, definitions of the
user's, an earlier state) is never kept, and neither is a run that read a file that is not in the key.

Where some files did change, what rules found stands as far as the change does not reach (``since``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from policycheck.app.book import rulebook
from policycheck.app.plan import Part
from policycheck.digest import sha256
from policycheck.record import NamedTuple

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered, Sources
    from policycheck.app.kept import Kept
    from policycheck.app.since import Known
    from policycheck.app.touched import Difference
    from policycheck.lint.finding import LintResult
    from policycheck.lint.runner import Job, Looked
    from policycheck.lint.settings import Settings
    from policycheck.model.cluster import Cluster, Entry
    from policycheck.model.origin import DocumentId

Make = Callable[["Sources"], "LintResult"]
FEW = 1000  # objects: of fewer all are asked about in no time


def again(sources: Sources, settings: Settings, parts: tuple[Part, ...], make: Make) -> LintResult:
    """What was found before when nothing is different, else what ``make`` finds."""
    kept = sources.kept
    if kept is None or sources.before is not None or sources.crds or any(part.rendered for part in parts):
        return make(sources)
    from policycheck.lint.finding import LintResult

    reading = _Once(sources.read)
    names = sorted({name for part in parts for name in (*part.files, *part.context, *part.inventory)})
    lead = [rulebook(sources.rules).digest, repr(settings), sources.today]
    lead += [repr((sources.targets, sources.rules))]
    states = {name: reading.state(name) for name in names}
    every = (f"{name!r} {state}" for name, state in states.items())
    key = _key(*lead, repr(parts), repr(sources.paths), *every)
    found = kept.recall(key, LintResult)
    if found is not None:
        return found
    memory = Memory(kept, lead, parts, states)
    made = make(sources._replace(read=reading, memory=memory))
    if reading.asked <= set(names) and not made.errors:  # what failed may do better next time
        kept.remember(key, f"run over {sources.paths!r}", made)
        memory.keep()
    return made


def _key(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class Remembered(NamedTuple):
    """What rules found in a scope, and over which files: the mark of each."""

    files: Mapping[str, str]
    reported: frozenset[str]
    known: Known


class _Place(NamedTuple):
    """A scope of the run; ``key`` is what is remembered of it under, "" for nothing."""

    part: Part
    cluster: Cluster
    key: str


def _of_scope(looked: Looked, scope: str) -> Looked:
    """What of it is about one scope."""
    drafts = [draft for draft in looked.drafts if draft.finding.scope == scope]
    return looked._replace(drafts=drafts, skipped=[skip for skip in looked.skipped if skip.scope == scope])


class Memory:
    """What rules found the last time in each scope of a run, and find now."""

    def __init__(
        self, kept: Kept, lead: list[str], parts: tuple[Part, ...], states: Mapping[str, str]
    ) -> None:
        self._kept = kept
        self._lead = lead
        self._parts = parts
        self._states = states
        self._now: list[tuple[str, str, Remembered]] = []

    def looked(self, job: Job, scopes: tuple[Gathered, ...]) -> Looked:
        """What every chosen rule finds in every cluster; these are of the scopes, in their order."""
        from policycheck.lint import runner

        rest: list[_Place] = []
        found: list[Looked] = []
        # Of scopes of one name what is found can not be told apart.
        alike = len({scope.name for scope in scopes}) < len(scopes)
        for part, scope, cluster in zip(self._parts, scopes, job.clusters, strict=True):
            place = _Place(part, cluster, self._key(part, scope, job))
            if alike or len(scope.entries) < FEW:
                rest.append(place._replace(key=""))
                continue
            looked = self._since(place, job)
            if looked is None:
                rest.append(place)
            else:
                found.append(looked)
                self._note(place, job, looked)
        if rest:  # together, so that processes share all of it
            whole = runner.looked(job._replace(clusters=tuple(place.cluster for place in rest)))
            found.append(whole)
            for place in rest:
                if place.key and not whole.errors:
                    self._note(place, job, _of_scope(whole, place.cluster.scope))
        return runner.joined(found)

    def _key(self, part: Part, scope: Gathered, job: Job) -> str:
        """Changes with whatever else findings depend on than on what files hold."""
        plain = part._replace(files=(), reports=())
        return _key(*self._lead, repr(plain), repr(job.targets.get(scope.name)), repr(sorted(scope.unseen)))

    def _since(self, place: _Place, job: Job) -> Looked | None:
        """What rules find where they found something before; None where all of them have to be asked."""
        earlier = self._kept.recall(place.key, Remembered)
        change = None if earlier is None else self._difference(place.part, place.cluster, earlier)
        if earlier is None or change is None:
            return None
        from policycheck.app.since import since

        return since(job._replace(clusters=(place.cluster,)), place.cluster, earlier.known, change)

    def _note(self, place: _Place, job: Job, looked: Looked) -> None:
        from policycheck.app.since import known

        now = known(job, place.cluster, looked)
        files = frozenset(place.part.files)
        remembered = Remembered(dict(self._marks(place.part)), files, now)
        self._now.append((place.key, f"found in {place.cluster.scope}", remembered))

    def keep(self) -> None:
        """Keeps what was found now."""
        for key, about, now in self._now:
            self._kept.remember(key, about, now)

    def _marks(self, part: Part) -> Iterator[tuple[str, str]]:
        from policycheck.app.kept import marked

        for name in (*part.files, *part.context, *part.inventory):
            yield name, marked(name, self._states[name])

    def _difference(self, part: Part, cluster: Cluster, earlier: Remembered) -> Difference | None:
        """What differs from the last time; None where that is not known any more."""
        from policycheck.app.touched import difference

        now = dict(self._marks(part))
        files = {name for name in {*now, *earlier.files} if now.get(name) != earlier.files.get(name)}
        if files & {*part.context, *part.inventory}:
            return None
        before = self._before(files, earlier)
        if before is None:
            return None
        entries = {i: entry for i, entry in cluster.entries.items() if i.file in files}
        return difference(before, entries, frozenset(files))

    def _before(self, files: set[str], earlier: Remembered) -> dict[DocumentId, Entry] | None:
        """The objects of some files as they were."""
        from policycheck.model.cluster import Entry
        from policycheck.model.origin import Origin

        found: dict[DocumentId, Entry] = {}
        for name in sorted(files & earlier.files.keys()):
            read = self._kept.was(earlier.files[name])
            if read is None or name not in earlier.reported:
                return None
            for one, facts in zip(read.parsed.documents, read.facts, strict=True):
                found[one.id] = Entry(facts, Origin(one.id, one.line, one.digest))
        return found


class _Once:
    """Reads every file once, so that what is in the key is what was looked at."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._held: dict[str, bytes | OSError] = {}
        self.asked: set[str] = set()

    def __call__(self, name: str) -> bytes:
        """The bytes. Raises OSError."""
        self.asked.add(name)
        held = self._take(name)
        if isinstance(held, OSError):
            raise held
        return held

    def state(self, name: str) -> str:
        """What the bytes are, in short."""
        held = self._take(name)
        return f"unread {held.strerror or held}" if isinstance(held, OSError) else sha256(held).hexdigest()

    def _take(self, name: str) -> bytes | OSError:
        if name not in self._held:
            try:
                self._held[name] = self._read(name)
            except OSError as error:
                self._held[name] = error
        return self._held[name]
