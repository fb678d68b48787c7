"""Values out of libyaml's events: no node tree, no recursion, bounded.

Working on events instead of composed nodes keeps depth in our own stack, lets aliases share one value while
their expanded size is counted, and spares 10,000 documents a tree each.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.reader import ReaderError

from policycheck.record import NamedTuple
from policycheck.source.document import Mend, Path
from policycheck.source.scalar import HINTS, doubt, is_octal, is_unsendable, key_of, read_plain, read_tagged
from policycheck.source.text import TextError

try:
    from yaml._yaml import CParser
except ImportError as error:  # pragma: no cover - depends on how PyYAML was built
    raise ImportError(
        "policycheck needs PyYAML built with libyaml, and this one is not: the pure Python parser is 20 times "
        "slower. Install the PyYAML wheel (pip install --force-reinstall --only-binary :all: PyYAML), "
        "or libyaml's headers before building it."
    ) from error


class Limits(NamedTuple):
    """Bounds that keep hostile or mistaken input from taking the machine."""

    size: int = 64 * 1024 * 1024  # bytes of one file
    json_size: int = 256 * 1024 * 1024  # the same when it is JSON: dumps of large clusters are that long
    depth: int = 200  # of nesting in one document
    nodes: int = 5_000_000  # of one document, aliases expanded
    aliased: int = 500_000  # nodes of one document that aliases add
    documents: int = 200_000  # of one file, items of Lists counted


class RawTrouble(NamedTuple):
    """A TextTrouble with offsets instead of lines."""

    code: str
    start: int
    end: int
    message: str
    path: Path
    mend: Mend | None = None


class Built(NamedTuple):
    """One document's value and what was noticed while building it. Offsets count from the piece's start."""

    value: Any
    start: int  # where the content begins
    troubles: tuple[RawTrouble, ...]
    items: dict[Path, int]  # where each item of a List begins, by its path


class _Frame(NamedTuple):
    """An open container's surroundings, put back when it ends."""

    container: Any
    key: Any
    name: str  # key under which the outer container stands; list items take their list's
    listed: bool  # whether all above is `items` of Lists, so that offsets of items are kept
    anchor: str | None  # of the inner container
    size: int  # nodes read before it


# Maps and lists whose scalars are text by the API's definition: the server refuses a number in them.
TEXT_MAPS = frozenset({"labels", "annotations", "matchLabels", "nodeLabels", "nodeSelector"})
TEXT_LISTS = frozenset({"args", "command"})
_NONE: Any = object()  # no key read yet
_MERGE: Any = object()  # the key was <<


