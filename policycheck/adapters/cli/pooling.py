"""Options that say where many runs are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from policycheck.adapters.cli import common

if TYPE_CHECKING:
    from policycheck.app.pool import Pool

Command = TypeVar("Command", bound=Callable[..., Any])
_MOST_SEEDS = 10_000


class Seeds(click.ParamType):  # type: ignore[type-arg]
    """``20``: so many from --seed on; ``1..20``: from the first to the last. A tuple (first or None, how many)."""

    name = "N|A..B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Fails with what is allowed."""
        if isinstance(value, tuple):
            return value
        first, dots, last = str(value).partition("..")
        if not all(part.isascii() and part.isdigit() for part in ((first, last) if dots else (first,))):
            self.fail(f"{value!r} is neither a number, as 20, nor a range, as 1..20", param, ctx)
        begin, many = (int(first), int(last) - int(first) + 1) if dots else (None, int(first))
        if not 1 <= many <= _MOST_SEEDS:
            self.fail(f"{value!r} is {many:,} seeds; 1 to {_MOST_SEEDS:,} are allowed", param, ctx)
        return begin, many


SEEDS = Seeds()


def seeds(options: Mapping[str, Any]) -> tuple[int, ...]:
    """Those that were asked for; that of --seed alone without --seeds."""
    begin, many = options["seeds"] or (None, 1)
    first = options["seed"] if begin is None else begin
    return tuple(range(first, first + many))


def pool_options(command: Command) -> Command:
    """--backend, --jobs, --scheduler."""
    for option in reversed(
        (
            click.option(
                "--backend",
                type=click.Choice(["here", "processes", "dask"]),
                help="Where runs are computed: in this process, in several, or on a Dask cluster.",
            ),
            click.option(
                "--jobs",
                type=click.IntRange(1, 1024),
                metavar="N",
                help="Processes at once, for --backend processes; else one a core.",
            ),
            click.option(
                "--scheduler", metavar="ADDRESS", help="For --backend dask, as in tcp://10.0.0.5:8786."
            ),
        )
    ):
        command = option(command)
    return command


def pool(options: Mapping[str, Any]) -> Pool:
    """What computes; --jobs and --scheduler say it alone. Raises click.UsageError for what does not go together."""
    from policycheck.app.pool import DASK, HERE, PROCESSES, Pool

    jobs, scheduler = options["jobs"] or 0, options["scheduler"] or ""
    backend = options["backend"] or (DASK if scheduler else PROCESSES if jobs > 1 else HERE)
    if backend == DASK and not scheduler:
        raise common.usage_error("--backend dask needs --scheduler ADDRESS, as in tcp://10.0.0.5:8786")
    if scheduler and backend != DASK:
        raise common.usage_error(f"--scheduler does not go with --backend {backend}")
    if jobs and backend == DASK:
        raise common.usage_error("--jobs does not go with a Dask cluster: it has workers of its own")
    if jobs > 1 and backend == HERE:
        raise common.usage_error("--jobs does not go with --backend here")
    return Pool(backend, jobs, scheduler)
