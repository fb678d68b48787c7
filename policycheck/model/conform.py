"""An object brought to its newest served form by its field table, with what does not conform.

What the API server would do to it on the way in: fields it does not know are dropped, old names
become new ones, old enum values convert, defaults are filled in, nulls are pruned. Whatever it would
refuse or silently drop becomes a Trouble at its place in the *written* object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from policycheck.model.amount import QuantityError, quantity
from policycheck.model.facts import Rename, Trouble
from policycheck.model.origin import Path
from policycheck.model.schema import Field, Table, meant, suggest
from policycheck.record import NamedTuple
from policycheck.source.document import Mend

_FIX = {
    "string": 'text; put it in quotes ("...")',
    "int": "a whole number without quotes",
    "number": "a number",
    "bool": "true or false without quotes",
    "quantity": "a quantity such as 8, 500m or 64Gi",
    "int-or-string": 'a number or a text such as "30%"',
    "duration": 'a duration in quotes such as "5m" or "1h30m"',
    "timestamp": "a time in quotes such as 2026-01-31T12:00:00Z",
    "map": "a mapping (key: value)",
    "object": "a mapping (key: value)",
    "list": "a list (- ...)",
}


class Conformed(NamedTuple):
    """The object in its newest form, what moved, and what was wrong with it as written."""

    value: dict[str, Any]
    renames: tuple[Rename, ...]
    troubles: tuple[Trouble, ...]


class _Work(NamedTuple):
    table: Table
    version: str  # whose names and fields hold
    renames: list[Rename]
    troubles: list[Trouble]


def prune(value: object) -> Any:
    """A copy without null entries in mappings, as the API server stores it. Iterative."""
    if not isinstance(value, (dict, list)):
        return value
    top: dict[str, Any] | list[Any] = {} if isinstance(value, dict) else []
    todo: list[tuple[Any, Any]] = [(value, top)]
    while todo:
        source, target = todo.pop()
        pairs = source.items() if isinstance(source, dict) else enumerate(source)
        for key, item in pairs:
            if item is None and isinstance(source, dict):
                continue
            made: Any = item
            if isinstance(item, (dict, list)):
                made = {} if isinstance(item, dict) else []
                todo.append((item, made))
            if isinstance(target, dict):
                target[key] = made
            else:
                target.append(made)
    return top


def conform(value: Mapping[str, Any], table: Table, version: str) -> Conformed:
    """``value``, written in ``version``, in the newest form of ``table``.

    A version that is dead reads as the oldest one served, one that is unknown as the newest; the
    caller reports both.
    """
    if version in table.dead:
        version = table.versions[0]
    elif version not in table.versions:
        version = table.newest
    work = _Work(table, version, [], [])
    made = _object(table.root(), prune(value), (), (), work)
    return Conformed(made, tuple(work.renames), tuple(work.troubles))


def _object(field: Field, value: dict[str, Any], new: Path, old: Path, work: _Work) -> dict[str, Any]:
    """One object; recursion follows the table, whose depth is ours."""
    known = {
        work.table.spelled(name, f, work.version): (name, f)
        for name, f in field.fields.items()
        if work.table.has(f, work.version)
    }
    out: dict[str, Any] = {}
    for key, item in value.items():
        if key in known:
            name, below = known[key]
            if name != key:
                work.renames.append(Rename((*new, name), (*old, key)))
            out[name] = _value(below, item, (*new, name), (*old, key), work)
        elif field.open:
            out[key] = item
        else:
            work.troubles.append(_unknown(field, known, key, old, work))
    _complete(known, out, old, work)
    return out


def _complete(known: Mapping[str, tuple[str, Field]], out: dict[str, Any], old: Path, work: _Work) -> None:
    """Fill in defaults and report what has to be there and is not."""
    for spelled, (name, below) in known.items():
        if name in out:
            continue
        if below.default is not None:
            out[name] = _default(below)
        elif below.required:
            say = f"{spelled} is missing; the API server refuses the object without it"
            work.troubles.append(Trouble("missing-field", (*old, spelled), say))


def _default(field: Field) -> Any:
    if field.type != "object":
        return field.default
    return {name: _default(f) for name, f in field.fields.items() if f.default is not None}


def _unknown(
    field: Field, known: Mapping[str, tuple[str, Field]], key: str, old: Path, work: _Work
) -> Trouble:
    """A field that this version does not have: another version's name, or a misspelling."""
    table, version = work.table, work.version
    for name, f in field.fields.items():
        spellings = {v: table.spelled(name, f, v) for v in table.versions if table.has(f, v)}
        theirs = [v for v, spelled in spellings.items() if spelled == key]
        if not theirs:
            continue
        instead = spellings.get(version)
        write = f"in {version} write {instead}" if instead else f.note or f"{version} has no such field"
        say = (
            f"{key} is a field of {theirs[0]}, and this object is {version}: the API server drops it; {write}"
        )
        mend = Mend((*old, key), "rename", instead) if instead else None
        return Trouble("other-version-field", (*old, key), say, on_key=True, mend=mend)
    where = ".".join(str(p) for p in old if isinstance(p, str)) or f"a {table.kind}"
    say = (
        f"{where} has no field {key!r} in {version}: the API server drops it{suggest(str(key), dict(known))}"
    )
    name, is_sure = meant(str(key), dict(known))
    mend = Mend((*old, key), "rename", name, is_sure) if name else None
    return Trouble("unknown-field", (*old, key), say, on_key=True, mend=mend)


