"""Fixes of findings: made together where that can be, each verified by linting again, all in memory.

Entry point: ``fix(sources, options, lint, ...) -> Outcome``. A fix is kept when its finding is gone, no finding is
new, and no promise that was kept is broken. One that is not kept is said with its reason. Every fix that is kept
makes the findings fewer, so that this comes to an end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from policycheck.app.gather import Sources
from policycheck.lint.finding import SEVERITIES, Finding, LintResult
from policycheck.lint.rule import SAFETIES
from policycheck.lint.rulebook import Rulebook
from policycheck.record import NamedTuple
from policycheck.source.document import Path
from policycheck.source.edit import Change, edit, in_order
from policycheck.source.files import STDIN
from policycheck.source.text import TextError, decode, encode_like

# Of lint for one request; what is not tried by then is said. Large configurations get fewer: by objects, since
# what comes out may not depend on how fast a machine is.
MOST_RUNS, LEAST_RUNS, OBJECTS = 100, 12, 20_000
# Fields that decide who gets how much, and from whom.
_POLICY = frozenset(
    {
        "nominalQuota",
        "borrowingLimit",
        "lendingLimit",
        "preemption",
        "fairSharing",
        "admissionScope",
        "cohort",
        "cohortName",
        "parent",
        "parentName",
        "flavorFungibility",
        "queueingStrategy",
    }
)
Key = tuple[object, ...]
Lint = Callable[[Sources], LintResult]
# Why files can not be changed that hold these changes; "" when they can.
Barred = Callable[[str], str]
# Which claims held with the first files and fail with the second, or why none can be tested: see app.fixclaims.
Test = Callable[[Mapping[str, bytes], Mapping[str, bytes]], "Claims"]


class Claims(NamedTuple):
    """What became of promises: those that are broken now, or why none could be tested."""

    broken: tuple[str, ...] = ()
    idle: str = ""


class Options(NamedTuple):
    """``unsafe``: fixes that may change what the cluster does as well. ``runs`` of lint at most; 0 is by size."""

    unsafe: bool = False
    runs: int = 0


class Left(NamedTuple):
    """A finding whose fix was not kept, and why."""

    finding: Finding
    why: str


class Outcome(NamedTuple):
    """``before`` and ``after`` are what lint says of the files as they were and as they would be.

    ``old`` and ``new`` hold the bytes of the files that change, by name.
    """

    before: LintResult
    after: LintResult
    old: Mapping[str, bytes]
    new: Mapping[str, bytes]
    fixed: tuple[Finding, ...] = ()
    left: tuple[Left, ...] = ()
    notes: tuple[str, ...] = ()


def overlaid(sources: Sources, new: Mapping[str, bytes]) -> Sources:
    """The same with other bytes in some files."""
    before = sources.read
    return sources._replace(read=lambda name: new[name] if name in new else before(name)) if new else sources


def barred(file: str) -> str:
    """Why a file can not be changed by its name alone: standard input, what was rendered, a cluster."""
    if file in {STDIN, "-"}:
        return "standard input can not be changed"
    if file.endswith("<rendered>"):
        return "it is rendered: change what it is rendered from"
    return "it is no file" if "<" in file or file.startswith("cluster:") else ""


def fix(
    sources: Sources,
    options: Options,
    lint: Lint,
    rulebook: Rulebook,
    test: Test = lambda _before, _after: Claims(),
    is_barred: Barred = barred,
) -> Outcome:
    """Everything that ``options`` allow, until nothing changes. Nothing is written."""
    work = _Work(sources, options, lint, rulebook, test, is_barred)
    work.run()
    return work.outcome()


def is_chosen(finding: Finding, options: Options) -> bool:
    """Whether the options allow the fix of a finding."""
    safeties = ("safe", "unsafe") if options.unsafe else ("safe",)
    return bool(finding.changes) and finding.fix in safeties


def key_of(finding: Finding) -> Key:
    """What tells findings apart from one run to the next, though lines move."""
    return (finding.scope, finding.rule, finding.place.file, finding.object, finding.path)


def _all(result: LintResult) -> list[Finding]:
    return [*result.findings, *result.before, *(one.finding for one in result.suppressed)]


class _RefusedError(Exception):
    """Why a batch was not kept, and whose fault that may be."""

    def __init__(self, why: str, blamed: Sequence[Finding]) -> None:
        super().__init__(why)
        self.blamed = tuple(blamed)


class _Work:
    """The files as they are by now, and what was found out."""

    def __init__(
        self,
        sources: Sources,
        options: Options,
        lint: Lint,
        rulebook: Rulebook,
        test: Test,
        is_barred: Barred,
    ) -> None:
        self._sources, self._options, self._lint = sources, options, lint
        self._rules = {rule.id: rule for rule in rulebook.rules}
        self._test, self._is_barred = test, is_barred
        self._new: dict[str, bytes] = {}
        self._runs = 0
        self.first = self.result = self._linted({})
        by_size = min(MOST_RUNS, max(LEAST_RUNS, OBJECTS // max(1, self.first.documents)))
        self._most = options.runs or by_size
        self._fixed: list[Finding] = []
        self._notes: list[str] = []
        self._refused: dict[Key, str] = {}
        self._groups: list[frozenset[Key]] = []  # under suspicion: tried apart from the others

    def run(self) -> None:
        """Batch after batch; what was refused is tried once more when other fixes changed things since."""
        kept_then = 0
        while self._runs < self._most:
            batch = self._batch()
            if batch:
                self._attempt(batch)
            elif self._refused and len(self._fixed) > kept_then:
                kept_then = len(self._fixed)
                self._groups = [frozenset(self._refused)]
                self._refused.clear()
            else:
                return

    def outcome(self) -> Outcome:
        """What came of it."""
        names = sorted(self._new)
        left = []
        for finding in self.result.findings:
            if is_chosen(finding, self._options):
                why = self._refused.get(key_of(finding)) or "too much had to be tried; run it again"
                left.append(Left(finding, why))
        return Outcome(
            self.first,
            self.result,
            {name: self._sources.read(name) for name in names},
            {name: self._new[name] for name in names},
            tuple(self._fixed),
            tuple(left),
            tuple(dict.fromkeys(self._notes)),
        )

    # -- what to try ----------------------------------------------------------------------------

    def _batch(self) -> list[Finding]:
        """Fixes that do not touch each other; of those under suspicion one, by itself."""
        open_ = [
            finding
            for finding in self.result.findings
            if is_chosen(finding, self._options) and key_of(finding) not in self._refused
        ]
        # What is safe goes first, and what is worse: of two that touch, the other one may have gone by then.
        open_.sort(key=lambda one: (SAFETIES.index(str(one.fix)), SEVERITIES.index(one.severity)))
        for finding in open_:
            bars = filter(None, (self._is_barred(change.id.file) for change in finding.changes))
            why = next(bars, "")
            if why:
                self._refused[key_of(finding)] = f"{finding.place.file}: {why}"
        open_ = [finding for finding in open_ if key_of(finding) not in self._refused]
        while self._groups:  # first, or what they would touch has been changed by worse ones
            group = self._groups.pop(0)
            chosen = _free([finding for finding in open_ if key_of(finding) in group])
            rest = group - frozenset(map(key_of, chosen))
            if chosen:
                self._groups[:0] = [rest] if rest else []
                return chosen
        return _free(open_)

    def _attempt(self, batch: list[Finding]) -> None:
        """Keeps the batch, or the part of it that nothing speaks against; the other part is tried later, in
        halves when all of it is to blame.
        """
        while batch and self._runs < self._most:
            try:
                self._keep(batch)
            except _RefusedError as error:
                guilty = frozenset(map(key_of, error.blamed))
                rest = [finding for finding in batch if key_of(finding) not in guilty]
                if rest:
                    self._groups.append(guilty)
                elif len(guilty) == 1:
                    self._refused[next(iter(guilty))] = str(error)
                else:
                    half = (len(batch) + 1) // 2
                    self._groups[:0] = [frozenset(map(key_of, part)) for part in (batch[:half], batch[half:])]
                batch = rest
            else:
                return

    # -- whether it may stay --------------------------------------------------------------------

    def _keep(self, batch: list[Finding]) -> None:
        """Takes over the files with a batch made, verified. Raises _RefusedError."""
        new = {**self._new, **self._edited(batch)}
        after = self._linted(new)
        _verify(self.result, after, batch)
        held = [finding for finding in batch if self._is_held(finding)]
        if held:
            self._hold(held, new)
        self._new, self.result = new, after
        self._fixed.extend(batch)

    def _edited(self, batch: list[Finding]) -> dict[str, bytes]:
        by_file: dict[str, list[tuple[Change, Finding]]] = {}
        for finding in batch:
            for change in finding.changes:
                by_file.setdefault(change.id.file, []).append((change, finding))
        edited: dict[str, bytes] = {}
        for file, owned in by_file.items():
            held = self._read(file)
            try:
                done = edit(decode(held), in_order(change for change, _ in owned))
            except TextError as error:
                raise _RefusedError(f"{file}: {error}", [finding for _, finding in owned]) from error
            if done.dropped:
                dropped = done.dropped[0]
                owners = [finding for change, finding in owned if change == dropped.change]
                raise _RefusedError(dropped.why, owners)
            edited[file] = encode_like(done.text, held)
        return edited

    def _hold(self, held: list[Finding], new: Mapping[str, bytes]) -> None:
        """Promises before and after. Raises _RefusedError."""
        tested = self._test(self._new, new)
        if tested.idle:
            asking = [finding for finding in held if self._rules[finding.rule].fix_claims]
            if asking and not self._options.unsafe:
                raise _RefusedError(f"claims not run: {tested.idle}", asking)
            self._notes.append(f"claims not run: {tested.idle}")
        if tested.broken:
            what = f"a claim that holds would fail: {', '.join(tested.broken)}"
            raise _RefusedError(what, held)

    def _is_held(self, finding: Finding) -> bool:
        """Whether promises are tested: where the rule asks for it, and where quota or policy changes all the
        same, as when a misspelt field is renamed (which is safe without).
        """
        steps = {
            step for change in finding.changes for step in (*change.path, change.value) if _is_name(step)
        }
        return self._rules[finding.rule].fix_claims or not _POLICY.isdisjoint(steps)

    # -- files and runs -------------------------------------------------------------------------

    def _linted(self, new: Mapping[str, bytes]) -> LintResult:
        self._runs += 1
        return self._lint(overlaid(self._sources, new))

    def _read(self, name: str) -> bytes:
        return self._new[name] if name in self._new else self._sources.read(name)


def _verify(before: LintResult, after: LintResult, batch: Sequence[Finding]) -> None:
    """Raises _RefusedError when something is new, or a finding that was to go is still there."""
    old, new = Counter(map(key_of, _all(before))), Counter(map(key_of, _all(after)))
    mended = Counter(map(key_of, batch))
    staying = [f for f in batch if new[key_of(f)] > old[key_of(f)] - mended[key_of(f)]]
    if staying:
        raise _RefusedError("its finding would stay", staying)
    more = [finding for finding in _all(after) if new[key_of(finding)] > old[key_of(finding)]]
    if more:
        near = [f for f in batch if any(_is_near(f, one) for one in more)] or list(batch)
        what = more[0]
        raise _RefusedError(f"it would make a new finding: {what.rule} {what.message}", near)
    errors = [error for error in after.errors if error not in before.errors]
    unread = {file.file for file in after.files if file.failed} - {f.file for f in before.files if f.failed}
    if errors or unread:
        why = errors[0].why if errors else f"{min(unread)} could not be read any more"
        raise _RefusedError(why, batch)


def _is_near(finding: Finding, other: Finding) -> bool:
    """Whether a fix touches what another finding is about."""
    ids = {(change.id.file, change.id.document) for change in finding.changes}
    if other.place.file not in {file for file, _ in ids}:
        return False
    # Of a file with many objects those fixes that touch one alone, and not this one, are not near.
    return len(ids) > 1 or None in (finding.object, other.object) or finding.object == other.object


def _free(findings: Iterable[Finding]) -> list[Finding]:
    """Those of the findings whose fixes do not touch each other, the first ones first."""
    chosen: list[Finding] = []
    taken: dict[tuple[str, int], list[Change]] = {}
    for finding in findings:
        if _is_free(finding.changes, taken):
            chosen.append(finding)
            for change in finding.changes:
                taken.setdefault((change.id.file, change.id.document), []).append(change)
    return chosen


def _is_name(step: object) -> bool:
    return isinstance(step, str)


def _is_free(changes: Iterable[Change], taken: Mapping[tuple[str, int], list[Change]]) -> bool:
    """Whether the changes touch none of those that are taken; the same change once more does no harm."""
    return not any(
        _collide(change, other)
        for change in changes
        for other in taken.get((change.id.file, change.id.document), ())
        if change != other
    )


def _collide(one: Change, other: Change) -> bool:
    """Whether one change moves or holds what the other is about."""
    if one.action in ("uncomment", "unrepeat") or other.action in ("uncomment", "unrepeat"):
        return False
    reaches, others = _reaches(one), _reaches(other)
    return any(a[: len(b)] == b or b[: len(a)] == a for a in reaches for b in others)


def _reaches(change: Change) -> list[Path]:
    """The places that a change is about: of a rename both, of an item that goes the list, as others move up."""
    path = (*change.id.prefix, *change.path)
    if change.action == "rename":
        return [path, (*path[:-1], change.value)]
    is_item = change.action == "remove" and bool(path) and isinstance(path[-1], int)
    return [path[:-1] if is_item else path]
