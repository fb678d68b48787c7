"""What the commands share: options, reading, writing, settings, the look of the output."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from policycheck.report.screen import Style

if TYPE_CHECKING:
    import click

    from policycheck.app import Sources
    from policycheck.lint.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])

STDIN_NAME = "<stdin>"
CLUSTER = "cluster:"  # with the name of a context: a running cluster, as PATH or inventory


def input_options(command: Command) -> Command:
    """--inventory, --config, --isolated, --target, --rules, --crds."""
    from policycheck.adapters.cli import options

    return options.input_options(command)


def look_options(command: Command) -> Command:
    """--output, --color, --quiet, --verbose."""
    from policycheck.adapters.cli import options

    return options.look_options(command)


def reader() -> Callable[[str], bytes]:
    """The way to bytes for one run; standard input ("-") is read once and kept.

    One byte more than a file may have is read, so that parse can tell that it is too large.
    """
    from policycheck.source.files import Reader
    from policycheck.source.yamldoc import LIMITS

    def standard_input() -> bytes:
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed")
        return sys.stdin.buffer.read(LIMITS.json_size + 1)

    return Reader(standard_input)


def line_source(read: Callable[[str], bytes]) -> Callable[[str], Sequence[str]]:
    """Lines for excerpts; none for a file that is gone or is no text."""
    from policycheck.source.text import Lines, TextError, decode

    kept: dict[str, list[str]] = {}

    def lines(file: str) -> Sequence[str]:
        if file not in kept:
            try:
                text = Lines(decode(read(file)))
                kept[file] = [text.line(number) for number in range(1, len(text) + 1)]
            except (OSError, TextError, ValueError):
                kept[file] = []
        return kept[file]

    return lines


def usage_error(message: str) -> click.UsageError:
    """An error that ends the run with exit code 2."""
    import click

    return click.UsageError(message)


def later(option: str, given: object) -> None:
    """Refuses an option that is part of the contract and not built yet: ignoring it would mislead."""
    if given:
        raise usage_error(f"{option} is not available in this version. Nothing was checked; run without it.")


def load_settings(config: str | None, paths: Sequence[str], *, isolated: bool = False) -> Settings:
    """The settings file that applies to these paths, or the defaults. Raises click.UsageError."""
    from policycheck import data
    from policycheck.adapters.settings_file import load, source

    if config and isolated:
        raise usage_error("--isolated reads no settings, and --config names some: give one of them")
    with errors_of_use():
        return load(source(config, paths, os.environ, isolated=isolated).path, data.cache())


def check_targets(targets: Sequence[str]) -> None:
    """Raises click.UsageError for a --target that says no version."""
    from policycheck.lint.settings import parse_target

    said: dict[str, str] = {}
    for target in targets:
        try:
            system = parse_target(target).system
        except ValueError as error:
            raise usage_error(f"--target: {error}") from error
        if said.setdefault(system, target) != target:
            raise usage_error(f"--target says {said[system]} and {target}: say one, with all gates in it")


def today(environ: Mapping[str, str] | None = None) -> str:
    """The ISO date in UTC, for suppressions that end; SOURCE_DATE_EPOCH makes a run repeatable."""
    environ = os.environ if environ is None else environ
    epoch = environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(epoch) if epoch.isdigit() else time.time()
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def wants_color(choice: str, *, terminal: bool, environ: Mapping[str, str]) -> bool:
    """Whether to colour: the option, then NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, then the terminal."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return terminal and environ.get("TERM") != "dumb"


def style_for(stream: TextIO | None, color: str, *, quiet: bool = False, verbose: bool = False) -> Style:
    """The look for a stream; None is a file that we write in UTF-8."""
    terminal = stream is not None and stream.isatty()
    encoding = (getattr(stream, "encoding", None) or "utf-8") if stream is not None else "utf-8"
    colored = wants_color(color, terminal=terminal, environ=os.environ if stream is not None else {})
    return Style(_width(terminal=terminal), colored, not encoding.lower().startswith("utf"), verbose, quiet)


def _width(*, terminal: bool) -> int:
    if not terminal:
        return 80
    import shutil

    return min(120, max(40, shutil.get_terminal_size((80, 24)).columns))


def emit(text: str, output: str | None = None) -> None:
    """Writes a report to a file or to standard output. A reader that left (``| head``) is no error.

    Raises click.ClickException when it can not be written: a full disk is no bug of ours.
    """
    if output:
        try:
            with open(output, "w", encoding="utf-8", errors="replace", newline="") as file:  # noqa: PTH123
                file.write(text)
        except OSError as error:
            raise usage_error(f"can not write {output}: {error.strerror}") from error
        return
    try:
        _write(sys.stdout, text)
    except OSError as error:
        abandon(sys.stdout)
        import click

        raise click.ClickException(f"can not write to standard output: {error.strerror}") from error


def say(text: str) -> None:
    """Writes a message to standard error; where that is not possible, there is nobody to tell."""
    try:
        _write(sys.stderr, text)
    except OSError:
        abandon(sys.stderr)


def guard(outputs: Iterable[str | None], inputs: Iterable[str], folders: Iterable[str] = ()) -> None:
    """Refuses to write over what was read: files, and anything that is there in ``folders``.

    Raises click.UsageError.
    """
    asked = [output for output in outputs if output]
    if not asked:
        return
    taken = {os.path.realpath(file) for file in inputs if file}
    real_folders = [os.path.realpath(folder) for folder in folders]
    for output in asked:
        real = os.path.realpath(output)
        below = any(real == folder or real.startswith(folder + os.sep) for folder in real_folders)
        if real in taken or (below and os.path.exists(real)):  # noqa: PTH110 - pathlib costs start-up
            raise usage_error(f"{output} is one of the files that are read here; write the report to another")


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        abandon(stream)


def abandon(stream: TextIO) -> None:
    """Points a stream whose reader left to nowhere, so that nothing fails when the process ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def errors_of_use() -> Iterator[None]:
    """Turns what the user can repair in rules, settings and targets into an error of use (exit code 2).

    Our own exceptions are written for people; any other one is a bug and passes.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("policycheck."):
            raise
        import click

        raise click.ClickException(str(error)) from error


def sources_of(
    paths: tuple[str, ...], settings: Settings, read: Callable[[str], bytes] | None = None
) -> Sources:
    """What a command reads, by its PATHs and the settings.

    Raises click.ClickException when a cluster is named that no kubeconfig knows.
    """
    from policycheck.app import Sources

    made = Sources(
        paths=paths,
        read=read or reader(),
        context=settings.context,
        inventory=settings.inventory,
        targets=settings.target,
        rules=settings.rules,
        render=_render,
        rerender=_rerender,
        today=today(),
        crds=settings.crds,
    )
    beside = [path for one in settings.clusters for path in (*one.paths, *one.context)]
    hardware = [*settings.inventory, *(path for one in settings.clusters for path in one.inventory)]
    if any(path.startswith(CLUSTER) for path in (*paths, *settings.context, *beside, *hardware)):
        from policycheck.adapters.live.sources import with_clusters

        with errors_of_use():
            return with_clusters(made, beside, hardware, say)
    return made


def _render(folder: str) -> bytes:
    from policycheck.adapters.render import render

    return render(folder)


def _rerender(folder: str, values: Mapping[str, Any]) -> bytes:
    from policycheck.adapters.render import render

    return render(folder, values)
