"""The kill rate as text: overall, by operator, by rule, and who survived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mutate.catalogue import OPERATORS
from mutate.known import reason, stale
from mutate.runner import Outcome, grouped
from mutate.topics import RULES


def render(outcomes: Sequence[Outcome], rules: Mapping[str, str], excused: Mapping[str, str]) -> str:
    """``rules`` are names and severities of the rulebook, ``excused`` survivors with reasons."""
    parts = (
        _overall(outcomes, excused),
        _operators(outcomes),
        _rules(outcomes, rules),
        _silent(outcomes, rules),
        _survivors(outcomes, excused),
    )
    return "\n".join(line for part in parts for line in (*part, ""))


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _overall(outcomes: Sequence[Outcome], excused: Mapping[str, str]) -> Iterator[str]:
    total = len(outcomes)
    killed = sum(o.killed for o in outcomes)
    right = sum(o.by_expected for o in outcomes)
    weak = sum(o.weak for o in outcomes)
    alive = [o for o in outcomes if not o.killed]
    known = sum(bool(reason(o.name, excused)) for o in alive)
    yield f"mutants        {total} by {len({o.operator for o in outcomes})} operators"
    yield f"killed         {killed} ({share(killed, total)}): new at warning or error"
    yield f"  by expected  {right} ({share(right, total)}): by a rule that the operator names"
    yield f"weak           {weak} ({share(weak, total)}): new as information, or said to be not checked"
    yield f"survived       {total - killed - weak} ({share(total - killed - weak, total)})"
    yield f"explained      {known} of {len(alive)} that were not killed"
    for name in stale((o.name for o in outcomes if o.killed), excused):
        yield f"STALE          {name} is killed, and survivors.yaml excuses it"


def _operators(outcomes: Sequence[Outcome]) -> Iterator[str]:
    sources = {operator.id: operator.source for operator in OPERATORS}
    yield "killed expected  of  operator (source)"
    for operator, some in grouped(outcomes):
        killed, right = sum(o.killed for o in some), sum(o.by_expected for o in some)
        mark = " " if killed == len(some) else "!"
        yield f"{killed:6} {right:8} {len(some):3} {mark} {operator} ({sources[operator]})"


def _rules(outcomes: Sequence[Outcome], rules: Mapping[str, str]) -> Iterator[str]:
    kills = Counter(name for o in outcomes for name in o.loud)
    alone = Counter(o.loud[0] for o in outcomes if len(o.loud) == 1)
    infos = Counter(name for o in outcomes for name in o.quiet)
    yield "kills  alone  info  rule"
    for name in sorted({*rules, *kills, *infos}, key=lambda n: (-kills[n], -infos[n], n)):
        yield f"{kills[name]:5} {alone[name]:6} {infos[name]:5}  {name} ({rules.get(name, 'not in the rulebook')})"


def _silent(outcomes: Sequence[Outcome], rules: Mapping[str, str]) -> Iterator[str]:
    heard = {name for o in outcomes for name in (*o.loud, *o.quiet)}
    none = sorted(set(rules) - heard)
    yield f"rules that no mutant wakes: {', '.join(none) or 'none'}"
    asked = {topic for operator in OPERATORS for topic in operator.topics}
    yield f"topics without a rule: {', '.join(sorted(t for t in asked if not RULES.get(t))) or 'none'}"
    unknown = sorted({name for names in RULES.values() for name in names} - set(rules))
    yield f"rules that topics name and that do not exist: {', '.join(unknown) or 'none'}"
    raised = Counter(rule for o in outcomes for rule in o.errors)
    for rule, count in sorted(raised.items()):
        yield f"RAISED on {count} mutants: {rule}"


def _survivors(outcomes: Sequence[Outcome], excused: Mapping[str, str]) -> Iterator[str]:
    yield "not killed:"
    for outcome in outcomes:
        if not outcome.killed:
            heard = f" [{', '.join(outcome.quiet) or 'not checked'}]" if outcome.weak else ""
            why = reason(outcome.name, excused)
            yield f"  {outcome.name}{heard}{': ' if why else ''}{why}"
