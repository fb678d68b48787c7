"""CEL behind our own port, so that the engine can be exchanged.

``compile_expression`` checks an expression against field tables and gives bytes; ``Runtime`` turns
those bytes into a Program that evaluates over plain dicts, without descriptors. The engine loads
protobuf by itself as soon as an environment is made (20 ms), so one is made only when an object is
in sight that a rule with an expression is about. It stops an evaluation after 10,000 iterations in all; that, like every error, comes back as a CelError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from policycheck.model.amount import QuantityError, amount, quantity
from policycheck.model.schema import Field, obj, suggest
from policycheck.record import NamedTuple

# The engine's version is part of a compiled expression: bytes of another one are compiled again.
ENGINE = "cel-expr-python/0.1"
EXTENSIONS = ("bindings", "lists", "math", "optional", "sets", "strings", "two-var-comprehensions")
_FUNCTION_NAMES = ("quantity(x)", "amount(resource, x)", "isQuantity(x)", "version(text)")
_MAX_LENGTH = 4_000
_MAX_BINDINGS = 12
# Functions by which a value of any size comes out of a small one.
_GROWING = re.compile(r"\b(lists\s*\.\s*range)\b|\.\s*(replace|join|format|flatten)\s*\(")
# Those that make another value as large as the one they are given; the engine keeps all until the end.
_COPYING = re.compile(
    r"\.\s*(?:lowerAscii|upperAscii|trim|split|substring|reverse|slice|sort|sortBy|distinct|map|transform\w+)\s*\("
)
_MEMORY = 512 * 1024 * 1024  # bytes that one evaluation may come to
_ITERATIONS = 10_000  # the engine's own limit
_LEAST = 1024  # bytes that any expression has to be able to see
_BINDING = re.compile(
    r"\.\s*(?:all|exists|exists_one|existsOne|map|filter|bind|optMap|optFlatMap|transform\w+|sortBy)\s*\("
)
_INT_MAX, _INT_MIN = 2**63 - 1, -(2**63)
_CEL_TYPES = {
    "string": "STRING",
    "duration": "STRING",
    "timestamp": "STRING",
    "int": "INT",
    "number": "DOUBLE",
    "bool": "BOOL",
}


class CelError(NamedTuple):
    """An evaluation that gave no answer: ``what`` is ``budget`` or ``evaluation``."""

    what: str
    message: str


class CelCompileError(ValueError):
    """The expression is no CEL, or names what its subject does not have. Line, column from 1."""

    def __init__(self, message: str, line: int, column: int, expression: str) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.expression = expression

    def __str__(self) -> str:
        lines = self.expression.splitlines() or [""]
        shown = lines[min(self.line, len(lines)) - 1]
        return f"{self.message}\n  | {shown}\n  | {' ' * (self.column - 1)}^"


class Compiled(NamedTuple):
    """A checked expression in a form that can be stored, and the name of the type it gives."""

    data: bytes
    result: str


class Program:
    """An expression ready to be evaluated."""

    __slots__ = ("_environment", "_expression")

    def __init__(self, expression: Any, environment: Any) -> None:
        self._expression = expression
        self._environment = environment

    def eval(self, context: Mapping[str, object]) -> object:
        """The value over ``context``, or a CelError; never raises for what a document holds."""
        found = self._eval(context)
        if isinstance(found, CelError):
            fitting = {name: _representable(value) for name, value in context.items()}
            if fitting != context or _types_differ(fitting, context):
                return self._eval(fitting)
        return found

    def _eval(self, context: Mapping[str, object]) -> object:
        try:
            value = self._expression.eval(data=context)
        except (RuntimeError, OverflowError, TypeError, ValueError, MemoryError) as error:
            message = str(error)
            budget = "budget" in message
            return CelError("budget" if budget else "evaluation", _plain_message(message))
        if value.type().name() == "ERROR":
            return CelError("evaluation", _plain_message(str(value.plain_value())))
        return value.plain_value()


class Runtime:
    """The all-dynamic environment in which stored expressions run. Make one per run."""

    def __init__(self) -> None:
        from cel_expr_python import cel

        names = ("object", "it", "params", "target")
        self._environment = cel.NewEnv(
            config=_config(cel),
            variables=dict.fromkeys(names, cel.Type.DYN),
            functions=_functions(cel),
        )

    def load(self, data: bytes) -> Program:
        """The Program of ``Compiled.data``."""
        return Program(self._environment.deserialize(data), self._environment)


def compile_expression(expression: str, variables: Mapping[str, Field]) -> Compiled:
    """``expression`` checked against the fields of ``variables``. Raises CelCompileError."""
    from cel_expr_python import cel

    from policycheck.lint import descriptor

    _refuse_bombs(expression)
    made = descriptor.build(variables)
    environment = cel.NewEnv(
        descriptor_pool=made.pool,
        config=_config(cel),
        variables={name: _type(cel, field, made.types.get(name)) for name, field in variables.items()},
        functions=_functions(cel),
    )
    try:
        compiled = environment.compile(expression)
    except RuntimeError as error:
        raise _explained(str(error), expression, variables, made.fields) from None
    return Compiled(compiled.serialize(), compiled.return_type().name())


def _refuse_bombs(expression: str) -> None:
    """Refuse what could take the machine before the iteration budget sets in: rules of a pull
    request are evaluated too. Lists out of nothing, and values that double from level to level.
    """
    if len(expression) > _MAX_LENGTH:
        what = f"{len(expression):,} characters; an expression has at most {_MAX_LENGTH:,}"
        raise CelCompileError(what, 1, 1, expression[:80])
    found = _GROWING.search(expression)
    if found:
        line = expression.count("\n", 0, found.start()) + 1
        column = found.start() - expression.rfind("\n", 0, found.start())
        what = f"{found[1] or found[2]} is not available in rules: a value of any size could come out of it"
        raise CelCompileError(what, line, column, expression)
    if len(_BINDING.findall(expression)) > _MAX_BINDINGS:
        what = f"more than {_MAX_BINDINGS} macros that bind a variable; write it as a check in Python"
        raise CelCompileError(what, 1, 1, expression)
    most = allowance(expression)
    if most is not None and most < _LEAST:
        raise CelCompileError(
            "too many + for the variables that it binds; write it shorter", 1, 1, expression
        )


def allowance(expression: str) -> int | None:
    """How large (see ``weigh``) what it is evaluated over may be, so that memory stays bounded; None
    when it makes no copies of what it sees.

    Each + can double a value that is bound to a variable, and adds up without one.
    """
    plus = expression.count("+")
    if not plus and not _COPYING.search(expression):
        return None
    growth = 2 ** min(plus, 64) if "bind" in expression else plus + 1
    turns = _ITERATIONS if _BINDING.search(expression) else 1
    return _MEMORY // (growth * turns)


def weigh(value: object, most: int) -> int:
    """Characters of a value and 16 for each part of it, counted no further than beyond ``most``."""
    weight, pending = 0, [value]
    while pending and weight <= most:
        at = pending.pop()
        weight += 16
        if isinstance(at, str):
            weight += len(at)
        elif isinstance(at, Mapping):
            weight += sum(len(str(key)) for key in at)
            pending.extend(at.values())
        elif isinstance(at, (list, tuple)):
            pending.extend(at)
    return weight


def target_field() -> Field:
    """What ``target`` holds: the version assumed of the subject's system, and its gates."""
    return obj(
        version=Field("string"),
        assumed=Field("bool"),
        gates=Field("map", item=Field("bool")),
    )


