"""Field tables: what one kind of object may hold, written by hand, compactly, once per kind.

One table feeds the check for unknown fields, the conversion between versions, and the types that
rule expressions are checked against. It reads like the object::

    Table("example.org", "Queue", ("v1alpha1", "v1"), obj(
        cohortName=string(renamed_from="cohort"),
        preemption=obj(within=string(enum=("Never", "Any"), default="Never")),
        flavors=required(list_of(obj(name=string(required=True)), key="name", max_items=64)),
        template=any_(),
    ))

Types: ``string``, ``int``, ``number``, ``bool``, ``quantity``, ``int-or-string``, ``duration``,
``timestamp``, ``map``, ``list``, ``object``, ``any``. Importing this costs nothing but itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.record import NamedTuple
from policycheck.wording import some

NOTHING: Mapping[str, Any] = {}
_NEAR = 0.6  # likeness from which on a word is taken for a slip of another
_SURE, _APART = 0.85, 0.1  # from which on it can be no other word, when the next is so much less like


class Field(NamedTuple):
    """One field and what is below it. What is not said is not restricted.

    ``since`` is the first API version that has the field, ``until`` the last one; ``renamed_from``
    is its name, under the same parent, in the versions before ``renamed_in`` (the newest one when
    empty). ``aliases`` are older spellings of enum values and what they convert to.
    """

    type: str
    required: bool = False
    default: object = None  # what the API server fills in; None means it fills in nothing
    enum: tuple[str, ...] = ()
    aliases: Mapping[str, str] = NOTHING
    pattern: str = ""  # a string matches it in full
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None  # of a list or a map
    max_items: int | None = None
    fields: Mapping[str, Field] = NOTHING  # of an object
    item: Field | None = None  # of a list, and the values of a map
    key: str = ""  # of a list of objects: the field that tells its items apart
    unique: bool = False  # of a list of scalars: a set
    open: bool = False  # an object that may hold other fields too
    since: str = ""
    until: str = ""
    renamed_from: str = ""
    renamed_in: str = ""
    note: str = ""  # what to write instead, or why it is not settable


class Table(NamedTuple):
    """The fields of one kind. ``versions`` are those served, oldest first; the last is the newest.

    ``group`` is "" for the core group. ``spec`` is the object below ``spec``, unless ``whole`` is
    set: then it holds the top-level fields beside apiVersion, kind and metadata.
    ``dead`` are versions that no server serves any more, with what to do about it.
    """

    group: str
    kind: str
    versions: tuple[str, ...]
    spec: Field
    status: Field | None = None
    namespaced: bool = False
    whole: bool = False
    deprecated: tuple[str, ...] = ()
    dead: Mapping[str, str] = NOTHING

    @property
    def name(self) -> str:
        """``group/Kind``, or ``v1/Kind`` for the core group: what a rule's subject says."""
        return f"{self.group or 'v1'}/{self.kind}"

    @property
    def newest(self) -> str:
        """The version in which rules see the object."""
        return self.versions[-1]

    def root(self) -> Field:
        """The whole object as one Field."""
        fields: dict[str, Field] = {"apiVersion": string(), "kind": string(), "metadata": metadata()}
        if self.whole:
            fields.update(self.spec.fields)
        else:
            fields["spec"] = self.spec
        if "status" not in fields:
            fields["status"] = self.status or any_()
        return Field("object", fields=fields, open=self.whole and self.spec.open)

    def has(self, field: Field, version: str) -> bool:
        """Whether ``field`` exists in ``version`` (unknown versions count as the newest)."""
        if not (field.since or field.until):
            return True
        order = {name: at for at, name in enumerate(self.versions)}
        at = order.get(version, len(order))
        return order.get(field.since, -1) <= at <= order.get(field.until, len(order))

    def spelled(self, name: str, field: Field, version: str) -> str:
        """How the field called ``name`` in the newest version is written in ``version``."""
        if not field.renamed_from or version not in self.versions:
            return name
        changed = self.versions.index(field.renamed_in or self.newest)
        return field.renamed_from if self.versions.index(version) < changed else name


