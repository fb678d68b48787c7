"""What would mend a hit: the changes that its rule, its check or the reading proposes, of the data as written."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from policycheck.lint.cel import CelError, Runtime
from policycheck.lint.hit import Hit
from policycheck.lint.message import MessageError, fill
from policycheck.lint.rule import SAFETIES, FixStep, Rule, Systems
from policycheck.lint.subject import expand
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts, Rename
from policycheck.model.origin import DocumentId, Path
from policycheck.model.schema import Table, any_, step_into
from policycheck.record import NamedTuple
from policycheck.source.document import Change, Mend, Span


class Fix(NamedTuple):
    """What is said of a finding: how it may be mended, and by what."""

    safety: str | None
    changes: tuple[Change, ...] = ()


class Found(NamedTuple):
    """A hit with all that its fix may need."""

    rule: Rule
    hit: Hit
    base: Path  # of ``it``, in the newest form
    context: Mapping[str, object]
    cluster: Cluster


class _NoValueError(Exception):
    """A change whose value is not known here."""


def fix_of(found: Found, systems: Systems, runtime: Callable[[], Runtime]) -> Fix:
    """The fix of a hit. Where the rule has one and not for this hit, it is left to people ("manual").

    One that touches quota or policy is unsafe where no promise can be tested, for want of an inventory.
    """
    rule, hit = found.rule, found.hit
    if rule.fix is None:
        return Fix(None)
    try:
        changes = hit.changes or tuple(_change(step, found, runtime) for step in rule.fix_steps)
    except _NoValueError:
        return Fix("manual")
    entries = found.cluster.entries
    if not changes or any(c.id not in entries or not entries[c.id].origin.reported for c in changes):
        return Fix("manual")
    if not hit.raw:
        changes = tuple(
            change._replace(path=written_path(entries[change.id].facts, change.path, systems))
            for change in changes
        )
    safety = weaker(rule.fix, hit.safety or "safe")
    if rule.fix_claims and not found.cluster.inventory.known:
        safety = weaker(safety, "unsafe")
    return Fix(safety, changes)


def weaker(one: str, other: str) -> str:
    """The less safe of two."""
    return max(one, other, key=SAFETIES.index)


def _change(step: FixStep, found: Found, runtime: Callable[[], Runtime]) -> Change:
    hit = found.hit
    base = {"object": (), "it": found.base, "hit": hit.path}[step.root]
    value = None
    if step.program:
        value = runtime().load(base64.b64decode(step.program)).eval(found.context)
        if isinstance(value, CelError) or value is None:
            raise _NoValueError
    elif step.action != "remove":
        value = _filled(step.value, hit.values, found.context)
    path: Path = (*base, *step.path)
    if step.action != "append":
        return Change(hit.id, path, step.action, value)  # type: ignore[arg-type]
    held = next((one for _, one in expand(found.cluster.entries[hit.id].facts.value, path)), None)
    if isinstance(held, list) and held:
        return Change(hit.id, (*path, len(held)), "set", value)
    return Change(hit.id, path, "set", [value])


def _filled(value: Any, values: Mapping[str, object], context: Mapping[str, object]) -> Any:
    """The value with placeholders in its texts filled in; its depth is that of a rule file."""
    if isinstance(value, dict):
        return {key: _filled(item, values, context) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, values, context) for item in value]
    if not isinstance(value, str):
        return value
    try:
        found = fill(value, values, context)
    except MessageError as error:
        raise _NoValueError from error
    if found is None:
        raise _NoValueError
    return found


def written_path(facts: Facts, path: Path, systems: Systems) -> Path:
    """The path in the written document, also of a field that is yet to be written: by its name in the
    object's own version.
    """
    best = Rename((), ())
    for rename in facts.renames:
        if path[: len(rename.new)] == rename.new and len(rename.new) >= len(best.new):
            best = rename
    rest = path[len(best.new) :]
    try:
        table = systems.table(f"{facts.key.group or 'v1'}/{facts.key.kind}")
    except LookupError:
        return best.written + rest
    version = facts.api_version.rpartition("/")[2]
    return best.written + _spelled(table, version, best.new, rest)


def _spelled(table: Table, version: str, above: Path, rest: Path) -> Path:
    field, steps = table.root(), []
    for at, step in enumerate((*above, *rest)):
        below = field.fields.get(step) if isinstance(step, str) else None
        if at >= len(above):
            steps.append(step if below is None else table.spelled(str(step), below, version))
        try:
            field = step_into(field, step, "", 0)
        except ValueError:
            field = any_()
    return tuple(steps)


def mended(
    identity: DocumentId, mend: Mend | None, span: Span | None = None
) -> tuple[tuple[Change, ...], str]:
    """The change that reading proposes, and how safe it is; for text that stands at ``span``."""
    if mend is None:
        return (), ""
    value = span if mend.action in ("uncomment", "unrepeat") else mend.value
    return (Change(identity, mend.path, mend.action, value),), "" if mend.is_sure else "unsafe"
