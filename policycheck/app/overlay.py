"""What the files of a kustomization write, outermost first: patches, then resources, then what they build upon."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from policycheck.model.origin import ObjectKey, Path
from policycheck.record import NamedTuple
from policycheck.source.document import DocumentId
from policycheck.source.files import clean
from policycheck.source.kustomize import kustomization_file, read_kustomization
from policycheck.source.text import TextError
from policycheck.source.tree import Tree
from policycheck.source.yamldoc import load_values, parse

_STEP = re.compile(
    r"\['(?P<quoted>[^']*)'\]|\[name=(?P<name>[^\]]*)\]|\[(?P<at>\d+)\]|\.?(?P<key>[A-Za-z0-9_-]+)"
)
_MOST = 200  # kustomizations that are followed
_PATCHES = ("patches", "patchesJson6902", "patchesStrategicMerge")

Read = Callable[[str], bytes]


class Named(NamedTuple):
    """A step to the item of that name."""

    name: str


class Written(NamedTuple):
    """One text that describes an object, or changes one.

    ``value`` is what it says, beneath ``base`` in the document ``id``. ``operations``: it is a list of JSON
    patch operations. ``kind`` and ``name`` tell what it is about; "" for anything.
    """

    id: DocumentId
    base: Path
    value: Any
    kind: str
    name: str
    is_resource: bool = False
    operations: bool = False

    def is_about(self, key: ObjectKey) -> bool:
        """Whether it may describe this object, which prefixes and suffixes may have renamed."""
        return self.kind in ("", key.kind) and (not self.name or self.name in key.name)

    def writes(self, path: Path, steps: tuple[object, ...], held: object) -> Path | None:
        """Where in the document it writes ``held`` at ``path`` of the object; None when it does not."""
        if self.operations:
            return self._operation(path, held)
        mine, is_there, value = resolved(self.value, steps)
        if not is_there:
            return None
        renamed = path == ("metadata", "name") and isinstance(value, str) and value in str(held)
        whole = isinstance(held, (dict, list)) and isinstance(value, type(held))
        return (*self.base, *mine) if value == held or renamed or whole else None

    def _operation(self, path: Path, held: object) -> Path | None:
        """The last operation that sets the value, or something around it."""
        for number, one in reversed(list(enumerate(self.value))):
            if not isinstance(one, Mapping) or one.get("op") not in ("add", "replace"):
                continue
            pointer = _pointer(str(one.get("path", "")))
            if len(pointer) > len(path) or not all(
                a in (b, "-") for a, b in zip(pointer, path, strict=False)
            ):
                continue
            rest, is_there, value = resolved(one.get("value"), tuple(path[len(pointer) :]))
            if is_there and (value == held or isinstance(held, (dict, list))):
                return (*self.base, number, "value", *rest)
        return None


def steps_of(dotted: str) -> tuple[object, ...] | None:
    """A path as findings show it: keys, positions, and names of items. None when it can not be read."""
    steps: list[object] = []
    at = 0
    while at < len(dotted):
        found = _STEP.match(dotted, at)
        if found is None:
            return None
        if found["at"] is not None:
            steps.append(int(found["at"]))
        elif found["name"] is not None:
            steps.append(Named(found["name"]))
        else:
            steps.append(found["key"] if found["quoted"] is None else found["quoted"])
        at = found.end()
    return tuple(steps)


def resolved(value: Any, steps: tuple[object, ...]) -> tuple[Path, bool, Any]:
    """As far as ``steps`` lead into ``value``: the path, whether that is all of them, and what is there."""
    path: list[str | int] = []
    for step in steps:
        if isinstance(step, Named) and isinstance(value, list):
            names = [item.get("name") if isinstance(item, Mapping) else None for item in value]
            if step.name not in names:
                return tuple(path), False, value
            key: str | int = names.index(step.name)
        elif (isinstance(step, int) and isinstance(value, list) and step < len(value)) or (
            isinstance(step, str) and isinstance(value, Mapping) and step in value
        ):
            key = step
        else:
            return tuple(path), False, value
        path.append(key)
        value = value[key]
    return tuple(path), True, value


def writers(folder: str, read: Read, tree: Tree) -> Iterator[Written]:
    """Everything that the kustomization in ``folder`` is made of, as far as it is here."""
    seen = {folder}
    level = [folder]
    while level and len(seen) <= _MOST:
        below: list[str] = []
        for one in level:
            file = kustomization_file(one, tree)
            if file is None:
                continue
            made = read_kustomization(file, read, tree)
            patches = list(_patches(file, read, tree))
            yield from patches
            patching = {patch.id.file for patch in patches}
            for name in made.files:
                if name not in patching:
                    yield from _resources(name, read)
            fresh = [name for name in made.folders if name not in seen]
            seen.update(fresh)
            below += fresh
        level = below


def _resources(file: str, read: Read) -> Iterator[Written]:
    try:
        documents = parse(file, read(file)).documents
    except OSError:
        return
    for document in documents:
        yield _object(document.id, (), document.value, is_resource=True)


def _object(
    identity: DocumentId, base: Path, value: Mapping[str, Any], *, is_resource: bool = False
) -> Written:
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else ""
    return Written(identity, base, value, str(value.get("kind") or ""), str(name or ""), is_resource)


def _patches(file: str, read: Read, tree: Tree) -> Iterator[Written]:
    """Patches in files and in the kustomization itself; the last one first, since it is applied last."""
    folder = file.rpartition("/")[0]
    values = _values(file, read)
    value = values[0] if values and isinstance(values[0], Mapping) else {}
    for key in reversed(_PATCHES):
        named = value.get(key)
        for number, item in reversed(list(enumerate(named if isinstance(named, list) else []))):
            target = item.get("target") if isinstance(item, Mapping) else None
            target = target if isinstance(target, Mapping) else {}
            inline, path = (item, None) if isinstance(item, str) else (item.get("patch"), item.get("path"))
            if isinstance(item, str) and "\n" not in item:
                inline, path = None, item
            if isinstance(inline, str):
                base: Path = (key, number) if isinstance(item, str) else (key, number, "patch")
                yield from _patch(DocumentId(file), base, _loaded(inline), target)
            elif isinstance(path, str):
                name = clean(f"{folder}/{path}" if folder else path)
                if tree.is_file(name):
                    for n, one in enumerate(_values(name, read)):
                        yield from _patch(DocumentId(name, n), (), one, target)


def _patch(identity: DocumentId, base: Path, value: Any, target: Mapping[str, Any]) -> Iterator[Written]:
    if isinstance(value, list):
        kind, name = str(target.get("kind") or ""), str(target.get("name") or "")
        plain = name if re.fullmatch(r"[A-Za-z0-9.-]*", name) else ""
        yield Written(identity, base, value, kind, plain, operations=True)
    elif isinstance(value, Mapping):
        one = _object(identity, base, value)
        # A patch with a target is applied to what that selects, whatever name it has itself.
        yield one._replace(name="") if target else one


def _loaded(text: str) -> Any:
    try:
        found = load_values("", text.encode())
    except TextError:
        return None
    return found[0][1] if found else None


def _values(file: str, read: Read) -> list[Any]:
    try:
        return [value for _, value in load_values(file, read(file))]
    except (OSError, TextError):
        return []


def _pointer(text: str) -> tuple[object, ...]:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]
    return tuple(int(part) if part.isdigit() else part for part in parts)
