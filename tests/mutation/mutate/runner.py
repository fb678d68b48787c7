"""Lints each mutant with every rule and tells what is new against the base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from typing import NamedTuple

from mutate.base import World, apply, is_inventory, load
from mutate.catalogue import Mutant, mutants
from mutate.topics import expected
from policycheck.app import lint_texts
from policycheck.lint.finding import Finding, LintResult
from policycheck.lint.settings import Settings

LOUD = ("error", "warning")
# Rule, object and path of a finding: the message may change with the numbers in it.
Key = tuple[str, str, str]


class Outcome(NamedTuple):
    """What became of one mutant. ``loud`` and ``quiet`` are names of rules."""

    name: str
    operator: str
    expected: frozenset[str]
    loud: tuple[str, ...]  # new at warning or error
    quiet: tuple[str, ...]  # new as information
    unread: bool  # the report says that a file, or a rule's question, is no longer checked
    errors: tuple[str, ...]  # rules that raised

    @property
    def killed(self) -> bool:
        return bool(self.loud)

    @property
    def by_expected(self) -> bool:
        return bool(self.expected & set(self.loud))

    @property
    def weak(self) -> bool:
        """Noticed, but by nothing that anybody has to act upon."""
        return not self.killed and (bool(self.quiet) or self.unread)


class Bench(NamedTuple):
    """The base, linted."""

    world: World
    mutants: dict[str, Mutant]
    findings: Counter[Key]
    unchecked: frozenset[tuple[str, str]]


def lint(world: World, changed: dict[str, str]) -> LintResult:
    """Findings of the base with some files replaced."""
    files = {**world.texts, **changed}
    texts = {name: text for name, text in files.items() if not is_inventory(name)}
    inventory = {name: text for name, text in files.items() if is_inventory(name)}
    return lint_texts(texts, Settings(), inventory=inventory)


@lru_cache(maxsize=2)
def bench(everywhere: bool = False) -> Bench:
    """The base and its mutants, once a process."""
    world = load()
    result = lint(world, {})
    return Bench(
        world,
        {m.name: m for m in mutants(world, everywhere=everywhere)},
        Counter(map(_key, result.findings)),
        _unchecked(result),
    )


def base_findings() -> tuple[Finding, ...]:
    """What the rules say about the base; it has to be nothing at warning or error."""
    return lint(load(), {}).findings


def _key(finding: Finding) -> Key:
    return (finding.rule, str(finding.object), finding.path)


def _unchecked(result: LintResult) -> frozenset[tuple[str, str]]:
    """Files, and questions of rules, that the report says were not checked."""
    files = {(report.file, report.why) for report in result.files if report.state != "checked"}
    return frozenset(files | {(skip.rule, skip.why) for skip in result.skipped})


def run_one(name: str, everywhere: bool = False) -> Outcome:
    """Lints one mutant. Raises KeyError when there is none of that name."""
    held = bench(everywhere)
    mutant = held.mutants[name]
    result = lint(held.world, apply(held.world, mutant.edit))
    left = Counter(held.findings)
    loud, quiet = set(), set()
    for finding in result.findings:
        key = _key(finding)
        if left[key] > 0:
            left[key] -= 1
        elif finding.severity in LOUD:
            loud.add(finding.name)
        else:
            quiet.add(finding.name)
    return Outcome(
        name,
        mutant.operator.id,
        expected(mutant.operator.topics),
        tuple(sorted(loud)),
        tuple(sorted(quiet)),
        bool(_unchecked(result) - held.unchecked),
        tuple(sorted({error.rule for error in result.errors})),
    )


def _run_some(names: Sequence[str], everywhere: bool) -> list[Outcome]:
    return [run_one(name, everywhere) for name in names]


def run(names: Sequence[str], *, workers: int = 1, everywhere: bool = False) -> list[Outcome]:
    """Outcomes in the order of the names, whatever the number of processes."""
    if workers <= 1 or len(names) < 100:
        return _run_some(names, everywhere)
    chunks = [names[n : n + 25] for n in range(0, len(names), 25)]
    # Fresh processes: a fork would take over whatever the test runner has running.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return [o for some in pool.map(_run_some, chunks, [everywhere] * len(chunks)) for o in some]


def grouped(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    """Outcomes by operator, in the order of the catalogue."""
    held: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        held.setdefault(outcome.operator, []).append(outcome)
    yield from held.items()
