"""The text of one settings file: read, validated by pydantic when its digest is new, kept for the next run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from policycheck import __version__
from policycheck.digest import sha256
from policycheck.lint import keep
from policycheck.lint.written import Problem, Written, WrittenError, read
from policycheck.source.document import Path

_FORMAT = 2  # of the kept form; raise it when what validation gives changes
_MAX_BYTES = 1_000_000


class SettingsError(ValueError):
    """The settings can not be used; ``problems`` say where and why (exit code 2)."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def values(path: str, shown: str, cache: str | None = None) -> dict[str, Any]:
    """The validated values of a file, under the names that SettingsModel has. Raises SettingsError.

    ``shown`` is what messages call the file; ``cache`` a folder for the validated form.
    """
    data = _bytes(path, shown)
    name = os.path.basename(path)  # noqa: PTH119 - pathlib costs start-up
    digest = sha256(f"{_FORMAT} {__version__} {name} ".encode("utf-8", "surrogateescape") + data).hexdigest()
    kept = f"{cache}/settings-{digest[:32]}.json" if cache else None
    plain = keep.read(kept)
    if not plain:
        plain = _validate(data, shown)
        keep.write(kept, plain)
    return plain


def places(path: str, shown: str) -> Callable[[Path], tuple[int, int]]:
    """Line and column of a key or list item, or of the nearest thing above it; (1, 1) when nothing tells.

    Keys are called as SettingsModel calls them.
    """
    try:
        written = _read(_bytes(path, shown), shown)
    except SettingsError:
        return lambda _: (1, 1)
    return lambda at: written.place(_as_written(at))


def _as_written(at: Path) -> Path:
    """``per_path`` is written ``per-path``; what users name themselves is left as it is."""
    depth = 2 if at[:1] == ("suppressions",) else 1
    ours = tuple(step.replace("_", "-") if isinstance(step, str) else step for step in at[:depth])
    return (*ours, *at[depth:])


def _bytes(path: str, shown: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            data = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = f"can not be read: {getattr(error, 'strerror', None) or error}"
        raise SettingsError([Problem(shown, 1, 1, why)]) from None
    if len(data) > _MAX_BYTES:
        raise SettingsError([Problem(shown, 1, 1, f"larger than {_MAX_BYTES:,} bytes: no settings file")])
    return data


def _validate(data: bytes, shown: str) -> dict[str, Any]:
    """The validated values, under the names that Settings has."""
    from pydantic import ValidationError

    from policycheck.adapters.settings_model import SettingsModel
    from policycheck.lint.written import problems

    written = _read(data, shown)
    if written.value is None:
        return {}
    if not isinstance(written.value, Mapping):
        raise SettingsError([Problem(shown, 1, 1, "settings are a map of keys and values")])
    try:
        model = SettingsModel.model_validate(written.value)
    except ValidationError as error:
        raise SettingsError(problems(error, SettingsModel, written, shown)) from None
    plain: dict[str, Any] = model.model_dump(exclude_unset=True)
    return plain


def _read(data: bytes, shown: str) -> Written:
    try:
        text = data.decode("utf-8-sig")
        if not shown.endswith(".toml"):
            return read(text)
        import tomllib

        section = tomllib.loads(text).get("tool", {}).get("policycheck", {})
        if not isinstance(section, Mapping):
            raise WrittenError(1, 1, "tool.policycheck is a table: [tool.policycheck]")  # noqa: TRY301
    except WrittenError as error:
        raise SettingsError([Problem(shown, error.line, error.column, error.message)]) from None
    except (ValueError, RecursionError, AttributeError) as error:
        raise SettingsError([Problem(shown, 1, 1, f"can not be read: {error}")]) from None
    return Written(section, _toml_places(text, section), {}, frozenset())


def _toml_places(text: str, section: Mapping[str, Any]) -> dict[Path, tuple[int, int]]:
    """Where the keys of ``[tool.policycheck]`` stand, as well as a look at the lines can tell."""
    lines = text.splitlines()
    begin = next((n for n, line in enumerate(lines) if line.strip().startswith("[tool.policycheck")), 0)
    places: dict[Path, tuple[int, int]] = {(): (begin + 1, 1)}
    for key in section:
        for number in range(begin, len(lines)):
            line = lines[number]
            bare = line.strip().removeprefix("[tool.policycheck.").removeprefix("[[tool.policycheck.")
            if bare.startswith((key, f'"{key}"')):
                places[(key,)] = (number + 1, len(line) - len(line.lstrip()) + 1)
                break
    return places
