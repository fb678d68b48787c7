"""``policycheck webhook serve``: answers the API server until it is told to end."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from policycheck.adapters.cli import common, exitcode
from policycheck.adapters.cli.options import finite

if TYPE_CHECKING:
    from policycheck.adapters.live.connect import Connection
    from policycheck.adapters.live.watch import Feed
    from policycheck.adapters.webhook.issued import Issued
    from policycheck.adapters.webhook.journal import Journal
    from policycheck.adapters.webhook.keypair import KeyPair
    from policycheck.adapters.webhook.server import Address
    from policycheck.adapters.webhook.start import Rules
    from policycheck.app.world import World
    from policycheck.lint.settings import Settings

_NEEDS = "the webhook needs {name}: install it with `pip install 'policycheck[webhook]'`"


@click.command("serve")
@click.argument("path", nargs=-1)
@click.option(
    "--listen", default="127.0.0.1:8443", show_default=True, metavar="HOST:PORT", help="For reviews."
)
@click.option(
    "--plain",
    default="127.0.0.1:8080",
    show_default=True,
    metavar="HOST:PORT",
    help="For /livez, /readyz and /metrics, without TLS.",
)
@click.option(
    "--tls-cert", metavar="FILE", help="The server's certificate (PEM); taken up again when it changes."
)
@click.option("--tls-key", metavar="FILE", help="Its key (PEM).")
@click.option("--no-tls", is_flag=True, help="Without TLS: for tests, or behind something that ends it.")
@click.option(
    "--self-signed",
    metavar="NAMESPACE/SECRET",
    help="Make and renew the certificate ourselves, in this Secret; cluster:CONTEXT only.",
)
@click.option(
    "--certificate",
    multiple=True,
    metavar="FILE",
    help="Certified-only: admit what this certificate has as a subject. Repeatable (new and old); a folder too.",
)
@click.option(
    "--key", multiple=True, metavar="PUB", help="A public key (PEM) that has to have signed it. Repeatable."
)
@click.option(
    "--on-deadline",
    type=click.Choice(["refuse", "allow"]),
    default="refuse",
    show_default=True,
    help="What /validate-critical answers when it could not be judged in time; /validate-advisory allows.",
)
@click.option(
    "--stale",
    type=click.FloatRange(1),
    callback=finite,
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Not ready when nothing was heard of a kind for so long.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0, 120),
    callback=finite,
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Between SIGTERM and the end, in which requests are still answered.",
)
@click.option("--namespace", default="", help="Our own, which is never judged; else POD_NAMESPACE.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="debug: a line for every review.",
)
@common.input_options
def serve(path: tuple[str, ...], **options: Any) -> int:
    """Answer AdmissionReviews about changes of one cluster.

    PATH is cluster:CONTEXT (cluster: alone is the current context, or inside of a pod its service account),
    which is watched; or files and folders that tell how the cluster is, and then are its state for good.
    Modes, exemptions and who may override stand in the settings, under webhook.
    """
    common.later("--crds", options["crds"])
    if options["no_tls"] == bool(options["tls_cert"]) or bool(options["tls_cert"]) != bool(
        options["tls_key"]
    ):
        raise common.usage_error("give --tls-cert and --tls-key, or --no-tls")
    settings = common.load_settings(options["config"], (), isolated=options["isolated"])
    settings = settings._replace(
        inventory=options["inventory"] or settings.inventory,
        target=options["target"] or settings.target,
        rules=settings.rules + options["rules"],
        crds=(),
        clusters=(),  # one cluster is served, whatever others the settings name
    )
    common.check_targets(settings.target)
    with common.errors_of_use():
        return _serve(path, settings, options)


def _serve(paths: tuple[str, ...], settings: Settings, options: dict[str, Any]) -> int:
    try:
        from policycheck.adapters.webhook import start
    except ModuleNotFoundError as error:
        raise common.usage_error(_NEEDS.format(name=error.name)) from error
    live = [path for path in paths if path.startswith(common.CLUSTER)]
    if live and len(paths) != 1:
        raise common.usage_error("one cluster, or files that tell how it is; not both, and not several")
    if options["self_signed"] and not live:
        raise common.usage_error("--self-signed keeps the certificate in a cluster: give cluster:CONTEXT")
    if options["certificate"] and not options["key"]:
        raise common.usage_error("--certificate needs --key: an unsigned one could be anybody's")
    feed: Feed | None = None
    connection = _connection(live[0]) if live else None
    world, rules = _rules(paths, settings, live=connection is not None)
    if connection is not None:
        from policycheck.adapters.webhook.journal import Journal

        journal = Journal(sys.stderr, options["log_level"])
        _keep(connection, options, journal)
        feed = _feed(connection, world, journal)
    given = start.Options(
        at=_address("--listen", options["listen"]),
        plain_at=_address("--plain", options["plain"]),
        pair=_pair(options),
        issued=_issued(options),
        namespace=options["namespace"] or os.environ.get("POD_NAMESPACE", ""),
        allow_late=options["on_deadline"] == "allow",
        stale=options["stale"],
        drain=options["drain"],
        log=options["log_level"],
    )
    if feed is not None:
        feed.start()
    try:
        start.serve(world, rules, given, common.today)
    except OSError as error:
        raise common.usage_error(f"can not listen: {error}") from error
    finally:
        if feed is not None:
            feed.stop()
    return exitcode.OK


def _rules(paths: tuple[str, ...], settings: Settings, *, live: bool) -> tuple[World, Rules]:
    """The world, empty or out of files, and what is judged by."""
    from policycheck.adapters.webhook.start import Rules
    from policycheck.app.book import rulebook, systems
    from policycheck.app.world import World, out_of
    from policycheck.lint.select import complaints
    from policycheck.lint.settings import Target, parse_target

    book = rulebook(settings.rules)
    for problem in book.problems:
        raise common.usage_error(f"{problem.file}:{problem.line}:{problem.column}: {problem.message}")
    for what in complaints(book, settings):
        raise common.usage_error(f"settings: {what}")
    if live:
        from policycheck.app.target import ASSUMED

        said = {target.system: target for target in map(parse_target, settings.target)}
        targets = {"kueue": Target("kueue", ASSUMED, assumed=True), **said}
        return World("cluster"), Rules(book, systems(), settings, targets)
    if not paths:
        raise common.usage_error("give cluster:CONTEXT, or files that tell how the cluster is")
    world, targets_ = out_of(common.sources_of(paths, settings), settings)
    return world, Rules(book, systems(), settings, targets_)


def _connection(path: str) -> Connection:
    from policycheck.adapters.live.connect import connect

    return connect(path.removeprefix(common.CLUSTER))


def _feed(connection: Connection, world: World, journal: Journal) -> Feed:
    from policycheck.adapters.live.watch import Feed
    from policycheck.app.world import REQUIRED, WELCOME

    return Feed(connection, world, (*REQUIRED, *WELCOME), now=time.monotonic, tell=journal)


def _keep(connection: Connection, options: dict[str, Any], journal: Journal) -> None:
    """Keeps a certificate of our own, from now on; the first is there when this returns."""
    if not options["self_signed"]:
        return
    from policycheck.adapters.install import NAME
    from policycheck.adapters.install.certificate import hosts
    from policycheck.adapters.live.keeper import Keeper, Place

    namespace, slash, secret = options["self_signed"].partition("/")
    if not (namespace and slash and secret):
        raise common.usage_error("--self-signed is NAMESPACE/SECRET")
    folder = os.path.dirname(os.path.abspath(options["tls_cert"]))  # noqa: PTH100, PTH120 - names are what users give
    place = Place(namespace, secret, NAME, folder, tuple(hosts(namespace)))
    keeper = Keeper(connection, place, tell=journal)
    first = keeper.look()
    if first.why:
        raise common.usage_error(f"--self-signed: {first.why}")
    keeper.start()


def _pair(options: dict[str, Any]) -> KeyPair | None:
    if options["no_tls"]:
        return None
    from policycheck.adapters.webhook.keypair import KeyPair, KeyPairError

    try:
        return KeyPair(options["tls_cert"], options["tls_key"], time.time)
    except KeyPairError as error:
        raise common.usage_error(f"--tls-cert, --tls-key: {error}") from error


def _issued(options: dict[str, Any]) -> Issued | None:
    if not options["certificate"]:
        return None
    from policycheck.adapters.cli import issuing
    from policycheck.adapters.webhook.issued import Issued

    keys = [issuing.read(key, "--key") for key in options["key"]]
    try:
        return Issued(options["certificate"], keys)
    except ValueError as error:
        raise common.usage_error(f"--certificate: {error}") from error


def _address(option: str, text: str) -> Address:
    from policycheck.adapters.webhook.server import Address

    host, colon, port = text.rpartition(":")
    if not (colon and port.isascii() and port.isdigit() and int(port) < 65536):
        raise common.usage_error(f"{option} is {text!r}; write HOST:PORT, as in 0.0.0.0:8443")
    return Address(host.strip("[]") or "0.0.0.0", int(port))  # noqa: S104 - an empty host means all of them
