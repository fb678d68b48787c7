"""Small YAML files that people write for us (rules, settings): values with the place of each.

Rule files of a pull request are read too, so depth and size are bounded and anchors are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from policycheck.record import NamedTuple
from policycheck.source.document import Path

_MAX_DEPTH = 50
_MAX_SIZE = 1_000_000
_INT = re.compile(r"[-+]?\d{1,30}\Z", re.ASCII)
_FLOAT = re.compile(r"[-+]?\d{1,30}\.\d{0,30}([eE][-+]?\d{1,3})?\Z", re.ASCII)
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


class Problem(NamedTuple):
    """Something wrong in a file of ours: where, what was found and allowed, what to do."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class WrittenError(ValueError):
    """The text could not be read at all."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.message = message


class Written(NamedTuple):
    """A value, and the line and column (from 1) of every key, list item and scalar in it."""

    value: Any
    places: Mapping[Path, tuple[int, int]]  # of the key, or of the list item
    starts: Mapping[Path, tuple[int, int]]  # of the value itself
    blocks: frozenset[Path]  # values written as block scalars: their text begins a line below

    def place(self, path: Path) -> tuple[int, int]:
        """The place of ``path``, or of the nearest thing above it that is written."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, (1, 1))


class _Reader:
    """Builds one document out of events with its own stack, so that depth costs no recursion."""

    def __init__(self) -> None:
        self.root: list[Any] = []
        self.stack: list[tuple[Any, Path, Any]] = []  # container, its path, the key it waits for
        self.places: dict[Path, tuple[int, int]] = {}
        self.starts: dict[Path, tuple[int, int]] = {}
        self.blocks: set[Path] = set()

    def take(self, event: Any) -> None:
        place = (event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise WrittenError(*place, "anchors and aliases are not used in this file; write the value out")
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            made: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            path = self._put(made, place)
            if len(self.stack) >= _MAX_DEPTH:
                raise WrittenError(*place, f"nested deeper than {_MAX_DEPTH} levels")
            self.stack.append((made, path, None))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self.stack.pop()
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, place)

    def _scalar(self, event: Any, place: tuple[int, int]) -> None:
        if self.stack and isinstance(self.stack[-1][0], dict) and self.stack[-1][2] is None:
            container, path, _ = self.stack[-1]
            if event.value in container:
                raise WrittenError(*place, f"the key {event.value!r} is written twice; keep one of them")
            self.places[(*path, event.value)] = place
            self.stack[-1] = (container, path, event.value)
            return
        path = self._put(_plain(event), place)
        if event.style in ("|", ">"):
            self.blocks.add(path)

    def _put(self, value: Any, place: tuple[int, int]) -> Path:
        if not self.stack:
            self.root.append(value)
            path: Path = ()
        else:
            container, above, key = self.stack[-1]
            if isinstance(container, dict):
                if key is None:
                    raise WrittenError(*place, "a key has to be plain text")
                container[key] = value
                self.stack[-1] = (container, above, None)
                path = (*above, key)
            else:
                path = (*above, len(container))
                container.append(value)
                self.places[path] = place
        self.starts[path] = place
        return path


def read(text: str) -> Written:
    """The one document in ``text``. Raises WrittenError."""
    if len(text) > _MAX_SIZE:
        raise WrittenError(1, 1, f"larger than {_MAX_SIZE:,} characters")
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.DocumentStartEvent) and reader.root:
                raise WrittenError(_line(event), 1, "a second document; this file holds one")
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
        raise WrittenError(line, column, f"not YAML: {error.problem or error}") from None
    except yaml.YAMLError as error:
        raise WrittenError(1, 1, f"not YAML: {' '.join(str(error).split())}") from None
    value = reader.root[0] if reader.root else None
    return Written(value, reader.places, reader.starts, frozenset(reader.blocks))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _plain(event: Any) -> Any:
    """A quoted or block scalar is text; a plain one null, true, false, a number, or text."""
    if event.style in ("'", '"', "|", ">") or event.tag not in (None, ""):
        return event.value
    if event.value in _WORDS:
        return _WORDS[event.value]
    if _INT.match(event.value):
        return int(event.value)
    return float(event.value) if _FLOAT.match(event.value) else event.value


def problems(error: Any, model: Any, written: Written, file: str) -> list[Problem]:
    """A pydantic ValidationError in our words, each with its place in ``written``."""
    found = []
    for one in error.errors(include_url=False):
        loc: Path = tuple(one["loc"])
        line, column = written.place(_present(loc, written))
        found.append(Problem(file, line, column, _words(one, loc, model)))
    return sorted(dict.fromkeys(found))


def _present(loc: Path, written: Written) -> Path:
    """``loc`` without the names that pydantic puts in for the members of a union."""
    path: Path = ()
    for step in loc:
        if (*path, step) in written.places:
            path = (*path, step)
    return path


def _words(one: Any, loc: Path, model: Any) -> str:
    from policycheck.model.schema import suggest

    name = dotted(loc)
    given = one.get("input")
    match one["type"]:
        case "extra_forbidden":
            return f"unknown key {name!r}{suggest(str(loc[-1]), keys_of(model, loc[:-1]))}"
        case "missing":
            return f"{name!r} is missing; it has to be written"
        case "literal_error":
            return f"{name!r} is {given!r}; allowed are {one['ctx']['expected'].replace(' or ', ', ')}"
        case "string_type":
            return f"{name!r} is {given!r}; write text (in quotes)"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{name!r} is {given!r}; write a map of keys and values"
        case "list_type" | "tuple_type":
            return f"{name!r} is {given!r}; write a list"
        case "too_short":
            return f"{name!r} is empty; it needs at least {one['ctx']['min_length']}"
        case "string_pattern_mismatch":
            return f"{name!r} is {given!r}; it has to match {one['ctx']['pattern']}"
        case "value_error":
            return f"{name!r}: {one['ctx']['error']}" if loc else str(one["ctx"]["error"])
    return f"{name!r} is {given!r}: {one['msg']}"


def dotted(loc: Path) -> str:
    """``examples.bad[0].findings`` of a location."""
    text = ""
    for step in loc:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def keys_of(model: Any, loc: Path) -> list[str]:
    """The keys that ``model`` allows at ``loc``, as they are written."""
    import typing

    for step in loc:
        fields = getattr(model, "model_fields", None)
        if fields is not None and isinstance(step, str):
            named = {(info.alias or name): info.annotation for name, info in fields.items()}
            model = named.get(step)
        pending = [model]
        model = None
        while pending and model is None:
            kind = pending.pop()
            if hasattr(kind, "model_fields"):
                model = kind
            pending.extend(typing.get_args(kind))
    fields = getattr(model, "model_fields", {})
    return [info.alias or name for name, info in fields.items()]
