"""Field tables as protobuf descriptors: what expressions are type-checked against.

This module is imported only when an expression is compiled.
What has no counterpart in protobuf (int-or-string, a quantity, a list in a list) becomes a
``google.protobuf.Value``, which CEL treats as dynamic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2

from policycheck.model.schema import Field
from policycheck.record import NamedTuple

_PROTO = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _PROTO.TYPE_STRING,
    "duration": _PROTO.TYPE_STRING,
    "timestamp": _PROTO.TYPE_STRING,
    "int": _PROTO.TYPE_INT64,
    "number": _PROTO.TYPE_DOUBLE,
    "bool": _PROTO.TYPE_BOOL,
}
_VALUE = ".google.protobuf.Value"
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Words that the CEL grammar keeps; `object.spec.in` does not parse, so no rule can name such a field.
_RESERVED = frozenset({"in", "true", "false", "null"})
PACKAGE = "t"


class Descriptors(NamedTuple):
    """A pool with one message type per object of a table, and what each type was made from."""

    pool: Any
    types: Mapping[str, str]  # variable -> type name, for those variables that are objects
    fields: Mapping[str, Field]  # type name -> the table's object


def build(variables: Mapping[str, Field]) -> Descriptors:
    """Descriptors for the objects among ``variables`` (and those inside their lists and maps)."""
    file = descriptor_pb2.FileDescriptorProto(
        name="subject.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=["google/protobuf/struct.proto"],
    )
    made: dict[str, Field] = {}
    types: dict[str, str] = {}
    for variable in sorted(variables):
        field = _innermost(variables[variable])
        if field.type == "object":
            types[variable] = _messages(file, made, field, variable)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return Descriptors(pool, types, made)


def _innermost(field: Field) -> Field:
    while field.type in ("list", "map") and field.item is not None:
        field = field.item
    return field


def _messages(file: Any, made: dict[str, Field], root: Field, name: str) -> str:
    """Add the message of ``root`` and of everything below it; the full name of the first."""
    pending = [(root, name)]
    while pending:
        field, title = pending.pop()
        made[f"{PACKAGE}.{title}"] = field
        message = file.message_type.add(name=title)
        for number, (key, below) in enumerate(field.fields.items(), start=1):
            if _IDENTIFIER.match(key) and key not in _RESERVED:
                child = f"{title}_{key}"
                if _add(message, key, number, below, child):
                    pending.append((_innermost(below), child))
    return f"{PACKAGE}.{name}"


def _add(message: Any, key: str, number: int, field: Field, child: str) -> bool:
    """Add one field to ``message``; whether ``child`` has to be made as a message too."""
    several = field.type in ("list", "map")
    kind, type_name = _kind(field.item if several else field, child)
    label = _PROTO.LABEL_REPEATED if several else _PROTO.LABEL_OPTIONAL
    needs_child = type_name == f".{PACKAGE}.{child}"
    if field.type == "map":
        # The descriptor language requires this name of the entry of a map.
        entry = message.nested_type.add(name=_camel(key) + "Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=_PROTO.TYPE_STRING, label=_PROTO.LABEL_OPTIONAL)
        _typed(entry, "value", 2, kind, _PROTO.LABEL_OPTIONAL, type_name)
        kind, type_name = _PROTO.TYPE_MESSAGE, f".{PACKAGE}.{message.name}.{entry.name}"
    _typed(message, key, number, kind, label, type_name)
    return needs_child


def _typed(message: Any, name: str, number: int, kind: Any, label: Any, type_name: str) -> None:
    added = message.field.add(name=name, number=number, type=kind, label=label)
    if type_name:
        added.type_name = type_name


def _camel(key: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in key.split("_"))


def _kind(field: Field | None, child: str) -> tuple[Any, str]:
    """Type and type name of a single value."""
    if field is not None and field.type in _SCALARS:
        return _SCALARS[field.type], ""
    if field is not None and field.type == "object":
        return _PROTO.TYPE_MESSAGE, f".{PACKAGE}.{child}"
    return _PROTO.TYPE_MESSAGE, _VALUE
