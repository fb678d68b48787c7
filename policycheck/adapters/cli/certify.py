"""``policycheck certify``: promises held against a configuration, and the certificate."""

from __future__ import annotations

from typing import Any

import click

from policycheck.adapters.cli import common
from policycheck.adapters.cli.options import finite


@click.command("certify")
@click.argument("path", nargs=-1, required=True)
@click.option("--claim", "claims", multiple=True, metavar="NAME", help="Test this claim alone. Repeatable.")
@click.option(
    "--promises", metavar="FILE", help="What teams were told; else the document of kind Promises in PATH."
)
@click.option(
    "--budget",
    type=click.IntRange(0, 1_000_000),
    metavar="SCENARIOS",
    help="Random scenarios a verdict, beside those that are made for it; 50 unless said.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    callback=finite,
    metavar="SECONDS",
    help="What is not reached by then is UNKNOWN.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Processes at once; as many as there are processors.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**53 - 1), default=1, show_default=True, help="Of all that is drawn."
)
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(["search", "measured"]),
    help="Let verdicts count that hold by search, or by measurement, alone. Repeatable.",
)
@click.option(
    "--certificate", metavar="FILE", help="Write the certificate; only when all required verdicts hold."
)
@click.option("--sign", metavar="KEY", help="Sign it with this private key (PEM; Ed25519 or ECDSA).")
@click.option("--valid-for", default="30d", show_default=True, metavar="TIME", help="How long it counts.")
@click.option(
    "--issued-at",
    metavar="TIME",
    help="From when on it counts, as in 2026-01-31T12:00:00Z; else from now on.",
)
@click.option(
    "--save-cases", metavar="DIR", help="Write each counterexample as a file for `simulate --case`."
)
@click.option(
    "--repair", is_flag=True, help="Look for the smallest changes that mend what fails; shown as diffs."
)
@click.option(
    "--write",
    is_flag=True,
    help="With --repair: write them, one after another, as long as nothing that held fails.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "html"]),
    default="text",
    help="text; html draws every story.",
)
@common.input_options
@common.look_options
def certify(path: tuple[str, ...], **options: Any) -> int:
    """Which promises this configuration keeps on this inventory, and the smallest story that breaks one.

    What teams were told stands in a document of kind Promises (docs/promises.md); what it does not say is
    derived from the configuration. The password of an encrypted key is read from POLICYCHECK_KEY_PASSWORD.
    """
    from policycheck.adapters.cli import certifying

    return certifying.run(path, options)
