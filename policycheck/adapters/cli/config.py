"""``policycheck config``: what the settings come to, where each comes from, and what is wrong with them."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from typing import TYPE_CHECKING, Any

import click

from policycheck.adapters.cli import common, exitcode
from policycheck.adapters.cli.lint import FAIL_ON, PHASES
from policycheck.record import NamedTuple
from policycheck.report.screen import clean, width

if TYPE_CHECKING:
    from policycheck.adapters.settings_layers import Layer
    from policycheck.adapters.settings_show import Effective, Row
    from policycheck.lint.rulebook import Rulebook

_MARGIN = 44  # where origins begin
_PLAIN = re.compile(
    r"(?!(?:true|false|null)\Z)[A-Za-z./][A-Za-z0-9./_*=,@-]*\Z", re.ASCII
)  # needs no quotes in YAML


class Answer(NamedTuple):
    """What ``show`` has to say."""

    file: str  # --for
    chosen: str  # who chose the settings file
    layers: tuple[Layer, ...]
    effective: Effective
    rows: tuple[Row, ...]
    clusters: tuple[str, ...]  # to which --for belongs
    book: Rulebook
    running: int


@click.group()
def config() -> None:
    """What the settings come to, and what is wrong with them."""


@config.command("show")
@click.option(
    "--for", "file", metavar="FILE", help="As they count for this file: the nearest, and its paths."
)
@common.input_options
@click.option("--context", multiple=True, metavar="PATH", help="As lint has it; so are those below.")
@click.option("--select", multiple=True, metavar="RULE")
@click.option("--ignore", multiple=True, metavar="RULE")
@click.option("--phase", type=click.Choice(PHASES))
@click.option("--fail-on", type=click.Choice(FAIL_ON))
@click.option("--baseline", metavar="FILE")
@click.option("--schema", is_flag=True, help="The JSON Schema of a settings file, and nothing else.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--output", metavar="FILE", help="Write to FILE what would go to standard output.")
def show(file: str | None, schema: bool, form: str, output: str | None, **options: Any) -> int:
    """Every setting that counts here, with its value and where it comes from.

    Options of lint are taken as well, so that one sees what they do to the settings.
    """
    if schema:
        from policycheck.adapters.settings_model import schema as of_model

        common.emit(json.dumps(of_model(), indent=2) + "\n", output)
        return exitcode.OK
    answer = _answer(file or "", options)
    common.emit(_as_json(answer) if form == "json" else _as_text(answer), output)
    for problem in answer.book.problems:
        common.say(f"{problem}\n")
    return exitcode.USAGE if answer.book.problems else exitcode.OK


def _answer(file: str, options: dict[str, Any]) -> Answer:
    from policycheck.adapters.settings_file import source
    from policycheck.adapters.settings_layers import layers
    from policycheck.adapters.settings_show import effective

    if options["config"] and options["isolated"]:
        raise common.usage_error("--isolated reads no settings, and --config names some: give one of them")
    common.check_targets(options["target"])
    with common.errors_of_use():
        paths = (file,) if file else ()
        chosen = source(options["config"], paths, os.environ, isolated=options["isolated"])
        found: tuple[Layer, ...] = ()
        if chosen.path is not None:
            found = layers(os.path.abspath(chosen.path), os.path.relpath(chosen.path))  # noqa: PTH100 - names are text here
        whole = effective(found, _command(options))
        from policycheck.app import rulebook
        from policycheck.lint.select import choose

        book = rulebook(whole.settings.rules)
        running = len(choose(book, whole.settings).rules)
    rows = tuple(row for row in whole.rows if not file or _is_about(row, file, whole))
    clusters = tuple(one.name for one in whole.settings.clusters if file and _below(file, one.paths))
    return Answer(file, chosen.by, found, whole, rows, clusters, book, running)


def _command(options: dict[str, Any]) -> dict[str, Any]:
    """What the command line says, in the shape of a layer of settings."""
    from policycheck.adapters.cli.lint import flat

    names = ("select", "ignore", "phase", "fail_on", "baseline", "inventory", "context", "rules", "crds")
    given = flat({name: options[name] for name in names})
    targets = (target.strip().partition("=") for target in options["target"])
    return {**given, "target": {system: version for system, _, version in targets}}


def _is_about(row: Row, file: str, whole: Effective) -> bool:
    """Whether a row says something of ``file``: one of ``per-path`` does when its paths cover it."""
    if not row.key.startswith("per-path["):
        return True
    from policycheck.lint.select import covers
    from policycheck.lint.settings import PathOverride

    return covers(PathOverride(tuple(row.value["paths"])), file, whole.settings)


def _below(file: str, paths: tuple[str, ...]) -> bool:
    real = os.path.realpath(file)
    return any(
        fnmatch.fnmatchcase(file, path) or real == base or real.startswith(base.rstrip(os.sep) + os.sep)
        for path in paths
        for base in (os.path.realpath(path),)
    )


def _as_json(answer: Answer) -> str:
    plain: dict[str, Any] = {
        "schemaVersion": 1,
        "for": answer.file or None,
        "chosenBy": answer.chosen or None,
        "files": [layer.shown for layer in reversed(answer.layers)],
        "settings": [
            {
                "key": row.key,
                "value": row.value,
                "origin": row.origin,
                "file": row.file or None,
                "line": row.line or None,
            }
            for row in answer.rows
        ],
        "clusters": list(answer.clusters),
        "rules": {
            "known": len(answer.book.rules),
            "running": answer.running,
            "digest": f"sha256:{answer.book.digest}",
        },
    }
    return json.dumps(plain, indent=2, ensure_ascii=True) + "\n"


def _as_text(answer: Answer) -> str:
    lines = [f"# {line}" for line in _head(answer)]
    for row in answer.rows:
        lines.extend(_line(clean(f"{row.key}: {_value(row.value)}"), clean(_origin(row))))
    book = answer.book
    lines.append(f"# {answer.running} of {len(book.rules)} rules run; all together are, for a pin,")
    lines.append(f"# sha256:{book.digest}")
    return "\n".join(lines) + "\n"


def _head(answer: Answer) -> list[str]:
    if not answer.layers:
        return ["no settings file: these are the defaults"]
    nearest, *others = [clean(layer.shown) for layer in reversed(answer.layers)]
    how = "the nearest" if answer.chosen == "found" else f"by {answer.chosen}"
    lines = [f"settings: {nearest} ({how})"]
    lines.extend(f"extends:  {other}" for other in others)
    if answer.file:
        where = f"of {', '.join(answer.clusters)}" if answer.clusters else "in no named cluster"
        lines.append(
            f"for {clean(answer.file)}, {where if answer.effective.settings.clusters else 'as of all'}"
        )
    return lines


def _line(text: str, origin: str) -> list[str]:
    """``key: value   # origin``; the origin goes below what is too long for that."""
    if width(text) < _MARGIN:
        return [f"{text}{' ' * (_MARGIN - width(text))}# {origin}"]
    return [text, f"{' ' * _MARGIN}# {origin}"]


