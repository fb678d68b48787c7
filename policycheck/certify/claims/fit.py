"""``guarantees-fit``: everything that is promised can be there at once, and after the losses that are tolerated.

Exact: a placement is shown, or what is too much is counted. Quota of cohorts and of queues that are nobody's
is promised too, and services outside queues have to be somewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, islice
from math import comb
from typing import Any, NamedTuple

from policycheck.certify.arena import SUBMIT, Arena, Ask, Load, Move, Posed, Scenario, Story
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import Bench, amounts, listed
from policycheck.certify.claims.fitting import Laid, laid
from policycheck.certify.promise import Promises
from policycheck.certify.verdict import (
    EXHAUSTIVE,
    FAILS,
    HOLDS,
    PROOF,
    UNKNOWN,
    Counterexample,
    Verdict,
)
from policycheck.model.amount import show
from policycheck.simulate.hold import Answer, Machines, hold

NAME = "guarantees-fit"
LOSSES = "after losses"
_MOST_LOSSES = 400  # ways of losing nodes that are gone through
_LOOKED_AT = 64  # nodes by which those of a story are looked for
_PLAYS = 400  # workloads of one story at most


class Found(NamedTuple):
    """What nodes say to it. ``doubt``: it might be otherwise in a stricter reading."""

    outcome: str
    why: str = ""
    basis: str = PROOF


def test(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:  # noqa: ARG001
    """One verdict about everything together, and one about losses where some are tolerated."""
    bench = Bench(NAME, arena, promises)
    what = laid(arena, promises)
    if not what.strict:
        return [bench.nothing("nobody is promised any accelerator here")]
    for queue in arena.queues():  # what is not clear of anybody's quota leaves the sum open
        unclear = arena.unclear(queue)
        if unclear:
            return [bench.verdict("", UNKNOWN, PROOF, f"{queue}: {unclear}")]
    trial = _Trial(bench, what)
    whole = trial.together()
    losses = promises.losses
    return [whole] + ([trial.after_losses(whole)] if losses.nodes or losses.level else [])


def fits(arena: Arena, promises: Promises) -> bool:
    """Whether the claim holds, pools at their smallest, and after every loss that is tolerated; told in no story."""
    trial = _Trial(Bench(NAME, arena, promises), laid(arena, promises))
    if not trial.what.strict or trial.ask().outcome != HOLDS:
        return False
    losses = list(islice(trial.losses(), _MOST_LOSSES + 1))
    return len(losses) <= _MOST_LOSSES and all(
        trial.ask(lost, less).outcome == HOLDS for _, lost, less in losses
    )


class _Trial:
    def __init__(self, bench: Bench, what: Laid) -> None:
        self.bench, self.arena, self.what = bench, bench.arena, what
        self.grown = False
        self.assumed: tuple[str, ...] = ()
        self._known: dict[object, Posed] = {}

    # -- all at once ----------------------------------------------------------------------------

    def together(self) -> Verdict:
        found = self.ask()
        brings = self.arena.provisioning()
        if found.outcome == FAILS and brings:
            self.grown = True
            more = self.ask()
            self.grown = more.outcome == HOLDS
            if self.grown:
                found = more
                brought = f"pools grow to their maximum when asked (admission check {listed(brings)})"
                self.assumed = (f"{brought}; at their minimum it does not fit",)
        if found.outcome == HOLDS:
            text = f"{self._told()} can run at once: a placement was found"
            return self._made("", HOLDS, PROOF, text)
        if found.outcome == UNKNOWN:
            return self._made("", UNKNOWN, PROOF, found.why)
        story = self._story(())
        return self._made(
            "", FAILS, found.basis, f"{self._told()} can not be there at once: {found.why}", story
        )

    def _told(self) -> str:
        total = amounts(self._total())
        jobs = (
            f", among it {self.what.jobs} {'job' if self.what.jobs == 1 else 'jobs'}"
            if self.what.jobs
            else ""
        )
        return f"all that is promised ({total}{jobs})"

    def _total(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for load in self.what.strict:
            for resource, each in load.pods.requests.items():
                if resource in self.arena.accelerators:
                    found[resource] = found.get(resource, 0) + each * load.pods.pods * load.times
        return found

    def ask(self, lost: tuple[str, ...] = (), less: Sequence[int] = ()) -> Found:
        """Both readings. ``less`` takes one machine each of these classes away."""
        strict = self._posed(self.what.strict, lost)
        if strict.why:
            return Found(UNKNOWN, strict.why)
        return self._answer(strict, lost, less)

    def _posed(self, loads: tuple[Load, ...], lost: tuple[str, ...] = ()) -> Posed:
        key = loads is self.what.wide, lost, self.grown
        if key not in self._known:
            self._known[key] = self.arena.posed(loads, lost, grown=self.grown)
        return self._known[key]

    def _answer(self, strict: Posed, lost: tuple[str, ...], less: Sequence[int]) -> Found:
        """``less`` are classes of the strict reading."""
        answer = hold(_less(strict.classes, less), strict.demands)
        if answer.outcome == HOLDS:
            return Found(UNKNOWN, strict.doubt) if strict.doubt else Found(HOLDS)
        if answer.outcome == UNKNOWN:
            return Found(UNKNOWN, answer.why)
        wide = self._posed(self.what.wide, lost)
        gone = [strict.classes[n].name for n in less]
        at = [n for name in gone for n, c in enumerate(wide.classes) if c.name == name]
        if len(at) == len(gone):
            again = hold(_less(wide.classes, at), wide.demands)
            if again.outcome == FAILS:
                return Found(FAILS, _arithmetic(self.what.wide, wide, again), _basis(again.basis))
        return Found(
            UNKNOWN,
            f"as quota is given by flavor it fails ({answer.why}); other flavors, or pods that tolerate more "
            "taints, may do",
        )

    # -- with less ------------------------------------------------------------------------------

    def after_losses(self, whole: Verdict) -> Verdict:
        if whole.outcome != HOLDS:
            text = f"without any loss it is {whole.outcome}: {whole.headline}"
            return self._made(LOSSES, whole.outcome, whole.basis, text, whole.counterexample)
        tried = 0
        for told, lost, less in self.losses():
            if tried >= _MOST_LOSSES:
                text = f"more than {_MOST_LOSSES} ways of losing nodes; the first {_MOST_LOSSES} leave enough"
                return self._made(LOSSES, UNKNOWN, PROOF, text)
            tried += 1
            found = self.ask(lost, less)
            if found.outcome == HOLDS:
                continue
            named = tuple(lost) or self._names(less)
            story = self._story(named) if found.outcome == FAILS else None
            text = f"with {told} lost: {found.why}"
            return self._made(LOSSES, found.outcome, found.basis, text, story, tried)
        if not tried:
            level = self.bench.promises.losses.level
            why = f"no node has the label {level}" if level else "no node that could be lost matters"
            return self._made(LOSSES, UNKNOWN, PROOF, f"vacuous: {why}")
        text = f"whatever of it is lost, what is promised still fits ({tried} ways, alike nodes taken as one)"
        return self._made(LOSSES, HOLDS, PROOF, text, None, tried)

    def losses(self) -> Iterator[tuple[str, tuple[str, ...], tuple[int, ...]]]:
        losses, arena = self.bench.promises.losses, self.arena
        if losses.level:
            domains: dict[str, list[str]] = {}
            for node in arena.inventory.nodes:
                if losses.level in node.labels:
                    domains.setdefault(node.labels[losses.level], []).extend([node.name] * node.machines)
            for value, names in sorted(domains.items()):
                yield f"{losses.level}={value}", tuple(names), ()
        if losses.nodes:
            classes = arena.posed(self.what.strict, grown=self.grown).classes
            if comb(len(classes) + losses.nodes - 1, losses.nodes) > 100 * _MOST_LOSSES:
                classes = classes[:_MOST_LOSSES]
            for some in combinations_with_replacement(range(len(classes)), losses.nodes):
                if all(some.count(n) <= classes[n].machines for n in set(some)):
                    yield _alike([classes[n].name for n in some]), (), some

    def _names(self, less: Sequence[int]) -> tuple[str, ...]:
        """Nodes to lose in a story; none where they are not soon found."""
        classes = self._posed(self.what.strict).classes
        wanted = _counted(_less(classes, less))
        names = [classes[n].name for n in dict.fromkeys(less)]
        for node in self.arena.inventory.nodes[:_LOOKED_AT]:
            if len(names) < len(less) and (node.name not in names or node.machines > 1):
                more = (*names, node.name)
                found = _counted(self._posed(self.what.strict, more).classes)
                names = list(more) if all(found[k] >= wanted[k] for k in wanted) else names
        return tuple(names) if len(names) == len(less) else ()

    # -- what is said ---------------------------------------------------------------------------

    def _story(self, lost: tuple[str, ...]) -> Counterexample | None:
        """All of it asked for at once, and somebody waits; None where it does not come to that."""
        asks = self.what.asks
        if not asks or len(asks) > _PLAYS or self.grown:
            return None
        scenario = _at_once(asks, lost)
        waiting = self.arena.play(scenario).waiting
        asks = tuple(ask for ask in asks if ask.name not in waiting or not self._barred(ask))
        scenario = _at_once(asks, lost)
        if not _breaks(scenario, self.arena.play(scenario)):
            return None
        return self.bench.counterexample(scenario, _breaks, NAME)

    def _barred(self, ask: Ask) -> bool:
        """Whether it is something else than nodes that keeps it waiting, such as a queue that is stopped."""
        flavors = tuple(dict.fromkeys(f for f, _ in self.arena.nominal(ask.queue)))
        loads = [Load(ask.name, spec, 1, flavors) for spec in ask.shape.pod_sets]
        question = self.arena.posed(loads)
        is_held = hold(question.classes, question.demands).outcome == HOLDS
        return is_held and bool(self.arena.fits(ask.queue, ask.shape))

    def _made(
        self,
        subject: str,
        outcome: str,
        basis: str,
        headline: str,
        story: Counterexample | None = None,
        tried: int = 0,
    ) -> Verdict:
        evidence: dict[str, Any] = {"promised": self._total(), "jobs": self.what.jobs}
        if tried:
            evidence["losses"] = tried
        derived = tuple(dict.fromkeys(d for team in self.bench.promises.teams for d in team.derived))
        return self.bench.verdict(
            subject,
            outcome,
            basis,
            headline,
            premise={"loads": len(self.what.strict)},
            evidence=evidence,
            counterexample=story,
            derived=derived,
            assumptions=(
                *self.assumed,
                "pods of jobs that ask for no accelerator find a node elsewhere",
                "what DaemonSets and pods outside of queues hold is taken off; nodes that are not ready do not count",
            ),
        )


def _at_once(asks: tuple[Ask, ...], lost: tuple[str, ...]) -> Scenario:
    return Scenario((Move(1, SUBMIT, asks),), lost, cycles=3 * len(asks) + 10)


def _arithmetic(loads: Sequence[Load], posed: Posed, answer: Answer) -> str:
    """What is too much for what, by how much, and whose it is."""
    bound = answer.bound
    if bound is None:
        return answer.why
    whose = dict.fromkeys(
        loads[n].name + (f" through {' or '.join(loads[n].flavors)}" if loads[n].flavors else "")
        for n in bound.demands
    )
    nowhere = [n for n in bound.demands if not posed.demands[n].allowed]
    if bound.kind == "pod" and nowhere:
        return f"no node is open to {listed(whose)}"
    missing = ""
    if bound.kind == "amount" and bound.need > bound.room:
        missing = f"; {show(bound.resource, bound.need - bound.room)} {bound.resource} are missing"
    return f"{answer.why}{missing} ({listed(whose)})"


def _breaks(scenario: Scenario, story: Story) -> str:
    """In words, a workload within what is promised that has no node, or waits for one."""
    for ask in scenario.asks:
        if ask.name in story.unplaced:
            return f"{ask.name} of {ask.queue} has quota and no nodes: {story.unplaced[ask.name]}"
    for ask in scenario.asks:
        if ask.name in story.waiting:
            return f"{ask.name} of {ask.queue} waits: {story.waiting[ask.name]}"
    return ""


def _basis(basis: str) -> str:
    return EXHAUSTIVE if basis == "exhaustive" else PROOF


def _alike(names: Sequence[str]) -> str:
    """``n1 and 2 nodes like n4``."""
    times = Counter(names)
    return " and ".join(name if n == 1 else f"{n} nodes like {name}" for name, n in times.items())


def _counted(classes: Sequence[Machines]) -> Counter[object]:
    found: Counter[object] = Counter()
    for one in classes:
        found[tuple(sorted(one.free.items())), one.path] += one.machines
    return found


def _less(classes: Sequence[Machines], less: Sequence[int]) -> list[Machines]:
    found = list(classes)
    for n in less:
        found[n] = found[n]._replace(machines=found[n].machines - 1)
    return found


CLAIM = Claim(
    name=NAME,
    title="What is promised is there",
    test=test,
    promise=(
        "All guarantees together, with the jobs that teams were promised to run, have room on the nodes at once; "
        "also after any loss of nodes that is tolerated."
    ),
    means=(
        "HOLDS by proof: a placement of everything was found, with what quota gives in each flavor. FAILS by proof "
        "with the arithmetic: which of it is too much for which nodes, whatever flavor is taken. Jobs count as often "
        "as they are promised, what is left of a guarantee as single units; quota of cohorts and of stopped queues "
        "counts, and services outside of queues. UNKNOWN without an inventory, or where only another order of flavors "
        "might do. Losses: every choice of so many nodes, or every domain of the level."
    ),
    premise="Somebody is promised accelerators; for losses, there are nodes that can be lost.",
    enforceable=(
        "The queue system hands out quota and never looks whether nodes are there, except where flavors place by "
        "topology: what does not fit shows as admitted workloads whose pods stay pending."
    ),
    remedy=(
        "Lower nominalQuota to what the nodes of the flavor have, less DaemonSets and what runs outside of queues; give "
        "flavors that share nodes labels of their own; promise jobs in whole nodes."
    ),
)
