"""What a user wants of a run, after the command line and the settings file are put together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from policycheck.record import NamedTuple


class PathOverride(NamedTuple):
    """What is different in some files: rules that are not reported, or with another severity.

    ``paths`` are globs (``*`` matches any characters, ``/`` too) of names as they were given, or as
    they are seen from the folder of the settings file. With ``select`` all other rules are ignored
    there. ``until`` is the last day on which ``ignore`` and ``select`` hold; "" is without end.
    """

    paths: tuple[str, ...]
    ignore: tuple[str, ...] = ()  # selectors; "all" for every rule
    reason: str = ""
    select: tuple[str, ...] = ()
    severity: Mapping[str, str] = {}  # by selector; the closest one counts
    owner: str = ""
    until: str = ""


class Acceptance(NamedTuple):
    """What is asked of suppressions (``suppressions`` in the settings); one that does not fit is refused."""

    require: tuple[str, ...] = ()  # of reason, owner, until
    max_days: int = 0  # from today to the end; 0 is without a bound
    never: tuple[str, ...] = ()  # selectors of rules that nothing may suppress
    remind_days: int = 14  # before an end it is said


class Admission(NamedTuple):
    """What the admission webhook does about findings (``webhook`` in the settings).

    Modes are default (errors of high confidence are refused, the rest is warned of), deny, warn, audit and
    off. ``rules`` are by selector, ``namespaces`` by glob, each a map with ``mode`` and ``rules`` of its own;
    in ``exempt`` ones nothing is judged. ``users`` and ``groups`` are those who may override a refusal.
    """

    mode: str = "default"
    rules: Mapping[str, str] = {}
    namespaces: Mapping[str, Mapping[str, Any]] = {}
    exempt: tuple[str, ...] = ("kube-system", "kube-node-lease", "kube-public")
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class ClusterScope(NamedTuple):
    """A named cluster: which files are its, what hardware it has, which versions run there."""

    name: str
    paths: tuple[str, ...]
    inventory: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    target: tuple[str, ...] = ()  # "system=0.19,Gate=false", one a system


class Settings(NamedTuple):
    """Settings of a lint run.

    Selectors are rule ids, names, beginnings of ids (``KQ``, ``KQ1``), systems, or ``all``.
    ``fail_on`` is error, warning, info or never. ``preview`` runs rules in preview too.
    ``rulebook`` pins the built-in rules: a version ("0.1"), of which later rules do not run, or
    "sha256:" and a digest, which all rules together have to have.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, str] = {}
    params: Mapping[str, Mapping[str, Any]] = {}
    per_path: tuple[PathOverride, ...] = ()
    phase: str = ""
    fail_on: str = "error"
    preview: bool = False
    clusters: tuple[ClusterScope, ...] = ()
    inventory: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()  # folders of the user's own rules
    crds: tuple[str, ...] = ()
    baseline: str = ""
    suppressions: Acceptance = Acceptance()
    webhook: Admission = Admission()
    rulebook: str = ""
    file: str = ""  # the settings file; "" when there is none
    extended: tuple[str, ...] = ()  # the files that it extends, farthest first


class Target(NamedTuple):
    """The version of one system that is assumed, and the gates that differ from its defaults."""

    system: str
    version: str
    gates: Mapping[str, bool] = {}
    assumed: bool = False  # nobody said so, and nothing in sight tells
    source: str = ""  # "image tag in deploy.yaml:12"


_TARGET = re.compile(r"([a-z][a-z0-9-]*)=v?(\d{1,6}(?:\.\d{1,6}){0,2})((?:,[A-Za-z0-9]+=(?:true|false))*)\Z")


def parse_target(text: str) -> Target:
    """``system=0.19,GateName=false`` as a Target. Raises ValueError."""
    found = _TARGET.match(text.strip())
    if not found:
        raise ValueError(
            f"{text!r} is no target; write system=version with gates after it, as in "
            "system=0.19 or system=0.19,GateName=false"
        )
    gates = dict(pair.split("=") for pair in found[3].split(",") if pair)
    return Target(found[1], found[2], {name: value == "true" for name, value in gates.items()})