def _value(value: Any) -> str:
    """As one would write it in YAML, on one line."""
    if isinstance(value, str):
        return value if _PLAIN.match(value) else json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def _origin(row: Row) -> str:
    from policycheck.adapters.settings_show import EXTENDS

    if not row.file:
        return row.origin
    return f"{row.file}:{row.line}" + (", extended" if row.origin == EXTENDS else "")


@config.command("validate")
@click.argument("path", nargs=-1)
@click.option("--config", "settings", metavar="FILE", help="The same as FILE as an argument.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def validate(path: tuple[str, ...], settings: str | None, form: str) -> int:
    """What is wrong with settings files and rules of one's own; exit code 2 when something is.

    PATH: settings files, with all that they extend and name, and folders of rules. Without any, the
    settings that `policycheck lint` would take here.
    """
    from policycheck.adapters.settings_check import check

    with common.errors_of_use():
        checked = check((*path, settings) if settings else path, os.environ)
    if form == "json":
        plain = {
            "schemaVersion": 1,
            "files": list(checked.files),
            "problems": [problem._asdict() for problem in checked.problems],
            "notes": [note._asdict() for note in checked.notes],
        }
        common.emit(json.dumps(plain, indent=2) + "\n")
    else:
        common.emit("".join(f"{clean(str(line))}\n" for p in checked.problems for line in str(p).split("\n")))
    common.say("".join(f"note: {clean(str(note))}\n" for note in checked.notes))
    common.say(f"{clean(checked.account)}\n")
    return exitcode.USAGE if checked.problems else exitcode.OK