class Builder:
    """Builds one document's value; one builder a document."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.troubles: list[RawTrouble] = []
        self.items: dict[Path, int] = {}
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._stack: list[_Frame] = []
        self._container: Any = []
        self._key: Any = _NONE
        self._name = ""
        self._listed = True
        self._size = 0
        self._aliased = 0
        self._merged: dict[int, set[str]] = {}  # keys that << brought, by the mapping's id

    def run(self, text: str) -> Built | None:
        """The value of the one document in ``text``; None when there is none. Raises TextError."""
        try:
            parser = CParser(text)
        except ReaderError as error:
            raise _unreadable(error, text) from error
        try:
            return self._run(parser)
        except yaml.MarkedYAMLError as error:
            raise explain(error, text) from error
        except ReaderError as error:
            raise _unreadable(error, text) from error
        finally:
            parser.dispose()

    def _run(self, parser: Any) -> Built | None:
        root: list[Any] = self._container
        start = 0
        next_event = parser.get_event
        while True:
            event = next_event()
            kind = event.__class__
            if kind is ScalarEvent:
                self._scalar(event)
            elif kind is MappingStartEvent:
                self._open(event, {})
            elif kind is SequenceStartEvent:
                self._open(event, [])
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                self._close()
            elif kind is AliasEvent:
                self._alias(event)
            elif kind is DocumentStartEvent:
                if root:
                    at = event.start_mark.index
                    raise TextError(at, "a second document begins here: put a line `---` before it")
                start = event.end_mark.index
            elif event is None or kind is StreamEndEvent:
                break
        if not root:
            return None
        if self._aliased and depth_of(root[0], self.limits.depth) > self.limits.depth:
            raise TextError(
                start, f"nested deeper than {self.limits.depth} levels through aliases", "too-deep"
            )
        return Built(root[0], self.items.get((), start), tuple(self.troubles), self.items)

    def _scalar(self, event: Any) -> None:
        text = event.value
        container = self._container
        if container.__class__ is dict and self._key is _NONE:
            self._read_key(event, text, container)
            return
        self._size += 1
        if event.implicit[0] and not event.style:
            if text and text[0] not in HINTS:
                value: Any = text
            else:
                value = read_plain(text)
                if value is not None and (value.__class__ is not str or is_unsendable(text)):
                    self._look_at(event, text, value)
        else:
            value = text if event.tag is None else self._tagged(event, text)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        if container.__class__ is list:
            container.append(value)
        elif self._key is _MERGE:
            self._merge(value, event)
        else:
            container[self._key] = value
            self._key = _NONE

    def _read_key(self, event: Any, text: str, container: dict[str, Any]) -> None:
        """Takes the scalar as the key of the next value; says when it is there already."""
        key: str | None = text
        if event.implicit[0] and not event.style:
            if text == "<<":
                self._key = _MERGE
                return
            if not text or text[0] in HINTS:
                value = read_plain(text)
                key = key_of(value)
                if key is None:
                    raise TextError(
                        event.start_mark.index, "a key is empty or null: write the key", "null-key"
                    )
                why = doubt(text, value)
                if why:
                    self._key = key
                    self._trouble("ambiguous-scalar", event, f"key {why}")
        elif event.tag is not None:
            key = key_of(self._tagged(event, text)) or ""
        if event.anchor is not None:
            self._anchors[event.anchor] = (text, 1)
        self._take_key(key or "", event, container)

    def _take_key(self, key: str, event: Any, container: dict[str, Any]) -> None:
        self._key = key
        if key in container:
            merged = self._merged.get(id(container), ())
            if key not in merged:
                message = (
                    f"key `{key}` is written twice in one mapping: kubectl keeps the last and drops the other "
                    "without a word; delete one of them"
                )
                self._trouble("duplicate-key", event, message)
                self.troubles[-1] = self.troubles[-1]._replace(mend=Mend((), "unrepeat", is_sure=False))

    def _tagged(self, event: Any, text: str) -> Any:
        try:
            return read_tagged(event.tag, text)
        except ValueError as error:
            raise TextError(
                event.start_mark.index, f"{error}: take the tag off or correct the value", "tag"
            ) from error

    def _look_at(self, event: Any, text: str, value: Any) -> None:
        """Adds a trouble when an unquoted scalar became something that its author may not have meant."""
        if value.__class__ is str:
            message = f'`{text}` is read as infinity or NaN, which can not be sent to the API server: write "{text}"'
            self._trouble("unsendable-number", event, message, text)
            return
        why = doubt(text, value)
        if why is not None:
            if not (is_octal(text) and str(self._key).lower().endswith("mode")):
                # Where text is wanted, it is what stands there; elsewhere what it is read as, in plain words.
                self._trouble("ambiguous-scalar", event, why, text if self._wants_text() else value)
        elif self._wants_text():
            name = self._name
            kind = "boolean" if value.__class__ is bool else "number"
            message = f'`{text}` is a {kind}, {name} take text and the API server refuses the object: write "{text}"'
            self._trouble("not-text", event, message, text)

    def _wants_text(self) -> bool:
        if self._container.__class__ is list:
            return self._name in TEXT_LISTS
        return self._name in TEXT_MAPS or (self._name == "env" and self._key == "value")

    def _open(self, event: Any, container: Any) -> None:
        outer, key = self._container, self._key
        if outer.__class__ is dict:
            if key is _NONE:
                raise TextError(
                    event.start_mark.index, "a mapping or list stands where a key belongs", "complex-key"
                )
            name = self._name if key is _MERGE else key
            listed = self._listed and key == "items" and container.__class__ is list
        else:
            name = self._name
            listed = self._listed and container.__class__ is dict
        if len(self._stack) >= self.limits.depth:
            raise TextError(
                event.start_mark.index, f"nested deeper than {self.limits.depth} levels", "too-deep"
            )
        if (listed and container.__class__ is dict) or not self._stack:
            self.items[self._path()] = event.start_mark.index
        self._size += 1
        if self._size + self._aliased > self.limits.nodes:
            raise TextError(
                event.start_mark.index, f"more than {self.limits.nodes} values in one document", "too-big"
            )
        anchor = event.anchor
        if anchor is not None:
            self._anchors[anchor] = (_NONE, 0)
        self._stack.append(
            _Frame(outer, key, self._name, self._listed, anchor, self._size + self._aliased - 1)
        )
        self._container, self._key, self._name, self._listed = container, _NONE, name, listed

    def _close(self) -> None:
        value = self._container
        outer, key, self._name, self._listed, anchor, before = self._stack.pop()
        self._container, self._key = outer, key
        if anchor is not None:
            self._anchors[anchor] = (value, self._size + self._aliased - before)
        self._deliver(value, None)

    def _alias(self, event: Any) -> None:
        try:
            value, size = self._anchors[event.anchor]
        except KeyError:
            raise TextError(
                event.start_mark.index, f"alias *{event.anchor} has no anchor before it", "alias"
            ) from None
        if value is _NONE:
            raise TextError(event.start_mark.index, f"anchor &{event.anchor} contains itself", "alias")
        self._aliased += size
        if self._aliased > self.limits.aliased:
            why = f"aliases make more than {self.limits.aliased} values of one document"
            raise TextError(event.start_mark.index, why, "alias-bomb")
        if self._container.__class__ is dict and self._key is _NONE:
            key = None if isinstance(value, dict | list) else key_of(value)
            if key is None:
                raise TextError(
                    event.start_mark.index, "a mapping or list stands where a key belongs", "complex-key"
                )
            self._take_key(key, event, self._container)
            return
        self._deliver(value, event)

    def _deliver(self, value: Any, event: Any) -> None:
        if self._container.__class__ is list:
            self._container.append(value)
        elif self._key is _MERGE:
            self._merge(value, event)
        else:
            self._container[self._key] = value
            self._key = _NONE

    def _merge(self, value: Any, event: Any) -> None:
        """Takes over what ``<<`` names: as in go-yaml v2 it overrides what is written before it, and of
        several mappings the first wins.
        """
        target: dict[str, Any] = self._container
        self._key = _NONE
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            at = event.start_mark.index if event is not None else 0
            raise TextError(at, "`<<` takes a mapping or a list of mappings", "merge")
        merged = self._merged.setdefault(id(target), set())
        for source in reversed(sources):
            lost = [k for k, v in source.items() if k in target and k not in merged and target[k] != v]
            target.update(source)
            merged.update(source)
            if lost and event is not None:
                message = (
                    f"`<<` overrides {', '.join(f'`{k}`' for k in lost)} written before it when kubectl reads the "
                    "file: put `<<` first"
                )
                self._trouble("merge-override", event, message)

    def _path(self) -> Path:
        inner = [(f.container, f.key) for f in self._stack[1:]]
        if self._stack:
            inner.append((self._container, self._key))
        steps = ((len(c) if c.__class__ is list else k) for c, k in inner)
        return tuple(step for step in steps if step is not _NONE and step is not _MERGE)

    def _trouble(self, code: str, event: Any, message: str, instead: Any = _NONE) -> None:
        """Notes a trouble; ``instead`` is the value to be written in that place."""
        start, end = event.start_mark.index, event.end_mark.index
        path = self._path()
        mend = None if instead is _NONE else Mend(path, "set", instead)
        self.troubles.append(RawTrouble(code, start, end, message, path, mend))


def depth_of(value: Any, limit: int) -> int:
    """Levels of nesting, counted no further than one beyond ``limit``."""
    level, depth = [value], 0
    while level and depth <= limit:
        children = (child for c in level for child in (c.values() if c.__class__ is dict else c))
        level = [c for c in children if c.__class__ is dict or c.__class__ is list]
        depth += 1
    return depth


_ADVICE = {
    "mapping values are not allowed": "a `: ` where none can be: indent the line like its neighbours or quote the value",
    "could not find expected ':'": "the line before it has no `:` after its key",
    "did not find expected key": "the line does not fit the mapping around it: check its indentation",
    "did not find expected '-' indicator": "the line does not fit the list around it: check its indentation",
    "did not find expected ',' or": "a flow mapping or list is not closed: add `,` or the bracket",
    "found unexpected end of stream": "a quote is not closed",
    "did not find expected node content": "a value is missing or starts with a character that needs quotes",
    "did not find expected <document start>": "the text goes on after the document's value: check its indentation",
    "did not find expected alphabetic": "a `*` or `&` that is no alias or anchor: quote it",
    "exceeded maximum nesting depth": "nested too deeply",
    "block sequence entries are not allowed": "a `- ` where no list item can be: begin a line with it",
    "duplicate %": "a directive is written twice",
    "unknown escape": "a backslash in double quotes that YAML does not know: write \\\\ or use single quotes",
}


def explain(error: yaml.MarkedYAMLError, text: str) -> TextError:
    """The parser's complaint in words that say what to do, at the offset where it shows."""
    mark = error.problem_mark or error.context_mark
    at = min(mark.index, len(text)) if mark else 0
    problem = error.problem or "not YAML"
    if "cannot start any token" in problem:
        found = text[at : at + 1]
        if found == "\t":
            return TextError(at, "a tab where YAML takes spaces only: replace it by spaces", "tab")
        return TextError(at, f"`{found}` can not begin a value: quote the value")
    if "exceeded maximum nesting" in problem:
        return TextError(at, "nested deeper than 1000 levels", "too-deep")
    for part, advice in _ADVICE.items():
        if part in problem:
            return TextError(at, f"{advice} ({problem})")
    return TextError(at, problem)


def _unreadable(error: ReaderError, text: str) -> TextError:
    code = error.character if isinstance(error.character, int) else ord(error.character)
    why = f"the control character #x{code:02x} is not allowed in YAML: remove it"
    return TextError(max(text.find(chr(code)), 0), why, "control-character")