def _value(field: Field, value: object, new: Path, old: Path, work: _Work) -> Any:
    if field.type == "any":
        return value
    if not _is(field.type, value):
        found = _found(value)
        say = f"{_name(old)} is {found}; the API server wants {_FIX[field.type]}"
        work.troubles.append(Trouble("wrong-type", old, say, mend=_retyped(field.type, value, old)))
        return value
    if isinstance(value, dict) and field.type == "object":
        _limits(field, value, old, work)
        return _object(field, value, new, old, work)
    if isinstance(value, list):
        _limits(field, value, old, work)
        item = field.item or Field("any")
        made = [_value(item, v, (*new, n), (*old, n), work) for n, v in enumerate(value)]
        _doubles(field, made, old, work)
        return made
    if isinstance(value, dict):
        _limits(field, value, old, work)
        item = field.item or Field("any")
        return {str(k): _value(item, v, (*new, str(k)), (*old, str(k)), work) for k, v in value.items()}
    return _scalar(field, value, new, old, work)


_WHOLE = re.compile(r"[-+]?(0|[1-9]\d{0,17})", re.ASCII)


def _retyped(kind: str, value: object, old: Path) -> Mend | None:
    """The same value in the type that is wanted, where nothing is lost."""
    match kind, value:
        case (("string" | "duration" | "timestamp"), bool()):
            return Mend(old, "set", "true" if value else "false", is_sure=False)
        case "string", int():
            return Mend(old, "set", str(value))
        case (("int" | "number"), str()) if _WHOLE.fullmatch(value.strip()):
            return Mend(old, "set", int(value))
        case "bool", str() if value.strip().lower() in ("true", "false"):
            return Mend(old, "set", value.strip().lower() == "true")
        case "list", str():
            return Mend(old, "set", [value], is_sure=False)
    return None


