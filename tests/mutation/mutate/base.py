"""The good cluster as plain objects, and how one of its objects is found again.

The base is ``fixtures/clusters/demo-good`` with the objects of ``tests/mutation/extra``: good ones
of kinds that the example has no use for (a pod group, a slice configuration, ...), so that faults
in those kinds are edits too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[3]
GOOD = ROOT / "fixtures" / "clusters" / "demo-good"
EXTRA = Path(__file__).resolve().parents[1] / "extra"

Object = dict[str, Any]
Documents = dict[str, list[Any]]
# Changes one object in place, given the list that it is in and where.
Change = Callable[[list[Any], int], None]


class Ref(NamedTuple):
    """An object: the file, the document, and for an item of a List which one (else -1)."""

    file: str
    document: int
    item: int = -1


class World(NamedTuple):
    """The base. ``texts`` are the files as they are written, ``documents`` what they hold."""

    texts: dict[str, str]
    documents: Documents

    def objects(self, *kinds: str) -> Iterator[tuple[Ref, Object]]:
        """Objects of these kinds (every object without), in the order of files and documents."""
        for file, documents in self.documents.items():
            for n, document in enumerate(documents):
                if document.get("kind") == "List":
                    found = [(Ref(file, n, i), item) for i, item in enumerate(document["items"])]
                else:
                    found = [(Ref(file, n), document)]
                yield from ((ref, it) for ref, it in found if not kinds or it["kind"] in kinds)

    def one(self, kind: str, name: str) -> tuple[Ref, Object]:
        """The object of that name. Raises LookupError: an operator then fits the base no more."""
        for ref, it in self.objects(kind):
            if it["metadata"]["name"] == name:
                return ref, it
        raise LookupError(f"the base has no {kind} {name}")


class Edit(NamedTuple):
    """One place that is made worse: where, in words, and what happens to which objects."""

    place: str
    changes: tuple[tuple[Ref, Change], ...]


def is_inventory(file: str) -> bool:
    return file.startswith("inventory/")


def load() -> World:
    """The base, files in the order of their names."""
    texts: dict[str, str] = {}
    for folder, prefix in ((GOOD, ""), (EXTRA, "extra/")):
        for path in sorted(folder.rglob("*.yaml")):
            texts[prefix + path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8")
    return World(texts, {name: parse(text) for name, text in texts.items()})


def parse(text: str) -> list[Any]:
    return [d for d in yaml.load_all(text, Loader=yaml.CSafeLoader) if d is not None]


def dump(documents: list[Any]) -> str:
    return yaml.dump_all(documents, Dumper=_Plain, sort_keys=False, width=4096)


class _Plain(yaml.CSafeDumper):
    """Without anchors: what was one value in two places is written twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def apply(world: World, edit: Edit) -> dict[str, str]:
    """The files that the edit changes, as they read afterwards. The World stays as it is."""
    touched = {ref.file: copy.deepcopy(world.documents[ref.file]) for ref, _ in edit.changes}
    # From the back, so that an object that goes does not move those that are still to change.
    for ref, change in sorted(edit.changes, key=lambda each: each[0], reverse=True):
        documents = touched[ref.file]
        if ref.item < 0:
            change(documents, ref.document)
        else:
            change(documents[ref.document]["items"], ref.item)
    return {file: dump(documents) for file, documents in touched.items()}


def label(it: Object) -> str:
    """How an object is called in the name of a mutant."""
    meta = it.get("metadata", {})
    space = f"{meta['namespace']}/" if "namespace" in meta else ""
    return f"{it['kind']}/{space}{meta.get('name', '?')}"