def _type(cel: Any, field: Field, message: str | None) -> Any:
    """The CEL type of one variable."""
    shells: list[str] = []
    while field.type in ("list", "map") and field.item is not None:
        shells.append(field.type)
        field = field.item
    if field.type in _CEL_TYPES:
        found = getattr(cel.Type, _CEL_TYPES[field.type])
    elif field.type == "object" and message:
        found = cel.Type(message)
    else:
        found = cel.Type.DYN
    for shell in reversed(shells):
        found = cel.Type.List(found) if shell == "list" else cel.Type.Map(cel.Type.STRING, found)
    return found


def _config(cel: Any) -> Any:
    names = "\n".join(f"- name: {name}" for name in EXTENSIONS)
    return cel.NewEnvConfigFromYaml(f"name: policycheck\nextensions:\n{names}\n")


def _functions(cel: Any) -> list[Any]:
    """Our own functions. ``quantity`` gives a number that compares with 3 and with 3.0 alike."""
    kinds = cel.Type
    numeric = (kinds.STRING, kinds.INT, kinds.DOUBLE)

    def overloads(name: str, first: list[Any], result: Any, impl: Callable[..., object]) -> Any:
        made = [
            cel.Overload(f"{name}_{kind.name().lower()}", result, [*first, kind], impl=impl)
            for kind in numeric
        ]
        return cel.FunctionDecl(name, made)

    return [
        overloads("quantity", [], kinds.DYN, as_number),
        overloads("amount", [kinds.STRING], kinds.INT, amount),
        overloads("isQuantity", [], kinds.BOOL, is_quantity),
        cel.FunctionDecl(
            "version", [cel.Overload("version_string", kinds.INT, [kinds.STRING], impl=version)]
        ),
    ]


