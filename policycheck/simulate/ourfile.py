"""Small YAML files of ours (mixes, settings of traces): one map, with the place of everything in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.source.document import DocumentId, Path
from policycheck.source.spans import locate
from policycheck.source.text import Lines, TextError
from policycheck.source.yamldoc import load_values


class OurFileError(ValueError):
    """The text holds no map; the message has file, line and column."""


def load(file: str, data: bytes, what: str) -> dict[str, Any]:
    """The map in ``data``; ``what`` names such a file in messages. Raises OurFileError."""
    try:
        values = load_values(file, data)
    except TextError as error:
        if error.why.startswith(f"{file}:"):
            raise OurFileError(error.why) from None
        line, column = Lines(data.decode("utf-8", "replace")).place(error.offset)
        raise OurFileError(f"{file}:{line}:{column}: {error.why}") from None
    if not values:
        raise OurFileError(f"{file}:1:1: the file is empty; {what} is a map of keys and values")
    if len(values) > 1:
        raise OurFileError(f"{file}:{values[1][0]}:1: a second document; {what} is one")
    line, value = values[0]
    if not isinstance(value, dict):
        found = "a list" if isinstance(value, list) else repr(value)[:60]
        raise OurFileError(f"{file}:{line}:1: {what} is a map of keys and values; found {found}")
    return value


class Places:
    """Where things are written in one file."""

    def __init__(self, file: str, data: bytes, value: Mapping[str, Any]) -> None:
        self.file = file
        self.value = value
        self._data = data

    def at(self, path: Path) -> str:
        """``file:line:column`` of a path, or of the nearest thing above it that is written."""
        span = locate(self._data, DocumentId(self.file), path, on_key=True).span
        return f"{self.file}:{span.line}:{span.column}"

    def line(self, path: Path) -> int:
        """The line of a path."""
        return locate(self._data, DocumentId(self.file), path).span.line
