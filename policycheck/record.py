"""``NamedTuple`` as the standard library has it, made in a tenth of the time.

A class of ``typing.NamedTuple`` takes 0.15 ms to make: each annotation is compiled, and a constructor
is generated. A run of ``lint`` makes some 200 such classes and builds few of them. Here annotations
stay text, and the constructor is generated when the first record is built; from then on there is no
difference. Type checkers see the class of the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - handed on
else:
    try:
        from _collections import _tuplegetter as _item
    except ImportError:  # another Python than CPython
        from operator import itemgetter

        def _item(position: int, words: str) -> property:
            return property(itemgetter(position), doc=words)

    _new = tuple.__new__

    def _constructor(cls: Any) -> Any:
        """``__new__`` of a record: all fields by position or name, as ``collections.namedtuple`` makes it."""
        names = ", ".join(cls._fields)
        values = f"({names}{',' if len(cls._fields) == 1 else ''})"
        space = {"_new": _new, "__builtins__": {}, "__name__": cls.__module__}
        make = eval(f"lambda _cls, {names}: _new(_cls, {values})", space)  # noqa: S307 - names of our own fields
        make.__defaults__ = tuple(cls._field_defaults.values())
        make.__name__ = "__new__"
        make.__qualname__ = f"{cls.__qualname__}.__new__"
        return make

    def _first(cls: Any, *values: object, **named: object) -> Any:
        """Makes the constructor, puts it in its place, and calls it."""
        make = _constructor(cls)
        cls.__new__ = make
        return make(cls, *values, **named)

    def _make(cls: Any, values: Iterable[object]) -> Any:
        """A record of the values of an iterable. Raises TypeError when they are too few or too many."""
        made = _new(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self: Any, /, **named: object) -> Any:
        """The record with other values. Raises ValueError for a name that is no field."""
        made = self._make(map(named.pop, self._fields, self))
        if named:
            raise ValueError(f"Got unexpected field names: {list(named)!r}")
        return made

    def _asdict(self: Any) -> dict[str, Any]:
        """Fields and values, in order."""
        return dict(zip(self._fields, self, strict=True))

    def _repr(self: Any) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({fields})"

    def _arguments(self: Any) -> tuple[Any, ...]:
        """For pickle and copy."""
        return tuple(self)

    _SHARED = {
        "__slots__": (),
        "__new__": _first,
        "_make": classmethod(_make),
        "_replace": _replace,
        "_asdict": _asdict,
        "__repr__": _repr,
        "__getnewargs__": _arguments,
    }

    class _Maker(type):
        """Turns the body of a class into a subclass of tuple."""

        def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, space)
            fields = tuple(space.get("__annotations__", ()))
            made = {**_SHARED, **space, "_fields": fields, "__match_args__": fields}
            made["_field_defaults"] = {field: space[field] for field in fields if field in space}
            for position, field in enumerate(fields):
                made[field] = _item(position, "")
            return type(name, (tuple,), made)

    class NamedTuple(metaclass=_Maker):
        """Base of records: ``class Place(NamedTuple): file: str``."""
