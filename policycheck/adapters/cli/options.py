"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """``value`` when it is a number one can count with. A range lets nan pass: it is neither below nor above
    any bound, and what counts up to it never ends. Raises click.BadParameter.
    """
    if value is None or isfinite(value):
        return value
    raise click.BadParameter(f"{value} is no number to count with; write one as in 1.5")


def input_options(command: Command) -> Command:
    """--inventory, --config, --isolated, --target, --rules, --crds."""
    for option in reversed(
        (
            click.option(
                "--inventory",
                multiple=True,
                metavar="PATH",
                help="What physically exists: `kubectl get nodes -o json`, a table, a pool file, "
                "cluster:CONTEXT. Repeatable.",
            ),
            click.option(
                "--config",
                metavar="FILE",
                help="Settings; else POLICYCHECK_CONFIG, else the nearest .policycheck.yaml or [tool.policycheck] in "
                "pyproject.toml.",
            ),
            click.option("--isolated", is_flag=True, help="No settings file at all."),
            click.option(
                "--target",
                multiple=True,
                metavar="SYSTEM=VERSION",
                help="Version and gates, as in kueue=0.19,GateName=false; else detected, else assumed. Repeatable.",
            ),
            click.option(
                "--rules", multiple=True, metavar="DIR", help="A folder of rules of your own. Repeatable."
            ),
            click.option(
                "--crds", multiple=True, metavar="PATH", help="CustomResourceDefinitions to validate with."
            ),
        )
    ):
        command = option(command)
    return command


def look_options(command: Command) -> Command:
    """--output, --color, --quiet, --verbose."""
    for option in reversed(
        (
            click.option("--output", metavar="FILE", help="Write to FILE what would go to standard output."),
            click.option(
                "--color",
                type=click.Choice(["auto", "always", "never"]),
                default="auto",
                help="auto: on a terminal, unless NO_COLOR is set.",
            ),
            click.option(
                "-q", "--quiet", is_flag=True, help="The result alone, without the account of the run."
            ),
            click.option(
                "-v", "--verbose", is_flag=True, help="Whole lists, and a traceback when there is a bug."
            ),
        )
    ):
        command = option(command)
    return command
