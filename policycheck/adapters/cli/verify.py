"""``policycheck verify``: whether a certificate still counts, and what changed since."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from policycheck.adapters.cli import asking, common, exitcode
from policycheck.adapters.cli.options import finite
from policycheck.adapters.cli.progress import Progress

if TYPE_CHECKING:
    from policycheck.app.verify import Opened
    from policycheck.report.verified import Verified


@click.command("verify")
@click.argument("certificate", metavar="CERT")
@click.argument("path", nargs=-1)
@click.option("--key", metavar="PUB", help="The public key (PEM) that has to have signed it.")
@click.option("--unsigned", is_flag=True, help="Accept one without a signature.")
@click.option("--signature-only", is_flag=True, help="Signature and validity; nothing is tested again.")
@click.option("--at", metavar="TIME", help="As if it were TIME, as in 2026-01-31T12:00:00Z; else now.")
@click.option("--promises", metavar="FILE", help="What teams were told, when it is not in PATH.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    callback=finite,
    metavar="SECONDS",
    help="What is not tested again by then refuses it.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Processes at once; as many as there are processors.",
)
@click.option(
    "--drift", is_flag=True, help="With the stories of promises that no longer hold: for a weekly run."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="text")
@common.input_options
@common.look_options
def verify(certificate: str, path: tuple[str, ...], **options: Any) -> int:
    """Whether the certificate CERT still counts for the configuration in PATH.

    Checks signature, validity and digests, that all the hardware is there that it rests on, and that every
    verdict comes out the same with the recorded counts and seed. With --inventory the nodes in PATH do not
    count: those of the live cluster do (`kubectl get nodes -o json`).
    """
    gc.set_threshold(200_000, 20, 20)  # as certify has it
    from policycheck.adapters.cli import certifying, issuing

    if not path and not options["signature_only"]:
        raise common.usage_error("give PATH with the configuration, or --signature-only")
    at = issuing.time_of("--at", options["at"]) if options["at"] else issuing.now()
    from policycheck.certify.canonical import MOST_BYTES

    data = issuing.read(certificate, "CERT", MOST_BYTES)
    key = issuing.read(options["key"], "--key") if options["key"] else None
    from policycheck.app import verify as use_case
    from policycheck.app.apart import processors
    from policycheck.report.verified import Verified

    with common.errors_of_use(), Progress(quiet=options["quiet"]) as told:
        found = _opened(data, key, unsigned=options["unsigned"])
        if isinstance(found, Verified):
            return _end(found, options, exitcode.OK)
        if options["signature_only"]:
            return _end(use_case.standing(found, at), options, exitcode.OK)
        sources, settings = asking.input_of(path, options)
        terms = use_case.Terms(
            at,
            options["promises"] or "",
            bool(options["inventory"]),
            certifying.deadline(options["timeout"]),
            options["jobs"] or processors(),
        )
        answer, files = use_case.verify(found, sources, settings, terms, told)
    asking.guard(options["output"], files, settings)
    account = asking.account(files, empty=not files, verbose=options["verbose"], quiet=options["quiet"])
    return _end(answer, options, account)


def _opened(data: bytes, key: bytes | None, *, unsigned: bool) -> Opened | Verified:
    """The certificate, or the answer when nothing of it can be relied on."""
    from policycheck.app.verify import RefusedError, opened, refused

    try:
        return opened(data, key, unsigned=unsigned)
    except RefusedError as error:
        return refused(error)


def _end(answer: Verified, options: Mapping[str, Any], account: int) -> int:
    from policycheck.report.verified import REFUSED, render_json, render_text

    output = options["output"]
    style = common.style_for(
        None if output else sys.stdout, options["color"], quiet=options["quiet"], verbose=options["verbose"]
    )
    text = (
        render_json(answer)
        if options["form"] == "json"
        else render_text(answer, style, stories=options["drift"])
    )
    common.emit(text, output)
    return exitcode.worst([exitcode.FINDINGS if answer.outcome == REFUSED else exitcode.OK, account])