_LOOSE = re.compile(r"([-+]?\d+(?:\.\d*)?|[-+]?\.\d+)\s*([A-Za-z]*)", re.ASCII)
_SUFFIXES = ("", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def respelling(value: object, path: Path) -> Mend | None:
    """What writes a quantity so that it can be read, where that can be told."""
    right = respelled(str(value))
    return Mend(path, "set", right) if right else None


def respelled(text: str) -> str:
    """A quantity as the API server reads it, of one that people read the same: ``64 GiB``, ``8gi``; "" of others.

    Bytes are what amounts are counted in anyway, so that the B of a unit goes.
    """
    match = _LOOSE.fullmatch(text.strip())
    if match is None:
        return ""
    number, unit = match.groups()
    unit = unit.removesuffix("B") if len(unit) > 1 else unit
    near = [suffix for suffix in _SUFFIXES if suffix.lower() == unit.lower()]
    # m is a thousandth and M a million: which of the two is meant, its case alone tells.
    right = unit if unit in _SUFFIXES else near[0] if len(near) == 1 else ""
    made = f"{number}{right}"
    return made if (right or not unit) and made != text else ""


def _name(path: Path) -> str:
    return next((str(p) for p in reversed(path) if isinstance(p, str)), "the object")


def _found(value: object) -> str:
    match value:
        case bool():
            return f"the truth value {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value[:60]!r}"
        case list():
            return "a list"
        case dict():
            return "a mapping"
    return "empty"


def _is(kind: str, value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match kind:
        case "string" | "duration" | "timestamp":
            return isinstance(value, str)
        case "int":
            return is_number and (isinstance(value, int) or float(str(value)).is_integer())
        case "number":
            return is_number
        case "bool":
            return isinstance(value, bool)
        case "quantity" | "int-or-string":
            return is_number or isinstance(value, str)
        case "list":
            return isinstance(value, list)
    return isinstance(value, dict)


def _scalar(field: Field, value: object, new: Path, old: Path, work: _Work) -> object:
    if isinstance(value, str) and field.enum and value not in field.enum:
        if value in field.aliases and work.version != work.table.newest:
            # Said of the place although it stays, so that it is known what conversion changed.
            work.renames.append(Rename(new, old))
            return field.aliases[value]
        allowed = ", ".join(field.enum)
        say = f"{_name(old)} is {value!r}; allowed are {allowed}"
        if value in field.aliases:
            say += f" (before {work.table.newest} {value} meant {field.aliases[value]})"
        name, is_sure = (field.aliases[value], True) if value in field.aliases else meant(value, field.enum)
        mend = Mend(old, "set", name, is_sure) if name else None
        work.troubles.append(Trouble("bad-enum", old, say, mend=mend))
        return value
    _limits(field, value, old, work)
    return value


def _limits(field: Field, value: object, old: Path, work: _Work) -> None:
    """Bounds of a value: numbers, lengths, counts, patterns."""
    say = ""
    if field.type == "quantity":
        say = _quantity_limits(field, value, old)
    elif isinstance(value, (int, float)):
        if field.minimum is not None and value < field.minimum:
            say = f"{_name(old)} is {value}; the least allowed is {field.minimum}"
        elif field.maximum is not None and value > field.maximum:
            say = f"{_name(old)} is {value}; the most allowed is {field.maximum}"
    elif isinstance(value, str):
        if field.max_length is not None and len(value) > field.max_length:
            say = f"{_name(old)} has {len(value)} characters; at most {field.max_length} are allowed"
        elif field.min_length is not None and len(value) < field.min_length:
            say = f"{_name(old)} is empty; at least {field.min_length} characters are needed"
        elif field.pattern and not re.fullmatch(field.pattern, value):
            say = f"{_name(old)} is {value!r}; it has to match {field.pattern}"
    elif isinstance(value, (list, dict)):
        if field.max_items is not None and len(value) > field.max_items:
            say = f"{_name(old)} has {len(value)} entries; at most {field.max_items} are allowed"
        elif field.min_items is not None and len(value) < field.min_items:
            say = f"{_name(old)} has {len(value)} entries; at least {field.min_items} are needed"
    if say:
        code = "bad-quantity" if say.startswith("!") else "out-of-range"
        mend = respelling(value, old) if code == "bad-quantity" else None
        work.troubles.append(Trouble(code, old, say.removeprefix("!"), mend=mend))


def _quantity_limits(field: Field, value: object, old: Path) -> str:
    try:
        exact = quantity(value)
    except QuantityError as error:
        return f"!{_name(old)}: {error}"
    if field.minimum is not None and exact < field.minimum:
        return f"{_name(old)} is {value}; the least allowed is {field.minimum}"
    return ""


def _doubles(field: Field, made: list[Any], old: Path, work: _Work) -> None:
    """Items that a list may hold only once: keyed objects, sets of scalars."""
    if not (field.key or field.unique):
        return
    seen: set[str] = set()
    for n, item in enumerate(made):
        name = item.get(field.key) if field.key and isinstance(item, dict) else item
        if not isinstance(name, str):
            continue
        if name in seen:
            at = (*old, n, field.key) if field.key else (*old, n)
            say = f"{name!r} stands twice in {_name(old)}; the API server refuses the object: remove one"
            first = next(i for i, one in enumerate(made) if one == item)
            # The same once more says nothing; another content under one name is for people to decide.
            mend = Mend((*old, n), "remove") if first < n else None
            work.troubles.append(Trouble("duplicate-item", at, say, mend=mend))
        seen.add(name)