def string(**options: Any) -> Field:
    """Text."""
    return Field("string", **options)


def integer(**options: Any) -> Field:
    """A whole number."""
    return Field("int", **options)


def number(**options: Any) -> Field:
    """A number that may have a fraction."""
    return Field("number", **options)


def boolean(**options: Any) -> Field:
    """True or false."""
    return Field("bool", **options)


def quantity(**options: Any) -> Field:
    """A Kubernetes quantity: 8, "500m", 64Gi. In expressions: ``quantity(it.nominalQuota)``."""
    return Field("quantity", **options)


def int_or_string(**options: Any) -> Field:
    """A port, a share: 3 or "30%"."""
    return Field("int-or-string", **options)


def duration(**options: Any) -> Field:
    """A Go duration: "1h30m"."""
    return Field("duration", **options)


def timestamp(**options: Any) -> Field:
    """An RFC 3339 time."""
    return Field("timestamp", **options)


def map_of(item: Field, **options: Any) -> Field:
    """A map from strings to ``item``."""
    return Field("map", item=item, **options)


def labels(**options: Any) -> Field:
    """A map from strings to strings."""
    return Field("map", item=string(), **options)


def list_of(item: Field, **options: Any) -> Field:
    """A list of ``item``; ``key`` names the field that tells the items of a list of objects apart."""
    return Field("list", item=item, **options)


def any_(**options: Any) -> Field:
    """Anything: a pod template, somebody else's object. Nothing below it is checked."""
    return Field("any", **options)


def obj(fields: Mapping[str, Field] | None = None, /, **more: Field) -> Field:
    """An object. Names that are no Python names go into the mapping; options through ``but``."""
    return Field("object", fields={**(fields or {}), **more})


def but(field: Field, **options: Any) -> Field:
    """``field`` with other options: ``but(obj(...), open=True, since="v1beta2")``."""
    return field._replace(**options)


def required(field: Field) -> Field:
    """``field``, and it has to be there."""
    return field._replace(required=True)


def metadata() -> Field:
    """ObjectMeta, as far as people write it or servers fill it in."""
    return obj(
        name=string(),
        generateName=string(),
        namespace=string(),
        labels=labels(),
        annotations=labels(),
        uid=string(),
        generation=integer(),
        resourceVersion=string(),
        creationTimestamp=timestamp(),
        deletionTimestamp=timestamp(),
        deletionGracePeriodSeconds=integer(),
        selfLink=string(),
        finalizers=list_of(string()),
        ownerReferences=list_of(
            obj(
                apiVersion=string(),
                kind=string(),
                name=string(),
                uid=string(),
                controller=boolean(),
                blockOwnerDeletion=boolean(),
            ),
            key="uid",
        ),
        managedFields=list_of(any_()),
    )


