"""Parameters of rules: what values they take, and what is wrong with a given one."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.lint.rule import Param
from policycheck.model.amount import QuantityError, quantity
from policycheck.model.schema import Field, list_of, string, suggest


def param_field(kind: str) -> Field:
    """The field that a parameter of type ``kind`` is in expressions."""
    return list_of(string()) if kind == "list" else Field(kind)


def wrong_params(given: Mapping[str, object], known: Mapping[str, Param]) -> list[str]:
    """What is wrong with parameter values."""
    wrong = []
    for name, value in given.items():
        if name not in known:
            wrong.append(f"no parameter {name!r}{suggest(name, list(known)) or '; this rule has none'}")
        elif found := misfit(known[name], value):
            wrong.append(f"parameter {name!r} {found}")
    return wrong


def misfit(param: Param, value: object) -> str:
    """Why ``value`` is none for ``param``; "" when it is."""
    kinds: dict[str, tuple[type, ...]] = {
        "string": (str,),
        "int": (int,),
        "number": (int, float),
        "bool": (bool,),
        "quantity": (int, float, str),
        "list": (list,),
    }
    if not isinstance(value, kinds[param.type]) or (isinstance(value, bool) and param.type != "bool"):
        return f"is {value!r}; it has to be of type {param.type}"
    if param.type == "list" and isinstance(value, list) and not all(isinstance(v, str) for v in value):
        return f"is {value!r}; it has to be a list of strings"
    if param.type == "quantity":
        try:
            quantity(value)
        except QuantityError as error:
            return str(error)
    if param.enum and value not in param.enum:
        return f"is {value!r}; allowed are {', '.join(param.enum)}"
    return ""
