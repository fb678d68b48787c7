"""The command line, one module a command; a run loads the module of its own command and no other."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from policycheck import __version__
from policycheck.adapters.cli import exitcode
from policycheck.adapters.cli.common import abandon, say
from policycheck.record import NamedTuple
from policycheck.report.screen import clean

if TYPE_CHECKING:
    import click

REPORT_TO = "https://github.com/policycheck/policycheck/issues"


class Entry(NamedTuple):
    """A command: the attribute ``name`` of the module of that name, unless said otherwise."""

    name: str
    help: str
    module: str = ""


COMMANDS = (
    Entry("demo", "The whole job on a packaged example cluster; needs nothing."),
    Entry("lint", "Find what is wrong in manifests, where, why, and what to write instead.", "lint_command"),
    Entry("inventory", "What a node dump holds: GPUs, models, topology, and what is odd about it."),
    Entry("simulate", "What a stream of jobs lives through: waits, preemptions, what is stuck and why."),
    Entry("matrix", "Who can take running jobs from whom, by queue and priority."),
    Entry("why", "Why a workload waits, what would let it in, and what that costs others."),
    Entry("certify", "Which promises to teams this configuration keeps, and the story that breaks one."),
    Entry("compare", "What a change does to each team."),
    Entry("verify", "Whether a certificate still counts, and what changed since."),
    Entry("explain", "The page of a rule, a claim or a reason."),
    Entry("rules", "The catalogue; tests and scaffolds for rules of your own."),
    Entry("config", "What the settings come to, where each comes from, and what is wrong with them."),
    Entry("webhook", "The admission webhook, and what installs it."),
    Entry("phase", "Where a repository stands in the rollout, and what stands in the way of the next step."),
)

HELP = """Finds what a GPU scheduling configuration will do before it is merged or applied.

\b
  kubectl get nodes -o json > nodes.json
  policycheck lint . --inventory nodes.json

Exit codes: 0 nothing at or above --fail-on; 1 findings; 2 usage, settings or rule error;
3 no input, or some could not be read; 4 undecided; 70 a bug in policycheck.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. Never raises, whatever happens inside."""
    args = list(sys.argv[1:] if argv is None else argv)
    # Loading modules and documents makes many objects and no garbage: looking for it took 6 of 115 ms.
    gc.set_threshold(50_000, 20, 100)
    try:
        return _run(args)
    except KeyboardInterrupt:
        say("interrupted\n")
        return exitcode.INTERRUPTED
    except BrokenPipeError:
        abandon(sys.stdout)
        return exitcode.OK
    except Exception as error:  # noqa: BLE001 - the last line of defence is the one place for this
        return _failed(error, args)


def _failed(error: Exception, args: Sequence[str]) -> int:
    """Says what went wrong: a mistake of the user's, or a bug."""
    import click

    match error:
        case click.exceptions.NoArgsIsHelpError():
            say(f"{error.format_message()}\n")
            return exitcode.USAGE
        case click.ClickException():
            say(_usage_message(error))
            return exitcode.USAGE
        case click.Abort():
            say("interrupted\n")
            return exitcode.INTERRUPTED
    say(_bug(error, args))
    return exitcode.INTERNAL


def script() -> NoReturn:
    """The process ``policycheck``: runs and ends at once.

    Taking the interpreter apart, module by module, is a fifth of a short run (24 of 130 ms) and does
    nothing for anyone: files are closed and processes joined by then.
    """
    _open_closed()
    if sys.argv[1:2] == ["lint"] and not {"--fix", "--diff"} & set(sys.argv):
        gc.disable()  # one run, which leaves no garbage worth looking for: a tenth of the time
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            abandon(stream)
    os._exit(code)


def _open_closed() -> None:
    """A stream that the caller closed (``>&-``) is None in Python; what goes there is for nobody."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - for the whole run


def group(args: Sequence[str]) -> click.Group:
    """The group with the invoked command loaded; the others are names and help alone."""
    import click

    invoked = next((arg for arg in args if not arg.startswith("-")), None)
    completing = any(name.startswith("_POLICYCHECK_COMPLETE") for name in os.environ)
    root = click.Group("policycheck", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
    root.params.append(_version())
    for entry in COMMANDS:
        loaded = entry.name == invoked or completing
        root.add_command(
            _load(entry) if loaded else click.Command(entry.name, short_help=entry.help), entry.name
        )
    return root


def _run(args: list[str]) -> int:
    if args[:1] == ["lint"]:
        from policycheck.adapters.cli import lint

        request = lint.quick(args[1:])
        if request is not None:
            return lint.run(request)
    code = group(args).main(args, prog_name="policycheck", standalone_mode=False)
    return code if isinstance(code, int) else exitcode.OK


def _load(entry: Entry) -> click.Command:
    import click

    module = import_module(f"policycheck.adapters.cli.{entry.module or entry.name}")
    command = getattr(module, entry.name)
    assert isinstance(command, click.Command), entry  # noqa: S101 - ours, not the user's
    return command


def _version() -> click.Option:
    import click

    def show(context: click.Context, _option: click.Parameter, value: bool) -> None:
        if value:
            click.echo(f"policycheck {__version__}")
            context.exit(0)

    return click.Option(
        ["--version"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=show,
        help="Show the version.",
    )


def _usage_message(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f"try `{context.command_path} --help`\n" if context is not None else ""
    return f"policycheck: {_harmless(error.format_message())}\n{hint}"


def _harmless(message: str) -> str:
    """Messages quote settings and documents, which may try to drive the terminal."""
    return "\n".join(clean(line) for line in message.split("\n"))


def _bug(error: Exception, args: Sequence[str]) -> str:
    wanted = os.environ.get("POLICYCHECK_DEBUG") or {"-v", "--verbose"} & set(args)
    trace = ""
    if wanted:
        import traceback

        trace = "".join(traceback.format_exception(error))
    what = clean(" ".join(str(error).split()))[:300]
    again = "" if wanted else " and what the same command prints with POLICYCHECK_DEBUG=1 set"
    return (
        f"{trace}policycheck: internal error: {type(error).__name__}: {what}\n"
        f"This is a bug in policycheck {__version__}, not in your files. Please report it at\n"
        f"{REPORT_TO} with the command line{again}.\n"
    )
