"""The use cases: the only module that knows the whole pipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from policycheck.lint.finding import LintResult
from policycheck.lint.settings import Settings
from policycheck.model.cluster import Cluster


class Sources(NamedTuple):
    """What the user pointed at, and how to read it. ``read`` is the only way to bytes."""

    paths: tuple[str, ...]
    read: Callable[[str], bytes]  # "-" is standard input; raises OSError
    context: tuple[str, ...] = ()  # read, never reported
    inventory: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()  # "kueue=0.19,Gate=false"
    rules: tuple[str, ...] = ()  # folders of the user's own rules
    render: Callable[[str], bytes] | None = None  # a kustomization or chart folder to manifests
    today: str = ""  # ISO date, for suppressions that end


def load(sources: Sources, settings: Settings) -> tuple[Cluster, ...]:
    """One linked Cluster a scope."""
    raise NotImplementedError


def lint(sources: Sources, settings: Settings) -> LintResult:
    """Every rule over every scope."""
    raise NotImplementedError


def lint_texts(
    texts: Mapping[str, str], settings: Settings, *, inventory: Mapping[str, str] | None = None,
    context: Mapping[str, str] | None = None,
) -> LintResult:
    """The same over texts in memory, as one scope: rule examples, tests, the webhook."""
    raise NotImplementedError
