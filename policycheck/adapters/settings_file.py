"""The settings file: found beside or above the user's files, validated, turned into Settings.

Only a file whose digest is new is validated by pydantic; the validated form is kept beside the
compiled rules.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from policycheck.digest import sha256
from policycheck.lint import keep
from policycheck.lint.settings import ClusterScope, PathOverride, Settings
from policycheck.lint.written import Problem, Written, WrittenError, read

Name = str | os.PathLike[str]
# os.path throughout: pathlib costs start-up.
NAMES = (".policycheck.yaml", ".policycheck.yml")
_FORMAT = 1  # of the kept form; raise it when Settings changes


class SettingsError(ValueError):
    """The settings can not be used; ``problems`` say where and why (exit code 2)."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def find(paths: Sequence[str] = ()) -> str | None:
    """The nearest settings file, from what ``paths`` have in common up to the root of its repository.

    Without a repository only the folder itself is looked at: a file far above is nobody's
    intention. Raises SettingsError when a folder has two.
    """
    folders = _upwards(_start(paths))
    root = next((at for at, folder in enumerate(folders) if os.path.exists(f"{folder}/.git")), 0)  # noqa: PTH110
    for folder in folders[: root + 1]:
        names = [name for name in NAMES if os.path.isfile(f"{folder}/{name}")]  # noqa: PTH113 - as above
        if _section(f"{folder}/pyproject.toml") is not None:
            names.append("pyproject.toml")
        if len(names) > 1:
            what = f"settings in {' and '.join(names)}; keep one of them"
            raise SettingsError([Problem(folder or "/", 1, 1, what)])
        if names:
            return f"{folder}/{names[0]}"
    return None


def _upwards(folder: str) -> list[str]:
    """The folder and all above it, without a slash at their ends."""
    found = [folder.rstrip("/")]
    while found[-1]:
        found.append(found[-1].rpartition("/")[0])
    return found


def _start(paths: Sequence[str]) -> str:
    """The folder that holds all of ``paths``; the working folder for standard input and globs."""
    real = [os.path.realpath(path) for path in paths if path != "-" and os.path.exists(path)]  # noqa: PTH110
    if not real:
        return os.path.realpath(".")
    common = os.path.commonpath(real)
    return common if os.path.isdir(common) else os.path.dirname(common)  # noqa: PTH112, PTH120 - as above


def load(path: Name | None, cache: Name | None = None) -> Settings:
    """The Settings in ``path``; the defaults when it is None. Raises SettingsError.

    ``cache`` is a folder for the validated form. Paths in the file are taken from its folder.
    """
    if path is None:
        return Settings()
    path = os.path.abspath(path)  # noqa: PTH100 - as above
    folder, name = os.path.split(path)
    shown = os.path.relpath(path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            data = file.read()
    except OSError as error:
        why = f"can not be read: {error.strerror or error}"
        raise SettingsError([Problem(shown, 1, 1, why)]) from None
    digest = sha256(b"%d %s " % (_FORMAT, os.fsencode(name)) + data).hexdigest()
    kept = f"{cache}/settings-{digest[:32]}.json" if cache else None
    plain = keep.read(kept)
    if not plain:
        plain = _validate(data, shown)
        keep.write(kept, plain)
    return _settings(plain, folder, shown)


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


def _toml_places(text: str, section: Mapping[str, Any]) -> dict[tuple[str | int, ...], tuple[int, int]]:
    """Where the keys of ``[tool.policycheck]`` stand, as well as a look at the lines can tell."""
    lines = text.splitlines()
    begin = next((n for n, line in enumerate(lines) if line.strip().startswith("[tool.policycheck")), 0)
    places: dict[tuple[str | int, ...], tuple[int, int]] = {(): (begin + 1, 1)}
    for key in section:
        for number in range(begin, len(lines)):
            line = lines[number]
            bare = line.strip().removeprefix("[tool.policycheck.").removeprefix("[[tool.policycheck.")
            if bare.startswith((key, f'"{key}"')):
                places[(key,)] = (number + 1, len(line) - len(line.lstrip()) + 1)
                break
    return places


def _section(path: str) -> object:
    """``[tool.policycheck]`` of a pyproject.toml; None when there is none. A file that has one and is
    no TOML gives an empty one: reading it again says what is wrong.
    """
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as above
            text = file.read()
    except (OSError, ValueError):
        return None
    if "tool.policycheck" not in text:
        return None
    import tomllib

    try:
        return tomllib.loads(text).get("tool", {}).get("policycheck")
    except (ValueError, RecursionError, AttributeError):
        begins = (line.strip().lstrip("[ ") for line in text.splitlines())
        return {} if any(line.startswith("tool.policycheck") for line in begins) else None


def _settings(plain: Mapping[str, Any], folder: str, shown: str) -> Settings:
    """Settings out of validated values; relative paths are seen from where the command runs."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
    }
    values["per_path"] = tuple(
        PathOverride(tuple(one["paths"]), tuple(one["ignore"]), one.get("reason", ""))
        for one in plain.get("per_path", ())
    )
    values["clusters"] = tuple(_cluster(one, folder) for one in plain.get("clusters", ()))
    for name in ("inventory", "context", "rules", "crds"):
        values[name] = tuple(_seen(folder, one) for one in plain.get(name, ()))
    if plain.get("baseline"):
        values["baseline"] = _seen(folder, plain["baseline"])
    values["phase"] = plain.get("phase") or ""
    return Settings(**{**values, "target": _targets(plain.get("target", {})), "file": shown})


def _cluster(one: Mapping[str, Any], folder: str) -> ClusterScope:
    return ClusterScope(
        one["name"],
        tuple(_seen(folder, path) for path in one["paths"]),
        tuple(_seen(folder, path) for path in one.get("inventory", ())),
        tuple(_seen(folder, path) for path in one.get("context", ())),
        _targets(one.get("target", {})),
    )


def _targets(given: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{system}={version}" for system, version in sorted(given.items()))


def _seen(folder: str, path: str) -> str:
    """``path``, written relative to the settings file, relative to the working folder."""
    if ":" in path.split("/", maxsplit=1)[0] or os.path.isabs(path):  # noqa: PTH117 - as above
        return path
    return os.path.relpath(f"{folder}/{path}").replace(os.sep, "/")
