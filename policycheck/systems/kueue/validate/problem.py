"""What an admission refuses: the field in the server's spelling, the type of the error, our words."""

from __future__ import annotations

from policycheck.model.origin import Path
from policycheck.record import NamedTuple

INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
DUPLICATE = "FieldValueDuplicate"
NOT_FOUND = "FieldValueNotFound"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"

# Below these a step is the key of a map, which the API server writes in brackets.
_MAPS = frozenset({"requests", "limits", "annotations", "resourceUsage", "resourceWeights", "outputs"})


class Problem(NamedTuple):
    """One reason to refuse an object.

    ``field`` is spelled as apimachinery spells field paths, ``type`` as its error types; ``path``
    leads to the value in the newest served form, ``code`` names the check for those who present it.
    """

    field: str
    type: str
    message: str  # what was found, what is allowed, what to do
    path: Path = ()
    code: str = ""


def spelled(path: Path) -> str:
    """``path`` as apimachinery writes it: ``spec.groups[0].requests[cpu]``."""
    out = ""
    in_map = False
    for step in path:
        if isinstance(step, int) or in_map:
            out += f"[{step}]"
        else:
            out += f".{step}" if out else step
        in_map = not in_map and step in _MAPS
    return out


def problem(kind: str, path: Path, code: str, message: str, field: str = "") -> Problem:
    """A Problem whose field is spelled after its path, unless ``field`` says otherwise."""
    return Problem(field or spelled(path), kind, message, path, code)


def invalid(path: Path, code: str, message: str, field: str = "") -> Problem:
    """A value that is not allowed."""
    return problem(INVALID, path, code, message, field)


def changed(path: Path, what: str, instead: str = "", field: str = "") -> Problem:
    """A field that may not change once it is set."""
    say = f"{what} cannot be changed; {instead or 'delete the object and create it anew'}"
    return problem(INVALID, path, "immutable", say, field)