def as_number(text: object) -> float:
    """What ``quantity`` gives in expressions. Raises QuantityError, OverflowError."""
    return float(quantity(text))


def is_quantity(text: object) -> bool:
    """What ``isQuantity`` gives in expressions."""
    try:
        quantity(text)
    except QuantityError:
        return False
    return True


def version(text: str) -> int:
    """A release as a number that compares: "0.19.2", "v0.19.2". Raises ValueError."""
    parts = re.match(r"v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?", text.strip(), re.ASCII)
    if not parts:
        raise ValueError(f"{text!r} is not a version; write 0.19 or 0.19.2")
    major, minor, patch = (int(part or 0) for part in parts.groups())
    return (major * 10**6 + minor) * 10**6 + patch


def _representable(value: object) -> object:
    """``value`` with integers beyond 64 bits as floats, which is how the API server reads them."""
    holder: list[object] = [value]
    pending: list[tuple[Any, Any]] = [(holder, 0)]
    while pending:
        parent, key = pending.pop()
        child = parent[key]
        if isinstance(child, Mapping):
            parent[key] = copy = dict(child)
            pending.extend((copy, name) for name in copy)
        elif isinstance(child, (list, tuple)):
            parent[key] = items = list(child)
            pending.extend((items, at) for at in range(len(items)))
        elif isinstance(child, int) and not _INT_MIN <= child <= _INT_MAX:
            parent[key] = _float(child)
    return holder[0]


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _types_differ(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether a float stands where an int stood (they may compare equal)."""
    return repr(one) != repr(other)


def _plain_message(text: str) -> str:
    """The engine's words without its status codes."""
    text = re.sub(r"^[A-Z_]+: ", "", text.strip())
    text = re.sub(r" \[[A-Z_]+\]$", "", text)
    missing = re.match(r"Key not found in map : \"(.*)\"$", text)
    if missing:
        return f"the field {missing[1]!r} is not set; guard it with has(...)"
    if "Iteration budget exceeded" in text:
        return "more than 10,000 iterations; write it as a check in Python, or narrow it with 'each'"
    return text


def _explained(
    text: str, expression: str, variables: Mapping[str, Field], types: Mapping[str, Field]
) -> CelCompileError:
    """The engine's first complaint in our words, with a did-you-mean where a name is wrong."""
    found = re.search(r"ERROR: <input>:(\d+):(\d+): (.*)", text)
    if not found:
        return CelCompileError(_plain_message(text), 1, 1, expression)
    line, column, message = int(found[1]), int(found[2]), _plain_message(found[3])
    undefined = re.match(r"undefined field '(.*)' not found in struct '(.*)'", message)
    unknown = re.match(r"undeclared reference to '(.*?)'", message)
    if undefined:
        name, owner = undefined[1], types.get(undefined[2])
        message = f"no field {name!r}{suggest(name, owner.fields if owner else {})}"
        column = _column_of(expression, line, column, name)
    elif unknown:
        name = unknown[1].split(".")[0]
        names = {**dict.fromkeys(variables), **{n.split("(")[0]: n for n in _FUNCTION_NAMES}}
        message = f"nothing is called {name!r} here{suggest(name, names)}"
        # the engine points at the bracket of a call, or at the last dot of a path
        column = _column_of(expression, line, column, name, before=True)
    else:
        message = re.sub(r"\bt\.(\w+)", lambda m: m[1].replace("_", "."), message)
    return CelCompileError(message, line, column, expression)


def _column_of(expression: str, line: int, column: int, name: str, *, before: bool = False) -> int:
    """The column of ``name`` that is next after ``column``, or the last one ``before`` it."""
    lines = expression.splitlines()
    text = lines[line - 1] if line <= len(lines) else ""
    starts = [one.start() + 1 for one in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    if before:
        return max((start for start in starts if start <= column), default=column)
    return min((start for start in starts if start >= column), default=column)
