"""The settings file: found beside or above the user's files, validated, turned into Settings.

Only a file whose digest is new is validated by pydantic; the validated form is kept beside the
compiled rules.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from policycheck.lint import keep
from policycheck.lint.settings import ClusterScope, PathIgnore, Settings
from policycheck.lint.written import Problem, Written, WrittenError, read

NAMES = (".policycheck.yaml", ".policycheck.yml")
_FORMAT = 1  # of the kept form; raise it when Settings changes


class SettingsError(ValueError):
    """The settings can not be used; ``problems`` say where and why (exit code 2)."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def find(paths: Sequence[str] = ()) -> Path | None:
    """The nearest settings file, from what ``paths`` have in common up to the root of its repository.

    Without a repository only the folder itself is looked at: a file far above is nobody's
    intention. Raises SettingsError when a folder has two.
    """
    start = _start(paths)
    folders = [start, *start.parents]
    root = next((at for at, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    for folder in folders[: root + 1]:
        found = [folder / name for name in NAMES if (folder / name).is_file()]
        project = folder / "pyproject.toml"
        if project.is_file() and _section(project) is not None:
            found.append(project)
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise SettingsError([Problem(str(folder), 1, 1, f"settings in {names}; keep one of them")])
        if found:
            return found[0]
    return None


def _start(paths: Sequence[str]) -> Path:
    """The folder that holds all of ``paths``; the working folder for standard input and globs."""
    real = [Path(path).resolve() for path in paths if path != "-" and Path(path).exists()]
    if not real:
        return Path.cwd()
    common = Path(os.path.commonpath(real))
    return common if common.is_dir() else common.parent


def load(path: Path | str | None, cache: Path | None = None) -> Settings:
    """The Settings in ``path``; the defaults when it is None. Raises SettingsError.

    ``cache`` is a folder for the validated form. Paths in the file are taken from its folder.
    """
    if path is None:
        return Settings()
    path = Path(path)
    shown = os.path.relpath(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        why = f"can not be read: {error.strerror or error}"
        raise SettingsError([Problem(shown, 1, 1, why)]) from None
    digest = hashlib.sha256(b"%d %s " % (_FORMAT, path.name.encode()) + data).hexdigest()
    kept = cache / f"settings-{digest[:32]}.json" if cache else None
    plain = keep.read(kept)
    if not plain:
        plain = _validate(data, path, shown)
        keep.write(kept, plain)
    return _settings(plain, path)


def _validate(data: bytes, path: Path, shown: str) -> dict[str, Any]:
    """The validated values, under the names that Settings has."""
    from pydantic import ValidationError

    from policycheck.adapters.settings_model import SettingsModel
    from policycheck.lint.written import problems

    written = _read(data, path, shown)
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


def _read(data: bytes, path: Path, shown: str) -> Written:
    try:
        text = data.decode("utf-8-sig")
        if path.suffix != ".toml":
            return read(text)
        import tomllib

        section = tomllib.loads(text).get("tool", {}).get("policycheck", {})
    except WrittenError as error:
        raise SettingsError([Problem(shown, error.line, error.column, error.message)]) from None
    except ValueError as error:
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


def _section(path: Path) -> Mapping[str, Any] | None:
    """``[tool.policycheck]`` of a pyproject.toml; None when there is none, or no TOML to find it in."""
    try:
        text = path.read_text(encoding="utf-8")
        if "tool.policycheck" not in text:
            return None
        import tomllib

        section = tomllib.loads(text).get("tool", {}).get("policycheck")
    except (OSError, ValueError):
        return None
    return section if isinstance(section, Mapping) else None


def _settings(plain: Mapping[str, Any], path: Path) -> Settings:
    """Settings out of validated values; relative paths are seen from where the command runs."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
    }
    values["per_path"] = tuple(
        PathIgnore(tuple(one["paths"]), tuple(one["ignore"]), one.get("reason", ""))
        for one in plain.get("per_path", ())
    )
    values["clusters"] = tuple(_cluster(one, path.parent) for one in plain.get("clusters", ()))
    for name in ("inventory", "context", "rules", "crds"):
        values[name] = tuple(_seen(path.parent, one) for one in plain.get(name, ()))
    if plain.get("baseline"):
        values["baseline"] = _seen(path.parent, plain["baseline"])
    values["phase"] = plain.get("phase") or ""
    return Settings(**{**values, "target": _targets(plain.get("target", {})), "file": os.path.relpath(path)})


def _cluster(one: Mapping[str, Any], folder: Path) -> ClusterScope:
    return ClusterScope(
        one["name"],
        tuple(_seen(folder, path) for path in one["paths"]),
        tuple(_seen(folder, path) for path in one.get("inventory", ())),
        tuple(_seen(folder, path) for path in one.get("context", ())),
        _targets(one.get("target", {})),
    )


def _targets(given: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{system}={version}" for system, version in sorted(given.items()))


def _seen(folder: Path, path: str) -> str:
    """``path``, written relative to the settings file, relative to the working folder."""
    if ":" in path.split("/", maxsplit=1)[0] or Path(path).is_absolute():
        return path
    return Path(os.path.relpath(folder / path)).as_posix()
