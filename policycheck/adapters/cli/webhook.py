"""``policycheck webhook``: the admission webhook, what installs it, and the scan beside it."""

from __future__ import annotations

from importlib import import_module

import click

# Each in a module of its own, which is loaded when it is asked for: (module, attribute, a line of help).
_PARTS = {
    "serve": ("webhook_serve", "serve", "Answer the API server, with the rules of lint."),
    "manifests": ("webhook_manifests", "manifests", "What installs the webhook, as YAML."),
    "scan": ("webhook_scan", "scan", "Lint a running cluster and write policy reports."),
}


class _Parts(click.Group):
    """A group whose commands are loaded one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - of the library
        """Their names, in order."""
        return list(_PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """The command of that name."""
        part = _PARTS.get(cmd_name)
        if part is None:
            return None
        found: click.Command = getattr(import_module(f"policycheck.adapters.cli.{part[0]}"), part[1])
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """The list in the help, without loading anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, part[2]) for name, part in _PARTS.items()])


@click.group("webhook", cls=_Parts)
def webhook() -> None:
    """The admission webhook: the same rules, suppressions and words as in a pull request, before the API server
    keeps a change.
    """
