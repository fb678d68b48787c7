"""Every setting as it counts, and where it comes from: what ``config show`` and ``config validate`` speak of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from policycheck.adapters import settings_merge, settings_text
from policycheck.adapters.settings_file import of_layers, of_values
from policycheck.adapters.settings_layers import Layer
from policycheck.adapters.settings_merge import Leaf
from policycheck.lint.settings import Acceptance, Admission, Settings
from policycheck.record import NamedTuple

DEFAULT, FILE, EXTENDS, COMMAND = "default", "file", "extends", "command line"
# In the order in which they are documented; a test holds it against the model.
ORDER = (
    "select",
    "ignore",
    "severity",
    "params",
    "per_path",
    "phase",
    "fail_on",
    "preview",
    "rulebook",
    "suppressions",
    "webhook",
    "clusters",
    "inventory",
    "context",
    "exclude",
    "target",
    "rules",
    "crds",
    "baseline",
)


class Row(NamedTuple):
    """One effective value. ``file``, ``line`` and ``column`` say where it is written, if it is."""

    key: str  # "fail-on", "ignore[0]", "severity.KQ101"
    value: Any
    origin: str  # "default", "file", "extends", "command line"
    file: str = ""
    line: int = 0
    column: int = 0


class Effective(NamedTuple):
    """The settings of a run, and each value with its origin."""

    settings: Settings
    rows: tuple[Row, ...]


def effective(layers: Sequence[Layer], command: Mapping[str, Any]) -> Effective:
    """What ``layers`` (farthest first) come to, with what the command line says over them.

    Raises SettingsError for what does not go together.
    """
    if layers:
        of_layers(layers)
    settled = [settings_merge.settled(one.values, one.folder) for one in layers]
    given = {name: value for name, value in command.items() if value}
    leaves = settings_merge.merge([*settled, given], replacing=frozenset((len(layers),)))
    places = [settings_text.places(one.path, one.shown) for one in layers]
    made: list[Row] = []
    for name in ORDER:
        own = [leaf for leaf in leaves if leaf.path[0] == name]
        made.extend(_named(own, layers, places))
        made.extend(_defaults(name, own))
    settings = of_values(settings_merge.joined(leaves))
    files = [layer.shown for layer in layers]
    return Effective(settings._replace(file=files[-1] if files else ""), tuple(made))


def _named(
    leaves: Sequence[Leaf], layers: Sequence[Layer], places: Sequence[Callable[..., tuple[int, int]]]
) -> list[Row]:
    turns: dict[str, int] = {}
    made = []
    for leaf in leaves:
        key = _key(tuple(step for step in leaf.path if isinstance(step, str)))
        if leaf.is_item:
            turns[key] = turns.get(key, -1) + 1
            key = f"{key}[{turns[key]}]"
        if leaf.layer == len(layers):
            made.append(Row(key, leaf.value, COMMAND))
            continue
        origin = FILE if leaf.layer == len(layers) - 1 else EXTENDS
        made.append(Row(key, leaf.value, origin, layers[leaf.layer].shown, *places[leaf.layer](leaf.path)))
    return made


def _defaults(name: str, leaves: Sequence[Leaf]) -> list[Row]:
    """Rows for what nobody says."""
    if name == "suppressions":
        said = {leaf.path[1] for leaf in leaves}
        defaults = Acceptance._field_defaults.items()
        return [Row(_key((name, k)), _plain(v), DEFAULT) for k, v in defaults if k not in said]
    return [] if leaves else [Row(_key((name,)), _plain(Settings._field_defaults[name]), DEFAULT)]


def _plain(value: Any) -> Any:
    if isinstance(value, Admission):
        return {name: _plain(one) for name, one in value._asdict().items()}
    return list(value) if isinstance(value, tuple) else value


def _key(path: tuple[str, ...]) -> str:
    """Our own names are written with dashes; those of rules and parameters as they are."""
    ours = 2 if path[0] == "suppressions" else 1
    return ".".join(step.replace("_", "-") if at < ours else step for at, step in enumerate(path))


def where(found: Sequence[Row], setting: str, word: str) -> Row | None:
    """The row that a complaint about ``word`` under ``setting`` is about; the nearest that is written."""
    own = [row for row in found if row.key.startswith(setting) and row.line]
    exact = [row for row in own if row.value == word or word in row.key.split(".")]
    near = [row for row in own if isinstance(row.value, (dict, list)) and word in str(row.value)]
    return next(iter((*exact, *near, *own)), None)
