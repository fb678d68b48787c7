"""JSON at the speed of the C scanner: a node dump of tens of megabytes in about a second.

Values come from ``json``; where items of a List begin is learnt by decoding them one by one. What JSON
does not take (comments, NaN, depth) makes the reader fall back to the YAML parser, which explains it.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from policycheck.record import NamedTuple
from policycheck.source.build import depth_of
from policycheck.source.document import Path
from policycheck.source.scalar import whole

_SPACE = re.compile(r"[ \t\r\n]*")
_LEAD = re.compile(r"(?:[ \t\r\n]|---(?=[ \t\r\n]))*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NESTED_LISTS = 8  # Lists within Lists whose items get lines of their own


class JsonValue(NamedTuple):
    """One JSON value of a text with the offsets of its stretch and of the List items in it."""

    value: Any
    start: int
    end: int
    items: dict[Path, int]
    duplicates: bool  # some mapping in it has a key twice


class NotJson(Exception):  # noqa: N818 - no error, a reason to use the other parser
    """The text is no strict JSON, or nested deeper than is read this way."""


class _Reader:
    """Decodes the values of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.duplicates = False
        self.items: dict[Path, int] = {}
        self.decode = json.JSONDecoder(
            object_pairs_hook=self._mapping, parse_constant=_refuse, parse_float=_number
        ).raw_decode

    def _mapping(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) != len(pairs):
            self.duplicates = True
        return mapping

    def value(self, at: int, path: Path, lists: int) -> tuple[Any, int]:
        """The value at an offset and where it ends; items of Lists are decoded one by one."""
        if lists == 0 or self.text[at : at + 1] != "{":
            return self.decode(self.text, at)
        self.items[path] = at
        pairs: list[tuple[str, Any]] = []
        at = self._skip(at + 1)
        while self.text[at : at + 1] != "}":
            if pairs:
                at = self._expect(at, ",")
            at = self._expect(at, '"')
            key, at = scanstring(self.text, at, True)
            at = self._expect(self._skip(at), ":", skip=True)
            is_items = key == "items" and self.text[at : at + 1] == "["
            value, at = self._list(at, (*path, key), lists) if is_items else self.decode(self.text, at)
            pairs.append((key, value))
            at = self._skip(at)
        return self._mapping(pairs), at + 1

    def _list(self, at: int, path: Path, lists: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        at = self._skip(at + 1)
        while self.text[at : at + 1] != "]":
            if values:
                at = self._expect(at, ",")
            head = self.text[at : at + 400]
            nested = lists - 1 if '"items"' in head and 'List"' in head else 0
            if self.text[at : at + 1] == "{":
                self.items[(*path, len(values))] = at
            value, at = self.value(at, (*path, len(values)), nested)
            values.append(value)
            at = self._skip(at)
        return values, at + 1

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def _expect(self, at: int, character: str, *, skip: bool = False) -> int:
        if self.text[at : at + 1] != character:
            raise NotJson
        return self._skip(at + 1) if skip or character == "," else at + 1


def read_json(text: str, depth: int) -> list[JsonValue]:
    """The JSON values that stand one after another in the text. Raises NotJson."""
    values: list[JsonValue] = []
    lead = _LEAD.match(text)
    at = lead.end() if lead else 0
    try:
        while at < len(text):
            reader = _Reader(text)
            value, end = reader.value(at, (), _NESTED_LISTS)
            if depth_of([value], depth + 1) > depth + 1:
                raise NotJson
            if _SURROGATE.search(text, at, end):
                value = _without_lone_surrogates(value)
            values.append(JsonValue(value, at, end, reader.items, reader.duplicates))
            at = reader._skip(end)  # noqa: SLF001 - same module
    except (ValueError, RecursionError, IndexError) as error:
        raise NotJson from error
    return values


def json_end(text: str, at: int) -> int:
    """Where the JSON value that begins at an offset ends; the text's end when it is none."""
    try:
        return json.JSONDecoder().raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return len(text)


def looks_like_json(text: str) -> bool:
    """Whether the first thing in the text is a `{` or `[`."""
    lead = _LEAD.match(text)
    return text[lead.end() : lead.end() + 1] in ("{", "[") if lead else False


def _number(text: str) -> Any:
    return whole(float(text)) if float(text) not in (float("inf"), float("-inf")) else text


def _refuse(_: str) -> Any:
    raise NotJson


def _without_lone_surrogates(value: Any) -> Any:
    """Half a surrogate pair can not be printed; Go reads it as U+FFFD, and so does this."""
    return json.loads(
        json.dumps(value, ensure_ascii=False)
        .encode("utf-16-le", "surrogatepass")
        .decode("utf-16-le", "replace")
    )