class FieldPathError(ValueError):
    """A field path that is misspelt, or leads to nothing. ``offset`` is the 0-based place in it."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


Step = str | int | None  # a key; the position in a list; None for ``[*]``, every item


def parse_path(text: str) -> tuple[tuple[Step, int], ...]:
    """The steps of ``spec.groups[*].labels['a.b/c'][0]``, each with its offset in ``text``.

    Raises FieldPathError.
    """
    steps: list[tuple[Step, int]] = []
    at = 0
    while at < len(text):
        if text[at] == "[":
            end = _closing(text, at)
            steps.append((_bracketed(text[at + 1 : end], text, at), at))
            at = end + 1
            continue
        if steps:
            if text[at] != ".":
                raise FieldPathError(f"expected '.' or '[' in {text!r}, found {text[at]!r}", at)
            at += 1
        end = at
        while end < len(text) and text[end] not in ".[":
            end += 1
        if end == at:
            raise FieldPathError(f"a name is missing in {text!r}", at)
        steps.append((text[at:end], at))
        at = end
    return tuple(steps)


def _closing(text: str, at: int) -> int:
    quote = text[at + 1 : at + 2]
    if quote in ("'", '"') and quote:
        end = text.find(quote + "]", at + 2)
        end = end + 1 if end >= 0 else -1
    else:
        end = text.find("]", at)
    if end < 0:
        raise FieldPathError(f"'[' without ']' in {text!r}", at)
    return end


def _bracketed(inside: str, text: str, at: int) -> Step:
    if inside == "*":
        return None
    if inside.isascii() and inside.isdigit() and len(inside) < 10:
        return int(inside)
    if len(inside) > 1 and inside[0] == inside[-1] and inside[0] in "'\"":
        return inside[1:-1]
    raise FieldPathError(f"write [*], [0] or ['a.key'] in {text!r}, not [{inside}]", at)


def walk(root: Field, text: str) -> Field:
    """The Field that ``text`` leads to from ``root``; what is below ``any`` is ``any``.

    Raises FieldPathError with a did-you-mean.
    """
    field = root
    for step, offset in parse_path(text):
        field = step_into(field, step, text, offset)
    return field


def step_into(field: Field, step: Step, text: str, offset: int) -> Field:
    """One step down from ``field``. Raises FieldPathError; ``text`` and ``offset`` are for its words."""
    match field.type:
        case "any":
            return field
        case "list":
            if isinstance(step, str):
                raise FieldPathError(
                    f"{step!r} in {text!r}: this is a list, write [*] or [0] before it", offset
                )
            return field.item or any_()
        case "map":
            if isinstance(step, int):
                raise FieldPathError(f"[{step}] in {text!r}: this is a map, write ['key'] or [*]", offset)
            return field.item or any_()
        case "object":
            if not isinstance(step, str):
                raise FieldPathError(f"'[' in {text!r}: this is an object, not a list", offset)
            found = field.fields.get(step)
            if found is not None:
                return found
            if field.open:
                return any_()
            raise FieldPathError(f"no field {step!r} in {text!r}{suggest(step, field.fields)}", offset)
    raise FieldPathError(f"{step!r} in {text!r}: there is nothing below a {field.type}", offset)


def meant(word: str, allowed: Mapping[str, object] | tuple[str, ...] | list[str]) -> tuple[str, bool]:
    """The one of ``allowed`` that ``suggest`` would name, and whether nothing else can be meant; ("", False)
    when none is near.
    """
    plain = [name for name in sorted(allowed) if _bare(name) == _bare(word)]
    if len(plain) == 1:
        return plain[0], True
    ranked = _ranked(word, sorted(allowed))
    if not ranked or ranked[0][0] < _NEAR:
        return "", False
    second = ranked[1][0] if len(ranked) > 1 else 0.0
    return ranked[0][2], ranked[0][0] >= _SURE and ranked[0][0] - second >= _APART


def _bare(word: str) -> str:
    return "".join(char for char in word.lower() if char.isalnum())


def _ranked(word: str, names: list[str]) -> list[tuple[float, int, str]]:
    """The names by likeness to ``word``, the most like first."""
    import difflib

    low = word.lower()
    found = []
    for name in names:
        same = sum(a == b for a, b in zip(low, name.lower(), strict=False))
        found.append((difflib.SequenceMatcher(None, low, name.lower()).ratio(), same, name))
    return sorted(found, key=lambda one: (-one[0], -one[1], names.index(one[2])))


def suggest(word: str, allowed: Mapping[str, object] | tuple[str, ...] | list[str]) -> str:
    """``; did you mean 'x'?`` or ``; allowed are ...`` for a word that is not among ``allowed``."""
    names = sorted(allowed)
    ranked = _ranked(word, names)
    if ranked and ranked[0][0] >= _NEAR:
        return f"; did you mean {ranked[0][2]!r}?"
    shown = some(names, 12)
    return f"; allowed are {shown}" if names else ""
