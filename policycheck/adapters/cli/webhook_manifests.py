"""``policycheck webhook manifests``: what installs the webhook, as YAML for ``kubectl apply -f -``."""

from __future__ import annotations

import base64

import click

from policycheck import __version__
from policycheck.adapters.cli import common, exitcode
from policycheck.adapters.install import CERT_MANAGER, CERTIFICATES, NAME, SECRET, Install, objects
from policycheck.adapters.install.rbac import REPORTS

IMAGE = f"ghcr.io/policycheck/policycheck:{__version__}"


@click.command("manifests")
@click.option("--image", default=IMAGE, show_default=True, help="Name it with a digest where it counts.")
@click.option("--namespace", default=NAME, show_default=True, help="Made for the webhook alone.")
@click.option("--replicas", type=click.IntRange(1), default=2, show_default=True)
@click.option(
    "--certificates",
    type=click.Choice(CERTIFICATES),
    default=CERT_MANAGER,
    show_default=True,
    help="self-signed: the replicas make and renew them; secret: you fill policycheck-tls.",
)
@click.option("--ca-file", metavar="FILE", help="With --certificates secret: what signed yours (PEM).")
@click.option(
    "--scheduler-namespace",
    default="kueue-system",
    show_default=True,
    help="Where its Configuration is; '' to leave that unread.",
)
@click.option(
    "--exempt", multiple=True, metavar="NAMESPACE", help="Left alone, as kube-system is. Repeatable."
)
@click.option("--config", metavar="FILE", help="Settings to go along, in a ConfigMap.")
@click.option(
    "--certified",
    is_flag=True,
    help="Certified-only, by the ConfigMaps policycheck-certificate and policycheck-certificate-key.",
)
@click.option(
    "--scan", default="*/30 * * * *", show_default=True, help="When to scan what is there; '' for never."
)
@click.option(
    "--reports",
    type=click.Choice(sorted(REPORTS)),
    default="wgpolicyk8s.io",
    show_default=True,
    help="The API group of policy reports that the scan writes.",
)
@click.option(
    "--memory",
    default="1Gi",
    show_default=True,
    help="Of each replica; docs/webhook-operation.md says how much.",
)
@click.option("--output", metavar="FILE", help="Write to FILE what would go to standard output.")
def manifests(
    image: str,
    namespace: str,
    replicas: int,
    certificates: str,
    ca_file: str | None,
    scheduler_namespace: str,
    exempt: tuple[str, ...],
    config: str | None,
    certified: bool,
    scan: str,
    reports: str,
    memory: str,
    output: str | None,
) -> int:
    """What installs the webhook and the background scan, as YAML.

    Namespace, accounts with the least rights, Deployment of two spread replicas, Service, disruption budget,
    network policy, certificates, and the webhook configuration: critical entries wait while the webhook is
    down, advisory ones go through.
    """
    if ca_file and certificates != SECRET:
        raise common.usage_error("--ca-file goes with --certificates secret: the others make their own")
    if certificates == SECRET and not ca_file:
        raise common.usage_error(
            "--certificates secret needs --ca-file: the API server trusts what that signed"
        )
    install = Install(
        image=image,
        namespace=namespace,
        replicas=replicas,
        certificates=certificates,
        ca_bundle=base64.b64encode(_file(ca_file)).decode() if ca_file else "",
        scheduler_namespace=scheduler_namespace,
        exempt=exempt,
        settings=_settings(config) if config else "",
        certificate=certified,
        scan=scan,
        reports=reports,
        memory=memory,
    )
    common.guard((output,), (config or "", ca_file or ""))
    common.emit(render(install), output)
    return exitcode.OK


def render(install: Install) -> str:
    """All objects as YAML documents."""
    import yaml

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - of the library
            return True

    return yaml.dump_all(
        objects(install),
        Dumper=Plain,
        sort_keys=False,
        width=110,
        default_flow_style=False,
        explicit_start=True,
    )


def _settings(config: str) -> str:
    """The text of a settings file that is good. Raises click.UsageError."""
    common.load_settings(config, ())
    return _file(config).decode()


def _file(name: str) -> bytes:
    try:
        with open(name, "rb") as file:  # noqa: PTH123 - cold start
            return file.read()
    except OSError as error:
        raise common.usage_error(f"can not read {name}: {error.strerror}") from error
